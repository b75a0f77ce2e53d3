"""
Adversarial networks on a grid of 25 Gaussians
==============================================

A generator may make perfect samples of a few modes and forget the others. Here 25 Gaussians stand
on a grid: a mode is found if at least 1 in 250 samples lies within four deviations of its centre,
and a sample is good if it lies so near to some centre.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.generative import GAN, MMDGAN, InfoGAN, WassersteinGAN

rng = np.random.default_rng(0)
side = 2.0 * np.arange(-2, 3)
centres = np.stack(np.meshgrid(side, side), axis=-1).reshape(25, 2)
X = (centres[rng.integers(25, size=5000)] + 0.1 * rng.normal(size=(5000, 2))).astype(np.float32)


def report(samples):
    """Modes found, and the share of good samples."""
    away = np.linalg.norm(samples[:, None] - centres, axis=-1)
    good = away.min(axis=1) < 0.4
    counts = np.bincount(away.argmin(axis=1)[good], minlength=25)
    return int((counts >= len(samples) / 250).sum()), good.mean()


common = dict(max_epochs=None, schedule="linear", learning_rate=1e-3, ema_decay=0.99)
models = {
    "GAN": GAN(2, max_steps=3000, **common, random_state=0),
    "WassersteinGAN": WassersteinGAN(2, max_steps=3000, n_critic=3, **common, random_state=0),
    "InfoGAN": InfoGAN(2, n_clusters=25, max_steps=3000, **common, random_state=0),
    "MMDGAN": MMDGAN(2, max_steps=1500, **common, random_state=0),
}
figure, axes = plt.subplots(1, 4, figsize=(14, 3.8), sharex=True, sharey=True)
for axis, (name, model) in zip(axes, models.items(), strict=True):
    drawn = model.fit(X).sample(2500, random_state=0)
    found, share = report(drawn)
    print(f"{name}: {found} of 25 modes, {share:.0%} of the samples are good")
    axis.scatter(*drawn.T, s=2, alpha=0.5)
    axis.scatter(*centres.T, s=60, facecolors="none", edgecolors="C3", linewidths=0.6)
    axis.set(title=f"{name}: {found} of 25, {share:.0%} good", aspect="equal")
figure.tight_layout()
plt.show()
