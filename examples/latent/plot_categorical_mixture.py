"""
CategoricalMixture: latent classes in black and white
=====================================================

Each pixel of a digit is black or white, and within a class the pixels are independent. Learned
without labels, the classes are digits and ways to write them. An image with its lower half missing
belongs to classes by its upper half, which then fill the rest.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from panlearn.latent import CategoricalMixture

digits = load_digits(n_class=6)
images = (digits.data > 7).astype(float)
model = CategoricalMixture(12, n_init=3, alpha=0.1, random_state=0).fit(images)

pixels = zip(model.feature_prob_, model.categories_, strict=True)
ink = np.stack([table @ values for table, values in pixels], axis=1)
halves = images[:8].copy()
halves[:, 32:] = np.nan
guess = model.predict_proba(halves) @ ink

fig, axes = plt.subplots(3, 12, figsize=(11, 3.4), layout="constrained")
for ax, picture, weight in zip(axes[0], ink, model.weights_, strict=True):
    ax.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
    ax.set_title(f"{weight:.2f}")
for column in range(8):
    axes[1, column].imshow(halves[column].reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
    whole = np.where(np.isnan(halves[column]), guess[column], halves[column])
    axes[2, column].imshow(whole.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
for ax in axes.ravel():
    ax.set_facecolor("#f4c7c3")
    ax.set_xticks([])
    ax.set_yticks([])
for ax in axes[1:, 8:].ravel():
    ax.axis("off")
for ax, title in zip(axes[:, 0], ("classes", "seen", "filled"), strict=True):
    ax.set_ylabel(title)
plt.show()
