r"""
A histogram is a density
========================

Counts in cells, divided by the number of rows and by the volume of the cell, are a density. With
edges that are given it is a sum over rows, so a stream of batches gives the same one.
"""

# %%
# A ring with a blob inside, read in batches.

import matplotlib.pyplot as plt
import numpy as np

from panlearn import Batches
from panlearn.neighbors import HistogramDensity

rng = np.random.default_rng(0)
angle, radius = rng.uniform(0, 2 * np.pi, 20_000), rng.normal(3, 0.3, 20_000)
ring = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
X = np.r_[ring, rng.normal(0, 0.6, (8_000, 2))]
edges = np.linspace(-5, 5, 41)
model = HistogramDensity(edges).fit(Batches([X[i::10] for i in range(10)]))

# %%
# The density on the left, and on the right new rows that were drawn from it.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
centre = (edges[1:] + edges[:-1]) / 2
grid = np.stack(np.meshgrid(centre, centre), axis=-1).reshape(-1, 2)
density = np.exp(model.score_samples(grid)).reshape(40, 40)
picture = left.pcolormesh(edges, edges, density, cmap="viridis")
figure.colorbar(picture, ax=left, label="density")
right.plot(*model.sample(3000, random_state=0).T, ".", markersize=2)
for ax, title in ((left, "28,000 rows in cells"), (right, "3,000 draws from the density")):
    ax.set(title=title, xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
plt.show()
