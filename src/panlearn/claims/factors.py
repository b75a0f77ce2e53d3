"""Claims on factor analysis and probabilistic PCA."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.latent import PCA, FactorAnalysis, GaussianMixture, ProbabilisticPCA
from panlearn.latent.factor_analysis import with_best_loadings


def _rows(n: int = 150) -> np.ndarray:
    rng = np.random.default_rng(162)
    X = rng.normal(size=(n, 2)) @ (2 * rng.normal(size=(2, 6))) + rng.normal(size=(n, 6))
    return X - X.mean(axis=0)


def _likelihood(A: np.ndarray, S: np.ndarray) -> float:
    """Of a row, without the constant."""
    return float(-(np.trace(np.linalg.solve(A, S)) + np.linalg.slogdet(A)[1]) / 2)


@claim("A162")
def the_sample_covariance_is_most_likely() -> Iterator[Evidence]:
    """Σ log N(x | 0, A) = −(n/2)(tr(S A⁻¹) + log det A) + const, largest at A = S.

    So says the density of probabilistic PCA of its rows, whatever A it has learned; and a mixture
    of one component learns S. The text has the wrong sign before log det A.
    """
    X = _rows()
    n, d = X.shape
    S, rng = X.T @ X / n, np.random.default_rng(0)
    for k in (1, 4):
        model = ProbabilisticPCA(k).fit(X)
        right = n * (_likelihood(model.get_covariance(), S) - d / 2 * np.log(2 * np.pi))
        yield equal(f"the two sides, {k} factors", model.score_samples(X).sum(), right, 1e-8)
    best = GaussianMixture(1, reg_covar=0).fit(X)
    yield equal("covariance learned", best.covariances_[0], S, 1e-10)
    others = []
    for _ in range(200):
        root = np.eye(d) + 0.1 * rng.normal(size=(d, d))
        others.append(multivariate_normal(np.zeros(d), root @ S @ root.T).logpdf(X).mean())
    yield at_most("best of 200 others less that of S", max(others) - best.score(X), 0.0)


@claim("A163")
def loadings_given_the_noise() -> Iterator[Evidence]:
    """With A = WWᵀ + σ²I the likelihood is stationary where S(σ²I + WWᵀ)⁻¹W = W.

    Its solution is w_i = ρ_i u_i with ρ_i² = max(0, λ_i − σ²), so S w_i = (σ² + ρ_i²) w_i. The text
    drops σ²I, and writes diag(λ)W for W diag(λ).
    """
    X = _rows()
    S = X.T @ X / len(X)
    values = np.linalg.eigvalsh(S)[::-1]
    for name, noise in (
        ("below", values[-1] / 2),
        ("between", values[1:3].mean()),
        ("above", 2 * values[0]),
    ):
        W = with_best_loadings(X / np.sqrt(len(X)), np.full(6, noise), 3)[0].loadings
        A = W @ W.T + noise * np.eye(6)
        yield equal(f"S A⁻¹ W and W, σ² {name} the spectrum", S @ np.linalg.solve(A, W), W, 1e-10)
        squares = (W**2).sum(axis=0)
        yield equal(f"ρ² and λ − σ², {name}", squares, np.maximum(values[:3] - noise, 0), 1e-10)
        yield equal(f"S w and (σ² + ρ²) w, {name}", S @ W, W * (noise + squares), 1e-9)


@claim("A164")
def the_noise_is_the_mean_of_what_is_left_out() -> Iterator[Evidence]:
    """The most likely σ² of probabilistic PCA is the mean of the eigenvalues left out.

    W is determined up to a rotation of the factors.
    """
    X = _rows()
    S = X.T @ X / len(X)
    values = np.linalg.eigvalsh(S)[::-1]
    model = ProbabilisticPCA(2).fit(X)
    yield equal("σ² and the mean", model.noise_variance_, values[2:].mean(), 1e-12)
    grid = model.noise_variance_ * np.linspace(0.5, 2, 301)
    scan = []
    for noise in grid:
        W = with_best_loadings(X / np.sqrt(len(X)), np.full(6, noise), 2)[0].loadings
        scan.append(_likelihood(W @ W.T + noise * np.eye(6), S))
    best = grid[int(np.argmax(scan))]
    yield equal("σ² and the best of a grid", model.noise_variance_, best, grid[1] - grid[0])
    value, angle = model.score(X), 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    model.components_ = turn @ model.components_
    yield equal("likelihood of WR and of W", model.score(X), value, 1e-10)


@claim("A165")
def without_noise_it_is_a_projection() -> Iterator[Evidence]:
    """As σ² → 0 the mean of a row given its factors' mean is its orthogonal projection."""
    X = _rows()
    model, pca = ProbabilisticPCA(2).fit(X), PCA(2).fit(X)
    lengths = np.sqrt(model.explained_variance_ - 1e-8)
    model.components_ = lengths[:, None] * pca.components_
    model.noise_variance_ = 1e-8
    projected = pca.inverse_transform(pca.transform(X))
    yield equal(
        "reconstruction and projection",
        model.inverse_transform(model.transform(X)),
        projected,
        1e-7,
    )


@claim("A166")
def factor_analysis_generalises_probabilistic_pca() -> Iterator[Evidence]:
    """X ~ N(0, WWᵀ + diag ψ): with equal ψ it is probabilistic PCA, and EM never lowers it.

    Scaling a feature scales its loadings and its noise, and nothing else; PCA has no such law.
    """
    X = _rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = FactorAnalysis(2, tol=0, max_iter=40).fit(X)
    steps = np.diff(model.history_["log_likelihood"])
    yield at_least("smallest step of the likelihood", steps.min(), -1e-9)
    closed = ProbabilisticPCA(2).fit(X)
    free = FactorAnalysis(2, tol=1e-12).fit(X)
    yield at_least("its likelihood less that of equal noise", free.score(X) - closed.score(X), 0.0)
    root = X / np.sqrt(len(X))
    W = with_best_loadings(root, np.full(6, closed.noise_variance_), 2)[0].loadings
    covariance = W @ W.T + closed.noise_variance_ * np.eye(6)
    yield equal("equal ψ and probabilistic PCA", covariance, closed.get_covariance(), 1e-9)
    scale = np.array([1.0, 10.0, 0.1, 1.0, 5.0, 1.0])
    scaled = FactorAnalysis(2, tol=1e-12).fit(X * scale)
    yield equal("loadings, scaled back", scaled.components_ / scale, free.components_, 1e-4)
    one, other = PCA(1).fit(X).components_[0], PCA(1).fit(X * scale).components_[0] / scale
    yield true("PCA changes", abs(one @ other) / np.linalg.norm(other) < 0.99)


@claim("A167")
def few_factors_bound_the_rank() -> Iterator[Evidence]:
    """X = ZB with Z N × K and B K × D has a rank of at most K."""
    X = _rows()
    for k in (1, 2, 3):
        model = FactorAnalysis(k).fit(X)
        Z = model.transform(X)
        yield equal(f"shape of Z, {k} factors", Z.shape, (len(X), k))
        product = model.inverse_transform(Z) - model.mean_
        yield at_most(f"rank of ZB, {k} factors", np.linalg.matrix_rank(product), k)
