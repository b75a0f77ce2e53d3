"""Claims on principal components."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from panlearn.claims.claim import Evidence, at_least, claim, equal
from panlearn.latent import PCA


def _rows() -> np.ndarray:
    rng = np.random.default_rng(156)
    return rng.normal(size=(100, 5)) @ rng.normal(size=(5, 5))


@claim("A156")
def leading_direction_varies_most() -> Iterator[Evidence]:
    """Of all unit vectors the leading eigenvector of the covariance has the largest variance."""
    X = _rows()
    model = PCA(1).fit(X)
    directions = np.random.default_rng(0).normal(size=(10_000, 5))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    others = (X @ directions.T).var(axis=0, ddof=1).max()
    yield at_least(
        "variance along it less the best of 10 000", model.explained_variance_[0], others
    )
    w = model.components_[0]
    yield equal("Σw and λw", np.cov(X.T) @ w, model.explained_variance_[0] * w, 1e-10)


@claim("A157")
def reconstruction_error_is_the_variance_left_out() -> Iterator[Evidence]:
    """The mean squared reconstruction error is Σ_{j>k} λ_j, and λ_j the variance of score j."""
    X = _rows()
    full, n = PCA().fit(X), len(X)
    for k in (1, 2, 4):
        model = PCA(k).fit(X)
        error = ((X - model.inverse_transform(model.transform(X))) ** 2).sum() / (n - 1)
        yield equal(
            f"error of {k} and λ left out", error, full.explained_variance_[k:].sum(), 1e-10
        )
    scores = full.transform(X).var(axis=0, ddof=1)
    yield equal("variances of scores and λ", scores, full.explained_variance_, 1e-10)


@claim("B112")
def variance_along_a_component_is_its_eigenvalue() -> Iterator[Evidence]:
    """Var(Xw) = λ for S = XᵀX/n; the text divides by n twice. Components are orthogonal.

    The eigenvalues sum to the trace of S.
    """
    X = _rows()
    X = X - X.mean(axis=0)
    model, n = PCA().fit(X), len(X)
    values = model.explained_variance_ * (n - 1) / n
    yield equal("Var(Xw) and λ", (X @ model.components_.T).var(axis=0), values, 1e-10)
    yield equal("WᵀW and I", model.components_ @ model.components_.T, np.eye(5), 1e-10)
    yield equal("Σλ and trace S", values.sum(), np.trace(X.T @ X / n), 1e-10)
