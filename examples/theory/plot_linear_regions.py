"""
The linear regions of a small network
=====================================

A network of rectified units is linear on each of finitely many regions. They are counted exactly,
by linear programs, and drawn: every region has the slope of its own linear map.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.theory import approximation

rng = np.random.default_rng(3)
layers = [
    (rng.normal(size=(6, 2)), rng.normal(size=6)),
    (rng.normal(size=(4, 6)), rng.normal(size=4)),
    (rng.normal(size=(1, 4)), np.zeros(1)),
]
regions = approximation.linear_regions(layers, -3, 3)
one_layer = approximation.max_regions(6, 2)

# %%
# The slope of each region as a colour, and a point inside it.
slopes = {r.pattern: r.matrix[0] for r in regions}
x = np.linspace(-3, 3, 300)
grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
first = grid @ layers[0][0].T + layers[0][1]
second = np.maximum(first, 0) @ layers[1][0].T + layers[1][1]
patterns = np.hstack([first > 0, second > 0])
steep = [np.linalg.norm(slopes.get(tuple(p), [np.nan, np.nan])) for p in patterns.tolist()]

figure, ax = plt.subplots(layout="constrained")
picture = ax.imshow(np.reshape(steep, (300, 300)), origin="lower", extent=(-3, 3, -3, 3))
ax.plot(*np.array([r.point for r in regions]).T, ".", color="white", markersize=3)
ax.set(xlabel="$x_1$", ylabel="$x_2$")
ax.set_title(f"{len(regions)} regions; one layer of 6 units has {one_layer} at most")
figure.colorbar(picture, label="slope")
plt.show()
