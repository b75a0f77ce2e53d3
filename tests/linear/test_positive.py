"""Least squares and ridge with weights of at least zero, by the conditions of optimality."""

import numpy as np
import pytest
import sklearn.linear_model as peer
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import nnls

from panlearn import Batches
from panlearn.linear import Lasso, LinearRegression, Ridge


def violation(model, X, y, weight=None, alpha=0.0):
    """Of w >= 0, of a gradient that is zero where w > 0 and not negative elsewhere; no units."""
    weight = np.ones(len(y)) if weight is None else weight
    if model.fit_intercept:
        X, y = X - np.average(X, axis=0, weights=weight), y - np.average(y, weights=weight)
    w = model.coef_
    pull = X.T @ (weight * (y - X @ w)) - alpha * w
    size = np.sqrt((weight @ X**2 + alpha) * (weight @ y**2))
    pull = pull / np.where(size > 0, size, 1.0)
    return max(-w.min(), pull.max(), np.abs(pull[w > 0]).max(initial=0.0))


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 30),
    st.integers(1, 40),
    st.sampled_from([0.0, 1e-6, 1.0]),
    st.booleans(),
    st.sampled_from(["plain", "scales", "twins", "offset"]),
)
def test_optimality(seed, n, d, alpha, fit_intercept, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if kind == "scales":
        X *= 10 ** rng.uniform(-4, 4, d)
    elif kind == "twins":
        X[:, d // 2 :] = X[:, : d - d // 2]
    elif kind == "offset":
        X += 1e3
    y, weight = rng.normal(size=n), rng.integers(0, 4, n).astype(float)
    weight[:2] = 1.0
    model = Ridge(alpha, positive=True, fit_intercept=fit_intercept).fit(X, y, weight)
    # an offset of a thousand takes three digits of X
    assert violation(model, X, y, weight, alpha) <= (1e-9 if kind == "offset" else 1e-11)


def test_it_is_lawson_and_hansons_method(rng):
    X, y = rng.normal(size=(50, 12)), rng.normal(size=50)
    expected, _ = nnls(X, y)
    for model in (LinearRegression(positive=True), Lasso(0.0, positive=True)):
        found = model.set_params(fit_intercept=False).fit(X, y)
        np.testing.assert_allclose(found.coef_, expected, atol=1e-12)
        assert (expected == 0).any()


def test_the_peers(rng):
    X, y = rng.normal(size=(60, 8)) + 2, rng.normal(size=60)
    ours = LinearRegression(positive=True).fit(X, y)
    theirs = peer.LinearRegression(positive=True).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    assert ours.intercept_ == pytest.approx(theirs.intercept_)
    assert not hasattr(ours, "rank_")
    ours = Ridge(2.0, positive=True).fit(X, y)
    theirs = peer.Ridge(2.0, positive=True, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)


def test_where_no_weight_is_negative_the_constraint_does_not_matter(rng):
    X = rng.normal(size=(60, 4))
    y = X @ [1.0, 2.0, 3.0, 4.0] + 0.1 * rng.normal(size=60)
    for cls in (LinearRegression, Ridge):
        np.testing.assert_allclose(
            cls(positive=True).fit(X, y).coef_, cls().fit(X, y).coef_, rtol=1e-10
        )


@pytest.mark.parametrize("cls", [LinearRegression, Ridge])
def test_streams_parts_sparse_and_dask_agree(rng, cls):
    da = pytest.importorskip("dask.array")
    X, Y = rng.normal(size=(60, 6)) + 1, rng.normal(size=(60, 2))
    whole = cls(positive=True).fit(X, Y)
    assert whole.coef_.shape == (2, 6)
    parts = cls(positive=True).partial_fit(X[:25], Y[:25]).partial_fit(X[25:], Y[25:])
    others = [
        cls(positive=True).fit(Batches([(X[i::3], Y[i::3]) for i in range(3)])),
        cls(positive=True).fit(sparse.csr_array(X), Y),
        cls(positive=True).fit(da.from_array(X, (20, 6)), da.from_array(Y, (20, 2))),
        parts,
    ]
    for other in others:
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(other.intercept_, whole.intercept_, rtol=1e-9)


@pytest.mark.parametrize("cls", [LinearRegression, Ridge])
def test_constant_columns_get_no_weight(rng, cls):
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    X[:, 1] = 0.1
    assert cls(positive=True).fit(X, y).coef_[1] == 0
    flat = cls(positive=True).fit(np.full((30, 2), 0.1), y)
    assert not flat.coef_.any()
    assert flat.intercept_ == pytest.approx(y.mean())


def test_float32_and_a_penalty_a_target(rng):
    X, Y = rng.normal(size=(30, 3)).astype(np.float32), rng.normal(size=(30, 2))
    both = Ridge([0.1, 10.0], positive=True).fit(X, Y)
    assert both.coef_.dtype == both.predict(X).dtype == np.float32
    one = Ridge(10.0, positive=True).fit(X, Y[:, 1])
    np.testing.assert_allclose(both.coef_[1], one.coef_, rtol=1e-5)


def test_with_a_covariance_of_the_noise_it_is_refused(rng):
    with pytest.raises(ValueError, match="positive=True"):
        LinearRegression(positive=True).fit([[1.0], [2.0]], [1.0, 2.0], noise_covariance=np.eye(2))
