"""Least squares and ridge against scikit-learn, on the data that ships with it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import linear_model
from sklearn.datasets import load_diabetes, load_linnerud, load_wine

from panlearn.linear import LinearRegression, Ridge


@pytest.fixture(params=["diabetes", "linnerud", "wine", "wide"])
def data(request, rng):
    if request.param == "diabetes":
        return load_diabetes(return_X_y=True)
    if request.param == "linnerud":
        return load_linnerud(return_X_y=True)
    if request.param == "wine":
        X = load_wine().data
        return X[:, 1:], X[:, 0]
    return rng.normal(size=(20, 50)), rng.normal(size=(20, 2))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_linear_regression(data, fit_intercept, weighted, rng):
    X, y = data
    weight = rng.random(len(X)) if weighted else None
    ours = LinearRegression(fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    peer = linear_model.LinearRegression(fit_intercept=fit_intercept).fit(X, y, weight)
    scale = np.abs(peer.coef_).max()
    assert_allclose(ours.coef_, peer.coef_, atol=1e-9 * scale)
    assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-8, atol=1e-8 * scale)
    assert_allclose(ours.predict(X), peer.predict(X), rtol=1e-8, atol=1e-10)
    assert_allclose(ours.score(X, y), peer.score(X, y), rtol=1e-10)
    if not weighted:
        assert ours.rank_ == peer.rank_
        assert_allclose(ours.singular_[: ours.rank_], peer.singular_[: peer.rank_], rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_ridge(data, alpha, weighted, rng):
    X, y = data
    weight = rng.random(len(X)) if weighted else None
    ours = Ridge(alpha).fit(X, y, sample_weight=weight)
    peer = linear_model.Ridge(alpha, solver="svd").fit(X, y, sample_weight=weight)
    assert_allclose(ours.coef_, peer.coef_, atol=1e-9 * np.abs(peer.coef_).max())
    assert_allclose(ours.predict(X), peer.predict(X), rtol=1e-8)
