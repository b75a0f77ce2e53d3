"""
NMF: the strokes that digits are made of
========================================

Parts that can only be added look like strokes, where principal components, which also subtract,
look like ghosts of whole digits. A digit is a sum of a few of its strokes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from panlearn.latent import NMF, PCA

X = load_digits().data
parts = NMF(16, alpha_W=0.001, l1_ratio=1, max_iter=500, random_state=0).fit(X)
components = PCA(16).fit(X)

fig, axes = plt.subplots(1, 3, figsize=(13, 4.6), layout="constrained")


def sheet(ax, pictures, title, **style):
    """Draw sixteen pictures in four rows, each as strong as it gets."""
    tiles = [np.pad((p / np.abs(p).max()).reshape(8, 8), 1) for p in pictures]
    ax.imshow(np.block([tiles[i : i + 4] for i in range(0, 16, 4)]), **style)
    ax.set(title=title, xticks=[], yticks=[])


sheet(axes[0], parts.components_, "16 parts: only added", cmap="gray_r")
sheet(axes[1], components.components_, "16 principal components", cmap="RdBu_r", vmin=-1, vmax=1)

digit = X[[3]]
shares = parts.transform(digit)[0]
strongest = np.argsort(-shares)[:4]
pictures = [digit[0], parts.inverse_transform(shares[None])[0]]
pictures += [shares[j] * parts.components_[j] for j in strongest]
titles = ["a digit", "sum of parts", *(f"part {j}" for j in strongest)]
axes[2].set_axis_off()
axes[2].set_title("A three, and the parts it has most of", pad=14)
for i, (picture, title) in enumerate(zip(pictures, titles, strict=True)):
    place = axes[2].inset_axes([(i % 3) / 3, 0.5 - 0.52 * (i // 3), 0.3, 0.42])
    place.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
    place.set(xticks=[], yticks=[])
    place.set_title(title)
plt.show()
