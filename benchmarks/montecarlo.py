"""Samplers against emcee in effective draws a second, diagnostics against arviz."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import emcee
import numpy as np

from benchmarks.harness import Workload
from panlearn.montecarlo import diagnostics, hamiltonian, metropolis_hastings

logging.getLogger("arviz").setLevel(logging.ERROR)


def gaussian(d=10, chains=64):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((d, d))
    cov = A @ A.T / d + 0.5 * np.eye(d)
    precision = np.linalg.inv(cov)
    start = np.random.default_rng(2).standard_normal((chains, d))

    def log_density(x):
        return -0.5 * np.einsum("ij,jk,ik->i", x, precision, x)

    return log_density, lambda x: -x @ precision, start, cov


def logistic(n=2000, d=8, chains=32):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, d))
    y = (rng.random(n) < 1 / (1 + np.exp(-X @ rng.standard_normal(d)))).astype(float)
    start = 0.1 * np.random.default_rng(3).standard_normal((chains, d))

    def log_density(b):
        z = b @ X.T
        return (y * z - np.logaddexp(0, z)).sum(axis=1) - 0.5 * (b**2).sum(axis=1) / 10

    def score(b):
        return (y - 1 / (1 + np.exp(-b @ X.T))) @ X - b / 10

    return log_density, score, start, None


def ensemble(steps, discard):
    def run(data):
        log_density, _, start, _ = data
        sampler = emcee.EnsembleSampler(*start.shape, log_density, vectorize=True)
        sampler.random_state = np.random.RandomState(0).get_state()
        sampler.run_mcmc(start, steps)
        return sampler.get_chain(discard=discard).swapaxes(0, 1)

    return run


def metropolis(draws, warmup):
    return lambda data: (
        metropolis_hastings(data[0], data[2], n_draws=draws, n_warmup=warmup, random_state=0).draws
    )


def hmc(draws, warmup):
    return lambda data: hamiltonian(*data[:3], n_draws=draws, n_warmup=warmup, random_state=0).draws


def worth(data, draws):
    flat = draws.reshape(-1, draws.shape[2])
    size = diagnostics.ess_bulk(draws)
    facts = {
        "mean ess": size.mean(),
        "least ess": size.min(),
        "rhat": diagnostics.rhat(draws).max(),
    }
    if data[3] is not None:
        cov = data[3]
        facts["cov error"] = np.linalg.norm(np.cov(flat.T) - cov) / np.linalg.norm(cov)
    return facts


def chains():
    rng = np.random.default_rng(0)
    noise, x = rng.normal(size=(4, 5000, 20)), np.zeros((4, 5000, 20))
    for t in range(1, 5000):
        x[:, t] = 0.7 * x[:, t - 1] + noise[:, t]
    return x


def summary(x):
    return [f(x) for f in (diagnostics.rhat, diagnostics.ess_bulk, diagnostics.ess_tail)]


def arviz_summary(x):
    import arviz

    columns = np.moveaxis(x, 2, 0)
    return [
        np.array([arviz.rhat(c) for c in columns]),
        np.array([arviz.ess(c) for c in columns]),
        np.array([arviz.ess(c, method="tail") for c in columns]),
    ]


def means(x, columns):
    return dict(zip(("rhat", "ess bulk", "ess tail"), (c.mean() for c in columns), strict=True))


def workloads() -> Iterator[Workload]:
    # steps are chosen so that both sides give about as many effective draws; then seconds compare
    yield Workload(
        "64 chains, 10-d Gaussian, to equal effective draws",
        "metropolis_hastings",
        gaussian,
        {"panlearn": metropolis(1250, 500), "emcee": ensemble(5000, 500)},
        worth,
        bar=5.0,
    )
    yield Workload(
        "64 chains x 5000 steps, 10-d Gaussian, steps alone",
        "metropolis_hastings",
        gaussian,
        {"panlearn": metropolis(4500, 500), "emcee": ensemble(5000, 500)},
        worth,
    )
    yield Workload(
        "32 chains, Bayesian logistic regression 2000 x 8, to equal effective draws",
        "metropolis_hastings",
        logistic,
        {"panlearn": metropolis(160, 160), "emcee": ensemble(1000, 500)},
        worth,
    )
    yield Workload(
        "64 chains, 10-d Gaussian, Hamiltonian, to equal effective draws",
        "hamiltonian",
        gaussian,
        {"panlearn": hmc(60, 200), "emcee": ensemble(5000, 500)},
        worth,
    )
    yield Workload(
        "R-hat and effective sizes of 4 x 5000 x 20",
        "diagnostics",
        chains,
        {"panlearn": summary, "arviz": arviz_summary},
        means,
    )
