"""
PCA: handwritten digits in two dimensions, and back
===================================================

Two components already part some of the digits; thirty give back most of the picture. The share of
the variance that the components left out is the mean squared error of the pictures.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from panlearn.latent import PCA

digits = load_digits()
model = PCA().fit(digits.data)
scores = model.transform(digits.data)

paper = {"boxstyle": "circle", "facecolor": "white", "edgecolor": "none", "pad": 0.1}
fig, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for digit in range(10):
    own = scores[digits.target == digit, :2]
    axes[0].scatter(*own.T, s=6)
    axes[0].text(*np.median(own, axis=0), digit, weight="bold", size=14, bbox=paper)
axes[0].set(xlabel="first component", ylabel="second component", title="1797 digits")

axes[1].plot(range(1, model.n_components_ + 1), model.explained_variance_ratio_.cumsum())
axes[1].set(xlabel="components", ylabel="share of the variance", title="How much they explain")

kept = [2, 5, 10, 30, model.n_components_]
for row, picture in enumerate((0, 9)):
    for column, k in enumerate(kept):
        short = PCA(k).fit(digits.data)
        back = short.inverse_transform(short.transform(digits.data[[picture]]))
        place = axes[2].inset_axes([column / 5, 0.5 - row / 2, 0.19, 0.45])
        place.imshow(back.reshape(8, 8), cmap="gray_r")
        place.set(xticks=[], yticks=[], title=f"{k}" if row == 0 else "")
axes[2].set_axis_off()
axes[2].set_title("Given back from so many components", pad=18)
plt.show()
