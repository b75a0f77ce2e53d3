"""
Bayesian regression: the band knows where the data are
======================================================

A cubic is learned from 4, 12 and 60 points that leave a gap in the middle. Noise and prior are
learned by maximising the evidence. The band is two standard deviations of the predictive
distribution; thin lines are functions drawn from the posterior. The band is wide in the gap and
beyond the data, and narrows to the noise as points come in.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from panlearn.linear import BayesianLinearRegression

rng = np.random.default_rng(4)
x = np.where(rng.random(60) < 0.5, rng.uniform(-1, -0.35, 60), rng.uniform(0.35, 1, 60))
f = lambda t: 1.5 * t**3 - t + 0.3  # noqa: E731
y = f(x) + 0.1 * rng.normal(size=60)
grid = np.linspace(-1.3, 1.3, 200)[:, None]

fig, axes = plt.subplots(1, 3, figsize=(13, 4), sharey=True, layout="constrained")
for axis, n in zip(axes, (4, 12, 60), strict=True):
    features = make_pipeline(PolynomialFeatures(3, include_bias=False), StandardScaler())
    design = features.fit_transform(x[:n, None])
    model = BayesianLinearRegression(tol=1e-6).fit(design, y[:n])
    mean, std = model.predict(features.transform(grid), return_std=True)
    draws = model.sample_y(features.transform(grid), n_samples=8, random_state=0)
    axis.fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, color="tab:blue", alpha=0.2,
                      label="two standard deviations")  # fmt: skip
    axis.plot(grid, draws, color="tab:blue", linewidth=0.5, alpha=0.6)
    axis.plot(grid, mean, color="tab:blue", label="posterior mean")
    axis.plot(grid, f(grid), color="0.3", linestyle=":", label="truth")
    axis.scatter(x[:n], y[:n], s=16, color="black", zorder=3)
    axis.set(xlabel="x", ylim=(-2.5, 2.5), title=f"{n} points")
axes[0].set_ylabel("y")
axes[0].legend(loc="lower right", fontsize="small")
plt.show()
