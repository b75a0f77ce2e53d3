"""KMeans: Lloyd's steps, its starts, its re-seeding."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.sources import ArrayRows
from panlearn.core.starts import RowSample, k_means_plus_plus
from panlearn.latent import KMeans, _lloyd
from panlearn.latent._lloyd import Assigned, Memory, assign


@pytest.fixture(autouse=True, params=[0, _lloyd.SMALL], ids=["compiled", "by products"])
def way(request, monkeypatch):
    """Every fact holds for the kernel, and for what few rows go through instead."""
    monkeypatch.setattr(_lloyd, "SMALL", request.param)


@pytest.fixture(name="X")
def blobs(rng):
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    return np.repeat(centres, 50, axis=0) + rng.normal(size=(150, 2))


def nearest(X, centres):
    """The assignment by the definition."""
    distance = ((X[:, None] - centres[None]) ** 2).sum(axis=2)
    return distance.argmin(axis=1), distance.min(axis=1)


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, np.float32])
def test_the_kernel_assigns_by_the_definition(rng, kind, offset):
    X = np.round(rng.normal(size=(700, 5)), 2) + offset
    X = X.astype(np.float32).astype(float) if kind is np.float32 else X
    weight = rng.random(700)
    centres = X[:9] + 0.01
    labels, distance = nearest(X, centres)
    found, inertia = assign(kind(X), weight, centres, centres.mean(axis=0))
    np.testing.assert_array_equal(found, labels)
    assert inertia == pytest.approx(weight @ distance, rel=1e-8)
    seen = Assigned.of(kind(X), weight, centres, np.zeros(5))
    for j in range(9):
        assert seen.count[j] == pytest.approx(weight[labels == j].sum())
        np.testing.assert_allclose(seen.total[j], weight[labels == j] @ X[labels == j])


@pytest.mark.parametrize("scale", [2.0**-500, 1.0, 2.0**500])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_rows_that_remember_are_assigned_by_the_definition(rng, scale, offset):
    X, weight = offset + rng.normal(size=(900, 4)), rng.random(900)
    X[::7], weight[::5] = X[0], 0.0  # copies, and rows that are not there
    centres, memory, origin = X[1:13].copy(), np.zeros(900, Memory), X[0]
    moves = seen = None
    settled = []
    for step in (1.0, 0.3, 0.05, 0.01, 0.0):
        labels, distance = nearest(X, centres)
        remembered = memory["gap"] > 0
        now = Assigned.of(scale * X, weight, scale * centres, scale * origin, memory, moves)
        seen = now if seen is None else seen + now
        settled.append(np.mean(remembered & (memory["label"] == labels)))
        np.testing.assert_array_equal(memory["label"], labels)
        assert seen.weight == pytest.approx(weight.sum())
        assert seen.inertia == pytest.approx(scale**2 * weight @ distance, rel=1e-8)
        for j in range(12):
            assert seen.count[j] == pytest.approx(weight[labels == j].sum(), abs=1e-12)
            total = scale * weight[labels == j] @ (X[labels == j] - origin)
            np.testing.assert_allclose(seen.total[j], total, atol=1e-9 * scale)
        others = np.sort(((X[:, None] - centres[None]) ** 2).sum(axis=2), axis=1)[:, 1]
        if moves is not None:  # else it may have been found by products that nobody remembers
            gap = scale * (np.sqrt(others) - np.sqrt(distance))
            assert (memory["gap"] <= gap + 1e-9 * scale).all()
        size = step * rng.random(12)
        direction = rng.normal(size=(12, 4))
        direction *= (size / np.linalg.norm(direction, axis=1))[:, None]
        seen = seen.moved(scale * (centres - origin), scale * direction)
        moves, centres = scale * size, centres + direction
    assert settled[0] == 0  # nothing is remembered yet
    assert settled[-1] > 0.8  # and at the end hardly a row is looked at


@pytest.mark.parametrize("seed", [263, 383, 531, 711, 982, 1026])
def test_clusters_that_lose_all_their_rows_later(seed, monkeypatch):
    """What is left of their sums after changes is rounding, and no cluster."""
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(60, 2)), rng.random(60)
    X *= 10.0 ** rng.integers(-1, 2, (60, 1))
    start = 5 * rng.normal(size=(10, 2))
    model = KMeans(10, init=start, n_init=1, tol=0).fit(X, sample_weight=weight)
    monkeypatch.setattr(_lloyd, "SMALL", 1 << 17)  # the sums are whole each time
    whole = KMeans(10, init=start, n_init=1, tol=0).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.labels_, whole.labels_)
    np.testing.assert_allclose(model.cluster_centers_, whole.cluster_centers_, rtol=1e-9)
    np.testing.assert_allclose(model.history_["inertia"], whole.history_["inertia"], rtol=1e-9)


def test_sums_are_whole_at_the_start_and_at_the_end_alone(rng, monkeypatch):
    monkeypatch.setattr(_lloyd, "SMALL", 0)
    moves, of = [], Assigned.of
    monkeypatch.setattr(Assigned, "of", lambda *given: moves.append(given[-1]) or of(*given))
    model = KMeans(5, random_state=0, n_init=1, tol=0).fit(rng.normal(size=(500, 3)))
    assert model.n_iter_ > 3
    assert [i for i, move in enumerate(moves) if move is None] == [0, model.n_iter_]


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1.0, 1e20, 1e150])
def test_nearly_equal_distances_are_told_apart(rng, scale):
    """Rows beside the plane between two centres by much less than single precision sees."""
    centres = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [100.0, 0.0, 0.0]])
    X = rng.normal(size=(300, 3))
    X[:, 2] = X[:, 0] + 1e-9 * rng.normal(size=300)
    labels, _ = nearest(X, centres)
    found, _ = assign(scale * X, None, scale * centres, np.zeros(3))
    np.testing.assert_array_equal(found, labels)
    assert set(labels) == {0, 1}


def test_the_objective_falls_and_ends_at_means(X, rng):
    model = KMeans(5, init="random", n_init=1, tol=0, random_state=1).fit(X)
    assert (np.diff(model.history_["inertia"]) <= 1e-9).all()
    assert model.converged_
    labels, distance = nearest(X, model.cluster_centers_)
    np.testing.assert_array_equal(model.labels_, labels)
    assert model.inertia_ == pytest.approx(distance.sum())
    for j in range(5):
        np.testing.assert_allclose(model.cluster_centers_[j], X[labels == j].mean(axis=0))
    assert model.score(X) == pytest.approx(-model.inertia_)
    np.testing.assert_allclose(model.transform(X).min(axis=1) ** 2, distance, atol=1e-9)


def test_separate_clusters_are_found_and_more_starts_are_no_worse(X):
    model = KMeans(3, random_state=0).fit(X)
    assert sorted(np.bincount(model.labels_)) == [50, 50, 50]
    one = KMeans(6, init="random", n_init=1, random_state=3).fit(X)
    assert KMeans(6, init="random", n_init=8, random_state=3).fit(X).inertia_ <= one.inertia_


def test_an_empty_cluster_goes_to_the_farthest_row(X):
    init = np.array([[0.0, 0.0], [10.0, 0.0], [500.0, 500.0]])
    model = KMeans(3, init=init).fit(X)
    assert sorted(np.bincount(model.labels_)) == [50, 50, 50]


def test_starts_side_by_side_give_what_they_give_alone(X):
    starts = KMeans(6, init="random", n_init=4, tol=0, random_state=3)
    alone = [
        KMeans(6, init=s, tol=0).fit(X).inertia_ for s in starts._starts(ArrayRows(X, None, None))
    ]
    assert starts.fit(X).inertia_ == pytest.approx(min(alone), rel=1e-12)  # another origin


def test_fewer_distinct_rows_than_clusters(rng):
    X = np.repeat(rng.normal(size=(3, 2)), 10, axis=0)
    with pytest.warns(ConvergenceWarning, match="3 distinct rows"):
        model = KMeans(5, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match="n_samples=2"):
        KMeans(5).fit(X[:2])


def test_partial_fit_is_the_running_mean(X, rng):
    model = KMeans(3, random_state=0).partial_fit(X)
    seen, means = model.cluster_weights_.copy(), model.cluster_centers_.copy()
    for row in rng.normal(size=(20, 2)) * 5:
        j = nearest(row[None], means)[0][0]
        seen[j] += 1
        means[j] += (row - means[j]) / seen[j]
        model.partial_fit(row[None])
    np.testing.assert_allclose(model.cluster_centers_, means)
    np.testing.assert_allclose(model.cluster_weights_, seen)


def test_the_start_spreads_and_never_takes_a_row_twice(rng):
    X = rng.normal(size=(40, 2))
    for seed in range(20):
        chosen = k_means_plus_plus(X, np.ones(40), 40, np.random.default_rng(seed))
        assert sorted(chosen) == list(range(40))


def test_first_draws_go_by_the_squared_distance():
    X, weight = np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 1e-12, 1e-12])
    generators = (np.random.default_rng(seed) for seed in range(2000))
    second = [k_means_plus_plus(X, weight, 2, g, trials=1)[1] for g in generators]
    # given the first row the chances are 1 : 9; four standard errors of the frequency
    assert np.mean(np.array(second) == 2) == pytest.approx(0.9, abs=4 * (0.09 / 2000) ** 0.5)


def test_the_sample_is_of_distinct_rows_with_their_weights(rng):
    X = np.repeat(rng.normal(size=(50, 3)), 4, axis=0)
    sample = RowSample.of(X, None, salt=7, size=20)
    assert len(sample.rows) == 20
    np.testing.assert_array_equal(sample.weight_of, 4.0)
    other = RowSample.of(X.astype(np.float32), None, salt=7, size=20)
    np.testing.assert_allclose(other.rows, sample.rows, rtol=1e-6)


@pytest.mark.parametrize("rows", [100, 7, 1])  # one part; on threads; a row each
def test_distances_far_from_zero_keep_their_digits(rng, monkeypatch, rows):
    monkeypatch.setattr("panlearn.latent._nearest.rows_together", lambda width: rows)
    X = rng.normal(size=(100, 3)) + 1e8
    model = KMeans(4, random_state=0).fit(X)
    distances = np.linalg.norm(X[:, None] - model.cluster_centers_, axis=2)
    # X itself is rounded to 1e-8
    np.testing.assert_allclose(model.transform(X), distances, atol=1e-6)


def test_rows_on_a_centre_are_at_no_distance(rng):
    X = rng.normal(size=(300, 7)) + 50  # rounding leaves some squares below zero
    model = KMeans(X.shape[0], init=X, n_init=1).fit(X)
    with np.errstate(invalid="raise"):
        np.testing.assert_allclose(np.diag(model.transform(X)), 0, atol=1e-6)


def test_partial_fit_reports_the_objective_of_its_rows(X):
    weight = np.arange(len(X)) % 3.0
    model = KMeans(3, random_state=0).partial_fit(X, sample_weight=weight)
    assert model.inertia_ == pytest.approx(-model.score(X, sample_weight=weight))


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_labels_are_those_of_brute_force(rng, dtype, offset):
    X = (rng.normal(size=(300, 3)) + (offset if dtype == np.float64 else 0)).astype(dtype)
    model = KMeans(7, random_state=0).fit(X)
    distance = ((X[:, None].astype(float) - model.cluster_centers_[None].astype(float)) ** 2).sum(2)
    np.testing.assert_array_equal(model.predict(X), distance.argmin(axis=1))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.predict(np.asfortranarray(X)), model.labels_)


def test_threads_label_as_one_does(rng, monkeypatch):
    X = rng.normal(size=(1000, 3))
    model = KMeans(5, random_state=0).fit(X)
    labels, _ = nearest(X, model.cluster_centers_)
    monkeypatch.setattr("panlearn.latent._nearest.PRODUCTS", 64 * 15)
    np.testing.assert_array_equal(model.predict(X), labels)


def test_of_equal_centres_the_first_is_nearest(rng):
    model = KMeans(4, init=np.array([[1.0], [0.0], [1.0], [0.0]]), max_iter=1)
    with pytest.warns(match="did not converge|fewer than n_clusters"):
        model.fit([[0.0], [0.0], [1.0], [1.0]])
    model.cluster_centers_ = np.array([[1.0], [0.0], [1.0], [0.0]])
    assert model.predict([[0.2], [0.9], [0.5]]).tolist() == [1, 0, 0]


def test_an_objective_that_falls_to_nothing_is_not_below_zero(rng):
    points = rng.normal(size=(6, 4))
    X = np.repeat(points, 1500, axis=0)
    model = KMeans(6, init=points + 0.3 * rng.normal(size=points.shape), tol=0).fit(X)
    history = model.history_["inertia"]
    assert len(history) > 1
    assert 0 <= history[-1] < 1e-20 * history[0]


@pytest.mark.filterwarnings("ignore:KMeans did not converge")
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_change_is_the_movement_relative_to_the_variance(rng, offset):
    X, weight = offset + rng.normal(size=(80, 3)) * [1.0, 4.0, 0.2], rng.integers(0, 4, 80)
    start = X[:5] + 3 * rng.normal(size=(5, 3))
    model = KMeans(5, init=start, n_init=1, max_iter=1).fit(X, sample_weight=weight)
    moved = ((model.cluster_centers_ - start) ** 2).sum()
    expected = moved / np.repeat(X, weight, axis=0).var(axis=0).mean()
    assert model.history_["change"][0] == pytest.approx(expected, rel=1e-6)
