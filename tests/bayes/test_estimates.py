"""Conjugate and maximum-likelihood estimates against quadrature, search and finite differences."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from panlearn.bayes import BetaBernoulli, ModelAverage, maximum_likelihood
from panlearn.linear import BayesianLinearRegression


def test_posterior_evidence_and_interval_of_a_coin():
    a, b, heads, tails = 1.5, 3.0, 6, 2
    model = BetaBernoulli(a=a, b=b).fit([[1]] * heads + [[0]] * tails)

    def joint(t):
        return stats.beta.pdf(t, a, b) * t**heads * (1 - t) ** tails

    evidence = integrate.quad(joint, 0, 1, epsabs=1e-14)[0]
    mean = integrate.quad(lambda t: t * joint(t), 0, 1, epsabs=1e-14)[0] / evidence
    np.testing.assert_allclose(model.log_evidence_, np.log(evidence), rtol=1e-8)
    np.testing.assert_allclose(model.predictive_, mean, rtol=1e-8)
    low, high = model.interval(0.8)[0]
    inside = integrate.quad(joint, low, high, epsabs=1e-14)[0] / evidence
    np.testing.assert_allclose(inside, 0.8, rtol=1e-7)
    with pytest.raises(ValueError, match="confidence"):
        model.interval(1.0)


def test_tosses_one_by_one_and_their_scores(rng):
    X = rng.random((40, 3)) < [0.2, 0.5, 0.9]
    rows, evidence = BetaBernoulli(), 0.0
    for i, row in enumerate(X):
        if i:
            evidence += rows.score_samples(row[None].astype(float))[0]
        rows.partial_fit(row[None])
    whole = BetaBernoulli().fit(X)
    np.testing.assert_allclose(rows.a_, whole.a_, rtol=1e-14)
    # the chain rule: the first row has probability 1/2 a coin under the uniform prior
    np.testing.assert_allclose(whole.log_evidence_, evidence + 3 * np.log(0.5), rtol=1e-12)
    np.testing.assert_allclose(whole.score(X), whole.score_samples(X).mean())
    draws = whole.sample(20_000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=0), whole.predictive_, atol=0.015)  # 4 errors


SAMPLES = {
    "normal": (lambda r: r.normal(3, 2, 40), None),
    "poisson": (lambda r: r.poisson(2.5, 40), None),
    "exponential": (lambda r: r.exponential(0.5, 40), None),
    "geometric": (lambda r: r.geometric(0.3, 40), None),
    "binomial": (lambda r: r.binomial(7, 0.3, 40), 7),
}
LOG_DENSITY = {
    "normal": lambda x, t, N: stats.norm.logpdf(x, t[0], np.sqrt(t[1])),
    "poisson": lambda x, t, N: stats.poisson.logpmf(x, t[0]),
    "exponential": lambda x, t, N: stats.expon.logpdf(x, scale=1 / t[0]),
    "geometric": lambda x, t, N: stats.geom.logpmf(x, t[0]),
    "binomial": lambda x, t, N: stats.binom.logpmf(x, N, t[0]),
}


@pytest.mark.parametrize("family", SAMPLES)
def test_the_estimate_is_where_the_likelihood_peaks(family, rng):
    draw, trials = SAMPLES[family]
    x, w = draw(rng), rng.integers(0, 4, 40).astype(float)
    found = maximum_likelihood(x, family, sample_weight=w, n_trials=trials)
    theta = np.array(list(found.parameters.values()))

    def loglik(t):
        return w @ LOG_DENSITY[family](x, t, trials)

    np.testing.assert_allclose(found.log_likelihood, loglik(theta), rtol=1e-11)
    gradient = optimize.approx_fprime(theta, loglik, 1e-6)
    np.testing.assert_allclose(gradient, 0, atol=1e-3 * w.sum())
    steps = 1e-4 * theta
    for j, (step, error) in enumerate(zip(steps, found.standard_errors.values(), strict=True)):
        up, down = theta.copy(), theta.copy()
        up[j], down[j] = theta[j] + step, theta[j] - step
        assert max(loglik(up), loglik(down)) < found.log_likelihood
        information = -(loglik(up) - 2 * loglik(theta) + loglik(down)) / step**2
        np.testing.assert_allclose(error, 1 / np.sqrt(information), rtol=1e-3)


def test_categories_and_weights():
    found = maximum_likelihood(["b", "a", "b"], "categorical", sample_weight=[1, 2, 1])
    assert found.parameters["values"].tolist() == ["a", "b"]
    np.testing.assert_allclose(found.parameters["probabilities"], [0.5, 0.5])
    np.testing.assert_allclose(found.log_likelihood, 4 * np.log(0.5))
    np.testing.assert_allclose(found.standard_errors["probabilities"], 0.25)


def test_standard_errors_of_a_covariance(rng):
    covariance = np.array([[2.0, 0.7], [0.7, 1.0]])
    draws = rng.multivariate_normal([0, 0], covariance, size=(2000, 100))
    found = [maximum_likelihood(x, "multivariate_normal") for x in draws]
    spread = np.std([f.parameters["covariance"] for f in found], axis=0)
    # 2000 repeats know a standard deviation to 1.6 %, and 100 rows make the theory exact to 1/100
    np.testing.assert_allclose(found[0].standard_errors["covariance"], spread, rtol=0.4)
    mean_error = np.mean([f.standard_errors["covariance"] for f in found], axis=0)
    np.testing.assert_allclose(mean_error, spread, rtol=0.08)


@pytest.mark.parametrize(
    ("sample", "family", "says"),
    [
        ([1.0, 1.0], "normal", "different values"),
        ([0.5], "poisson", "whole numbers"),
        ([-1.0, 2.0], "exponential", "from 0 up"),
        ([0, 1], "geometric", "from 1 up"),
        ([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]], "multivariate_normal", "every direction"),
        ([[1.0]], "normal", "dimensions"),
        ([1.0, np.nan], "normal", "NaN"),
        ([1.0], "gamma", "family must be one of"),
        ([1.0], "binomial", "n_trials"),
    ],
)
def test_bad_samples_are_refused(sample, family, says):
    with pytest.raises(ValueError, match=says):
        maximum_likelihood(sample, family)


def _models(degrees):
    def line():
        return BayesianLinearRegression(prior_covariance=1.0, noise_variance=0.04)

    return [make_pipeline(PolynomialFeatures(p, include_bias=False), line()) for p in degrees]


def test_models_are_weighed_by_their_evidence(rng):
    x = rng.uniform(-1, 1, size=(25, 1))
    y = x[:, 0] ** 2 + 0.2 * rng.normal(size=25)
    model = ModelAverage(_models([1, 2, 3]), priors=[0.5, 0.25, 0.25]).fit(x, y)
    fitted = [m.fit(x, y) for m in _models([1, 2, 3])]
    odds = np.exp([m[-1].log_evidence_ - fitted[1][-1].log_evidence_ for m in fitted])
    odds *= [2, 1, 1]
    np.testing.assert_allclose(model.weights_, odds / odds.sum(), rtol=1e-12)
    new = np.array([[0.3], [2.0]])
    pairs = [m.predict(new, return_std=True) for m in fitted]
    mean, std = model.predict(new, return_std=True)
    grid = np.linspace(-40, 40, 80001)
    for i in range(2):
        density = sum(
            w * stats.norm.pdf(grid, m[i], s[i])
            for w, (m, s) in zip(model.weights_, pairs, strict=True)
        )
        np.testing.assert_allclose(mean[i], np.trapezoid(grid * density, grid), rtol=1e-6)
        second = np.trapezoid((grid - mean[i]) ** 2 * density, grid)
        np.testing.assert_allclose(std[i], np.sqrt(second), rtol=1e-6)
        ours = model.log_density(np.repeat(new[i : i + 1], len(grid), axis=0), grid)
        np.testing.assert_allclose(np.exp(ours), density, atol=1e-12)


def test_what_has_no_evidence_is_refused(rng):
    X, y = rng.normal(size=(9, 2)), rng.normal(size=9)
    with pytest.raises(ValueError, match="log_evidence_"):
        ModelAverage([LinearRegression()]).fit(X, y)
    with pytest.raises(ValueError, match="empty"):
        ModelAverage([]).fit(X, y)
    with pytest.raises(ValueError, match="priors"):
        ModelAverage(priors=[0.5, 0.5]).fit(X, y)
