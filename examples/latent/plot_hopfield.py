"""
HopfieldNetwork: a corrupted pattern recalled
=============================================

Three digits are stored. A picture with a fifth of its pixels turned over runs downhill in the
energy, one pixel at a time, and stops at the digit that it came from. Digits are alike, so the
projection rule stores them: with Hebb's rule the last one would be no fixed point.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from panlearn.latent import HopfieldNetwork

X, y = load_digits(return_X_y=True)
patterns = np.array([np.where(X[y == digit][0] > 7, 1, -1) for digit in (0, 1, 4)])
memory = HopfieldNetwork(rule="projection").fit(patterns)

rng = np.random.default_rng(3)
noisy = np.where(rng.random(patterns.shape) < 0.2, -patterns, patterns)

fig, axes = plt.subplots(3, 5, figsize=(13, 7), width_ratios=[1, 1, 1, 1, 2], layout="constrained")
for row, start, stored in zip(axes, noisy, memory.patterns_, strict=True):
    path = memory.trajectory(start)
    shown = {
        "corrupted": path[0],
        "half way": path[len(path) // 2],
        "recalled": path[-1],
        "stored": stored,
    }
    for ax, (name, picture) in zip(row, shown.items(), strict=False):
        ax.imshow(picture.reshape(8, 8), cmap="gray_r")
        ax.set(title=name, xticks=[], yticks=[])
    row[-1].plot(memory.energy(path), marker=".")
    row[-1].set(xlabel="pixels turned over", ylabel="energy")
plt.show()
