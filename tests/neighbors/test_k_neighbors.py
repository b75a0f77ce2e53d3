"""Nearest neighbours against brute force: ties, offsets, metrics, votes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist

from panlearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, _search
from panlearn.neighbors._kernels import keep_smallest, paired_distances, powered_distances

METRICS = {1: "cityblock", 2: "euclidean", np.inf: "chebyshev", 3: "minkowski"}


@pytest.fixture(autouse=True, scope="module")
def screened():
    """Let few rows be screened too, so that a small test sees what many rows see."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_search, "FEW", 0)
        yield


def brute(X, Q, k, p=2):
    """All distances, sorted by distance and then by index."""
    extra = {"p": p} if p == 3 else {}
    distance = cdist(Q, X, METRICS[p], **extra)
    index = np.argsort(distance, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(distance, index, 1), index


def search(X, Q, k, **parameters):
    return KNeighborsRegressor(k, **parameters).fit(X, np.zeros(X.shape[0])).kneighbors(Q)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_few_rows_have_the_same_bits_screened_or_not(rng, offset, monkeypatch):
    X, Q = offset + rng.normal(size=(200, 12)), offset + rng.normal(size=(300, 12))
    X[100:] = X[:100]  # equal distances go by index
    apart = search(X, Q, 5, algorithm="brute")
    monkeypatch.setattr(_search, "FEW", X.size)
    index = _search.NeighborIndex(X, 2, "brute", 30)
    assert index.screened is None
    for found, expected in zip(index.query(Q, 5, None), apart, strict=True):
        assert_array_equal(found, expected)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@pytest.mark.parametrize("p", METRICS)
@pytest.mark.parametrize("d", [1, 3, 20])
def test_neighbours_are_those_of_brute_force(rng, algorithm, p, d):
    X, Q = rng.normal(size=(2500, d)), rng.normal(size=(300, d))  # two blocks of each
    distance, index = search(X, Q, 7, algorithm=algorithm, p=p)
    expected, which = brute(X, Q, 7, p)
    assert_array_equal(index, which)
    assert_allclose(distance, expected, rtol=1e-12)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@pytest.mark.parametrize("p", METRICS)
@pytest.mark.parametrize("levels", [1, 2, 4, 9])
def test_equal_distances_go_by_index(rng, algorithm, p, levels):
    X = rng.integers(0, levels, (700, 3)).astype(float)
    Q = rng.integers(0, levels, (60, 3)).astype(float)
    for k in (1, 5, 700):
        assert_array_equal(search(X, Q, k, algorithm=algorithm, p=p)[1], brute(X, Q, k, p)[1])


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@pytest.mark.parametrize("offset", [1e4, 1e8, 1e12])
def test_near_duplicates_at_an_offset_are_told_apart(rng, algorithm, offset):
    X = offset + rng.integers(-4000, 4000, (600, 12)) / 1024  # differences are exact
    X[1::2] = X[::2] + rng.integers(-2, 3, (300, 12)) / 1024
    distance, index = search(X, X, 3, algorithm=algorithm)
    expected, which = brute(X, X, 3)
    assert_array_equal(index, which)
    assert_allclose(distance, expected, rtol=1e-14)


def test_two_far_clusters_have_the_digits_of_differences(rng):
    """No centre is near both, so the screening in float32 cannot decide, nor that in float64."""
    X = np.r_[rng.normal(size=(300, 20)), 1e9 + rng.integers(-99, 99, (300, 20)) / 64]
    distance, index = search(X, X, 4, algorithm="brute")
    expected, which = brute(X, X, 4)
    assert_array_equal(index, which)
    assert_allclose(distance, expected, rtol=1e-14)


@pytest.mark.parametrize("scale", [-1060, -700, 700, 1010])
@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_distances_beyond_the_squares_of_floats(rng, algorithm, scale):
    """By a power of two, so that the scaled rows are the same numbers."""
    X, Q = rng.integers(-9, 9, (300, 4)).astype(float), rng.integers(-9, 9, (50, 4)).astype(float)
    distance, index = search(np.ldexp(X, scale), np.ldexp(Q, scale), 5, algorithm=algorithm)
    expected, which = brute(X, Q, 5)
    assert_array_equal(index, which)
    # subnormal numbers have few digits
    assert_allclose(distance, np.ldexp(expected, scale), rtol=1e-4 if scale == -1060 else 1e-14)


def test_queries_far_larger_than_the_rows(rng):
    X = rng.normal(size=(300, 3))
    for algorithm in ("brute", "kd_tree"):
        distance, _ = search(X, np.full((1, 3), 1e200), 2, algorithm=algorithm)
        assert_allclose(distance, np.sqrt(3) * 1e200)


@pytest.mark.parametrize("p", [1, 2, np.inf])
def test_sparse_rows_are_searched_as_dense_ones(rng, p):
    X = np.round(3 * rng.normal(size=(400, 30))) * (rng.random((400, 30)) < 0.2)
    Q = np.round(3 * rng.normal(size=(50, 30))) * (rng.random((50, 30)) < 0.2)
    expected, which = brute(X, Q, 6, p)
    for rows in (X, sparse.csr_array(X), sparse.csc_matrix(X)):
        for queries in (Q, sparse.csr_matrix(Q)):
            distance, index = search(rows, queries, 6, p=p)
            assert_array_equal(index, which)
            assert_allclose(distance, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="sparse"):
        search(sparse.csr_array(X), Q, 6, algorithm="kd_tree")


@pytest.mark.parametrize("d", [3, 20])
def test_float32_rows_give_float32_distances_that_are_right(rng, d):
    X, Q = rng.normal(size=(500, d)).astype("f4"), rng.normal(size=(40, d)).astype("f4")
    distance, index = search(X, Q, 5)
    expected, which = brute(X.astype(float), Q.astype(float), 5)
    assert distance.dtype == np.float32
    assert_array_equal(index, which)
    assert_allclose(distance, expected, rtol=1e-7)


def test_the_number_of_threads_changes_no_bit(rng):
    X, Q = rng.normal(size=(600, 20)), rng.normal(size=(600, 20))
    one, two = search(X, Q, 5, n_jobs=1), search(X, Q, 5, n_jobs=2)
    assert_array_equal(one[0], two[0])
    assert_array_equal(one[1], two[1])


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_without_queries_no_row_is_its_own_neighbour(rng, algorithm):
    X = np.r_[rng.normal(size=(300, 3)), np.zeros((9, 3))]
    model = KNeighborsRegressor(4, algorithm=algorithm).fit(X, np.zeros(len(X)))
    distance, index = model.kneighbors()
    assert not (index == np.arange(len(X))[:, None]).any()
    expected = np.sort(cdist(X, X) + np.diag(np.full(len(X), np.inf)), axis=1)[:, :4]
    assert_allclose(distance, expected, rtol=1e-12)
    graph = model.kneighbors_graph(mode="distance")
    assert graph.shape == (309, 309)
    assert_allclose(np.sort(graph.toarray(), axis=1)[:300, -4:], expected[:300])
    assert_array_equal(model.kneighbors_graph(X).sum(axis=1), 4)
    with pytest.raises(ValueError, match="mode"):
        model.kneighbors_graph(mode="other")


def test_votes_by_hand():
    X, y = np.array([[0.0], [1.0], [3.0], [7.0]]), np.array(["b", "a", "a", "b"])
    model = KNeighborsClassifier(3).fit(X, y)
    assert_allclose(model.predict_proba([[0.0]]), [[2 / 3, 1 / 3]])
    assert model.predict([[0.0]]) == ["a"]
    model = KNeighborsClassifier(2, weights="distance").fit(X, y)
    assert_allclose(model.predict_proba([[0.0], [0.25]]), [[0, 1], [1 / 4, 3 / 4]])
    even = KNeighborsClassifier(2).fit(X, y)
    assert even.predict([[0.5]]) == ["a"]  # an equal vote goes to the first label
    squared = KNeighborsClassifier(2, weights=lambda d: d**-2.0).fit(X, y)
    assert_allclose(squared.predict_proba([[0.25]]), [[1 / 10, 9 / 10]])
    nobody = KNeighborsClassifier(2, weights=np.zeros_like).fit(X, y)
    with pytest.warns(UserWarning, match="neighbours of row 0 the weight zero"):
        assert_allclose(nobody.predict_proba([[0.25]]), [[0.5, 0.5]])


def test_means_by_hand_with_several_targets():
    X = np.array([[0.0], [1.0], [3.0]])
    Y = np.array([[0.0, 1.0], [1.0, 5.0], [9.0, 0.0]])
    assert_allclose(KNeighborsRegressor(2).fit(X, Y).predict([[0.0]]), [[0.5, 3.0]])
    by_distance = KNeighborsRegressor(2, weights="distance").fit(X, Y)
    assert_allclose(by_distance.predict([[0.25], [1.0]]), [[0.25, 2.0], [1.0, 5.0]])
    assert_allclose(by_distance.fit(X, Y[:, 0]).predict([[0.25]]), [0.25])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda X, y: KNeighborsClassifier(61).fit(X, y), "n_neighbors=61 but n_samples=60"),
        (lambda X, y: KNeighborsClassifier().fit(X, y).kneighbors(X, 61), "from 1 to 60"),
        (lambda X, y: KNeighborsClassifier().fit(X, y).kneighbors(None, 60), "from 1 to 59"),
        (lambda X, y: KNeighborsClassifier().fit(X, y).kneighbors(X, 1.5), "whole number"),
        (lambda X, y: KNeighborsClassifier(weights=np.sum).fit(X, y), "one weight a distance"),
        (lambda X, y: KNeighborsClassifier().fit([(X, y)], None), "X is a stream"),
    ],
)
def test_what_cannot_be_answered(rng, call, says):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    with pytest.raises((ValueError, TypeError), match=says):
        call(X, y)


