"""
Ridge: coefficients shrink along the penalty
============================================

On the diabetes data the coefficients of ridge regression shrink towards zero as the penalty
grows; those of correlated columns, which least squares sends far apart, first come together. The
error in cross-validation is least in between.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from panlearn.linear import Ridge

data = load_diabetes()
X, y = StandardScaler().fit_transform(data.data), data.target
alphas = np.logspace(-2, 5, 60)
path = np.array([Ridge(alpha=alpha).fit(X, y).coef_ for alpha in alphas])
error = [
    -cross_val_score(Ridge(alpha=a), X, y, cv=10, scoring="neg_mean_squared_error").mean()
    for a in alphas
]
best = alphas[np.argmin(error)]

fig, (top, bottom) = plt.subplots(
    2, 1, figsize=(7, 7), sharex=True, height_ratios=[2, 1], layout="constrained"
)
for name, line in zip(data.feature_names, path.T, strict=True):
    top.semilogx(alphas, line, label=name)
top.axhline(0, color="0.7", linewidth=0.8)
top.legend(ncols=2, fontsize="small", title="feature")
top.set(ylabel="coefficient", title="Each coefficient shrinks to zero")
bottom.semilogx(alphas, error, color="black")
for axis in (top, bottom):
    axis.axvline(best, color="0.5", linestyle="--")
bottom.annotate(
    f"least at alpha = {best:.0f}", (best, min(error)), (best * 0.8, min(error) + 60), ha="right"
)
bottom.set_ylim(min(error) - 10, min(error) + 150)
bottom.set(xlabel="penalty alpha", ylabel="squared error", title="Error in cross-validation")
plt.show()
