r"""
Draws under an envelope, and draws with weights
===============================================

Rejection sampling throws darts under an envelope and keeps those under the density; importance
sampling keeps all and weighs them. Both need a proposal with heavier tails than the law, and both
say how well it fits: by the share that is accepted, and by the effective sample size.
"""

# %%
# A law of two bumps, under a wide normal law times a constant.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from panlearn.montecarlo import importance, inverse_transform, rejection


def log_density(x):
    """The log density of two bumps, up to a constant."""
    return np.logaddexp(norm.logpdf(x[:, 0], -1.5, 0.6), norm.logpdf(x[:, 0], 1, 1) + 0.4)


def proposal(scale):
    """A normal law to draw from, and its log density."""
    return lambda rng, n: rng.normal(0, scale, (n, 1)), lambda x: norm.logpdf(x[:, 0], 0, scale)


log_bound = np.log(7.2)
kept = rejection(log_density, *proposal(2.5), log_bound=log_bound, n_draws=5000, random_state=0)

# %%
# On the left the accepted draws under their envelope; in the middle the effective share of weighted
# draws for proposals of many widths, and the shape of the tail of the weights, which is no good
# above 0.7; on the right numbers by the inverse of a distribution function that jumps.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
grid = np.linspace(-7, 7, 400)[:, None]
total = np.exp(kept.info["log_normaliser"])
left.hist(kept.flat()[:, 0], bins=60, density=True, color="0.8", label="accepted draws")
left.plot(grid, np.exp(log_density(grid)) / total, label="density")
left.plot(grid, np.exp(norm.logpdf(grid, 0, 2.5) + log_bound) / total, "--", label="envelope")
left.set(title=f"{kept.acceptance[0]:.0%} accepted", xlabel="x")
left.legend()
scales = np.geomspace(0.5, 20, 25)
weighted = [importance(log_density, *proposal(s), n_draws=4000, random_state=1) for s in scales]
middle.semilogx(scales, [w.ess / 4000 for w in weighted], "o-", label="effective share")
middle.semilogx(scales, [w.pareto_k for w in weighted], "s-", label="shape of the tail")
middle.axhline(0.7, color="0.5", linestyle=":")
middle.set(xlabel="width of the proposal", ylim=(-0.5, 1.1))
middle.legend()
waits = inverse_transform(
    cdf=lambda x: np.where(x < 0, 0, 1 - 0.6 * np.exp(-np.maximum(x, 0))), random_state=2
)
order = np.sort(waits.flat()[:, 0])
right.step(order, np.arange(1, 1001) / 1000, label="draws")
right.plot(order, 1 - 0.6 * np.exp(-order), "--", label="distribution function")
right.set(title="no wait with probability 0.4", xlabel="waiting time")
right.legend()
plt.show()
