"""
Kernel PCA: curved components, and noise taken away
===================================================

Two noisy circles. On the plain components they stay one inside the other; on the first component
of kernel PCA they lie apart. Projected on eight components and brought back, the points are freed
of most of their noise.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from panlearn.kernel import KernelPCA
from panlearn.latent import PCA

X, y = make_circles(400, factor=0.35, noise=0.08, random_state=0)
curved = KernelPCA(8, kernel="rbf", gamma=3.0).fit(X)
scores, back = curved.transform(X), curved.inverse_transform(curved.transform(X))
a, b = np.meshgrid(np.linspace(-1.5, 1.5, 100), np.linspace(-1.5, 1.5, 100))
field = curved.transform(np.c_[a.ravel(), b.ravel()])[:, 0].reshape(a.shape)

fig, axes = plt.subplots(1, 4, figsize=(15, 4), layout="constrained")
panels = [
    (PCA(2).fit_transform(X), "PCA", "score"),
    (scores[:, :2], "kernel PCA", "score"),
    (X, "data, lines of equal first score", "feature"),
    (back, "data back from eight scores", "feature"),
]
for axis, (points, title, of) in zip(axes, panels, strict=True):
    axis.scatter(*points.T, c=y, cmap="coolwarm", s=12)
    axis.set(title=title, xlabel=f"first {of}", ylabel=f"second {of}")
axes[2].contour(a, b, field, levels=8, colors="black", linewidths=0.8)
for axis in axes[2:]:
    axis.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), aspect="equal")
plt.show()
