"""The rows within a radius: which they are, how they vote, and what has none."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist

from panlearn.neighbors import RadiusNeighborsClassifier, RadiusNeighborsRegressor

ORDERS = {1: "cityblock", 2: "euclidean", np.inf: "chebyshev"}


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_neighbours_are_those_of_brute_force(rng, algorithm, p, layout):
    X, Q = rng.normal(size=(400, 3)), rng.normal(size=(30, 3))
    if layout is sparse.csr_array:
        algorithm, X, Q = "brute", np.round(X), np.round(Q)
    D = cdist(Q, X, ORDERS[p])
    model = RadiusNeighborsRegressor(1.1, p=p, algorithm=algorithm).fit(layout(X), X[:, 0])
    distance, index = model.radius_neighbors(layout(Q))
    for i in range(30):
        near = np.flatnonzero(D[i] <= 1.1)
        expected = near[np.lexsort((near, D[i, near]))]
        assert_array_equal(np.sort(index[i]), near)
        assert_allclose(distance[i], D[i, expected], rtol=1e-12)
        assert (np.diff(distance[i]) >= 0).all()
        tied = np.diff(distance[i]) == 0
        assert (np.diff(index[i])[tied] > 0).all()
    graph = model.radius_neighbors_graph(layout(Q), mode="distance").toarray()
    assert_allclose(graph, np.where(D <= 1.1, D, 0), atol=1e-12)
    assert_array_equal(model.radius_neighbors_graph(layout(Q)).toarray(), D <= 1.1)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_the_radius_itself_is_within(algorithm):
    X = np.arange(600.0)[:, None] / 10
    model = RadiusNeighborsRegressor(0.25, algorithm=algorithm).fit(X, X[:, 0])
    for radius in (0.1, 0.3, 0.7):  # none of them a float
        found = model.radius_neighbors(X, radius, return_distance=False)
        expected = [np.flatnonzero(np.abs(X[:, 0] - x) <= radius) for x in X[:, 0]]
        assert all(set(a) == set(b) for a, b in zip(found, expected, strict=True))
    others = model.radius_neighbors(radius=0.0, return_distance=False)
    assert [len(o) for o in others] == [0] * 600  # no row is its own neighbour
    twice = RadiusNeighborsRegressor(algorithm=algorithm).fit([[1.0], [1.0], [3.0]], [1, 2, 3])
    assert [o.tolist() for o in twice.radius_neighbors()[1]] == [[1], [0], []]


@pytest.mark.parametrize("radius", [0.5, 9.0, 11.5, 14.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_rows_of_many_columns_are_screened_and_then_compared(rng, radius, dtype, offset):
    X = (rng.normal(size=(300, 70)) + offset).astype(dtype)
    Q = np.concatenate([X[:20], X[:20] + rng.normal(size=(20, 70)).astype(dtype) / 100])
    D = cdist(Q.astype(float), X.astype(float))
    model = RadiusNeighborsRegressor(radius).fit(X, X[:, 0])
    assert (D <= 11.5).any()
    assert not (D <= 11.5).all()
    expected = D <= radius
    assert_array_equal(model.radius_neighbors_graph(Q).toarray() > 0, expected)
    found = model.radius_neighbors_graph(Q, mode="distance").toarray()
    assert_allclose(found, np.where(expected, D, 0), rtol=1e-6 if dtype is np.float32 else 1e-10)


def test_a_query_beyond_single_precision_is_compared_with_all(rng):
    X = rng.normal(size=(200, 70))
    far = np.full((1, 70), 1e30)
    model = RadiusNeighborsRegressor(1e31).fit(X, X[:, 0])
    assert model.radius_neighbors_graph(far).toarray().all()
    assert not model.radius_neighbors_graph(10 * far).toarray().any()


@pytest.mark.parametrize("scale", [1e-200, 1e200])
@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_units_do_not_matter(rng, scale, algorithm):
    X, Q = rng.normal(size=(300, 2)), rng.normal(size=(20, 2))
    plain = RadiusNeighborsRegressor(0.5, algorithm=algorithm).fit(X, X[:, 0])
    other = RadiusNeighborsRegressor(0.5 * scale, algorithm=algorithm).fit(scale * X, X[:, 0])
    found = other.radius_neighbors(scale * Q)
    for i, (distance, index) in enumerate(zip(*plain.radius_neighbors(Q), strict=True)):
        assert_array_equal(found[1][i], index)
        assert_allclose(found[0][i], scale * distance, rtol=1e-12)


def test_votes_by_hand():
    X, y = [[0.0], [1.0], [2.0], [4.0]], ["a", "b", "b", "a"]
    model = RadiusNeighborsClassifier(1.25).fit(X, y)
    assert_allclose(model.predict_proba([[0.5], [1.0]]), [[1 / 2, 1 / 2], [1 / 3, 2 / 3]])
    assert model.predict([[0.5], [1.0], [4.0]]).tolist() == ["a", "b", "a"]
    near = RadiusNeighborsClassifier(1.25, weights="distance").fit(X, y)
    assert_allclose(near.predict_proba([[0.25], [1.0]]), [[3 / 4, 1 / 4], [0, 1]])
    square = RadiusNeighborsClassifier(1.25, weights=lambda d: 1 / d**2).fit(X, y)
    assert_allclose(square.predict_proba([[0.25]]), [[9 / 10, 1 / 10]])
    with np.errstate(divide="ignore"):
        assert_allclose(square.predict_proba([[1.0]]), [[0, 1]])  # an infinite one counts alone
    values = RadiusNeighborsRegressor(1.25).fit(X, [[1.0, 2], [3, 4], [5, 6], [7, 8]])
    assert_allclose(values.predict([[1.0], [4.0]]), [[3, 4], [7, 8]])


def test_rows_without_a_neighbour():
    X, y = [[0.0], [1.0], [2.0]], ["a", "b", "b"]
    for model, remedy in (
        (RadiusNeighborsClassifier().fit(X, y), "outlier_label"),
        (RadiusNeighborsRegressor().fit(X, [1, 2, 3]), "KNeighborsRegressor"),
    ):
        says = rf"within radius=1.0 of row 1 \(and of 2 rows in all\).*{remedy}"
        with pytest.raises(ValueError, match=says):
            model.predict([[0.0], [9.0], [8.0]])
    model = RadiusNeighborsClassifier(outlier_label="none of them").fit(X, y)
    assert model.predict([[0.1], [9.0]]).tolist() == ["a", "none of them"]
    assert_allclose(model.predict_proba([[9.0]]), [[0, 0]])
    model = RadiusNeighborsClassifier(outlier_label="most_frequent").fit(X, y)
    assert model.predict([[9.0]]).tolist() == ["b"]
    assert_allclose(model.predict_proba([[9.0]]), [[0, 1]])
    assert model.outlier_label_ == "b"
    whole = RadiusNeighborsClassifier(outlier_label=-1).fit(X, [4, 7, 7])
    assert whole.predict([[2.0], [9.0]]).tolist() == [7, -1]
    assert whole.predict([[2.0], [9.0]]).dtype.kind == "i"
    with pytest.raises(ValueError, match="outlier_label=-1 is of another type"):
        RadiusNeighborsClassifier(outlier_label=-1).fit(X, y)


def test_what_cannot_be_answered():
    model = RadiusNeighborsRegressor().fit([[0.0], [1.0]], [1, 2])
    for radius in (-1.0, np.nan, np.inf, "far"):
        with pytest.raises(ValueError, match="radius must be a number from 0 on"):
            model.radius_neighbors([[0.0]], radius)
    with pytest.raises(ValueError, match="mode must be"):
        model.radius_neighbors_graph(mode="near")


def test_float32_stays_float32(rng):
    X, y = rng.normal(size=(40, 3)).astype("f"), rng.integers(2, size=40)
    model = RadiusNeighborsClassifier(3.0, weights="distance").fit(X, y)
    assert model.predict_proba(X).dtype == np.float32
    assert model.radius_neighbors(X)[0][0].dtype == np.float32
    values = RadiusNeighborsRegressor(3.0, weights="distance").fit(X, X[:, 0])
    assert values.predict(X).dtype == np.float32


def test_the_number_of_threads_changes_no_bit(rng):
    X, y = rng.normal(size=(3000, 3)), rng.normal(size=3000)
    one, many = (
        RadiusNeighborsRegressor(0.5, weights="distance", n_jobs=n).fit(X, y).predict(X[:700])
        for n in (1, 3)
    )
    assert_array_equal(one, many)
