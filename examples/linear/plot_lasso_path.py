"""
The lasso path
==============

As the penalty falls, features enter one after another. On the diabetes data, ten measurements of
patients, the body mass index and a serum measurement come first; the ten coefficients of least
squares are the limit at the right.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from panlearn.linear import lasso_path

data = load_diabetes()
X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
y = data.target - data.target.mean()
alphas, coefs, _ = lasso_path(X, y, alphas=200, tol=1e-8)

# %%
# Each line is a coefficient. Below, the number of them that are not zero; it may fall, for a
# coefficient that crosses zero stays there for a while.
figure, (lines, count) = plt.subplots(
    2, 1, sharex=True, figsize=(7, 5.5), height_ratios=[4, 1], layout="constrained"
)
order = np.argsort(-coefs[:, -1])
for j in order:
    lines.plot(alphas, coefs[j], label=data.feature_names[j])
lines.axhline(0, color="0.6", linewidth=0.8, zorder=0)
lines.set(ylabel="coefficient", title="Lasso path of the diabetes data")
lines.legend(loc="lower left", fontsize="small", ncols=2)
count.step(alphas, np.count_nonzero(coefs, axis=0), color="0.3", where="mid")
count.set(xscale="log", xlabel=r"penalty $\alpha$", ylabel="features", yticks=[0, 5, 10])
count.invert_xaxis()
plt.show()
