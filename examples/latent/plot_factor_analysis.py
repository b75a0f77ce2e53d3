"""
FactorAnalysis: two abilities behind nine tests
===============================================

Nine test scores depend on two hidden abilities. The factors of the maximum-likelihood solution are
a mixture of both; varimax turns them until each test loads on one, and luck on none. The noise of
each test is its own, which principal components cannot say.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.latent import FactorAnalysis

rng = np.random.default_rng(0)
names = [
    "vocabulary",
    "reading",
    "spelling",
    "grammar",
    "sums",
    "algebra",
    "geometry",
    "maze",
    "luck",
]
loadings = np.zeros((9, 2))
loadings[:4, 0], loadings[4:8, 1] = [1.8, 1.6, 1.4, 1.2], [1.8, 1.6, 1.4, 1.2]
noise = np.array([0.5, 0.7, 0.6, 1.0, 0.5, 0.7, 0.6, 1.0, 1.5])
X = rng.multivariate_normal(
    [0, 0], [[1, 0.2], [0.2, 1]], size=800
) @ loadings.T + noise * rng.normal(size=(800, 9))

plain, turned = FactorAnalysis(2).fit(X), FactorAnalysis(2, rotation="varimax").fit(X)

fig, axes = plt.subplots(1, 3, figsize=(11, 4.2), sharey=True, layout="constrained")
for ax, model, title in zip(axes, (plain, turned), ("as found", "varimax"), strict=False):
    ax.imshow(model.components_.T, cmap="RdBu_r", vmin=-2, vmax=2, aspect="auto")
    ax.set_title(f"loadings, {title}")
    ax.set_xticks([0, 1], ["factor 1", "factor 2"])
    ax.set_yticks(range(9), names)
    for (i, j), value in np.ndenumerate(model.components_.T):
        colour = "white" if abs(value) > 1.2 else "black"
        ax.text(j, i, f"{value:.1f}", ha="center", va="center", color=colour)
places = np.arange(9)
axes[2].barh(places - 0.2, noise**2, height=0.4, color="0.7", label="truth")
axes[2].barh(places + 0.2, plain.noise_variance_, height=0.4, label="found")
axes[2].set_title("variance of the noise")
axes[2].legend()
plt.show()
