"""The lasso and the elastic net against scikit-learn, celer and skglm."""

import celer
import numpy as np
import pytest
import skglm
from scipy import sparse
from sklearn import linear_model
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, make_regression

from panlearn.linear import ElasticNet, Lasso, lasso_path


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X / X.std(axis=0), y


def breast_cancer():
    """Thirty features, several pairs of which are correlated above 0.99."""
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y.astype(float)


def wide():
    X, y = make_regression(80, 500, n_informative=8, noise=5.0, random_state=0)
    return X, y / np.std(y)


DATA = {f.__name__: f for f in (diabetes, breast_cancer, wide)}


@pytest.fixture(params=DATA)
def data(request):
    X, y = DATA[request.param]()
    alpha = np.abs((X - X.mean(0)).T @ (y - y.mean())).max() / len(y) / 20
    return X, y, alpha


def objective(model, X, y, alpha, l1_ratio=1.0):
    residual, w = y - model.predict(X), model.coef_
    penalty = l1_ratio * np.abs(w).sum() + (1 - l1_ratio) / 2 * w @ w
    return residual @ residual / (2 * len(y)) + alpha * penalty


def peers(alpha):
    return [
        linear_model.Lasso(alpha, tol=1e-12, max_iter=100_000),
        celer.Lasso(alpha, tol=1e-12, max_iter=100),
    ]


def test_lasso(data):
    X, y, alpha = data
    ours = Lasso(alpha, tol=1e-12).fit(X, y)
    for peer in peers(alpha):
        peer.fit(X, y)
        # the objectives agree to the gaps, the coefficients to their root
        value = objective(peer, X, y, alpha)
        assert objective(ours, X, y, alpha) <= value * (1 + 1e-9)
        np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4 * np.abs(peer.coef_).max())
        assert ours.intercept_ == pytest.approx(peer.intercept_, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("l1_ratio", [0.1, 0.7])
@pytest.mark.parametrize("positive", [False, True])
def test_elastic_net(data, l1_ratio, positive):
    X, y, alpha = data
    options = dict(alpha=alpha, l1_ratio=l1_ratio, positive=positive, tol=1e-12)
    ours = ElasticNet(**options).fit(X, y)
    theirs = linear_model.ElasticNet(**options, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5 * np.abs(theirs.coef_).max())
    assert objective(ours, X, y, alpha, l1_ratio) == pytest.approx(
        objective(theirs, X, y, alpha, l1_ratio), rel=1e-9
    )


@pytest.fixture(scope="module")
def skglm_fits():
    """What skglm gives; here, where no call is noted, it compiles in half the time."""
    peer = skglm.ElasticNet(0.1, l1_ratio=0.8, tol=1e-10, max_iter=200)
    return [(X, y, clone(peer).fit(X, y)) for X, y in (diabetes(), wide())]


@pytest.mark.slow
def test_skglm(skglm_fits):
    for X, y, peer in skglm_fits:
        ours = ElasticNet(0.1, l1_ratio=0.8, tol=1e-12).fit(X, y)
        np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4 * np.abs(peer.coef_).max())


def test_weights(data):
    X, y, alpha = data
    weight = np.random.default_rng(0).uniform(0.1, 3, len(y))
    ours = Lasso(alpha, tol=1e-12).fit(X, y, sample_weight=weight)
    theirs = linear_model.Lasso(alpha, tol=1e-12, max_iter=100_000).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4 * np.abs(theirs.coef_).max())


def test_the_gap_is_scikit_learns(data):
    """The same scale, and the same criterion: both stop at tol times the mean square of y."""
    X, y, alpha = data
    for tol in (1e-2, 1e-5):
        ours, theirs = Lasso(alpha, tol=tol).fit(X, y), linear_model.Lasso(alpha, tol=tol).fit(X, y)
        assert max(ours.dual_gap_, theirs.dual_gap_) <= tol * np.var(y) * (1 + 1e-9)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csc_array], ids=["dense", "sparse"])
def test_path(data, convert):
    X, y, _ = data
    y = y - y.mean()
    alphas, coefs, gaps = lasso_path(convert(X), y, alphas=20, eps=1e-2, tol=1e-11)
    options = dict(alphas=20, eps=1e-2, tol=1e-11, max_iter=100_000)
    expected = linear_model.lasso_path(X, y, **options)
    np.testing.assert_allclose(alphas, expected[0])
    np.testing.assert_allclose(coefs, expected[1], atol=2e-4 * np.abs(coefs).max())
    assert (gaps <= 1e-11 * np.mean(y**2)).all()
    fortran = np.asfortranarray(X)
    _, peer, _ = celer.celer_path(fortran, y, pb="lasso", alphas=alphas, tol=1e-10)
    np.testing.assert_allclose(coefs, peer, atol=2e-4 * np.abs(coefs).max())
