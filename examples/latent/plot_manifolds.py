"""
Isomap, LLE and GPLVM: the digits in two dimensions
===================================================

Three ways to lay pictures out on a plane: by the distances along the graph of neighbours, by
how each picture is composed of its neighbours, and by a Gaussian process from the plane to the
pictures. No method was told the labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from panlearn.latent import GPLVM, Isomap, LocallyLinearEmbedding

X, y = load_digits(n_class=6, return_X_y=True)
models = {
    "Isomap": (Isomap(10), 1083),
    "Locally linear embedding": (LocallyLinearEmbedding(12), 1083),
    "GPLVM": (GPLVM(), 150),
}

paper = {"boxstyle": "circle", "facecolor": "white", "edgecolor": "none", "pad": 0.1}
fig, axes = plt.subplots(1, 3, figsize=(14, 4.8), layout="constrained")
for ax, (name, (model, n)) in zip(axes, models.items(), strict=True):
    model.fit(X[:n])
    Z = model.embedding_
    # how often the nearest other row in the plane has the same label
    nearest = KNeighborsClassifier(1).fit(Z, y[:n]).kneighbors(return_distance=False)[:, 0]
    for digit in np.unique(y):
        own = Z[y[:n] == digit]
        ax.scatter(*own.T, s=10)
        ax.text(*np.median(own, axis=0), digit, weight="bold", size=14, bbox=paper)
    share = (y[nearest] == y[:n]).mean()
    ax.set_title(f"{name}\n{n} rows; the nearest has the same label: {share:.0%}")
    ax.set(xticks=[], yticks=[])
plt.show()
