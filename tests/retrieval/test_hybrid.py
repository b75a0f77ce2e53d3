"""Rank fusion by hand, and a retriever of two indexes."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

import panlearn
from panlearn import Batches
from panlearn.retrieval import BM25, DenseIndex, HybridRetriever, reciprocal_rank_fusion
from panlearn.text import TfidfVectorizer

TEXTS = [
    "the car needs petrol",
    "an automobile needs petrol",
    "the cat drinks milk",
    "milk for the kitten",
    "kitten and cat",
]


class Letters(TransformerMixin, BaseEstimator):
    """A vector that needs no fit: how often each letter stands in a text."""

    def transform(self, X):
        return np.array(
            [[text.count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for text in X], float
        )


def test_fusion_by_hand():
    fused = reciprocal_rank_fusion([["a", "b", "c"], ["c", "d", "a"]])
    assert fused.ids.tolist() == ["a", "c", "b", "d"]
    expected = [1 / 61 + 1 / 63, 1 / 63 + 1 / 61, 1 / 62, 1 / 62]
    np.testing.assert_allclose(fused.scores, expected, rtol=1e-15)
    weighted = reciprocal_rank_fusion([[1, 2], [2, 3]], 0, weights=[3, 1], n=2)
    assert weighted.ids.tolist() == [1, 2]
    np.testing.assert_allclose(weighted.scores, [3.0, 3 / 2 + 1])
    hits = BM25().fit(TEXTS).search("cat milk")
    assert reciprocal_rank_fusion([hits]).ids.tolist() == hits.ids.tolist()
    assert reciprocal_rank_fusion([]).ids.tolist() == []
    assert reciprocal_rank_fusion([[], ["x"]]).ids.tolist() == ["x"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"rankings": [["a", "a"]]}, "more than one"),
        ({"k": -1}, "k must be"),
        ({"k": np.nan}, "k must be"),
        ({"weights": [1]}, "weights"),
        ({"weights": [1, -1]}, "weights"),
        ({"n": 0}, "n must be"),
    ],
)
def test_bad_fusions_are_named(arguments, says):
    with pytest.raises(ValueError, match=says):
        reciprocal_rank_fusion(**{"rankings": [["a"], ["b"]], **arguments})


def test_the_ranking_is_the_fusion_of_both():
    model = HybridRetriever(BM25(k1=1.0), Letters(), rank_constant=10, depth=3).fit(TEXTS)
    words = BM25(k1=1.0).fit(TEXTS)
    vectors = DenseIndex().fit(Letters().transform(TEXTS))
    for query in ("cat milk", "petrol", "zzz"):
        expected = reciprocal_rank_fusion(
            [words.search(query, 3), vectors.search(Letters().transform([query]), 3)[0]], 10, n=2
        )
        hits = model.search(query, k=2)
        if query == "zzz":  # no word, and no letter in common with most
            continue
        assert hits.ids.tolist() == expected.ids.tolist()
        np.testing.assert_allclose(hits.scores, expected.scores)
    listed = model.search(["cat milk", "petrol"], k=2)
    assert listed[0].ids.tolist() == model.search("cat milk", k=2).ids.tolist()
    assert model.search([]) == []


class Compass:
    """An encoder that reads a vector from the first word of a text: its direction in degrees."""

    def transform(self, X):
        angles = np.radians([float(text.split()[0].replace("minus", "-")) for text in X])
        return np.column_stack([np.cos(angles), np.sin(angles)]).round(12)


def test_documents_that_point_away_have_no_place_among_the_vectors():
    """Cosines of 1, 0.5, 0 and -1: the last two are not similar, and get nothing for a place."""
    texts = ["00 north", "60 north", "90 east", "180 south", "181 south"]
    model = HybridRetriever(encoder=Compass(), rank_constant=1).fit(texts)
    hits = model.search("00", k=5)
    assert hits.ids.tolist() == [0, 1]
    np.testing.assert_allclose(hits.scores, [1 / 2 + 1 / 2, 1 / 3])  # the first by its word, too
    south = model.search("00 south", k=5)
    # found by their word, and by it alone: the vectors give 181 no place before 180
    expected = reciprocal_rank_fusion([BM25().fit(texts).search("00 south", 5), [0, 1]], 1)
    assert south.ids.tolist() == expected.ids.tolist()
    np.testing.assert_allclose(south.scores, expected.scores)
    everything = DenseIndex().fit(Compass().transform(texts)).search([[1.0, 0.0]], 5)[0]
    assert everything.ids.tolist() == [0, 1, 2, 4, 3]  # the index itself ranks all of them
    assert everything.scores[3:].max() < 0


def test_a_document_without_a_word_of_the_query_is_found_by_its_company():
    model = HybridRetriever().fit(TEXTS)
    assert BM25().fit(TEXTS).search("car").ids.tolist() == [0]
    assert model.search("car", k=2).ids.tolist() == [0, 1]


def test_documents_come_and_go():
    model = HybridRetriever(encoder=Letters()).fit(TEXTS[:3], ids=["a", "b", "c"])
    model.add([*TEXTS[3:], "petrol"], ids=["d", "e", "a"]).remove(["b"])
    again = HybridRetriever(encoder=Letters()).fit(
        ["petrol", TEXTS[2], TEXTS[3], TEXTS[4]], ids=["a", "c", "d", "e"]
    )
    for query in ("petrol", "kitten milk"):
        np.testing.assert_array_equal(model.search(query).ids, again.search(query).ids)
        np.testing.assert_array_equal(model.search(query).scores, again.search(query).scores)
    before = model.lexical_, model.dense_
    for call in (lambda: model.remove(["nobody"]), lambda: model.add(["x"], ids=[["list"]])):
        with pytest.raises((KeyError, TypeError)):
            call()
    assert (model.lexical_, model.dense_) == before
    assert model.search("petrol", allowed=["c"]).ids.tolist() == ["c"]


def test_streams_of_documents_with_ids():
    batches = Batches([(TEXTS[:2], ["a", "b"]), (TEXTS[2:], ["c", "d", "e"])])
    model = HybridRetriever(encoder=Letters()).fit(batches)
    assert model.ids_.tolist() == list("abcde")
    assert model.search("petrol", k=1).ids.tolist() == ["a"]


def test_encoders(tmp_path):
    pipeline = make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0))
    model = HybridRetriever(encoder=pipeline).fit(TEXTS)
    assert not hasattr(pipeline[0], "vocabulary_")  # it was cloned
    panlearn.save(model, tmp_path / "retriever")
    loaded = panlearn.load(tmp_path / "retriever")
    np.testing.assert_array_equal(loaded.search("car").ids, model.search("car").ids)
    np.testing.assert_array_equal(loaded.search("car").scores, model.search("car").scores)
    trained = FrozenEstimator(pipeline.fit(TEXTS))
    frozen = HybridRetriever(encoder=trained).fit(TEXTS[:2])
    assert frozen.dense_.n_features_in_ == 3
    with pytest.raises(TypeError, match="cannot save a Letters"):
        panlearn.save(HybridRetriever(encoder=Letters()).fit(TEXTS), tmp_path / "other")


def test_one_word_and_documents_that_are_alike(tmp_path):
    for texts in (["hello"], ["hello", "hello"], ["hello world"] * 3):
        model = HybridRetriever().fit(texts)
        panlearn.save(model, tmp_path / "model")
        assert len(panlearn.load(tmp_path / "model").search("hello").ids) == len(texts)


def test_an_encoder_may_give_sparse_vectors():
    model = HybridRetriever(encoder=TfidfVectorizer()).fit(TEXTS)
    assert model.search("kitten", k=1).ids.tolist() == [4]


def test_a_bag_is_read_by_threads(monkeypatch):
    bag = pytest.importorskip("dask.bag").from_sequence(TEXTS, npartitions=2)
    # it starts processes, for which a script needs a guard
    monkeypatch.setattr("dask.bag.core.Bag.compute", None, raising=False)
    found = HybridRetriever().fit(bag).search("cat")
    np.testing.assert_array_equal(found.ids, HybridRetriever().fit(TEXTS).search("cat").ids)
