"""Ratings under labels, ranking metrics on hand values, and the split that leaves k out."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import average_precision_score, ndcg_score

import panlearn
from panlearn.latent import MatrixFactorization, Ratings, ranking


def test_metrics_on_hand_values():
    relevant = sparse.csr_array([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [0, 1, 0, 0, 0]])
    top = np.array([[0, 1, 2], [0, 1, 2], [4, 1, 0]])  # hits 1 0 1, nobody, 0 1 0
    assert ranking.precision_at_k(relevant, top, 3) == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert ranking.recall_at_k(relevant, top, 3) == pytest.approx((2 / 3 + 1) / 2)
    average = ((1 + 2 / 3) / 3 + 1 / 2) / 2
    assert ranking.average_precision_at_k(relevant, top, 3) == pytest.approx(average)
    discount = 1 / np.log2([2, 3, 4])
    gain = ((discount[0] + discount[2]) / discount.sum() + discount[1]) / 2
    assert ranking.ndcg_at_k(relevant, top, 3) == pytest.approx(gain)
    assert ranking.precision_at_k(relevant, top, 1) == 0.5
    named = Ratings(relevant, np.arange(3), np.array(list("abcde")))
    assert ranking.ndcg_at_k(named, np.array(list("abcde"))[top], 3) == pytest.approx(gain)
    assert ranking.recall_at_k(named, np.full((3, 2), "z"), 2) == 0


def test_metrics_over_all_items_are_those_of_scikit_learn(rng):
    relevant, scores = rng.random((20, 8)) < 0.4, rng.normal(size=(20, 8))
    relevant = relevant[relevant.any(axis=1)]
    scores = scores[: len(relevant)]
    top = np.argsort(-scores, axis=1)
    matrix = sparse.csr_array(relevant.astype(float))
    assert ranking.ndcg_at_k(matrix, top, 8) == pytest.approx(ndcg_score(relevant, scores))
    expected = np.mean(
        [average_precision_score(a, b) for a, b in zip(relevant, scores, strict=True)]
    )
    assert ranking.average_precision_at_k(matrix, top, 8) == pytest.approx(expected)


def test_metrics_refuse_what_does_not_go_together():
    relevant = sparse.csr_array(np.eye(3))
    with pytest.raises(ValueError, match="at least k=10"):
        ranking.recall_at_k(relevant, np.zeros((3, 2), dtype=int))
    with pytest.raises(ValueError, match="3 users and recommended 2"):
        ranking.recall_at_k(relevant, np.zeros((2, 2), dtype=int), 2)
    with pytest.raises(ValueError, match="nothing to measure"):
        ranking.recall_at_k(sparse.csr_array((3, 3)), np.zeros((3, 2), dtype=int), 2)


def test_leave_k_out(rng):
    X = sparse.random(30, 12, 0.3, "csr", rng=rng)
    train, test = ranking.leave_k_out(X, 2, random_state=0)
    np.testing.assert_array_equal((train + test).toarray(), X.toarray())
    assert train.nnz + test.nnz == X.nnz
    had = np.diff(X.indptr)
    np.testing.assert_array_equal(np.diff(test.indptr), np.where(had > 2, 2, 0))
    again = ranking.leave_k_out(X, 2, random_state=0)[1]
    np.testing.assert_array_equal(again.toarray(), test.toarray())
    named = Ratings(X, np.arange(30), np.arange(12))
    np.testing.assert_array_equal(
        ranking.leave_k_out(named, 2, random_state=0)[1].matrix.toarray(), test.toarray()
    )
    with pytest.raises(ValueError, match="at least 1"):
        ranking.leave_k_out(X, 0)


def test_each_entry_is_as_likely_to_be_left_out():
    X = sparse.csr_array(np.ones((6000, 3)))
    out = ranking.leave_k_out(X, 1, random_state=1)[1].sum(axis=0)
    np.testing.assert_allclose(out, 2000, atol=5 * np.sqrt(6000 * 2 / 9))  # five deviations


def test_tables_with_any_labels():
    made = Ratings.from_table([7, 3, 7], [1, "1", "1"], [1, 2, 3])
    assert made.users.tolist() == [3, 7]
    assert made.items.tolist() == [1, "1"]
    np.testing.assert_array_equal(made.matrix.toarray(), [[0, 2], [1, 3]])
    zero = Ratings.from_table(["x"], ["y"], [0.0])
    assert zero.matrix.nnz == 1
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"who": ["x", "y"], "what": ["p", "q"], "stars": np.float32([4, 5])})
    made = Ratings.from_table(frame["who"], frame["what"], frame["stars"])
    assert made.users.tolist() == ["x", "y"]
    assert made.matrix.dtype == np.float32


def test_repeated_pairs():
    table = (["x", "x", "y"], ["a", "a", "a"], [1.0, 4.0, 9.0])
    with pytest.raises(ValueError, match="1 lines repeat"):
        Ratings.from_table(*table)
    for repeated, value in (("sum", 5), ("mean", 2.5), ("last", 4)):
        made = Ratings.from_table(*table, repeated=repeated)
        np.testing.assert_array_equal(made.matrix.toarray(), [[value], [9]])


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ((["x"], ["a", "b"], [1, 2]), "one length"),
        (([], [], []), "not empty"),
        ((["x"], ["a"], [np.nan]), "NaN"),
        (([np.nan], ["a"], [1]), "NaN"),
        (([None], ["a"], [1]), "missing"),
        (([["x"]], ["a"], [1]), "one column"),
    ],
)
def test_bad_tables_are_refused(table, says):
    with pytest.raises(ValueError, match=says):
        Ratings.from_table(*table)


def test_ratings_check_their_labels():
    X = sparse.csr_array(np.eye(2))
    with pytest.raises(ValueError, match="distinct"):
        Ratings(X, np.array(["a", "a"]), np.arange(2))
    with pytest.raises(ValueError, match="2 labels"):
        Ratings(X, np.arange(3), np.arange(2))
    with pytest.raises(ValueError, match="CSR"):
        Ratings(X.tocsc(), np.arange(2), np.arange(2))


def test_a_model_with_labels_is_saved_and_loaded(tmp_path):
    made = Ratings.from_table(list("xxyyz"), list("pqqrp"), [1, 2, 3, 4, 5])
    model = MatrixFactorization(2, random_state=0).fit(made)
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    found, expected = loaded.recommend(["z", "x"], 1), model.recommend(["z", "x"], 1)
    np.testing.assert_array_equal(found.items, expected.items)
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_labels_that_pandas_calls_missing_are_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="users has labels that are missing"):
        Ratings.from_table(pd.array(["ann", None], dtype="string"), ["tea", "rye"])
