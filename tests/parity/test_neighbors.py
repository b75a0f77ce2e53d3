"""Nearest neighbours and densities against scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import neighbors as peer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import cross_val_score

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


METRICS = {
    "cosine": {},
    "correlation": {},
    "canberra": {},
    "sqeuclidean": {},
    "l1": {},
    "l2": {},
    "cityblock": {},
    "nan_euclidean": {},
    "mahalanobis": {"metric_params": {"VI": np.diag([1.0, 2.0, 3.0, 4.0])}},
    "seuclidean": {"metric_params": {"V": np.array([1.0, 2.0, 3.0, 4.0])}},
    "minkowski": {"metric_params": {"w": np.array([1.0, 2.0, 3.0, 4.0])}, "p": 3},
    "callable": {"metric": lambda a, b: float(np.abs(a - b).max())},
    "hamming": {},
    "jaccard": {},
}


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("name", METRICS)
def test_metrics(rng, name, weights):
    options = {"metric": name, "weights": weights, **METRICS[name]}
    X, Q = rng.normal(size=(60, 4)), rng.normal(size=(20, 4))
    y = rng.integers(0, 3, 60)
    if name in ("hamming", "jaccard"):  # distinct distances: the peer settles ties in its own way
        X, Q = (rng.random((n, 400)) < 0.4 for n in (60, 20))
        X, Q = (A.astype(bool) if name == "jaccard" else A.astype(float) for A in (X, Q))
    ours = neighbors.KNeighborsClassifier(1 if name in ("hamming", "jaccard") else 5, **options)
    theirs = peer.KNeighborsClassifier(ours.n_neighbors, algorithm="brute", **options)
    if name == "minkowski":  # the peer lets metric_params hide p, and says so
        theirs.set_params(metric_params={**options["metric_params"], "p": 3}, p=2)
        with pytest.warns(SyntaxWarning, match="p is found in metric_params"):
            theirs.fit(X, y)
    else:
        theirs.fit(X, y)
    ours.fit(X, y)
    for a, b in zip(ours.kneighbors(Q), theirs.kneighbors(Q), strict=True):
        if name not in ("hamming", "jaccard"):
            assert_allclose(a, b, atol=1e-10)
    assert_allclose(ours.kneighbors(Q)[0], theirs.kneighbors(Q)[0], atol=1e-10)
    if name not in ("hamming", "jaccard"):
        assert_allclose(ours.predict_proba(Q), theirs.predict_proba(Q), atol=1e-10)
        assert_array_equal(ours.kneighbors()[1], theirs.kneighbors()[1])


def test_precomputed_and_missing(rng):
    X, Q, y = rng.normal(size=(50, 3)), rng.normal(size=(12, 3)), rng.normal(size=50)
    D, E = (pairwise_distances(A, X) for A in (X, Q))
    for weights in ("uniform", "distance"):
        options = {"metric": "precomputed", "weights": weights}
        ours = neighbors.KNeighborsRegressor(4, **options).fit(D, y)
        theirs = peer.KNeighborsRegressor(4, **options).fit(D, y)
        assert_allclose(ours.predict(E), theirs.predict(E), rtol=1e-12)
        assert_array_equal(ours.kneighbors()[1], theirs.kneighbors()[1])
        assert_allclose(cross_val_score(ours, D, y), cross_val_score(theirs, D, y), rtol=1e-12)
    X[rng.random(X.shape) < 0.3] = np.nan
    X[np.isnan(X).all(axis=1)] = 0.0
    ours = neighbors.KNeighborsRegressor(4, metric="nan_euclidean").fit(X, y)
    theirs = peer.KNeighborsRegressor(4, metric="nan_euclidean").fit(X, y)
    assert_allclose(ours.predict(Q), theirs.predict(Q), rtol=1e-12)


def test_cosine_of_sparse_rows(rng):
    X = sparse.random_array((60, 30), density=0.3, rng=rng, format="csr")
    y = rng.integers(0, 2, 60)
    ours = neighbors.KNeighborsClassifier(3, metric="cosine").fit(X, y)
    theirs = peer.KNeighborsClassifier(3, metric="cosine").fit(X, y)
    for a, b in zip(ours.kneighbors(X[:20]), theirs.kneighbors(X[:20]), strict=True):
        assert_allclose(a, b, atol=1e-7)  # the peer's distance of a row from itself is rounding


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize(
    ("metric", "radius"), [("euclidean", 1.2), ("manhattan", 2.0), ("cosine", 0.6)]
)
def test_within_a_radius(rng, metric, radius, weights):
    X, Q = rng.normal(size=(120, 3)), rng.normal(size=(40, 3))
    y, values = rng.integers(0, 3, 120), rng.normal(size=(120, 2))
    options = {"metric": metric, "weights": weights}
    ours = neighbors.RadiusNeighborsClassifier(radius, outlier_label=2, **options).fit(X, y)
    theirs = peer.RadiusNeighborsClassifier(radius, outlier_label=2, **options).fit(X, y)
    near = np.array([len(i) > 0 for i in theirs.radius_neighbors(Q)[1]])
    for A in (X, Q[near]):
        assert_array_equal(ours.predict(A), theirs.predict(A))
        assert_allclose(ours.predict_proba(A), theirs.predict_proba(A), atol=1e-12)
    assert_array_equal(ours.predict(Q), theirs.predict(Q))
    graph = theirs.radius_neighbors_graph(Q, mode="distance").toarray()
    assert_allclose(ours.radius_neighbors_graph(Q, mode="distance").toarray(), graph, atol=1e-12)
    ours = neighbors.RadiusNeighborsRegressor(radius, **options).fit(X, values)
    theirs = peer.RadiusNeighborsRegressor(radius, **options).fit(X, values)
    assert_allclose(ours.predict(Q[near]), theirs.predict(Q[near]), rtol=1e-10)
