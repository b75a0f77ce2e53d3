r"""
Many trees are smoother than one
================================

One deep tree follows every point. A random forest averages trees that were grown on different
samples with different features; boosting adds stumps, each of which attends to the mistakes before
it.
"""

# %%
# Two moons with noise, and three models of them.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from panlearn.tree import AdaBoostClassifier, DecisionTreeClassifier, RandomForestClassifier

X, y = make_moons(400, noise=0.35, random_state=0)
X_new, y_new = make_moons(4000, noise=0.35, random_state=1)
models = {
    "one tree": DecisionTreeClassifier(),
    "random forest of 200": RandomForestClassifier(200, random_state=0),
    "50 boosted stumps": AdaBoostClassifier(n_estimators=50),
}

# %%
# The probability of one class over the plane, and the accuracy on new rows.

figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharey=True, layout="constrained")
grid = np.stack(np.meshgrid(np.linspace(-2.2, 3.2, 150), np.linspace(-1.8, 2.3, 150)), axis=-1)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X, y)
    surface = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(150, 150)
    ax.contourf(grid[..., 0], grid[..., 1], surface, np.linspace(0, 1, 11), cmap="RdBu", alpha=0.8)
    for label, marker, colour in ((0, "^", "#fddbc7"), (1, "o", "#d1e5f0")):
        ax.scatter(
            *X[y == label].T, s=18, marker=marker, color=colour, edgecolor="k", linewidth=0.5
        )
    ax.set(title=f"{name}: {model.score(X_new, y_new):.3f} on new rows", xlabel="$x_1$")
axes[0].set_ylabel("$x_2$")
plt.show()
