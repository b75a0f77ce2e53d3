"""
Bayesian regression: the band knows where the data are
======================================================

A curve, the sum of twenty bumps with a Gaussian prior on their heights, is learned from 4, 12 and
60 points that leave a gap in the middle. The band is two standard deviations of the predictive
distribution; thin lines are curves drawn from the posterior. Near the data the band narrows to
the noise; in the gap and beyond the data it stays wide, however many points there are elsewhere.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.linear import BayesianLinearRegression

rng = np.random.default_rng(4)
x = np.where(rng.random(60) < 0.5, rng.uniform(-2.5, -0.8, 60), rng.uniform(0.8, 2.5, 60))
f = lambda t: np.sin(2 * t) + 0.3 * t  # noqa: E731
y = f(x) + 0.15 * rng.normal(size=60)
grid = np.linspace(-3.5, 3.5, 300)
centres = np.linspace(-3.5, 3.5, 20)


def bumps(t):
    """Twenty Gaussian bumps along the axis."""
    return np.exp(-(((t[:, None] - centres) / 0.5) ** 2))


fig, axes = plt.subplots(1, 3, figsize=(13, 4), sharey=True, layout="constrained")
for axis, n in zip(axes, (4, 12, 60), strict=True):
    model = BayesianLinearRegression(
        prior_covariance=0.5, noise_variance=0.15**2, fit_intercept=False
    ).fit(bumps(x[:n]), y[:n])
    mean, std = model.predict(bumps(grid), return_std=True)
    draws = model.sample_y(bumps(grid), n_samples=6, random_state=0)
    low, high = mean - 2 * std, mean + 2 * std
    axis.fill_between(grid, low, high, color="C0", alpha=0.2, label="two deviations")
    axis.plot(grid, draws, color="C0", linewidth=0.5, alpha=0.6)
    axis.plot(grid, mean, color="C0", label="posterior mean")
    axis.plot(grid, f(grid), color="black", linestyle=":", label="truth")
    axis.scatter(x[:n], y[:n], s=16, color="black", zorder=3, label="data")
    axis.set(xlabel="x", ylim=(-4, 4), title=f"{n} points")
axes[0].set_ylabel("y")
axes[0].legend(loc="lower right", fontsize="small")
plt.show()
