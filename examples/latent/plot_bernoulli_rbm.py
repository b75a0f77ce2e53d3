"""
BernoulliRBM: filters that a Boltzmann machine learns
=====================================================

The weights of the hidden units after training on the digits are strokes and blobs; chains of the
trained model draw digits of their own.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from panlearn.latent import BernoulliRBM

X = load_digits().data / 16
model = BernoulliRBM(64, learning_rate=0.05, n_iter=40, random_state=0).fit(X)
draws = model.sample(64, random_state=0, n_steps=500)

fig = plt.figure(figsize=(13, 4.6), layout="constrained")
left, middle, right = fig.subfigures(1, 3, width_ratios=[1, 1, 1.1])
for figure, pictures, cmap, title in (
    (left, model.components_, "RdBu_r", "Weights of 64 hidden units"),
    (middle, draws, "gray_r", "Draws from the model"),
):
    figure.suptitle(title)
    size = 0.5 * abs(pictures).max() if cmap == "RdBu_r" else 1
    low = -size if cmap == "RdBu_r" else 0
    for ax, picture in zip(figure.subplots(8, 8).flat, pictures, strict=True):
        ax.imshow(picture.reshape(8, 8), cmap=cmap, vmin=low, vmax=size)
        ax.set_axis_off()
ax = right.subplots()
ax.plot(model.history_["reconstruction_error"])
ax.set(xlabel="pass", ylabel="reconstruction error", title="Training")
plt.show()
