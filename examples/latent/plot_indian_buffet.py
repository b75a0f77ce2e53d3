"""
IndianBuffetFactors: the parts that pictures are made of
========================================================

Each picture is a sum of some of four shapes, in noise as large as half a shape. The sampler finds
how many shapes there are, what they look like, and which picture has which.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.latent import IndianBuffetFactors

shapes = np.zeros((4, 6, 6))
shapes[0, :3, :3] = [[0, 1, 0], [1, 1, 1], [0, 1, 0]]
shapes[1, :3, 3:] = [[1, 1, 1], [1, 0, 1], [1, 1, 1]]
shapes[2, 3:, :3] = [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
shapes[3, 3:, 3:] = np.eye(3)
rng = np.random.default_rng(0)
Z = rng.integers(2, size=(100, 4))
X = Z @ shapes.reshape(4, 36) + 0.5 * rng.normal(size=(100, 36))
model = IndianBuffetFactors(fit_intercept=False, n_iter=600, random_state=0).fit(X)

fig = plt.figure(figsize=(13, 6.5), layout="constrained")
top, bottom = fig.subfigures(2, 1)
rows = [("shapes", shapes), ("found", model.components_[:4])]
for name, axes in zip((r[0] for r in rows), top.subplots(2, 8), strict=True):
    pictures = dict(rows)[name]
    for ax, picture in zip(axes[:4], pictures, strict=False):
        ax.imshow(picture.reshape(6, 6), cmap="gray_r", vmin=-0.5, vmax=1.5)
        ax.set_title(name, fontsize=11)
    shown = X[:4] if name == "shapes" else model.inverse_transform(model.transform(X[:4]))
    for ax, picture in zip(axes[4:], shown, strict=True):
        ax.imshow(picture.reshape(6, 6), cmap="gray_r", vmin=-0.5, vmax=1.5)
        ax.set_title("picture" if name == "shapes" else "its parts", fontsize=11)
    for ax in axes:
        ax.set(xticks=[], yticks=[])
left, right = bottom.subplots(1, 2)
left.plot(model.history_["n_components"])
left.set(xlabel="sweep", ylabel="features", title=f"{model.n_components_} features")
right.plot(model.history_["log_joint"])
right.set(xlabel="sweep", ylabel="log joint probability")
plt.show()