def test_kernels_do_what_numpy_does(rng):
    Q, X = rng.normal(size=(6, 5)), rng.normal(size=(70, 5))
    columns = np.ascontiguousarray(X.T)
    for p in (1.0, 2.0, 3.0):
        expected = (np.abs(Q[:, None] - X) ** p).sum(axis=2)
        assert_allclose(powered_distances(Q, columns, p), expected, rtol=1e-13)
    expected = np.abs(Q[:, None] - X).max(axis=2)
    assert_array_equal(powered_distances(Q, columns, np.inf), expected)
    which, near = rng.integers(0, 6, 40), rng.integers(0, 70, 40)
    for p in (1.0, 2.0, 3.0, np.inf):
        expected = powered_distances(Q, columns, p)[which, near]
        assert_allclose(paired_distances(Q, X, which, near, p), expected, rtol=1e-13)
    block = rng.integers(0, 20, (6, 70)).astype(float)
    value, index = np.full((6, 9), np.inf), np.zeros((6, 9), dtype=np.int64)
    keep_smallest(block[:, :40].copy(), 0, value, index)
    keep_smallest(block[:, 40:].copy(), 40, value, index)
    assert_array_equal(np.sort(index), np.sort(np.argsort(block, axis=1, kind="stable")[:, :9]))


