"""Claims on Gaussian processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import multivariate_normal

from panlearn.claims.claim import Evidence, at_most, claim, equal
from panlearn.kernel import GaussianProcessRegressor, KernelRidge
from panlearn.kernel.kernels import RBF, Linear, White
from panlearn.linear import BayesianLinearRegression


def _condition(kernel: Any, X: np.ndarray, y: np.ndarray, noise: float) -> GaussianProcessRegressor:
    return GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(X, y)


@claim("B86")
def random_weights_have_a_linear_kernel() -> Iterator[Evidence]:
    """For θ ~ N(0, I), Cov(θᵀx, θᵀz) = xᵀz. The text prints ⟨θ, x⟩, which is wrong."""
    rng = np.random.default_rng(86)
    X = rng.standard_normal((3, 4))
    values = rng.standard_normal((100_000, 4)) @ X.T
    K = Linear()(X)
    yield equal("kernel and products", K, X @ X.T, 1e-12)
    error = np.sqrt((np.outer(K.diagonal(), K.diagonal()) + K**2) / 100_000)
    gap = np.abs(values.T @ values / 100_000 - K) / error
    yield at_most("largest gap in standard errors", gap.max(), 4.5)


@claim("B87")
def noise_is_on_the_diagonal() -> Iterator[Evidence]:
    """Noisy values of a Gaussian process have Cov(y, y′) = k(x, x′) + σ²δ."""
    rng = np.random.default_rng(87)
    X = np.array([[0.0], [0.5], [2.0]])
    kernel = RBF() + White(0.3)
    K = RBF()(X) + 0.3 * np.eye(3)
    yield equal("the kernel with noise", kernel(X), K, 1e-14)
    draws = rng.standard_normal((100_000, 3)) @ np.linalg.cholesky(RBF()(X)).T
    draws += np.sqrt(0.3) * rng.standard_normal(draws.shape)
    error = np.sqrt((np.outer(K.diagonal(), K.diagonal()) + K**2) / 100_000)
    gap = np.abs(draws.T @ draws / 100_000 - K) / error
    yield at_most("largest gap in standard errors", gap.max(), 4.5)


@claim("B88")
def conditional_of_a_gaussian() -> Iterator[Evidence]:
    """If (x₁, x₂) is Gaussian, x₁ given x₂ is Gaussian with mean μ₁ + S₁₂S₂₂⁻¹(x₂ − μ₂) and
    covariance S₁₁ − S₁₂S₂₂⁻¹S₂₁, which does not depend on x₂.
    """
    rng = np.random.default_rng(88)
    X = rng.standard_normal((4, 2))
    S = RBF()(X) + 0.1 * np.eye(4)
    grid = rng.standard_normal((50, 4))
    model = _condition(RBF(), X[2:], np.zeros(2), 0.1)
    _, covariance = model.predict(X[:2], return_cov=True)
    covariance = covariance + 0.1 * np.eye(2)
    weights = np.linalg.solve(S[2:, 2:], S[2:, :2])
    for x in grid[:3]:
        mean, other = _condition(RBF(), X[2:], x[2:], 0.1).predict(X[:2], return_cov=True)
        yield equal("mean", mean, weights.T @ x[2:], 1e-10)
        yield equal("covariance", other + 0.1 * np.eye(2), covariance, 1e-12)
    joint = multivariate_normal(np.zeros(4), S).logpdf(grid)
    marginal = multivariate_normal(np.zeros(2), S[2:, 2:]).logpdf(grid[:, 2:])
    centred = grid[:, :2] - grid[:, 2:] @ weights
    conditional = multivariate_normal(np.zeros(2), covariance).logpdf(centred)
    yield equal("log of joint over marginal", joint - marginal, conditional, 1e-10)


@claim("B89")
def a_process_without_noise_interpolates() -> Iterator[Evidence]:
    """Without noise the posterior mean at a training point is its value, and the variance is 0."""
    X = np.linspace(0, 5, 8)[:, None]
    mean, std = _condition(RBF(), X, np.sin(X[:, 0]), 1e-10).predict(X, return_std=True)
    yield equal("mean and values", mean, np.sin(X[:, 0]), 1e-6)
    yield at_most("largest variance", np.max(std**2), 1e-6)


@claim("B90")
def posterior_of_a_gaussian_process() -> Iterator[Evidence]:
    """The posterior at x* has mean k*ᵀ(K + σ²I)⁻¹y and variance k** − k*ᵀ(K + σ²I)⁻¹k*. For an RBF
    kernel with ℓ = 1, x = 0, 1, 2, y = 0, 1, 0, σ² = 0.01 and x* = 1.5: 0.66166758 and 0.02502049.
    """
    model = _condition(RBF(), np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0]), 0.01)
    mean, std = model.predict([[1.5]], return_std=True)
    yield equal("mean", mean[0], 0.66166758, 1e-8)
    yield equal("variance", std[0] ** 2, 0.02502049, 1e-8)


@claim("B91")
def process_ridge_and_bayesian_regression() -> Iterator[Evidence]:
    """The posterior mean is kernel ridge regression with λ = σ²; with the linear kernel the process
    is Bayesian linear regression with the prior N(0, I), in mean and in variance.
    """
    rng = np.random.default_rng(91)
    X, y, new = rng.standard_normal((20, 3)), rng.standard_normal(20), rng.standard_normal((5, 3))
    ridge = KernelRidge(0.4, kernel=RBF()).fit(X, y)
    yield equal(
        "mean and ridge", _condition(RBF(), X, y, 0.4).predict(new), ridge.predict(new), 1e-10
    )
    mean, std = _condition(Linear(), X, y, 0.4).predict(new, return_std=True)
    linear = BayesianLinearRegression(
        prior_covariance=1.0, noise_variance=0.4, fit_intercept=False
    ).fit(X, y)
    predicted, spread = linear.predict(new, return_std=True)
    yield equal("mean of Bayesian regression", mean, predicted, 1e-10)
    yield equal("its variance, less the noise", std**2, spread**2 - 0.4, 1e-10)
    covariance = np.linalg.inv(np.eye(3) + X.T @ X / 0.4)
    yield equal("mean by the formula", mean, new @ covariance @ X.T @ y / 0.4, 1e-10)
    variance = np.einsum("ij,jk,ik->i", new, covariance, new)
    yield equal("variance by the formula", std**2, variance, 1e-10)


@claim("B92")
def data_never_add_variance() -> Iterator[Evidence]:
    """The posterior variance is at most the prior's, and does not grow as points are added."""
    rng = np.random.default_rng(92)
    X, new = rng.uniform(-2, 2, (15, 2)), rng.uniform(-2, 2, (30, 2))
    before = RBF().diag(new)
    for n in range(1, 16):
        _, std = _condition(RBF(), X[:n], np.zeros(n), 0.05).predict(new, return_std=True)
        yield at_most(f"growth with point {n}", np.max(std**2 - before), 1e-12)
        before = std**2
