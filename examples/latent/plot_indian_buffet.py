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

fig, axes = plt.subplot_mosaic(
    [range(8), range(8, 16), ["left"] * 4 + ["right"] * 4],
    figsize=(13, 6.5),
    height_ratios=[1, 1, 2],
    layout="constrained",
)
rebuilt = model.inverse_transform(model.transform(X[:4]))
rows = [("shape", shapes), ("picture", X[:4]), ("found", model.components_[:4])]
shown = [(name, picture) for name, group in [*rows, ("its parts", rebuilt)] for picture in group]
for place, (name, picture) in enumerate(shown):
    axes[place].imshow(picture.reshape(6, 6), cmap="gray_r", vmin=-0.5, vmax=1.5)
    axes[place].set(title=name, xticks=[], yticks=[])
left, right = axes["left"], axes["right"]
left.plot(model.history_["n_components"])
left.set(xlabel="sweep", ylabel="features", title=f"{model.n_components_} features")
right.plot(model.history_["log_joint"])
right.set(xlabel="sweep", ylabel="log joint probability")
plt.show()
