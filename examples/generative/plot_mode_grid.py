"""
Adversarial networks on a grid of nine Gaussians
================================================

A generator may make perfect samples of a few modes and forget the others. Here nine Gaussians stand
on a grid: a mode is found if at least 1 in 90 samples lies within four deviations of its centre,
and a sample is good if it lies so near to some centre. Each network has learned for some ten
seconds; with more steps more of the samples are good.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.generative import GAN, MMDGAN, InfoGAN, WassersteinGAN

rng = np.random.default_rng(0)
side = 2.0 * np.arange(-1, 2)
centres = np.stack(np.meshgrid(side, side), axis=-1).reshape(9, 2)
X = (centres[rng.integers(9, size=3000)] + 0.15 * rng.normal(size=(3000, 2))).astype(np.float32)


def report(samples):
    """Modes found, and the share of good samples."""
    away = np.linalg.norm(samples[:, None] - centres, axis=-1)
    good = away.min(axis=1) < 0.6
    counts = np.bincount(away.argmin(axis=1)[good], minlength=9)
    return int((counts >= len(samples) / 90).sum()), good.mean()


common = dict(max_epochs=None, schedule="linear", learning_rate=2e-3, ema_decay=0.98)
models = {
    "GAN": GAN(2, max_steps=700, **common, random_state=0),
    "WassersteinGAN": WassersteinGAN(2, max_steps=500, n_critic=3, **common, random_state=0),
    "InfoGAN": InfoGAN(2, n_clusters=9, max_steps=700, **common, random_state=0),
    "MMDGAN": MMDGAN(2, max_steps=400, **common, random_state=0),
}
figure, axes = plt.subplots(1, 4, figsize=(14, 3.8), sharex=True, sharey=True, layout="constrained")
for axis, (name, model) in zip(axes, models.items(), strict=True):
    drawn = model.fit(X).sample(2000, random_state=0)
    found, share = report(drawn)
    print(f"{name}: {found} of 9 modes, {share:.0%} of the samples are good")
    axis.scatter(*drawn.T, s=2, alpha=0.5)
    axis.scatter(*centres.T, s=60, facecolors="none", edgecolors="C1", linewidths=1)
    axis.set(title=f"{name}: {found} of 9, {share:.0%} good")
axes[0].set(xlim=(-3.2, 3.2), ylim=(-3.2, 3.2))
plt.show()
