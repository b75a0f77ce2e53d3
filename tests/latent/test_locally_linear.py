"""Locally linear embedding: its weights, its eigenvectors, new rows."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from panlearn.latent import LocallyLinearEmbedding
from panlearn.latent.locally_linear import reconstruction_weights


def weights_one_by_one(Q, X, index, reg):
    """The regularised weights of each row from the conditions of Lagrange."""
    out = np.empty(index.shape)
    for i, near in enumerate(index):
        D = X[near] - Q[i]
        C = D @ D.T
        C += reg * np.trace(C) * np.eye(len(near))
        k = len(near)
        system = np.block([[C, np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]])
        out[i] = np.linalg.solve(system, np.r_[np.zeros(k), 1.0])[:k]
    return out


@pytest.mark.parametrize("d", [1, 3, 40])
def test_weights_meet_the_conditions_of_lagrange(rng, d):
    X, Q = rng.normal(size=(50, d)), rng.normal(size=(20, d))
    index = np.argsort(cdist(Q, X), axis=1)[:, :6]
    weight = reconstruction_weights(Q, X, index, 1e-3)
    np.testing.assert_allclose(weight, weights_one_by_one(Q, X, index, 1e-3), atol=1e-9)
    np.testing.assert_allclose(weight.sum(axis=1), 1.0)


@pytest.mark.parametrize("n", [50, 400])  # dense, and Lanczos on the inverse
def test_the_embedding_minimises_the_objective(rng, n):
    t = rng.uniform(0, 4, size=(n, 2))
    X = np.c_[np.cos(t[:, 0]), np.sin(t[:, 0]), t[:, 1]]
    model = LocallyLinearEmbedding(8).fit(X)
    index = np.argsort(cdist(X, X), axis=1)[:, 1:9]
    W = np.zeros((n, n))
    W[np.arange(n)[:, None], index] = weights_one_by_one(X, X, index, 1e-3)
    M = (np.eye(n) - W).T @ (np.eye(n) - W)
    values, vectors = np.linalg.eigh(M)
    Z = model.embedding_
    np.testing.assert_allclose(Z.T @ Z, np.eye(2), atol=1e-9)
    np.testing.assert_allclose(Z.sum(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(np.abs(vectors[:, 1:3].T @ Z), np.eye(2), atol=1e-5)
    # the eigenvalues are near rounding of the largest, which is about ten
    assert model.reconstruction_error_ == pytest.approx(values[1:3].sum(), rel=1e-6, abs=1e-13)


def test_new_rows_are_mixtures_of_their_neighbours(rng):
    X, Q = rng.normal(size=(60, 3)), rng.normal(size=(10, 3))
    model = LocallyLinearEmbedding(6).fit(X)
    index = np.argsort(cdist(Q, X), axis=1)[:, :6]
    weight = weights_one_by_one(Q, X, index, 1e-3)
    expected = [w @ model.embedding_[i] for w, i in zip(weight, index, strict=True)]
    np.testing.assert_allclose(model.transform(Q), expected, atol=1e-9)
    # a row among its own neighbours takes the whole weight but for the regularisation
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=0.02)


def test_several_components_warn_and_duplicates_do_no_harm(rng):
    X = np.repeat(rng.normal(size=(5, 2)), 12, axis=0)
    with pytest.warns(ConvergenceWarning, match="5 components"):
        model = LocallyLinearEmbedding(4).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.transform(X)).all()


def test_what_cannot_be_is_refused(rng):
    X = rng.normal(size=(6, 2))
    with pytest.raises(ValueError, match="n_components=6 must be below n_samples=6"):
        LocallyLinearEmbedding(3, n_components=6).fit(X)
    with pytest.raises(ValueError, match="n_neighbors=6"):
        LocallyLinearEmbedding(6).fit(X)
