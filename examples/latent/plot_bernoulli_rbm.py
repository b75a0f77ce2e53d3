"""
BernoulliRBM: filters that a Boltzmann machine learns
=====================================================

The weights of the hidden units after training on the digits are strokes and blobs; chains of the
trained model draw digits of their own.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from panlearn.latent import BernoulliRBM

X = load_digits().data / 16
model = BernoulliRBM(64, learning_rate=0.05, n_iter=40, random_state=0).fit(X)
draws = model.sample(64, random_state=0, n_steps=500)

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4.6), layout="constrained")
size = 0.5 * abs(model.components_).max()
for ax, pictures, style, title in (
    (left, model.components_, {"cmap": "RdBu_r", "vmin": -size, "vmax": size}, "Hidden units"),
    (middle, draws, {"cmap": "gray_r"}, "Draws from the model"),
):
    tiles = np.pad(pictures.reshape(8, 8, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1)))
    ax.imshow(tiles.transpose(0, 2, 1, 3).reshape(80, 80), **style)
    ax.set(title=title, xticks=[], yticks=[])
right.plot(model.history_["reconstruction_error"])
right.set(xlabel="pass", ylabel="reconstruction error", title="Training")
plt.show()
