"""Least squares: what it solves, and to how many digits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse
from sklearn.linear_model import LinearRegression as Peer

from panlearn.linear import LinearRegression


def _conditioned(rng, n, d, condition):
    """Rows whose centred matrix has the given condition number, up to the centring."""
    left = np.linalg.qr(rng.normal(size=(n, d)) - 0.0)[0]
    right = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return left * np.geomspace(1, 1 / condition, d) @ right * np.sqrt(n)


def test_by_hand():
    model = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    assert_allclose(model.coef_, [2.0])
    assert_allclose(model.intercept_, 1.0)
    assert isinstance(model.intercept_, float)
    assert model.rank_ == 1
    assert_allclose(model.singular_, [np.sqrt(2)])
    through = LinearRegression(fit_intercept=False).fit([[1.0], [2.0]], [1.0, 3.0])
    assert_allclose(through.coef_, [7 / 5])
    assert through.intercept_ == 0.0


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(200, 5), (7, 7), (6, 15)])
@pytest.mark.parametrize("targets", [None, 1, 3])
def test_the_least_squares_solution_of_least_norm(rng, shape, targets, fit_intercept):
    X = rng.normal(size=shape) + 2
    Y = rng.normal(size=shape[:1] if targets is None else (shape[0], targets))
    model = LinearRegression(fit_intercept=fit_intercept).fit(X, Y)
    Xc, Yc = (X - X.mean(axis=0), Y - Y.mean(axis=0)) if fit_intercept else (X, Y)
    assert_allclose(model.coef_.T, np.linalg.lstsq(Xc, Yc, rcond=1e-12)[0], rtol=1e-8, atol=1e-10)
    assert_allclose(model.predict(X), X @ model.coef_.T + model.intercept_, rtol=1e-12)
    assert model.coef_.shape == ((shape[1],) if targets is None else (targets, shape[1]))


@pytest.mark.parametrize("condition", [1e2, 1e5, 1e8])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ill_conditioned_rows_lose_no_more_digits_than_elsewhere(rng, condition, fit_intercept):
    X = _conditioned(rng, 500, 8, condition)
    truth = np.arange(1.0, 9.0)
    y = X @ truth
    ours = LinearRegression(fit_intercept=fit_intercept).fit(X, y).coef_
    peer = Peer(fit_intercept=fit_intercept, tol=1e-14).fit(X, y).coef_
    design = np.column_stack([X, np.ones(500)]) if fit_intercept else X
    plain = np.linalg.lstsq(design, y, rcond=None)[0][:8]
    error = np.abs(ours - truth).max()
    best = min(np.abs(peer - truth).max(), np.abs(plain - truth).max())
    # a factor for luck: all three have errors of the order eps * condition
    assert error <= 10 * best + 1e-13 * condition


def test_noisy_ill_conditioned_rows_agree_with_lstsq(rng):
    X = _conditioned(rng, 300, 6, 1e8)
    y = X @ np.ones(6) + 1e-6 * rng.normal(size=300)
    ours = LinearRegression().fit(X, y)
    residual = y - ours.predict(X)
    best = linalg.lstsq(np.column_stack([X, np.ones(300)]), y)[0]
    least = y - np.column_stack([X, np.ones(300)]) @ best
    assert residual @ residual <= (1 + 1e-8) * (least @ least)


@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_offsets_cost_no_digits_of_the_slope(rng, fit, offset):
    """Whole numbers at an offset are exact in floats, so the slopes have an exact answer."""
    X = rng.integers(-1000, 1000, size=(300, 3)).astype(float)
    y = X @ [1.0, -2.0, 3.0] + rng.integers(-5, 5, 300)
    plain = getattr(LinearRegression(), fit)(X, y)
    shifted = getattr(LinearRegression(), fit)(X + offset, y)
    assert_allclose(shifted.coef_, plain.coef_, rtol=1e-11)


def test_units_do_not_matter(rng):
    X = rng.normal(size=(100, 4))
    y = X @ [1.0, 2.0, 3.0, 4.0] + rng.normal(size=100)
    plain = LinearRegression().fit(X, y).coef_
    for units in ([1e-150, 1, 1e5, 1e150], [1e-12, 1e12, 1, 1], [1e150] * 4, [1e-150] * 4):
        for fit in ("fit", "partial_fit"):
            model = getattr(LinearRegression(), fit)(X * units, y)
            assert_allclose(model.coef_ * units, plain, rtol=1e-8)


@pytest.mark.parametrize("level", [1e-200, 1e-12, 1e12, 1e200])
def test_the_level_of_the_weights_does_not_matter(rng, level):
    for X in (rng.normal(size=(50, 3)), _conditioned(rng, 50, 3, 1e5)):
        y = X @ [1.0, 2.0, 3.0]
        weight = rng.random(50) + 0.1
        model = LinearRegression().fit(X, y, sample_weight=level * weight)
        assert_allclose(model.coef_, [1.0, 2.0, 3.0], rtol=1e-8)
        assert model.rank_ == 3


def test_constant_and_repeated_columns_warn_and_get_the_least_norm(rng):
    X = rng.normal(size=(50, 2))
    y = X @ [1.0, 2.0] + 3
    for constant in (0.0, 0.1, 1e8 + 0.1):
        with pytest.warns(linalg.LinAlgWarning, match="rank 2 with 3 columns"):
            model = LinearRegression().fit(np.c_[X, np.full(50, constant)], y)
        assert_allclose(model.coef_, [1.0, 2.0, 0.0], atol=1e-12)
        assert_allclose(model.intercept_, 3.0, rtol=1e-10)
    with pytest.warns(linalg.LinAlgWarning, match="rank 2 with 3 columns"):
        model = LinearRegression().fit(np.c_[X, X[:, 0]], y)
    assert_allclose(model.coef_, [0.5, 2.0, 0.5], rtol=1e-8)


def test_many_rows_with_a_repeated_column_are_found_deficient(rng):
    X = rng.normal(size=(100_000, 3))
    with pytest.warns(linalg.LinAlgWarning, match="rank 3 with 4 columns"):
        model = LinearRegression().fit(np.c_[X, X[:, 0]], X[:, 0])
    assert_allclose(model.coef_, [0.5, 0, 0, 0.5], atol=1e-10)


def test_generalised_least_squares(rng):
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    factor = rng.normal(size=(30, 30))
    R = factor @ factor.T + np.eye(30)
    model = LinearRegression().fit(X, y, noise_covariance=R)
    design = np.column_stack([X, np.ones(30)])
    inverse = np.linalg.inv(R)
    expected = np.linalg.solve(design.T @ inverse @ design, design.T @ inverse @ y)
    assert_allclose([*model.coef_, model.intercept_], expected, rtol=1e-9)

    weight = rng.random(30) + 0.5
    diagonal = LinearRegression().fit(X, y, noise_covariance=np.diag(1 / weight))
    weighted = LinearRegression().fit(X, y, sample_weight=weight)
    assert_allclose(diagonal.coef_, weighted.coef_, rtol=1e-10)
    several = LinearRegression().fit(X, np.c_[y, 2 * y], noise_covariance=R)
    assert_allclose(several.coef_, [model.coef_, 2 * model.coef_], rtol=1e-10)


@pytest.mark.parametrize(
    ("R", "says"),
    [
        (np.eye(3), "inconsistent"),
        (np.ones((5, 4)), "inconsistent"),
        (np.triu(np.ones((5, 5))), "symmetric"),
        (-np.eye(5), "positive definite"),
        (np.full((5, 5), np.nan), "noise_covariance contains NaN"),
    ],
)
def test_a_covariance_that_is_none(R, says):
    with pytest.raises(ValueError, match=says):
        LinearRegression().fit(np.eye(5)[:, :2], np.ones(5), noise_covariance=R)
    with pytest.raises(ValueError, match="not both"):
        LinearRegression().fit(np.eye(5), np.ones(5), np.ones(5), np.eye(5))


def test_partial_fit_goes_on_and_says_when_it_cannot(rng):
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    whole = LinearRegression().fit(X, y)
    model = LinearRegression().fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
    assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
    row_by_row = LinearRegression()
    for i in range(60):
        row_by_row.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_allclose(row_by_row.coef_, whole.coef_, rtol=1e-9)
    wide = LinearRegression().fit(X[:2], y[:2])
    with pytest.raises(ValueError, match=r"kept no statistics.*partial_fit"):
        wide.partial_fit(X, y)


def test_a_wide_sparse_matrix_is_never_made_dense(rng):
    X = sparse.random_array((60, 2500), density=0.02, rng=rng, format="csr")
    y = rng.normal(size=60)
    model = LinearRegression().fit(X, y)
    dense = X.toarray()
    expected = np.linalg.lstsq(dense - dense.mean(axis=0), y - y.mean(), rcond=None)[0]
    assert_allclose(model.coef_, expected, atol=1e-9 * np.abs(expected).max())
    assert_allclose(model.predict(X), y, atol=1e-8)
