"""
Densities of normalising flows
==============================

Four flows learn three densities in the plane that no Gaussian fits: two moons, eight blobs on a
circle and a checkerboard. A map of noise can stretch and bend the plane, but not tear it, so that
thin bridges stay between parts that are apart. Splines bend more in one layer than scales and
shifts can, and come nearest on all three. The number is the mean log density of new rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from panlearn.generative import (
    MaskedAutoregressiveFlow,
    NeuralAutoregressiveFlow,
    RealNVP,
    SplineTransform,
)


def moons(n, rng):
    """Two half circles."""
    return make_moons(n, noise=0.05, random_state=int(rng.integers(2**31)))[0]


def blobs(n, rng):
    """Eight Gaussians on a circle."""
    angle = rng.integers(8, size=n) * np.pi / 4
    return 2 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.2 * rng.normal(size=(n, 2))


def checkerboard(n, rng):
    """Every second square of sixteen."""
    across = rng.uniform(-2, 2, size=n)
    up = rng.uniform(size=n) - 2 * rng.integers(2, size=n) + np.floor(across) % 2
    return np.column_stack([across, up])


SETTINGS = {
    "max_epochs": 20,
    "batch_size": 256,
    "learning_rate": 4e-3,
    "schedule": "cosine",
    "random_state": 0,
}
MODELS = {
    "RealNVP": RealNVP(transforms=8, hidden_layer_sizes=(48, 48), **SETTINGS),
    "RealNVP of splines": RealNVP(SplineTransform(8, 3.0), transforms=4, **SETTINGS),
    "masked autoregressive": MaskedAutoregressiveFlow(transforms=6, **SETTINGS),
    "neural autoregressive": NeuralAutoregressiveFlow(
        8, network_layer_sizes=(32, 32), transforms=2, **SETTINGS
    ),
}

# %%
# Float32 is enough for a picture, and half the time.
rng = np.random.default_rng(0)
places = np.linspace(-1, 1, 140)
figure, axes = plt.subplots(3, 4, figsize=(11, 8.5))
for row, draw in zip(axes, (moons, blobs, checkerboard), strict=True):
    X, new = draw(4000, rng).astype(np.float32), draw(2000, rng).astype(np.float32)
    middle, reach = (X.max(0) + X.min(0)) / 2, 0.6 * np.ptp(X, axis=0)
    grid = np.stack(np.meshgrid(places, places), axis=-1).reshape(-1, 2) * reach + middle
    for axis, (name, model) in zip(row, MODELS.items(), strict=True):
        model.fit(X)
        density = np.exp(model.score_samples(grid.astype(np.float32))).reshape(140, 140)
        axis.imshow(density, origin="lower", cmap="magma", vmax=np.quantile(density, 0.995))
        axis.set_axis_off()
        axis.set_title(f"{name}: {model.score(new):.2f}")
figure.tight_layout()
plt.show()
