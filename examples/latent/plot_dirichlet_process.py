"""
DirichletProcessMixture: as many clusters as the rows ask for
=============================================================

The sampler starts with no cluster and is not told how many there are. Its trace shows when it has
settled; the table of how often two rows were together shows what it is sure of.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.latent import DirichletProcessMixture

rng = np.random.default_rng(2)
centres = np.array([[0, 0], [6, 1], [1, 6], [6, 6.5]])
sizes = [140, 90, 60, 30]
X = np.repeat(centres, sizes, axis=0) + rng.normal(size=(320, 2)) @ [[1, 0.4], [0, 0.8]]
model = DirichletProcessMixture(0.5, n_iter=400, n_burn_in=200, random_state=0).fit(X)

fig, axes = plt.subplots(1, 3, figsize=(15, 4.6), layout="constrained")
grid = np.stack(np.meshgrid(np.linspace(-4, 10, 120), np.linspace(-4, 10, 120)), axis=-1)
density = model.score_samples(grid.reshape(-1, 2)).reshape(120, 120)
axes[0].contour(*np.moveaxis(grid, -1, 0), density, levels=np.arange(-9, -2), cmap="Greys")
axes[0].scatter(*X.T, color=[f"C{k}" for k in model.labels_], s=9)
axes[0].set_title(f"{model.n_clusters_} clusters, and the log density of the next row")
axes[1].plot(model.history_["n_clusters"], linewidth=0.8)
axes[1].set(xlabel="sweep", ylabel="clusters", title="Their number comes and goes")
order = np.argsort(model.labels_, kind="stable")
image = axes[2].imshow(model.similarity()[np.ix_(order, order)], cmap="Blues", vmin=0, vmax=1)
axes[2].set(xticks=[], yticks=[], title="How often two rows are together")
fig.colorbar(image)
plt.show()
