r"""
All within reach, or the nearest few
====================================

Where rows are rare, the nearest few are far away, and a vote of them says little; a vote of all
within a radius is one of rows that are alike, and where there are none it says so.
"""

# %%
# Two classes, one of them dense, and an empty corner.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier

rng = np.random.default_rng(0)
X = np.r_[rng.normal((-1, 0), 0.4, (300, 2)), rng.normal((1, 0.5), 0.9, (60, 2))]
y = np.repeat([0, 1], [300, 60])

# %%
# On the left the five nearest vote, in the middle all within 0.6; grey is where there are none. On
# the right how many have a vote: the same number everywhere, or those that are there.

side = np.linspace(-4, 4, 121)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
few = KNeighborsClassifier(5).fit(X, y)
near = RadiusNeighborsClassifier(0.6, outlier_label=-1).fit(X, y)
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, model, title in zip(axes, (few, near), ("5 nearest", "all within 0.6"), strict=False):
    label = model.predict(grid).astype(float).reshape(len(side), -1)
    label[label < 0] = np.nan
    ax.set_facecolor("0.8")
    ax.pcolormesh(side, side, label, cmap="RdBu_r", alpha=0.5)
    ax.scatter(*X.T, c=y, cmap="RdBu_r", s=10, edgecolor="k", linewidth=0.3)
    ax.set(title=title, xlabel="$x_1$", ylabel="$x_2$")
votes = near.radius_neighbors_graph(grid).sum(axis=1).reshape(len(side), -1)
shown = axes[2].pcolormesh(side, side, np.log10(np.maximum(votes, 0.5)), cmap="viridis")
figure.colorbar(shown, label="log10 of the votes within 0.6")
axes[2].set(title="how many say it", xlabel="$x_1$", ylabel="$x_2$")
plt.show()
