"""Simulation-based calibration: the rank of the truth among posterior draws is uniform.

One chain a simulated data set, all at once: parameters come from the prior, data from the
parameters, draws from the posterior.
"""

import numpy as np
import pytest
from scipy import stats

from panlearn.montecarlo import gibbs, hamiltonian, langevin, metropolis_hastings

SETS, KEPT = 400, 39


def uniform_ranks(truth, draws):
    """The p-value of a chi-square test of 10 equal bins of ranks."""
    ranks = (draws.draws[:, :, 0] < truth[:, None]).sum(axis=1)
    counts = np.bincount(ranks * 10 // (KEPT + 1), minlength=10)
    return stats.chisquare(counts).pvalue


@pytest.mark.parametrize("method", ["metropolis", "langevin", "hamiltonian"])
def test_rate_of_counts(rng, method):
    """A rate with a gamma prior, seen by four Poisson counts; the chains walk its logarithm."""
    rate = rng.gamma(2.0, size=SETS)
    total = rng.poisson(rate[:, None], size=(SETS, 4)).sum(axis=1)

    def log_density(z):
        return (2 + total) * z[:, 0] - 5 * np.exp(z[:, 0])

    def score(z):
        return (2 + total)[:, None] - 5 * np.exp(z)

    start, loop = np.zeros((SETS, 1)), dict(n_draws=KEPT, n_warmup=300, random_state=1)
    if method == "metropolis":
        draws = metropolis_hastings(log_density, start, thin=12, **loop)
    elif method == "langevin":
        draws = langevin(score, start, log_density=log_density, thin=6, **loop)
    else:
        draws = hamiltonian(log_density, score, start, thin=2, target_acceptance=0.95, **loop)
    assert uniform_ranks(np.log(rate), draws) > 1e-3


def test_mean_and_precision_by_gibbs(rng):
    """A normal sample with a normal prior of its mean and a gamma prior of its precision."""
    mean, precision = rng.normal(size=SETS), rng.gamma(3.0, size=SETS)
    data = mean[:, None] + rng.normal(size=(SETS, 6)) / np.sqrt(precision)[:, None]

    def draw_mean(r, x):
        total = 1 + 6 * x[:, 1]
        return r.normal(x[:, 1] * data.sum(axis=1) / total, 1 / np.sqrt(total))

    def draw_precision(r, x):
        return r.gamma(6.0, 1 / (1 + ((data - x[:, :1]) ** 2).sum(axis=1) / 2))

    start, loop = np.ones((SETS, 2)), dict(n_draws=KEPT, n_warmup=50, thin=4, random_state=2)
    draws = gibbs([draw_mean, draw_precision], start, **loop)
    assert uniform_ranks(mean, draws) > 1e-3

    def wrong(r, x):
        return r.gamma(12.0, 1 / (1 + ((data - x[:, :1]) ** 2).sum(axis=1) / 2))

    biased = gibbs([draw_mean, wrong], start, **loop)
    assert uniform_ranks(mean, biased) < 1e-3  # the test can fail
