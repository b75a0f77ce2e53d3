"""
ProbabilisticPCA: digits with holes
===================================

Half of the pixels of each image are struck out before the model sees any of them. It is learned
from what is left, with each hole marginalised exactly, and fills the holes with their conditional
means. Its samples are new digits, of a kind.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from panlearn.latent import ProbabilisticPCA

images = load_digits(n_class=5).data[:200]
rng = np.random.default_rng(0)
holes = np.where(rng.random(images.shape) < 0.5, np.nan, images)
model = ProbabilisticPCA(8, tol=1e-2).fit(holes)
filled, mean = model.impute(holes), np.nanmean(holes, axis=0)
error = np.sqrt(np.mean((filled - images)[np.isnan(holes)] ** 2))
plain = np.sqrt(np.mean((np.broadcast_to(mean, images.shape) - images)[np.isnan(holes)] ** 2))

rows = {
    "what was there": images[:8],
    "what was seen": holes[:8],
    f"filled: off by {error:.1f}, the mean by {plain:.1f}": filled[:8],
    "drawn": model.sample(8, random_state=0),
}
fig, axes = plt.subplots(4, 8, figsize=(6.6, 4.4))
for line, (title, pictures) in zip(axes, rows.items(), strict=True):
    line[0].set_title(title, loc="left", fontsize=10).set_in_layout(False)
    for ax, picture in zip(line, pictures, strict=True):
        ax.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        ax.set_facecolor("#f4c7c3")
        ax.set_xticks([])
        ax.set_yticks([])
plt.show()
