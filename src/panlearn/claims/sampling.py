"""Sampling: inverse transform, rejection, importance, Metropolis-Hastings, Gibbs, Langevin."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy import stats

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.montecarlo import (
    WeightedDraws,
    gibbs,
    importance,
    inverse_transform,
    langevin,
    metropolis_hastings,
    rejection,
)
from panlearn.montecarlo._gibbs import Gibbs
from panlearn.montecarlo._metropolis import Metropolis


def _wide(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(0, 2, size=(n, 1))


def _log_wide(x: np.ndarray) -> np.ndarray:
    return stats.norm.logpdf(x[:, 0], scale=2)


@claim("B207")
def quantiles_of_uniform_numbers_have_the_law() -> Iterator[Evidence]:
    """For a uniform number U the quantile Q(U) has the distribution function F: -ln(1 - u) / lambda
    is exponential. The text draws with the normal generator randn, which is wrong: it takes uniform
    numbers; and F need not be continuous if Q is the generalised inverse.
    """
    law, u = stats.expon(scale=1 / 3), np.linspace(0.001, 0.999, 999)
    yield equal("F(Q(u)) and u", law.cdf(-np.log1p(-u) / 3), u, 1e-12)
    draws = inverse_transform(lambda u: -np.log1p(-u) / 3, n_draws=20_000, random_state=207)
    yield at_least("p-value of the draws", stats.kstest(draws.flat()[:, 0], law.cdf).pvalue, 0.01)
    steps = inverse_transform(cdf=stats.binom(3, 0.4).cdf, n_draws=20_000, random_state=207)
    counts = np.bincount(steps.flat()[:, 0].astype(int), minlength=4)
    expected = 20_000 * stats.binom(3, 0.4).pmf(np.arange(4))
    yield at_least("p-value with a cdf that jumps", stats.chisquare(counts, expected).pvalue, 0.01)


@claim("B209")
def rejection_accepts_the_share_under_the_envelope() -> Iterator[Evidence]:
    """Under an envelope k q above the density p' a proposal is accepted with probability Z / k, and
    what is accepted has the law p' / Z: for exp(-x^2/2) under k = 2 sqrt(2 pi) times N(0, 4) it is
    one half.
    """
    k = 2 * np.sqrt(2 * np.pi)
    draws = rejection(
        lambda x: -(x[:, 0] ** 2) / 2,
        _wide,
        _log_wide,
        log_bound=np.log(k),
        n_draws=20_000,
        random_state=209,
    )
    yield equal("k", k, 5.013257, 1e-6)
    error = 4 * 0.5 / np.sqrt(draws.info["n_proposals"])
    yield equal("acceptance", draws.acceptance[0], 0.5, error)
    yield at_least("p-value of the law", stats.kstest(draws.flat()[:, 0], "norm").pvalue, 0.01)


@claim("B210")
def importance_sampling_is_unbiased() -> Iterator[Evidence]:
    """With draws of q the mean of f p / q is that of f under p. The text draws from p, which is
    wrong: the weights of draws of p = N(0, 1) by q = N(0, 4) have the mean 2 sqrt(4/7) and not 1.
    """
    log_p = lambda x: stats.norm.logpdf(x[:, 0])  # noqa: E731
    square = lambda x: x[:, 0] ** 2  # noqa: E731
    draws = importance(log_p, _wide, _log_wide, n_draws=200_000, random_state=210)
    error = draws.standard_error(square, normalise=False)
    yield equal("E x^2", draws.expectation(square, normalise=False), 1.0, 4 * error)
    narrow = np.random.default_rng(210).normal(size=(200_000, 1))
    wrong = WeightedDraws(narrow, log_p(narrow) - _log_wide(narrow))
    one = lambda x: np.ones(len(x))  # noqa: E731
    error = wrong.standard_error(one, normalise=False)
    expected = 2 * np.sqrt(4 / 7)
    yield equal(
        "mean weight of draws of p", wrong.expectation(one, normalise=False), expected, 4 * error
    )


@claim("B211")
def the_best_proposal_has_no_variance() -> Iterator[Evidence]:
    """For f >= 0 the proposal in proportion to f p gives the mean of f without any variance."""
    values, law = np.arange(1.0, 6.0), np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    best = values**2 * law / (values**2 @ law)
    place = lambda x: x[:, 0].astype(int) - 1  # noqa: E731
    draws = importance(
        lambda x: np.log(law[place(x)]),
        lambda rng, n: rng.choice(values, size=(n, 1), p=best),
        lambda x: np.log(best[place(x)]),
        n_draws=500,
        random_state=211,
    )
    square = lambda x: x[:, 0] ** 2  # noqa: E731
    estimate = draws.expectation(square, normalise=False)
    yield equal("estimate", estimate, values**2 @ law, 1e-12)
    yield at_most("standard error", draws.standard_error(square, normalise=False), 1e-12)


@claim("B218")
def metropolis_hastings_is_in_detailed_balance() -> Iterator[Evidence]:
    """Acceptance with probability min(1, pi' q(x | x') / (pi q(x' | x))) makes a chain in detailed
    balance with pi, which is then stationary; a constant factor of pi does not matter.
    """
    rng = np.random.default_rng(218)
    weights, q = 9 * rng.random(5), rng.dirichlet(np.ones(5), 5)
    source, target = (a.ravel() for a in np.indices((5, 5)))
    factor = np.log(q[target, source] / q[source, target])

    def kernel(unnormalised: np.ndarray) -> np.ndarray:
        """One chain for each pair of states, whose proposal is prescribed."""
        sampler = Metropolis(
            lambda x: np.log(unnormalised)[x[:, 0].astype(int)],
            lambda rng, x: (target[:, None], factor),
        )
        state = sampler.step(rng, sampler.init(source[:, None].astype(float)))
        moves = (q[source, target] * state.acceptance).reshape(5, 5)
        return moves + np.diag(1 - moves.sum(axis=1))

    law, T = weights / weights.sum(), kernel(weights)
    flow = law[:, None] * T
    yield equal("flows there and back", flow, flow.T, 1e-16)
    yield equal("pi T", law @ T, law, 1e-15)
    yield equal("the kernel of 1000 pi", kernel(1000 * weights), T, 1e-14)


@claim("B219")
def a_random_walk_needs_no_hastings_factor() -> Iterator[Evidence]:
    """A symmetric proposal cancels in the acceptance, and the random walk leaves its target
    invariant; the running share of accepted proposals is their count over the steps so far.
    """
    walk = lambda rng, x: (x + rng.normal(0, 2.4, size=x.shape), 0.0)  # noqa: E731
    draws = metropolis_hastings(
        lambda x: -(x[:, 0] ** 2) / 2,
        np.random.default_rng(1).normal(size=(32, 1)),
        proposal=walk,
        n_draws=4000,
        n_warmup=100,
        random_state=219,
    )
    summary = draws.summary()
    yield equal("mean", summary["mean"], [0.0], 4 * summary["mcse_mean"][0])
    error = np.sqrt(2 / summary["ess_bulk"][0])  # the standard error of a normal variance
    yield equal("variance", draws.covariance()[0, 0], 1.0, 4 * error)
    moved = (np.diff(draws.draws[:, :, 0], axis=1) != 0).mean(axis=1)
    # the share that moved against the mean probability of moving: binomial noise of 4000 steps
    yield equal("share that moved", moved.mean(), draws.acceptance.mean(), 0.01)


@claim("B220")
def gibbs_updates_are_always_accepted() -> Iterator[Evidence]:
    """Drawing a coordinate from its conditional law is a Metropolis-Hastings step that is always
    accepted, and a sweep over all coordinates leaves the joint law invariant.
    """
    table = np.random.default_rng(220).dirichlet(np.ones(8)).reshape(2, 2, 2)
    pairs = list(product(product((0, 1), repeat=3), repeat=2))
    start, outcome = (np.array([p[k] for p in pairs]) for k in (0, 1))
    probability, hastings = np.ones(len(pairs)), []

    def conditional(j: int) -> Any:
        def draw(_: Any, x: np.ndarray) -> np.ndarray:
            at = [x[:, k].astype(int) for k in range(3)]
            both = np.stack([table[(*at[:j], np.full(len(x), v), *at[j + 1 :])] for v in (0, 1)])
            law, rows = both / both.sum(axis=0), np.arange(len(x))
            new, old = outcome[:, j], at[j]
            hastings.append(both[new, rows] * law[old, rows] / (both[old, rows] * law[new, rows]))
            probability[:] *= law[new, rows]
            return new

        return draw

    sampler = Gibbs(tuple((j, conditional(j)) for j in range(3)))
    sampler.step(np.random.default_rng(0), sampler.init(start.astype(float)))
    law = np.zeros(8)
    np.add.at(law, outcome @ [4, 2, 1], table.ravel()[start @ [4, 2, 1]] * probability)
    yield equal("law after a sweep over a 2 x 2 x 2 table", law, table.ravel(), 1e-15)
    yield equal("acceptance ratios", np.concatenate(hastings), np.ones(3 * len(pairs)), 1e-12)
    draws = gibbs(
        [lambda r, x: r.normal(0.8 * x[:, 1], 0.6), lambda r, x: r.normal(0.8 * x[:, 0], 0.6)],
        np.zeros((32, 2)),
        n_draws=2000,
        n_warmup=50,
        random_state=220,
    )
    yield equal("moments of a bivariate normal law", draws.covariance(), [[1, 0.8], [0.8, 1]], 0.05)
    yield true("every update was accepted", (draws.acceptance == 1).all())


@claim("B275")
def langevin_has_the_variance_of_its_step() -> Iterator[Evidence]:
    """Langevin's steps x + (e/2) score + sqrt(e) z on N(0, 1) are an autoregression with stationary
    variance 1 / (1 - e/4), which tends to 1 with the step e.
    """
    for step, variance in ((0.1, 1.025641), (0.5, 1.142857)):
        yield equal(f"closed form for e = {step}", 1 / (1 - step / 4), variance, 1e-6)
        yield equal("the recursion keeps it", (1 - step / 2) ** 2 * variance + step, variance, 1e-6)
        draws = langevin(
            lambda x: -x,
            np.zeros((200, 1)),
            step_size=step,
            n_draws=500,
            n_warmup=100,
            random_state=275,
        )
        error = variance * np.sqrt(2 / draws.summary()["ess_bulk"][0])
        yield equal("variance of the draws", draws.covariance()[0, 0], variance, 4 * error)