def sums(rng, n=40, d=3):
    X = rng.normal(size=(n, d))
    return X, X.sum(axis=1), rng.normal(size=(9, d))


@pytest.mark.parametrize("d", [3, 20])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_rows_are_a_copy(rng, kind, d):
    X, y, Q = sums(rng, 300, d)
    X = kind(X)
    model = KNeighborsRegressor(3).fit(X, y)
    before = model.predict(Q)
    (X.data if sparse.issparse(X) else X)[...] = 5.0
    y[...] = -1
    assert_array_equal(model.predict(Q), before)


@pytest.mark.parametrize("method", ["fit", "predict", "kneighbors", "kneighbors_graph"])
def test_a_malformed_sparse_matrix_is_refused(rng, method):
    X, y, _ = sums(rng)
    model = KNeighborsRegressor(3).fit(sparse.csr_array(X), y)
    outside, falling = sparse.csr_array(X), sparse.csr_array(X)
    outside.indices[0], falling.indptr[2] = 1 << 30, 0
    column = sparse.csc_array(X)
    column.indices[0] = 1 << 30
    point = sparse.coo_array(X)
    point.coords[0][0] = 1 << 30
    for bad in (outside, falling, column, point):
        with pytest.raises(ValueError, match="malformed sparse"):
            getattr(model, method)(bad, **({"y": y} if method == "fit" else {}))


def test_weights_of_a_function(rng):
    X, y, Q = sums(rng)
    with np.errstate(divide="ignore"):
        inverse = KNeighborsRegressor(4, weights=lambda d: 1 / d).fit(X, y)
        expected = KNeighborsRegressor(4, weights="distance").fit(X, y)
        for rows in (Q, X[:5]):  # at distance zero the weight is infinite
            assert_allclose(inverse.predict(rows), expected.predict(rows), rtol=1e-12)
    near = KNeighborsRegressor(4, weights=lambda d: (d < 1).astype(float)).fit(X, y)
    rows = np.vstack([X[:2], [[50.0, 0, 0]], X[2:3]])
    with pytest.warns(UserWarning, match=r"row 2 the weight zero \(and those of 1 rows"):
        found = near.predict(rows)
    assert_allclose(found[2], KNeighborsRegressor(4).fit(X, y).predict(rows[2:3])[0])
    assert np.isfinite(found).all()
    for bad in (lambda d: np.where(d < 5, 1.0, -1.0), lambda d: np.where(d < 5, 1.0, np.nan)):
        model = KNeighborsRegressor(4, weights=bad).fit(X, y)
        with pytest.raises(ValueError, match=r"neighbours of row 2 .*negative or NaN"):
            model.predict(rows)


