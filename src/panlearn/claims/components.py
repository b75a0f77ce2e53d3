"""Claims on principal components."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import linalg

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal
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


@claim("A158")
def components_are_right_singular_vectors() -> Iterator[Evidence]:
    """With X = U S Vᵀ centred, the components are the columns of V, and λ_i = s_i²/n."""
    X = _rows()
    X = X - X.mean(axis=0)
    _, values, vectors = np.linalg.svd(X, full_matrices=False)
    for solver in ("full", "covariance_eigh"):
        model, n = PCA(3, svd_solver=solver).fit(X), len(X)
        signs = np.sign(np.sum(model.components_ * vectors[:3], axis=1))
        yield equal(
            f"components by {solver}", model.components_, signs[:, None] * vectors[:3], 1e-10
        )
        variance = model.explained_variance_ * (n - 1) / n
        yield equal(f"λ and s²/n by {solver}", variance, values[:3] ** 2 / n, 1e-10)
    outer = sum(np.outer(x, x) for x in X) / len(X)
    yield equal("Σ x xᵀ / n and XᵀX / n", outer, X.T @ X / len(X), 1e-12)


@claim("A159")
def no_matrix_of_the_rank_is_nearer() -> Iterator[Evidence]:
    """The best approximation of rank m is U_m S_m V_mᵀ, with squared error Σ_{i>m} s_i².

    The text's U_m U_mᵀ V_mᵀ is no such matrix, and it leaves out that the rank is bounded.
    """
    X = _rows()
    X = X - X.mean(axis=0)
    values = linalg.svdvals(X)
    model = PCA(2).fit(X)
    error = ((X - model.inverse_transform(model.transform(X))) ** 2).sum()
    yield equal("error and Σ s² left out", error, (values[2:] ** 2).sum(), 1e-9)
    rng = np.random.default_rng(159)
    others = []
    for _ in range(1000):
        basis = linalg.orth(rng.normal(size=(5, 2)))
        others.append(((X - X @ basis @ basis.T) ** 2).sum())
    yield at_least("least error of 1000 others", min(others), error)
    decoder = rng.normal(size=(2, 5))
    for _ in range(300):
        codes = X @ linalg.pinv(decoder)
        decoder = linalg.pinv(codes) @ X
    yield at_least("alternating least squares", ((X - codes @ decoder) ** 2).sum(), error - 1e-9)


@claim("A161")
def a_linear_autoencoder_spans_the_components() -> Iterator[Evidence]:
    """A linear autoencoder with squared loss reaches the loss and the subspace of PCA.

    Not the components themselves, as the text has it: the codes are those of PCA up to an
    invertible matrix, and the rows must be centred.
    """
    X = _rows()
    X = X - X.mean(axis=0)
    encoder, decoder = np.zeros((5, 2)), np.random.default_rng(161).normal(size=(2, 5))
    for _ in range(500):  # each half is a least-squares problem
        encoder = linalg.pinv(decoder)
        decoder = linalg.pinv(X @ encoder) @ X
    model = PCA(2).fit(X)
    loss = ((X - X @ encoder @ decoder) ** 2).sum()
    least = ((X - model.inverse_transform(model.transform(X))) ** 2).sum()
    yield equal("loss and the loss of PCA", loss, least, 1e-8)
    angle = linalg.subspace_angles(decoder.T, model.components_.T).max()
    yield at_most("angle between the subspaces", angle, 1e-6)
    product = decoder @ model.components_.T
    yield at_least("distance from the components", np.abs(np.abs(product) - np.eye(2)).max(), 1e-3)
