"""
Support vector machines: hard and soft margins
==============================================

The hard margin is the widest slab between two classes; the rows on its edges, ringed, hold it. A
soft margin lets rows into the slab, at a price C each. With a kernel the slab bends. The linear
machine for many rows, :class:`~panlearn.kernel.LinearSVC`, finds the same line, drawn in gold.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from panlearn.kernel import SVC, LinearSVC

rng = np.random.default_rng(4)
y = np.arange(60) % 2
apart = rng.normal(size=(60, 2)) * 0.6 + 3 * y[:, None] - 1.5
touching = apart + 0.9 * (1 - 2 * y[:, None])
moons = make_moons(120, noise=0.2, random_state=0)
panels = [
    ("hard margin, C = ∞", SVC(C=np.inf, kernel="linear"), apart, y),
    ("soft margin, C = 0.1", SVC(C=0.1, kernel="linear"), touching, y),
    ("soft margin, C = 10", SVC(C=10.0, kernel="linear"), touching, y),
    ("RBF kernel, C = 1", SVC(C=1.0, gamma=2.0), *moons),
]
fig, axes = plt.subplots(1, 4, figsize=(14, 3.8), layout="constrained")
for axis, (title, model, X, labels) in zip(axes, panels, strict=True):
    model.fit(X, labels)
    low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
    a, b = np.meshgrid(np.linspace(low[0], high[0], 150), np.linspace(low[1], high[1], 150))
    score = model.decision_function(np.c_[a.ravel(), b.ravel()]).reshape(a.shape)
    axis.contourf(a, b, score, levels=np.linspace(-3, 3, 13), cmap="RdBu", extend="both", alpha=0.5)
    axis.contour(a, b, score, levels=[-1, 0, 1], colors="black", linestyles=["--", "-", "--"])
    axis.scatter(*X.T, c=labels, cmap="RdBu", s=18, edgecolor="black", linewidth=0.4)
    axis.scatter(*model.support_vectors_.T, s=70, facecolor="none", edgecolor="black")
    axis.set(title=f"{title}\n{len(model.support_)} support vectors", xticks=[], yticks=[])
linear = LinearSVC(C=0.1, loss="hinge").fit(touching, y)
w, line = linear.coef_[0], np.array(axes[1].get_xlim())
axes[1].autoscale(False)
across = -(w[0] * line + linear.intercept_[0]) / w[1]
axes[1].plot(line, across, color="gold", lw=5, zorder=0.9, label="LinearSVC")
axes[1].legend(loc="lower right", fontsize=10)
plt.show()