def test_float32_stays_float32(rng):
    X, y, Q = (a.astype(np.float32) for a in sums(rng))
    for weights in ("uniform", "distance", lambda d: 1 / (1 + d.astype(float))):
        for metric in ("minkowski", "cosine"):
            model = KNeighborsRegressor(4, weights=weights, metric=metric).fit(X, y)
            assert model.predict(Q).dtype == np.float32
            assert model.kneighbors(Q)[0].dtype == np.float32
            labels = KNeighborsClassifier(4, weights=weights, metric=metric).fit(X, y > 0)
            assert labels.predict_proba(Q).dtype == np.float32
            assert labels.predict_log_proba(Q).dtype == np.float32


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_any_metric_is_brute_force(data):
    """Distances by the formula, equal ones by index, whatever the metric."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    metric = data.draw(st.sampled_from(["cosine", "canberra", "nan_euclidean", "function"]))
    n, k = data.draw(st.integers(3, 30)), data.draw(st.integers(1, 3))
    X = rng.integers(-2, 3, (n, 3)).astype(float) + 0.5  # many ties, no zero row
    Q = rng.integers(-2, 3, (4, 3)).astype(float) + 0.5
    formulas = {
        "cosine": lambda a, b: 1 - a @ b / np.sqrt((a @ a) * (b @ b)),
        "canberra": lambda a, b: np.sum(np.abs(a - b) / (np.abs(a) + np.abs(b))),
        "nan_euclidean": lambda a, b: np.sqrt(np.sum((a - b) ** 2)),
        "function": lambda a, b: np.abs(a - b).max(),
    }
    formula = formulas[metric]
    model = KNeighborsRegressor(k, metric=formula if metric == "function" else metric)
    distance, index = model.fit(X, np.arange(n)).kneighbors(Q)
    for q, near, which in zip(Q, distance, index, strict=True):
        exact = np.array([formula(q, x) for x in X])
        assert_allclose(near, np.sort(exact)[:k], atol=1e-7)
        assert_allclose(exact[which], near, atol=1e-7)
        assert len(set(which)) == k
        if metric in ("function", "nan_euclidean"):  # computed alike, so ties are exact
            assert_array_equal(which, np.argsort(exact.round(9), kind="stable")[:k])


def test_rows_with_nothing_in_common_are_infinitely_far():
    X = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, 3.0], [0.0, 0.0]])
    model = KNeighborsClassifier(4, metric="nan_euclidean").fit(X, [0, 0, 1, 1])
    distance, index = model.kneighbors([[1.0, np.nan]])
    assert_array_equal(index, [[0, 1, 3, 2]])
    assert_allclose(distance, [[0, np.sqrt(2), np.sqrt(2), np.inf]])
    by_distance = KNeighborsClassifier(1, metric="nan_euclidean", weights="distance")
    by_distance.fit(X[:2], [0, 1])
    assert_allclose(by_distance.predict_proba([[np.nan, 5.0]]), [[1, 0]])  # all are infinitely far
    with pytest.raises(ValueError, match="NaN"):
        KNeighborsClassifier(2).fit(X, [0, 0, 1, 1])


def test_what_a_metric_cannot_do_is_said_by_fit(rng):
    X, y, _ = sums(rng)
    for options, says in [
        ({"metric": "mahalanobis"}, "VI"),
        ({"metric": "haversine"}, "2 dimensions"),
        ({"metric": "precomputed"}, "square"),
        ({"metric": "cosine", "algorithm": "kd_tree"}, "k-d tree"),
        ({"metric": lambda a, b: -1.0}, "negative"),
        ({"metric": lambda a, b: a @ 0}, "failed on two rows"),
    ]:
        with pytest.raises(ValueError, match=says):
            KNeighborsRegressor(3, **options).fit(X, y)
    with pytest.raises(ValueError, match="takes no sparse X"):
        KNeighborsRegressor(3, metric="canberra").fit(sparse.csr_array(X), y)
    model = KNeighborsRegressor(3, metric="precomputed").fit(np.abs(X @ X.T), y)
    with pytest.raises(ValueError, match="row 1 go down to -1"):
        model.predict(np.array([np.ones(40), -np.ones(40)]))
