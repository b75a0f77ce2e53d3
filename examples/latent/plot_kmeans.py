"""
KMeans: each step lowers the objective
======================================

From a poor start the centres walk to the middle of their rows; the inertia falls at every step
and the last one changes nothing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from panlearn.latent import KMeans

X, _ = make_blobs(500, centers=5, cluster_std=0.9, random_state=4)
start = X[:5] * 0.2 + X.mean(axis=0)
model = KMeans(5, init=start, tol=0).fit(X)

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
left.scatter(*X.T, color=[f"C{k}" for k in model.labels_], s=8)
left.plot(*start.T, "k+", label="first centres")
left.plot(*model.cluster_centers_.T, "k*", markersize=12, label="last centres")
left.legend()
left.set(xlabel="first feature", ylabel="second feature", title="Clusters")
right.plot(np.array(model.history_["inertia"]), marker="o")
right.set(xlabel="iteration", ylabel="inertia", title=f"{model.n_iter_} iterations")
plt.show()
