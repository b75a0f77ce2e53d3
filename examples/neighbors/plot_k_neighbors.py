r"""
How many neighbours to ask
==========================

One neighbour follows every row, all of them know only the majority. In between, the boundary
between the classes gets smoother, and somewhere the error on new rows is least.
"""

# %%
# Two moons with noise, and the error on rows that were not seen.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay

from panlearn.neighbors import KNeighborsClassifier

X, y = make_moons(400, noise=0.35, random_state=0)
new, truth = make_moons(4000, noise=0.35, random_state=1)

# %%
# On the left and in the middle the boundary for k = 1 and k = 25; on the right the two errors.

figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, k in zip(axes, (1, 25), strict=False):
    model = KNeighborsClassifier(k).fit(X, y)
    DecisionBoundaryDisplay.from_estimator(
        model, X, response_method="predict_proba", ax=ax, cmap="RdBu_r", alpha=0.7
    )
    ax.scatter(*X.T, c=y, cmap="RdBu_r", s=12, edgecolor="k", linewidth=0.3)
    ax.set(title=f"k = {k}", xlabel="$x_1$", ylabel="$x_2$")
counts = np.unique(np.geomspace(1, 400, 30).astype(int))
models = [KNeighborsClassifier(int(k)).fit(X, y) for k in counts]
axes[2].semilogx(counts, [1 - m.score(X, y) for m in models], "o-", label="training rows")
axes[2].semilogx(counts, [1 - m.score(new, truth) for m in models], "s-", label="new rows")
axes[2].set(xlabel="neighbours k", ylabel="share of errors", title="from memory to majority")
axes[2].legend()
plt.show()
