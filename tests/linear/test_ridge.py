"""Ridge regression: primal, dual, penalties."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from panlearn.linear import LinearRegression, Ridge


def _closed_form(X, Y, alpha, weight=None, fit_intercept=True):
    w = np.ones(len(X)) if weight is None else weight
    x0, y0 = (w @ X / w.sum(), w @ Y / w.sum()) if fit_intercept else (0 * X[0], 0 * Y[0])
    gram = ((X - x0).T * w) @ (X - x0)
    return np.linalg.solve(gram + alpha * np.eye(len(gram)), ((X - x0).T * w) @ (Y - y0)).T


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(80, 5), (10, 10), (8, 30)], ids=["tall", "square", "wide"])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e6])
def test_the_normal_equations_hold_in_the_primal_and_in_the_dual(rng, shape, alpha, fit_intercept):
    X, Y = rng.normal(size=shape) + 1, rng.normal(size=(shape[0], 2))
    weight = rng.random(shape[0])
    model = Ridge(alpha, fit_intercept=fit_intercept)
    expected = _closed_form(X, Y, alpha, weight, fit_intercept)
    assert_allclose(model.fit(X, Y, weight).coef_, expected, rtol=1e-7, atol=1e-12)
    expected = _closed_form(X, Y[:, 0], alpha, None, fit_intercept)
    assert_allclose(model.fit(X, Y[:, 0]).coef_, expected, rtol=1e-7, atol=1e-12)


def test_each_target_may_have_its_own_penalty(rng):
    X, Y = rng.normal(size=(40, 4)), rng.normal(size=(40, 3))
    for rows in (slice(None), slice(3)):  # tall and wide
        together = Ridge([0.0, 1.0, 50.0]).fit(X[rows], Y[rows])
        for k, alpha in enumerate([0.0, 1.0, 50.0]):
            alone = Ridge(alpha).fit(X[rows], Y[rows, k])
            assert_allclose(together.coef_[k], alone.coef_, rtol=1e-9)


@pytest.mark.parametrize(
    ("alpha", "says"),
    [
        ([1.0, 2.0], "2 values and y has 3 targets"),
        ([[1.0]], "one number or one a target"),
        ([1.0, -1.0, 1.0], "not negative"),
        ([1.0, np.nan, 1.0], "finite"),
        (np.array(["a"]), "alpha must be a number"),
    ],
)
def test_penalties_that_do_not_fit(rng, alpha, says):
    with pytest.raises(ValueError, match=says):
        Ridge(alpha).fit(rng.normal(size=(9, 2)), rng.normal(size=(9, 3)))


def test_no_penalty_is_least_squares_and_a_large_one_the_mean(rng):
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    assert_allclose(Ridge(0.0).fit(X, y).coef_, LinearRegression().fit(X, y).coef_, rtol=1e-9)
    heavy = Ridge(1e12).fit(X, y)
    assert_allclose(heavy.coef_, 0, atol=1e-9)
    assert_allclose(heavy.intercept_, y.mean(), rtol=1e-8)


def test_repeated_and_constant_columns_share_and_get_nothing(rng):
    X = rng.normal(size=(50, 2))
    y = X @ [1.0, 2.0]
    model = Ridge(0.1).fit(np.c_[X, X[:, 0], np.full(50, 7.3)], y)
    assert_allclose(model.coef_[0], model.coef_[2], rtol=1e-9)
    assert_allclose(model.coef_[3], 0, atol=1e-12)
    assert_allclose(Ridge(0.0).fit(np.c_[X, X[:, 0]], y).coef_, [0.5, 2, 0.5], rtol=1e-8)


def test_ill_conditioned_rows(rng):
    left, right = (
        np.linalg.qr(rng.normal(size=(200, 5)))[0],
        np.linalg.qr(rng.normal(size=(5, 5)))[0],
    )
    X = left * np.geomspace(1, 1e-8, 5) @ right
    y = rng.normal(size=200)
    U, s, V = np.linalg.svd(X, full_matrices=False)
    for alpha in (1e-6, 1e-14, 1e-20):
        expected = V.T @ (s / (s**2 + alpha) * (U.T @ y))
        found = Ridge(alpha, fit_intercept=False).fit(X, y).coef_
        assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


def test_sparse_of_every_width(rng):
    y = rng.normal(size=60)
    for columns in (20, 200, 2500):
        X = sparse.random_array((60, columns), density=0.05, rng=rng, format="csr")
        assert_allclose(Ridge().fit(X, y).coef_, Ridge().fit(X.toarray(), y).coef_, atol=1e-9)


def test_partial_fit_in_any_order(rng):
    X, y = rng.normal(size=(60, 4)) + 1e8, rng.normal(size=60)
    whole = Ridge(3.0).fit(X, y)
    model = Ridge(3.0)
    for i in (40, 0, 20):
        model.partial_fit(X[i : i + 20], y[i : i + 20])
    assert_allclose(model.coef_, whole.coef_, rtol=1e-8)
