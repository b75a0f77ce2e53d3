"""Nearest neighbours and densities against scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import neighbors as peer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris

from panlearn import neighbors

CLASSES = {"iris": load_iris, "breast cancer": load_breast_cancer, "digits": load_digits}


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("name", CLASSES)
def test_classifier(name, p, weights):
    X, y = CLASSES[name](return_X_y=True)
    # generic rows: where distances tie, the peer's choice is not by index
    X = X[:400] + np.random.default_rng(0).normal(scale=1e-3, size=X[:400].shape)
    y = y[:400]
    ours = neighbors.KNeighborsClassifier(7, p=p, weights=weights).fit(X[::2], y[::2])
    theirs = peer.KNeighborsClassifier(7, p=p, weights=weights).fit(X[::2], y[::2])
    new = X[1::2]
    for a, b in zip(ours.kneighbors(new), theirs.kneighbors(new), strict=True):
        assert_allclose(a, b, rtol=1e-8)
    assert_array_equal(ours.predict(new), theirs.predict(new))
    assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), rtol=1e-8, atol=1e-12)
    assert_array_equal(ours.kneighbors(return_distance=False), theirs.kneighbors()[1])


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: 1 / (1 + d)])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_regressor(metric, weights):
    X, y = load_diabetes(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=1e-6, size=X.shape)
    Y = np.c_[y, y**2]
    ours = neighbors.KNeighborsRegressor(6, metric=metric, weights=weights).fit(X[:300], Y[:300])
    theirs = peer.KNeighborsRegressor(6, metric=metric, weights=weights).fit(X[:300], Y[:300])
    assert_allclose(ours.predict(X[300:]), theirs.predict(X[300:]), rtol=1e-9)
    graph = theirs.kneighbors_graph(X[300:], mode="distance")
    assert_allclose(ours.kneighbors_graph(X[300:], mode="distance").toarray(), graph.toarray())


KERNELS = ["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_density(rng, kernel, d, weighted):
    if kernel == "cosine" and d == 2:
        pytest.skip("the peer's density does not integrate to one in even dimensions")
    X, Q = rng.normal(size=(80, d)), rng.normal(size=(30, d))
    weight = rng.random(80) if weighted else None
    for bandwidth in (0.7, "scott", "silverman"):
        if weighted and bandwidth != 0.7:
            continue  # the peer's rules count rows, whatever they weigh
        ours = neighbors.KernelDensity(bandwidth, kernel=kernel).fit(X, sample_weight=weight)
        theirs = peer.KernelDensity(bandwidth=bandwidth, kernel=kernel)
        theirs.fit(X, sample_weight=weight)
        assert ours.bandwidth_ == pytest.approx(theirs.bandwidth_, rel=1e-14)
        expected = theirs.score_samples(Q)
        reached = np.isfinite(ours.score_samples(Q))
        assert_allclose(ours.score_samples(Q)[reached], expected[reached], rtol=1e-7, atol=1e-9)
        assert (expected[~reached] < -700).all()  # the peer's logarithm of zero
