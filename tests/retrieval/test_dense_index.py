"""Exact search among vectors: against sorting all scores."""

import numpy as np
import pytest

import panlearn
from panlearn.retrieval import IVF, DenseIndex
from panlearn.retrieval import dense_index as module
from panlearn.retrieval._top_k import STRETCH, push_rows


def sorted_all(scores, k):
    """The first k of each row by sorting it, equal scores by place."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["cosine", "inner_product"])
def test_the_first_k_are_the_first_of_all(metric, dtype, rng, monkeypatch):
    monkeypatch.setattr(module, "QUERIES", 7)  # several blocks
    monkeypatch.setattr(module, "VECTORS", 16)
    X = rng.integers(-2, 3, size=(90, 4)).astype(dtype)  # small whole numbers: many ties
    Q = rng.integers(-2, 3, size=(20, 4)).astype(dtype)
    model = DenseIndex(metric=metric).fit(X)
    scores = Q @ X.T
    if metric == "cosine":
        lengths = np.linalg.norm(Q, axis=1)[:, None] * np.linalg.norm(X, axis=1)
        scores = scores / np.where(lengths > 0, lengths, 1)
    np.testing.assert_allclose(model.transform(Q), scores, atol=1e-6)
    for k in (1, 5, 200):
        for i, hits in enumerate(model.search(Q, k)):
            assert hits.scores.dtype == dtype
            np.testing.assert_allclose(hits.scores, np.sort(scores[i])[::-1][:k], atol=1e-6)
            if metric == "inner_product":  # whole numbers have no rounding
                assert hits.ids.tolist() == sorted_all(scores, k)[i].tolist()


@pytest.mark.parametrize("n", [STRETCH - 1, STRETCH, 5 * STRETCH + 3])
def test_heaps_hold_the_best_of_all_stretches(n, rng):
    products = rng.integers(-50, 50, size=(6, n)).astype(np.float32)  # small numbers: many ties
    products[0].sort()  # every one is better than those before
    places = np.full((6, 4), 2 * n)
    scores = np.full(places.shape, -np.inf, dtype=np.float32)
    for first in (0, n):  # what comes second is no better
        push_rows(products, first, places, scores)
    np.testing.assert_array_equal(np.sort(places, axis=1), expected_places(products))


def expected_places(products):
    """Each score comes twice, the second time n places later; of equal ones the first are kept."""
    return np.sort(sorted_all(np.concatenate([products, products], axis=1), 4), axis=1)


def test_adding_replacing_and_removing_give_what_a_fit_gives(rng):
    X = rng.normal(size=(6, 3))
    model = DenseIndex().fit(X[:3], ids=["c", "a", "b"])
    model.add(X[3:], ids=["b", "e", "d"]).remove(["a"])
    again = DenseIndex().fit(X[[0, 3, 4, 5]], ids=["c", "b", "e", "d"])
    np.testing.assert_array_equal(model.ids_, again.ids_)
    np.testing.assert_array_equal(model.vectors_, again.vectors_)
    assert model.ids_.tolist() == ["b", "c", "d", "e"]
    assert DenseIndex().fit(X[:2]).add(X[2:]).ids_.tolist() == [0, 1, 2, 3, 4, 5]


def test_ties_by_id_and_filters():
    model = DenseIndex().fit([[1.0, 0]] * 4 + [[0, 1.0]], ids=[4, 1, 3, 2, 0])
    assert model.search([[1.0, 0]], 3)[0].ids.tolist() == [1, 2, 3]
    assert model.search([[1.0, 0]], 3, allowed=[0, 3])[0].ids.tolist() == [3, 0]
    assert model.search([[1.0, 0]], 3, allowed=model.ids_ > 2)[0].ids.tolist() == [3, 4]
    assert model.search([[1.0, 0]], 3, allowed=[])[0].ids.tolist() == []


def test_lengths_do_not_overflow_and_zero_has_cosine_zero():
    model = DenseIndex().fit([[1e300, 1e300], [1e-300, 0.0], [0.0, 0.0]])
    scores = model.transform([[1e-200, 1e-200], [0.0, 0.0]])
    np.testing.assert_allclose(scores, [[1, np.sqrt(0.5), 0], [0, 0, 0]], rtol=1e-12)


def test_bad_calls_leave_the_index(rng):
    X = rng.normal(size=(4, 2))
    model = DenseIndex().fit(X)
    before = model.vectors_
    for call, error in (
        (lambda: model.add(X, ids=[1]), ValueError),
        (lambda: model.add(X[:, :1]), ValueError),
        (lambda: model.remove([9]), KeyError),
        (lambda: model.search(X, 0), ValueError),
        (lambda: model.fit(np.full((2, 2), np.nan)), ValueError),
    ):
        with pytest.raises(error):
            call()
    assert model.vectors_ is before


def test_an_index_without_vectors_and_a_saved_one(rng, tmp_path):
    X = rng.normal(size=(5, 3)).astype(np.float32)
    model = DenseIndex().fit(X, ids=[("a", i) for i in range(5)])
    panlearn.save(model, tmp_path / "index")
    loaded = panlearn.load(tmp_path / "index")
    for one, other in zip(loaded.search(X, 2), model.search(X, 2), strict=True):
        np.testing.assert_array_equal(one.scores, other.scores)
        assert one.ids.tolist() == other.ids.tolist()
    model.remove(list(model.ids_))
    assert model.search(X)[0].ids.tolist() == []
    assert model.add(X).ids_.tolist() == [0, 1, 2, 3, 4]


def clusters(rng, n=3000, d=8):
    return rng.normal(size=(n, d)) + 3 * rng.normal(size=(30, d))[rng.integers(30, size=n)]


@pytest.mark.parametrize("metric", ["cosine", "inner_product"])
def test_lists_find_most_of_what_is_nearest_and_say_how_much(metric, rng):
    X = clusters(rng).astype(np.float32)
    exact = DenseIndex(metric=metric).fit(X)
    nearly = DenseIndex(metric=metric, approximation=IVF(60, n_probe=2)).fit(X)
    assert not hasattr(exact, "recall_")
    Q = X[::30] + 0.1 * rng.normal(size=(100, 8)).astype(np.float32)
    shares = []
    for one, other in zip(exact.search(Q), nearly.search(Q), strict=True):
        shares.append(np.isin(one.ids, other.ids).mean())
        common = np.isin(other.ids, one.ids)  # scores are those of the formula, best first
        at = [one.ids.tolist().index(i) for i in other.ids[common]]
        np.testing.assert_allclose(other.scores[common], one.scores[at], rtol=1e-5)
        assert (np.diff(other.scores) <= 0).all()
        assert other.scores.dtype == np.float32
    assert 0.7 < np.mean(shares) < 1
    assert abs(nearly.recall_ - np.mean(shares)) < 0.15


def test_all_lists_are_exact_with_filters_and_after_changes(rng):
    X = clusters(rng, 200)
    exact, nearly = DenseIndex(), DenseIndex(approximation=IVF(12, n_probe=12))
    for model in (exact, nearly):
        model.fit(X[:150], ids=np.arange(150) * 7 % 150)
        model.add(X[150:]).remove(list(range(0, 200, 3)))
    assert nearly.recall_ == 1.0
    for allowed in (None, nearly.ids_[::4], nearly.ids_ > 100, []):
        for k in (1, 10, 500):
            pairs = zip(
                exact.search(X[:9], k, allowed=allowed),
                nearly.search(X[:9], k, allowed=allowed),
                strict=True,
            )
            for one, other in pairs:
                assert one.ids.tolist() == other.ids.tolist()
                np.testing.assert_allclose(one.scores, other.scores, rtol=1e-12)


def test_every_vector_is_in_the_list_of_its_nearest_centre(rng):
    X = clusters(rng, 300)
    model = DenseIndex(metric="inner_product", approximation=IVF(10)).fit(X)
    lists = model.lists_
    distances = np.linalg.norm(X[:, None] - lists.centres, axis=2)
    expected = distances.argmin(1)
    numbers = np.repeat(np.arange(10), np.diff(lists.offsets))
    np.testing.assert_array_equal(expected[lists.order], numbers)


@pytest.mark.parametrize("metric", ["cosine", "inner_product"])
def test_a_query_looks_into_the_lists_it_says(metric, rng):
    X, Q = clusters(rng, 600), clusters(rng, 70)
    model = DenseIndex(metric=metric, approximation=IVF(20, n_probe=3)).fit(X)
    V, asked, centres = X, Q, model.lists_.centres
    if metric == "cosine":
        V, asked = (A / np.linalg.norm(A, axis=1, keepdims=True) for A in (X, Q))
    own = np.linalg.norm(V[:, None] - centres, axis=2).argmin(axis=1)
    near = -asked @ centres.T
    if metric == "cosine":
        near = np.linalg.norm(asked[:, None] - centres, axis=2)
    for query, order, hits in zip(asked, near.argsort(axis=1), model.search(Q, 5), strict=True):
        within = np.flatnonzero(np.isin(own, order[:3]))
        best = within[np.argsort(-(V[within] @ query))[:5]]
        assert hits.ids.tolist() == best.tolist()


def test_small_and_saved_approximate_indexes(rng, tmp_path):
    X = clusters(rng, 300)
    model = DenseIndex(approximation=IVF()).fit(X)
    panlearn.save(model, tmp_path / "index")
    again = panlearn.load(tmp_path / "index")
    assert again.recall_ == model.recall_
    for one, other in zip(model.search(X[:5]), again.search(X[:5]), strict=True):
        assert one.ids.tolist() == other.ids.tolist()
    for n in (1, 2, 9):
        tiny = DenseIndex(approximation=IVF(n_probe=1)).fit(X[:n])
        assert tiny.recall_ == 1.0
        assert tiny.search(X[:1], 20)[0].ids[0] == 0
    tiny.remove(list(tiny.ids_))
    assert tiny.search(X[:1])[0].ids.tolist() == []
    assert tiny.add(X[:4]).search(X[2:3], 1)[0].ids.tolist() == [2]
    with pytest.raises(ValueError, match="n_probe"):
        IVF(n_probe=0)


@pytest.mark.parametrize("metric", ["cosine", "inner_product"])
def test_centres_are_the_means_of_their_lists_and_of_length_one_for_cosines(metric, rng):
    X = np.repeat([[4.0, 1.0, 0.0], [-1.0, 0.0, 3.0]], [180, 70], axis=0)
    X = (X + 0.3 * rng.normal(size=X.shape)) * rng.uniform(0.5, 2, size=(250, 1))
    lists = DenseIndex(metric=metric, approximation=IVF(2)).fit(X).lists_
    groups = X[:180], X[180:]
    expected = [group.mean(axis=0) for group in groups]
    if metric == "cosine":
        sums = [(group / np.linalg.norm(group, axis=1)[:, None]).sum(axis=0) for group in groups]
        expected = [total / np.linalg.norm(total) for total in sums]
    apart = np.linalg.norm(lists.centres[:, None] - expected, axis=2).min(axis=0)
    assert (apart < 1e-12).all(), apart
