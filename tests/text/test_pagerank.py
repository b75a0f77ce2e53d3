"""PageRank: closed forms, the eigenvector, and graphs that are not quite graphs."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from panlearn.text import pagerank


def by_solving(W, alpha=0.85, v=None, u=None):
    """The linear system of the stationary law, solved."""
    n = len(W)
    v = np.full(n, 1 / n) if v is None else v / v.sum()
    u = v if u is None else u / u.sum()
    degree = W.sum(axis=1)
    P = np.where(degree[:, None] > 0, W / np.where(degree, degree, 1)[:, None], u)
    return np.linalg.solve(np.eye(n) - alpha * P.T, (1 - alpha) * v)


@pytest.mark.parametrize(
    "kind", [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array]
)
def test_it_solves_the_equations(kind, rng):
    W = rng.random((30, 30)) * (rng.random((30, 30)) < 0.1)
    W[3] = 0  # a node without a way out
    v, u = rng.random(30), rng.random(30)
    v[5] = 0
    for laws in ({}, {"personalization": v}, {"personalization": v, "dangling": u}):
        rank = pagerank(kind(W), 0.7, tol=1e-14, **laws)
        expected = by_solving(W, 0.7, laws.get("personalization"), laws.get("dangling"))
        np.testing.assert_allclose(rank, expected, atol=1e-13)
        assert rank.sum() == pytest.approx(1, abs=1e-14)


def test_small_graphs():
    ring = np.roll(np.eye(5), 1, axis=1)
    np.testing.assert_allclose(pagerank(ring), 0.2, rtol=1e-12)
    np.testing.assert_allclose(pagerank(sparse.csr_array((4, 4))), 0.25, rtol=1e-12)
    star = np.zeros((4, 4))
    star[1:, 0] = 1
    # the centre: r = (1-a)/4 + a (3 s + r/4), leaves s = (1-a)/4 + a r/4
    r = pagerank(star, tol=1e-14)
    assert r[0] == pytest.approx(0.15 / 4 + 0.85 * (3 * r[1] + r[0] / 4), abs=1e-13)
    np.testing.assert_allclose(pagerank(np.ones((1, 1))), [1.0])
    np.testing.assert_allclose(pagerank(star, alpha=0.0), 0.25)


def test_weights_matter_and_their_scale_does_not(rng):
    W = rng.random((8, 8))
    np.testing.assert_allclose(pagerank(W, tol=1e-14), pagerank(1000 * W, tol=1e-14), atol=1e-14)
    assert np.abs(pagerank(W) - pagerank(np.ones((8, 8)))).max() > 1e-3


def test_the_start_does_not_matter_and_the_error_is_bounded_by_the_change(rng):
    W = rng.random((20, 20)) < 0.2
    exact = by_solving(W.astype(float))
    rank = pagerank(W, start=np.eye(20)[0], tol=1e-3)
    assert np.abs(rank - exact).sum() <= 0.85 / 0.15 * 1e-3
    np.testing.assert_allclose(pagerank(W, start=np.eye(20)[0], tol=1e-13), exact, atol=1e-12)


def test_too_few_iterations_warn():
    with pytest.warns(ConvergenceWarning, match="max_iter=2 .*raise max_iter"):
        pagerank(np.triu(np.ones((6, 6))), max_iter=2)


def test_the_graph_is_not_changed(rng):
    W = sparse.csr_array(rng.random((6, 6)))
    before = W.toarray()
    pagerank(W)
    np.testing.assert_array_equal(W.toarray(), before)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"graph": np.ones((2, 3))}, "square"),
        ({"graph": [[0, -1], [1, 0]]}, "negative"),
        ({"graph": sparse.csr_array([[0.0, -1], [1, 0]])}, "negative"),
        ({"graph": [[0, np.nan], [1, 0]]}, "NaN"),
        ({"alpha": 1.0}, "alpha"),
        ({"alpha": -0.1}, "alpha"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1}, "tol"),
        ({"personalization": [1, 2, 3]}, "personalization"),
        ({"personalization": [0, 0]}, "personalization"),
        ({"dangling": [1, -1]}, "dangling"),
        ({"start": [np.nan, 1]}, "start"),
    ],
)
def test_bad_input_is_named(arguments, says):
    with pytest.raises(ValueError, match=says):
        pagerank(**{"graph": np.ones((2, 2)), **arguments})
