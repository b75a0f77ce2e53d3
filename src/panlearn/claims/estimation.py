"""Estimation: maximum likelihood in closed form, and the coin with a beta prior."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from scipy import integrate, optimize, special, stats

from panlearn.bayes import BetaBernoulli, maximum_likelihood
from panlearn.claims.claim import Evidence, at_most, claim, equal


@claim("A198")
def mean_is_the_estimate() -> Iterator[Evidence]:
    """The maximum-likelihood rate of a Poisson sample and mean of a normal one is the mean.

    The text calls the Poisson's rate p.
    """
    rng = np.random.default_rng(0)
    counts, values = rng.poisson(3.4, 50), rng.normal(2.0, 1.5, 50)
    rate = _argmax(lambda t: stats.poisson.logpmf(counts, t).sum(), 0.1, 20)
    mean = _argmax(lambda t: stats.norm.logpdf(values, t, 1.5).sum(), -10, 10)
    found = maximum_likelihood(counts, "poisson").parameters["rate"]
    yield equal("rate and the search", found, rate, 1e-6)
    yield equal("rate and the mean", found, counts.mean(), 1e-14)
    found = maximum_likelihood(values, "normal").parameters["mean"]
    yield equal("mean and the search", found, mean, 1e-6)
    yield equal("mean and the mean", found, values.mean(), 1e-14)


@claim("A199")
def waiting_times() -> Iterator[Evidence]:
    """The rate of an exponential and the p of a geometric sample on 1, 2, ... are n / sum x.

    On 0, 1, ..., which the text leaves open, p would be n / (n + sum x).
    """
    rng = np.random.default_rng(0)
    times, tosses = rng.exponential(0.4, 60), rng.geometric(0.3, 60)
    rate = _argmax(lambda t: stats.expon.logpdf(times, scale=1 / t).sum(), 0.1, 20)
    p = _argmax(lambda t: stats.geom.logpmf(tosses, t).sum(), 1e-3, 1 - 1e-3)
    found = maximum_likelihood(times, "exponential").parameters["rate"]
    yield equal("rate and the search", found, rate, 1e-4)
    yield equal("rate and n / sum x", found, 60 / times.sum(), 1e-12)
    found = maximum_likelihood(tosses, "geometric").parameters["p"]
    yield equal("p and the search", found, p, 1e-4)
    failures = tosses - 1
    yield equal("p by failures, n / (n + sum x)", found, 60 / (60 + failures.sum()), 1e-14)


@claim("A200")
def binomial_share() -> Iterator[Evidence]:
    """The p of a Binomial(N, p) sample is the mean divided by N.

    N is the number of trials, and not, as in the text's sum, that of the observations.
    """
    x = np.random.default_rng(0).binomial(12, 0.35, 40)
    p = _argmax(lambda t: stats.binom.logpmf(x, 12, t).sum(), 1e-3, 1 - 1e-3)
    found = maximum_likelihood(x, "binomial", n_trials=12).parameters["p"]
    yield equal("p and the search", found, p, 1e-6)
    yield equal("p and the mean / N", found, x.mean() / 12, 1e-14)


@claim("A201")
def covariance_divides_by_n() -> Iterator[Evidence]:
    """The normal variance and covariance of maximum likelihood divide by n.

    They are too small by the factor (n - 1) / n on average. The text calls the variance sigma.
    """
    rng = np.random.default_rng(0)
    truth = np.array([[2.0, 0.8], [0.8, 1.0]])
    X = rng.multivariate_normal([1.0, -1.0], truth, size=30)
    found = maximum_likelihood(X, "multivariate_normal")
    mean, covariance = found.parameters["mean"], found.parameters["covariance"]
    centred = X - X.mean(axis=0)
    yield equal("covariance", covariance, centred.T @ centred / 30, 1e-12)

    def loglik(entries: np.ndarray) -> float:
        matrix = np.array([[entries[0], entries[1]], [entries[1], entries[2]]])
        return float(stats.multivariate_normal(mean, matrix).logpdf(X).sum())

    at, step = np.array([covariance[0, 0], covariance[0, 1], covariance[1, 1]]), 1e-4
    slopes = [(loglik(at + e) - loglik(at - e)) / (2 * step) for e in step * np.eye(3)]
    yield at_most("slope of the likelihood, of its curvature", np.abs(slopes).max() / 30, 1e-6)
    n, repeats = 5, 20_000
    draws = rng.normal(0, 2, size=(repeats, n))
    variances = draws.var(axis=1)
    same = maximum_likelihood(draws[0], "normal").parameters["variance"]
    yield equal("variance", same, variances[0], 1e-14)
    error = variances.std() / np.sqrt(repeats)
    yield at_most("bias, in standard errors", abs(variances.mean() - 4 * (n - 1) / n) / error, 3)


@claim("A203")
def exchangeable_tosses() -> Iterator[Evidence]:
    """The sequence of a Pólya urn (a, b) is a coin of a beta-distributed chance.

    Its probability is the integral of theta^k (1 - theta)^(n - k) under Beta(a, b), and does not
    depend on the order. Only infinite exchangeable sequences are such mixtures in general, which
    the text leaves out.
    """
    a, b, worst = 2.0, 3.5, 0.0
    orders: dict[int, set[float]] = {}
    for tosses in itertools.product([0, 1], repeat=5):
        urn, reds, blacks = 1.0, a, b
        for toss in tosses:
            urn *= (reds if toss else blacks) / (reds + blacks)
            reds, blacks = reds + toss, blacks + 1 - toss
        model = BetaBernoulli(a=a, b=b).fit(np.array(tosses)[:, None])
        worst = max(worst, abs(np.exp(model.log_evidence_) - urn))
        orders.setdefault(sum(tosses), set()).add(round(urn, 14))
    yield at_most("difference over all 32 sequences", worst, 1e-14)
    yield equal("probabilities for one count", [len(v) for v in orders.values()], np.ones(6))
    heads = 3
    mixed = special.beta(a + heads, b + 2) / special.beta(a, b)
    (urn,) = orders[heads]
    yield equal("the integral", mixed, urn, 1e-13)


@claim("B50")
def next_toss() -> Iterator[Evidence]:
    """With a Beta(a, b) prior the next toss is heads with (n_H + a) / (n_H + a + n_T + b).

    With a = b = 2, seven heads and three tails it is 9 / 14.
    """
    model = BetaBernoulli(a=2, b=2).fit([[1]] * 7 + [[0]] * 3)
    yield equal("the example", model.predictive_, [9 / 14], 1e-14)

    def joint(t: float) -> float:
        return float(stats.beta.pdf(t, 2, 2) * t**7 * (1 - t) ** 3)

    evidence = integrate.quad(joint, 0, 1, epsabs=1e-13)[0]
    heads = integrate.quad(lambda t: t * joint(t), 0, 1, epsabs=1e-13)[0]
    yield equal("by quadrature", model.predictive_, [heads / evidence], 1e-10)
    yield equal("log evidence", model.log_evidence_, np.log(evidence), 1e-9)


def _argmax(loglik: Callable[[float], float], low: float, high: float) -> float:
    found = optimize.minimize_scalar(
        lambda t: -loglik(t), bounds=(low, high), method="bounded", options={"xatol": 1e-9}
    )
    return float(found.x)
