"""Logistic regression against scikit-learn (l2, elastic net), liblinear and skglm (l1)."""

import numpy as np
import pytest
import sklearn.linear_model as peer
from scipy.special import logsumexp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from panlearn.linear import LogisticRegression


def standardised(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def objective(model, X, y, C, l1_ratio=0.0):
    Z = X @ model.coef_.T + model.intercept_
    Z = np.column_stack([np.zeros(len(Z)), Z[:, 0]]) if Z.shape[1] == 1 else Z
    loss = np.sum(logsumexp(Z, axis=1) - Z[np.arange(len(y)), y])
    w = model.coef_
    return C * loss + 0.5 * (1 - l1_ratio) * np.sum(w * w) + l1_ratio * np.abs(w).sum()


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_l2_coefficients(load, C):
    X, y = standardised(load)
    ours = LogisticRegression(C=C).fit(X, y)
    theirs = peer.LogisticRegression(C=C, solver="newton-cg", tol=1e-10, max_iter=1000).fit(X, y)
    # the peer stops at a gradient of 1e-10 * n; the least curvature is that of the penalty, 1 / C
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=0, atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert objective(ours, X, y, C) <= objective(theirs, X, y, C) * (1 + 1e-12)


def test_l2_on_digits_as_they_are():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    ours = LogisticRegression(C=0.01).fit(X, y)
    theirs = peer.LogisticRegression(C=0.01, solver="newton-cg", tol=1e-8, max_iter=500).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-5)
    assert objective(ours, X, y, 0.01) <= objective(theirs, X, y, 0.01) * (1 + 1e-12)


def test_weights_and_no_intercept(rng):
    X, y = standardised(load_wine)
    weight = rng.random(len(y))
    settings = dict(C=2.0, fit_intercept=False, class_weight={0: 2.0, 1: 1.0, 2: 0.5})
    ours = LogisticRegression(**settings).fit(X, y, weight)
    theirs = peer.LogisticRegression(**settings, solver="newton-cg", tol=1e-10, max_iter=500)
    theirs.fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-5)


def test_no_penalty(rng):
    X = rng.standard_normal((300, 3))
    y = (X @ [1.0, -1.0, 0.5] + rng.logistic(size=300) > 0).astype(int)
    ours = LogisticRegression(C=np.inf).fit(X, y)
    theirs = peer.LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-7)


@pytest.mark.parametrize("C", [0.05, 1.0])
def test_l1_against_liblinear(C):
    X, y = standardised(load_breast_cancer)
    ours = LogisticRegression(C=C, l1_ratio=1, fit_intercept=False).fit(X, y)
    theirs = peer.LogisticRegression(
        C=C, l1_ratio=1, solver="liblinear", fit_intercept=False, tol=1e-10, max_iter=5000
    ).fit(X, y)
    np.testing.assert_array_equal(ours.coef_ != 0, theirs.coef_ != 0)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-5)
    assert objective(ours, X, y, C, 1) <= objective(theirs, X, y, C, 1) * (1 + 1e-10)


@pytest.fixture(scope="module")
def skglm_fit():
    """What skglm gives; here, where no call is noted, it compiles in half the time."""
    skglm = pytest.importorskip("skglm")
    X, y = standardised(load_breast_cancer)
    theirs = skglm.SparseLogisticRegression(alpha=0.01, tol=1e-10, fit_intercept=False)
    return X, y, theirs.fit(np.asfortranarray(X), y)


def test_l1_against_skglm(skglm_fit):
    X, y, theirs = skglm_fit
    C = 1 / (theirs.alpha * len(y))
    ours = LogisticRegression(C=C, l1_ratio=1, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-6)


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_elastic_net_objective_is_no_worse_than_saga(load):
    X, y = standardised(load)
    ours = LogisticRegression(C=0.5, l1_ratio=0.5).fit(X, y)
    theirs = peer.LogisticRegression(
        C=0.5, l1_ratio=0.5, solver="saga", tol=1e-6, max_iter=5000, random_state=0
    ).fit(X, y)
    assert objective(ours, X, y, 0.5, 0.5) <= objective(theirs, X, y, 0.5, 0.5) * (1 + 1e-10)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-2)
