"""BM25: scores from the formula, the first k of all, and documents that come and go."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import panlearn
from panlearn import Batches
from panlearn.retrieval import BM25
from panlearn.retrieval._scored import ScoredPostings
from panlearn.retrieval._variants import VARIANTS
from panlearn.text import WordTokenizer

TEXTS = ["cat sat mat", "dog sat log log", "cat cat dog", "bird", "", "mat mat mat mat cat"]
F32 = 1e-6  # scores are kept in float32


def naive(texts, query, k1=1.5, b=0.75):
    """The formula of the class, word by word."""
    docs = [t.split() for t in texts]
    mean = sum(map(len, docs)) / len(docs)
    scores = []
    for words in docs:
        total = 0.0
        for t in query.split():
            n = sum(t in d for d in docs)
            idf = math.log(1 + (len(docs) - n + 0.5) / (n + 0.5))
            f = words.count(t)
            total += idf * f / (f + k1 * (1 - b + b * len(words) / mean)) if f else 0.0
        scores.append(total)
    return scores


def same_index(one, other):
    np.testing.assert_array_equal(one.postings_.ids, other.postings_.ids)
    assert one.postings_.ids.dtype == other.postings_.ids.dtype
    assert one.postings_.words == other.postings_.words
    for name in ("data", "indices", "indptr"):
        a, b = (getattr(m.postings_.counts, name) for m in (one, other))
        np.testing.assert_array_equal(a, b)


def test_scores_are_those_of_the_formula():
    model = BM25(1.2, 0.6).fit(TEXTS)
    for query in ("cat", "cat log", "sat sat mat", "nowhere", "nowhere cat"):
        expected = naive(TEXTS, query, 1.2, 0.6)
        np.testing.assert_allclose(model.scores([query])[0], expected, rtol=F32, atol=1e-9)
        hits = model.search(query)
        matches = [i for i in range(len(TEXTS)) if set(query.split()) & set(TEXTS[i].split())]
        assert hits.ids.tolist() == sorted(matches, key=lambda i: (-expected[i], i))
        assert (hits.scores > 0).all()
        np.testing.assert_allclose(hits.scores, np.array(expected)[hits.ids], rtol=F32)


def test_a_word_in_every_document_still_scores():
    hits = BM25().fit(["red fox", "red hen"]).search("red")
    assert hits.ids.tolist() == [0, 1]
    assert (hits.scores > 0.07).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_first_k_are_the_first_of_all_scores(variant, rng, monkeypatch):
    # long lists by the thousand and few documents a list, so that both ways of adding up are taken
    p = 1 / np.arange(1, 200)
    draw = [rng.choice(199, size=rng.integers(1, 30), p=p / p.sum()) for _ in range(700)]
    texts = [[f"w{i}" for i in words] for words in draw]
    queries = [[f"w{i}" for i in rng.choice(199, size=rng.integers(1, 7))] for _ in range(60)]
    model = BM25(variant=variant).fit(texts)
    every = model.scores(queries)
    for k in (1, 7, 1000):
        for query, row, hits in zip(queries, every, model.search(queries, k), strict=True):
            holds = [i for i, words in enumerate(texts) if set(words) & set(query)]
            order = sorted(holds, key=lambda i: (-row[i], i))[:k]
            # the order of two sums of float32 in different orders may differ by their rounding
            np.testing.assert_allclose(hits.scores, row[order], rtol=5e-6, atol=1e-6)
            np.testing.assert_allclose(row[hits.ids], row[order], rtol=5e-6, atol=1e-6)
            assert len(set(hits.ids.tolist())) == len(order)


def test_frequent_words_are_looked_up_and_give_the_same_as_adding_all(rng, monkeypatch):
    texts = [[f"w{i}" for i in rng.integers(0, 12, size=8)] + [f"r{d % 50}"] for d in range(400)]
    queries = [
        [f"w{i}" for i in rng.integers(0, 12, 3)] + [f"r{rng.integers(50)}"] for _ in "x" * 40
    ]
    looked = BM25().fit(texts)
    assert (looked._scored().rows >= 0).any()
    monkeypatch.setattr("panlearn.retrieval._scored.LONG", 0)
    added = BM25().fit(texts)
    assert not (added._scored().rows >= 0).any()
    for one, other in zip(looked.search(queries, 5), added.search(queries, 5), strict=True):
        np.testing.assert_allclose(one.scores, other.scores, rtol=F32)


documents = st.lists(st.text("abc ", max_size=8), min_size=1, max_size=8)


@given(documents, documents, st.data())
def test_adding_and_removing_give_what_a_fit_gives(first, second, data):
    tokenizer = WordTokenizer(pattern=r"\w+")
    held = dict(enumerate(first))
    model = BM25(tokenizer=tokenizer).fit(first)
    labels = data.draw(
        st.lists(st.integers(0, 12), min_size=len(second), max_size=len(second), unique=True)
    )
    model.add(second, ids=labels)
    held |= dict(zip(labels, second, strict=True))
    gone = data.draw(st.lists(st.sampled_from(sorted(held)), unique=True, max_size=len(held) - 1))
    model.remove(gone)
    kept = {i: text for i, text in held.items() if i not in gone}
    again = BM25(tokenizer=tokenizer).fit(list(kept.values()), ids=list(kept))
    same_index(model, again)
    query = data.draw(st.text("abc ", max_size=6))
    np.testing.assert_array_equal(model.search(query).ids, again.search(query).ids)
    np.testing.assert_array_equal(model.search(query).scores, again.search(query).scores)


def test_ids_are_any_labels_and_break_ties():
    texts = ["same words"] * 5
    labels = ["b", 3, ("x", 1), "a", 2.5]
    model = BM25().fit(texts, ids=labels)
    assert model.search("words").ids.tolist() == [2.5, 3, "a", "b", ("x", 1)]
    assert model.search("words", k=2).ids.tolist() == [2.5, 3]
    model.remove(["b", "a", ("x", 1), 2.5])
    assert model.ids_.dtype == np.int64
    numbers = BM25().fit(texts, ids=[9, 2, 7, 4, 5])
    assert numbers.search("same", k=3).ids.tolist() == [2, 4, 5]
    assert numbers.add(["same"]).ids_.tolist() == [2, 4, 5, 7, 9, 10]


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        (["a", "b"], "one label a document, 3 in all; got 2"),
        (["a", "a", "b"], "more than one"),
        ([["x"], "a", "b"], "hashable"),
        ([None, "a", "b"], "no id"),
        ([float("nan"), 1, 2], "no id"),
    ],
)
def test_bad_ids_are_refused_and_leave_the_index(ids, says):
    model = BM25().fit(TEXTS)
    before = model.postings_
    for call in (model.fit, model.add):
        with pytest.raises((ValueError, TypeError), match=says):
            call(["x y", "y z", "z"], ids=ids)
    assert model.postings_ is before
    with pytest.raises(KeyError, match="17"):
        model.remove([17])
    with pytest.raises(TypeError, match="in a list"):
        model.remove("17")
    assert model.postings_ is before


def test_labels_without_numbers_need_labels_for_more():
    with pytest.raises(ValueError, match="give ids"):
        BM25().fit(["x y"], ids=["a"]).add(["more"])


def test_filters():
    model = BM25().fit(TEXTS, ids=list("abcdef"))
    assert model.search("cat").ids.tolist() == ["c", "a", "f"]
    assert model.search("cat", allowed=["f", "a"]).ids.tolist() == ["a", "f"]
    assert model.search("cat", allowed=model.ids_ < "d").ids.tolist() == ["c", "a"]
    assert model.search("cat", allowed=[True] + [False] * 5).ids.tolist() == ["a"]
    assert model.search("cat", allowed=[]).ids.tolist() == []
    plain, filtered = model.search("cat"), model.search("cat", allowed=["a"])
    assert filtered.scores[0] == plain.scores[1]
    with pytest.raises(KeyError, match="nobody"):
        model.search("cat", allowed=["nobody"])
    with pytest.raises(ValueError, match="mask of 2"):
        model.search("cat", allowed=np.array([True, False]))
    with pytest.raises(TypeError, match="in a list"):
        model.search("cat", allowed="a")


def test_one_query_many_queries_tokens_and_none():
    model = BM25().fit(TEXTS)
    several = model.search(["cat", "", "nowhere", "cat"])
    assert [len(hits.ids) for hits in several] == [3, 0, 0, 3]
    np.testing.assert_array_equal(several[0].scores, model.search("cat").scores)
    np.testing.assert_array_equal(several[0].ids, model.search([["cat"]])[0].ids)
    assert model.search([]) == []
    for k in (0, -1, 2.5, True, None):
        with pytest.raises(ValueError, match="k must be"):
            model.search("cat", k=k)
    with pytest.raises(ValueError, match="document 0"):
        model.search([3])


def test_threads_do_not_change_a_bit(rng, use_threads):
    texts = [[f"w{i}" for i in rng.zipf(1.3, size=20) % 500] for _ in range(800)]
    model, found = BM25().fit(texts), []
    for threads in (1, 3):
        use_threads(threads)
        found.append(model.search(texts[:100], k=5))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one.ids, other.ids)
        np.testing.assert_array_equal(one.scores, other.scores)


def test_streams_with_and_without_ids():
    whole = BM25().fit(TEXTS)
    same_index(BM25().fit(Batches([TEXTS[:2], TEXTS[2:3], TEXTS[3:]])), whole)
    labelled = BM25().fit(Batches([(TEXTS[3:], [3, 4, 5]), (TEXTS[:3], [0, 1, 2])]))
    same_index(labelled, whole)


def test_parameters_can_be_changed_after_the_fit_and_are_checked():
    model = BM25().fit(TEXTS)
    first = model.search("cat mat").scores
    assert (model.set_params(b=0.0).search("cat mat").scores != first).any()
    np.testing.assert_array_equal(
        model.search("cat mat").scores, BM25(b=0.0).fit(TEXTS).search("cat mat").scores
    )
    with pytest.raises(ValueError, match="variant"):
        model.set_params(variant="bm26").search("cat")


def test_saved_and_loaded_it_searches_and_goes_on(tmp_path):
    model = BM25(variant="bm25+").fit(TEXTS, ids=[("t", i) for i in range(6)])
    expected = model.search("cat log")
    panlearn.save(model, tmp_path / "index")
    loaded = panlearn.load(tmp_path / "index")
    for one, other in zip(loaded.search("cat log"), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    same_index(loaded.add(["new"], ids=["n"]), model.add(["new"], ids=["n"]))


def test_an_empty_index_finds_nothing():
    model = BM25().fit(["a b", ""]).remove([0, 1])
    assert model.search("a").ids.tolist() == []
    assert model.scores(["a"]).shape == (1, 0)
    same_index(model.add(["aa"], ids=[0]), BM25().fit(["aa"]))
    assert BM25().fit(["", ""]).search(["x", ""])[1].ids.tolist() == []


def test_postings_that_do_not_go_together_are_refused():
    postings = BM25().fit(TEXTS).postings_
    with pytest.raises(ValueError, match="csc matrix"):
        type(postings)(postings.ids[:-1], postings.words, postings.counts)
    with pytest.raises(ValueError, match="int32"):
        type(postings)(postings.ids, postings.words, postings.counts.astype(float))


def test_bounds_hold_where_a_word_takes_away():
    """With two documents the idf of Okapi is negative: such lists are added up in full."""
    scored = ScoredPostings.of(
        BM25().fit(["a1 b1"] * 3 + ["a1"]).postings_, "bm25okapi", 1.5, 0.75, None, 0.25
    )
    assert (scored.peaks < 0).any()
    assert (scored.rows[scored.peaks <= 0] == -1).all()


@pytest.mark.parametrize("variant", ["bm25l", "bm25+"])
def test_what_absent_words_add_does_not_depend_on_the_other_queries(variant, rng):
    words = [f"w{i}" for i in range(50)]
    index = BM25(variant=variant).fit([" ".join(rng.choice(words, 10)) for _ in range(100)])
    queries = [" ".join(rng.choice(words, 8)) for _ in range(3000)]
    alone, last = index.search(queries[-1]), index.search(queries)[-1]
    np.testing.assert_array_equal(last.scores, alone.scores)


def test_without_saturation_only_presence_counts():
    for variant in VARIANTS:
        index = BM25(0, variant=variant, delta=0).fit(TEXTS)
        one, many = index.scores(["log mat"])[0][[0, 5]]
        assert one == pytest.approx(many, rel=F32)
        assert one > 0


def test_lengths_are_relative_to_a_mean_below_one():
    texts = ["cat", *[""] * 9]
    found = BM25().fit(texts).search("cat").scores
    assert found == pytest.approx(naive(texts, "cat")[:1], rel=F32)


def test_ids_that_are_tuples_of_any_lengths_can_be_chosen():
    index = BM25().fit(["cat", "cat"], ids=[("a",), ("a", 1)])
    assert index.search("cat", allowed=[("a",), ("a", 1)]).ids.tolist() == [("a",), ("a", 1)]
    assert index.search("cat", allowed=[False, True]).ids.tolist() == [("a", 1)]
