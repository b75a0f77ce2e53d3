"""Bayesian regression: posterior, predictive distribution, and what ridge has to do with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import integrate, optimize, stats

from panlearn.claims.claim import Evidence, at_least, claim, equal
from panlearn.linear import BayesianLinearRegression, RecursiveLeastSquares, Ridge


def _data(n: int = 30, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X @ [1.0, -2.0, 0.5][:d] + 0.6 * rng.normal(size=n)


def _model(prior: Any, noise: float, **rest: Any) -> BayesianLinearRegression:
    return BayesianLinearRegression(
        prior_covariance=prior, noise_variance=noise, fit_intercept=False, **rest
    )


def _example() -> BayesianLinearRegression:
    """Two points (1, 1) and (2, 2), unit noise, standard normal prior."""
    return _model(1.0, 1.0).fit([[1.0], [2.0]], [1.0, 2.0])


@claim("A44")
def map_is_ridge() -> Iterator[Evidence]:
    """The most probable w under N(0, s_w^2 I) and noise s^2 is ridge with lam = s^2 / s_w^2."""
    X, y = _data()
    noise, prior = 0.36, 2.0

    def minus_log_posterior(w: np.ndarray) -> tuple[float, np.ndarray]:
        r = y - X @ w
        return float(r @ r / (2 * noise) + w @ w / (2 * prior)), w / prior - X.T @ r / noise

    best = optimize.minimize(minus_log_posterior, np.zeros(3), jac=True, tol=1e-12).x
    ridge = Ridge(alpha=noise / prior, fit_intercept=False).fit(X, y).coef_
    yield equal("ridge and the optimiser", ridge, best, 1e-8)
    yield equal("posterior mean", _model(prior, noise).fit(X, y).coef_, ridge, 1e-12)


@claim("A47")
def prediction_averages_over_the_posterior() -> Iterator[Evidence]:
    """Averaged over the posterior of w, N(x'w, s^2) becomes N(x'm, x'S x + s^2).

    This predictive variance is at least s^2, that of the plug-in prediction.
    """
    X, y = _data()
    x, noise = np.array([[1.5, -0.5, 2.0]]), 0.36
    model = _model(2.0, noise).fit(X, y)
    mean, std = model.predict(x, return_std=True)
    S = np.linalg.inv(X.T @ X / noise + np.eye(3) / 2.0)
    yield equal("mean", mean, x @ S @ X.T @ y / noise, 1e-12)
    yield equal("variance", std**2, np.diag(x @ S @ x.T) + noise, 1e-12)
    draws = model.sample_y(x, n_samples=1_000_000, random_state=0)[0]
    noisy = draws + np.sqrt(noise) * np.random.default_rng(1).normal(size=len(draws))
    yield equal("mean of draws", noisy.mean() / mean[0], 1.0, 1e-2)
    yield equal("variance of draws", noisy.var() / std[0] ** 2, 1.0, 1e-2)
    yield at_least("variance less that of the plug-in", std[0] ** 2 - noise, 0.0)


@claim("A48")
def bayes_rule() -> Iterator[Evidence]:
    """Posterior = likelihood x prior / evidence: it integrates to one and peaks with the joint."""
    model, x, y = _example(), np.array([1.0, 2.0]), np.array([1.0, 2.0])
    grid = np.linspace(-4, 6, 20001)
    joint = stats.norm.pdf(grid) * stats.norm.pdf(y[:, None], x[:, None] * grid).prod(axis=0)
    evidence = integrate.simpson(joint, x=grid)
    yield equal("log evidence", model.log_evidence_, np.log(evidence), 1e-8)
    posterior = stats.norm.pdf(grid, model.coef_[0], np.sqrt(model.sigma_[0, 0]))
    yield equal("posterior density", posterior, joint / evidence, 1e-8)
    yield equal("its integral", integrate.simpson(posterior, x=grid), 1.0, 1e-8)
    yield equal("where they peak", grid[posterior.argmax()], grid[joint.argmax()])


@claim("B51")
def the_posterior() -> Iterator[Evidence]:
    """Sigma_n = (Sigma_0^-1 + X'X/s2)^-1 and mu_n = Sigma_n (Sigma_0^-1 mu_0 + X'y/s2).

    The example with points (1, 1), (2, 2) has Sigma = 1/6 and mu = 5/6.
    """
    model = _example()
    yield equal("Sigma", model.sigma_, [[1 / 6]], 1e-15)
    yield equal("mu", model.coef_, [5 / 6], 1e-15)
    X, y = _data()
    prior = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]])
    start, s2 = np.array([0.5, -1.0, 2.0]), 0.36
    model = _model(prior, s2, prior_mean=start).fit(X, y)
    precision = np.linalg.inv(prior) + X.T @ X / s2
    mean = np.linalg.solve(precision, np.linalg.solve(prior, start) + X.T @ y / s2)
    yield equal("any prior: Sigma", model.sigma_, np.linalg.inv(precision), 1e-12)
    yield equal("any prior: mu", model.coef_, mean, 1e-12)
    spread: Any = s2 * np.eye(30) + X @ prior @ X.T
    marginal = stats.multivariate_normal.logpdf(y, X @ start, spread)
    yield equal("any prior: log evidence", model.log_evidence_, marginal, 1e-9)


@claim("B52")
def the_predictive_distribution() -> Iterator[Evidence]:
    """Predictions at X* are N(X* mu, X* Sigma X*' + s2 I): at x* = 3 mean 2.5 and variance 2.5."""
    model = _example()
    mean, std = model.predict([[3.0]], return_std=True)
    yield equal("mean", mean, [2.5], 1e-14)
    yield equal("variance", std**2, [2.5], 1e-14)
    draws = model.sample_y([[3.0]], n_samples=200_000, random_state=1)[0]
    draws = draws + np.random.default_rng(2).normal(size=len(draws))
    yield equal("mean of draws", draws.mean(), 2.5, 5 * np.sqrt(2.5 / 200_000))
    yield equal("variance of draws", draws.var(), 2.5, 5 * 2.5 * np.sqrt(2 / 200_000))


@claim("B53")
def a_white_prior_is_ridge() -> Iterator[Evidence]:
    """With the prior N(0, tau^2 I) the posterior mean is ridge with lam = s2 / tau^2."""
    X, y = _data()
    for tau2 in (0.1, 1.0, 10.0):
        ridge = Ridge(alpha=0.36 / tau2, fit_intercept=False).fit(X, y).coef_
        yield equal(f"weights at {tau2}", _model(tau2, 0.36).fit(X, y).coef_, ridge, 1e-12)


@claim("B54")
def one_row_at_a_time_is_the_batch() -> Iterator[Evidence]:
    """Updating the posterior row by row is the batch posterior, and is recursive least squares."""
    X, y = _data()
    batch, rows = _model(2.0, 0.36).fit(X, y), _model(2.0, 0.36)
    chained_mean: Any = 0.0
    chained_covariance: Any = 2.0
    recursive = RecursiveLeastSquares(
        prior_covariance=2.0, noise_variance=0.36, fit_intercept=False
    )
    for i in range(len(y)):
        row = X[i : i + 1], y[i : i + 1]
        rows.partial_fit(*row)
        recursive.partial_fit(*row)
        chained = _model(chained_covariance, 0.36, prior_mean=chained_mean).fit(*row)
        chained_mean, chained_covariance = chained.coef_, chained.sigma_
    for name, mean, covariance in [
        ("statistics row by row", rows.coef_, rows.sigma_),
        ("posterior as the next prior", chained_mean, chained_covariance),
        ("recursive least squares", recursive.coef_, recursive.covariance_),
    ]:
        yield equal(f"mean, {name}", mean, batch.coef_, 1e-12)
        yield equal(f"covariance, {name}", covariance, batch.sigma_, 1e-12)
