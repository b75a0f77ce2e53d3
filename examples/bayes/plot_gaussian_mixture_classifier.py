"""
GaussianMixtureClassifier: classes in several pieces
====================================================

Two crescents. One Gaussian a class, which is quadratic discriminant analysis, cannot bend; a
mixture of four a class can. Large dots mark the means of the components, colours the chance of a
class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from panlearn.bayes import GaussianMixtureClassifier

X, y = make_moons(400, noise=0.15, random_state=0)
grid = np.stack(np.meshgrid(np.linspace(-1.6, 2.6, 200), np.linspace(-1.2, 1.7, 200)), axis=-1)

fig, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, k in zip(axes, (1, 4), strict=True):
    model = GaussianMixtureClassifier(k, random_state=0).fit(X, y)
    chance = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(200, 200)
    ax.contourf(*grid.transpose(2, 0, 1), chance, levels=20, cmap="RdBu_r", alpha=0.4)
    for label, colour in enumerate(("C0", "C1")):
        ax.scatter(*X[y == label].T, color=colour, s=12, edgecolors="white", linewidths=0.4)
    for mixture in model.mixtures_:
        ax.scatter(*mixture.means_.T, c="k", s=60)
    ax.set_xlabel("first feature")
    ax.set_title(f"{k} component{'s' * (k > 1)} a class: accuracy {model.score(X, y):.3f}")
axes[0].set_ylabel("second feature")
plt.show()
