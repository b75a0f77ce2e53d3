r"""
Rotate, then split
==================

A tree cuts along the axes, so an oblique border becomes a staircase. A rotation forest turns small
groups of features by their principal axes before each tree: the cuts become oblique, and no two
trees have the same.
"""

# %%
# Two long, oblique classes, and three models of 20 trees or one.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import cross_val_score

from panlearn.tree import (
    DecisionTreeClassifier,
    RandomForestClassifier,
    RotationForestClassifier,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2)) @ np.array([[2.0, 1.6], [0.0, 0.45]])
y = rng.integers(2, size=300)
X[:, 1] += np.where(y == 1, 0.8, -0.8)
models = {
    "one tree": DecisionTreeClassifier(),
    "random forest": RandomForestClassifier(20, random_state=0),
    "rotation forest": RotationForestClassifier(20, random_state=0),
}

# %%
# Above, the surfaces; below, the error in cross-validation on three data sets.

figure, panels = plt.subplot_mosaic(
    [[*models], ["errors"] * 3], figsize=(11, 7), height_ratios=[1.25, 1], layout="constrained"
)
grid = np.stack(np.meshgrid(np.linspace(-6, 6, 200), np.linspace(-6, 6, 200)), axis=-1)
for name, model in models.items():
    ax = panels[name]
    surface = model.fit(X, y).predict_proba(grid.reshape(-1, 2))[:, 1].reshape(200, 200)
    ax.contourf(grid[..., 0], grid[..., 1], surface, np.linspace(0, 1, 11), cmap="RdBu", alpha=0.8)
    ax.scatter(*X.T, c=y, cmap="RdBu", s=10, edgecolor="k", linewidth=0.3)
    error = 1 - cross_val_score(model, X, y, cv=5).mean()
    ax.set(title=f"{name}: error {error:.3f}", xlabel="$x_1$", xlim=(-6, 6), ylim=(-6, 6))
panels["one tree"].set_ylabel("$x_2$")

ax = panels["errors"]
sets = {"breast cancer": load_breast_cancer, "wine": load_wine, "digits": load_digits}
for shift, (name, model) in enumerate(models.items()):
    errors = [
        1 - cross_val_score(model, *load(return_X_y=True), cv=5).mean() for load in sets.values()
    ]
    ax.bar(np.arange(3) + 0.27 * (shift - 1), errors, 0.25, label=name)
    print(f"{name}:", *(f"{error:.3f}" for error in errors))
ax.set(xticks=range(3), ylabel="error in cross-validation")
ax.set_xticklabels(sets)
ax.legend()
plt.show()
