"""n-gram models: against the formulas by brute force over counts of tuples."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import panlearn
from panlearn.text import NGramModel, WordTokenizer
from panlearn.text._documents import tokenize
from panlearn.text._ngrams import NGramCounts, distinct

CATS = ["the cat sat on the mat", "the dog sat on the mat"]
TEXTS = [
    *("a b a c a b", "b a b", "c", "a a a b c b a", "", "b c b c a d"),
    *("d a b a c", "e", "a b a c e", "e e a"),
]


class BruteForce:
    """Interpolated Kneser-Ney as it is written, with dictionaries of tuples."""

    def __init__(self, documents, order, discount):
        self.order, self.discount = order, discount
        self.top = Counter()
        for words in documents:
            padded = ["<s>"] * (order - 1) + words + ["</s>"]
            for i in range(order - 1, len(padded)):
                self.top[tuple(padded[i - order + 1 : i + 1])] += 1
        self.words = sorted({w for words in documents for w in words})
        self.counts = [self.top]
        for _ in range(order - 1):
            shorter = Counter()
            for gram in self.counts[0]:  # each one once: how many words stand before
                shorter[gram[1:]] += 1
            self.counts.insert(0, shorter)

    def p(self, word, context):
        if context is None:
            return 1 / (len(self.words) + 2)
        counts, d = self.counts[len(context)], self.discount
        shorter = self.p(word, context[1:] if context else None)
        after = {gram[-1]: n for gram, n in counts.items() if gram[:-1] == context}
        total = sum(after.values())
        if not total:
            return shorter
        return max(after.get(word, 0) - d, 0) / total + d * len(after) / total * shorter


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("discount", [0.0, 0.4, 1.0])
def test_kneser_ney_is_its_definition(order, discount):
    documents = [text.split() for text in TEXTS]
    model = NGramModel(order, discount=discount).fit(documents)
    brute = BruteForce(documents, order, discount)
    new = [["a", "b", "c"], ["e", "unheard", "a", "b"], [], ["d", "d"]]
    for words, values in zip(new, model.log_probabilities(new), strict=True):
        padded = ["<s>"] * (order - 1) + words + ["</s>"]
        expected = [
            brute.p(padded[i], tuple(padded[i - order + 1 : i]))
            for i in range(order - 1, len(padded))
        ]
        np.testing.assert_allclose(np.exp(values), expected, rtol=1e-12)
        context = padded[-order:-1] if order > 1 else []
        assert model.probability("</s>", context) == pytest.approx(expected[-1], rel=1e-12)


def test_the_discounts_are_those_of_ney():
    model = NGramModel(2).fit([text.split() for text in TEXTS])
    counts = BruteForce([text.split() for text in TEXTS], 2, 0).counts
    for level, discount in zip(counts, model.discount_, strict=True):
        sizes = Counter(level.values())
        if sizes[1] and sizes[2]:
            assert discount == pytest.approx(sizes[1] / (sizes[1] + 2 * sizes[2]))


def test_shares_of_counts_by_hand():
    model = NGramModel(2, smoothing="mle").fit(CATS)
    assert model.probability("mat", ["the"]) == 0.5
    assert model.probability("sat", ["cat"]) == 1.0
    assert model.probability("the") == 1.0  # the beginning
    assert model.score_samples(["the cat sat on the mat"])[0] == pytest.approx(
        np.log(1 / 4 * 1 / 2)
    )
    assert sum(model.distribution(["unheard"]).values()) == 0
    assert model.score_samples(["mat the"])[0] == -np.inf
    added = NGramModel(2, smoothing="add_k", k=0.5).fit(CATS)
    # 6 words, the end and the unknown word
    assert added.probability("mat", ["the"]) == pytest.approx((2 + 0.5) / (4 + 0.5 * 8))
    assert added.probability("x", ["the"]) == pytest.approx(0.5 / (4 + 0.5 * 8))
    assert added.probability("mat", ["x"]) == pytest.approx(1 / 8)


@pytest.mark.parametrize("smoothing", ["kneser_ney", "add_k", "mle"])
@pytest.mark.parametrize("prune", [0, 1])
def test_laws_sum_to_one_and_are_the_scores(smoothing, prune):
    model = NGramModel(3, smoothing=smoothing, prune=prune, min_count=2).fit(TEXTS)
    assert "d" in model.words_
    for context in ([], ["a"], ["a", "b"], ["x", "b"], ["c", "d"]):
        law = model.distribution(context)
        assert sum(law.values()) == pytest.approx(1, abs=1e-12) or (
            smoothing == "mle" and sum(law.values()) == 0
        )
        grams = model._before(context)
        rows = np.array([[*grams, n] for n in range(1, 3 + len(model.words_))])
        np.testing.assert_allclose(model.tables_.score(rows), list(law.values()), rtol=1e-12)
    if prune:
        whole = NGramModel(3, smoothing=smoothing, min_count=2).fit(TEXTS)
        assert sum(map(len, model.tables_.grams)) < sum(map(len, whole.tables_.grams))


def test_perplexity_of_the_uniform_law_is_the_number_of_words():
    model = NGramModel(1, discount=1.0).fit([["a", "b", "c", "d", "e", "f"]])
    # every count is one, and the discount takes it all
    assert model.perplexity([["a", "b", "x"]]) == pytest.approx(8)


def test_draws_follow_the_law_and_the_seed():
    model = NGramModel(2, smoothing="mle").fit(["a b"] * 3 + ["a c"])
    drawn = model.sample(4000, random_state=0)
    assert drawn == model.sample(4000, random_state=0)
    assert set(map(tuple, drawn)) == {("a", "b"), ("a", "c")}
    share = np.mean([words[1] == "b" for words in drawn])
    assert share == pytest.approx(0.75, abs=5 * np.sqrt(0.75 * 0.25 / 4000))
    assert model.sample(1, 0, context=["a", "c"]) == [[]]
    smooth = NGramModel(2, discount=0.9).fit(TEXTS)
    assert max(map(len, smooth.sample(20, 1, max_length=3))) == 3
    assert "<unk>" not in {w for words in smooth.sample(50, 2) for w in words}


def test_counts_go_on_and_a_stream_is_a_list():
    whole = NGramModel(3).fit(TEXTS)
    parts = NGramModel(3).partial_fit(TEXTS[:4]).partial_fit(TEXTS[4:])
    np.testing.assert_array_equal(parts.score_samples(TEXTS), whole.score_samples(TEXTS))
    parts.order = 2
    with pytest.raises(ValueError, match="call fit"):
        parts.partial_fit(TEXTS)


def test_characters_and_the_file(tmp_path):
    model = NGramModel(4, tokenizer=WordTokenizer(pattern="(?s).")).fit(CATS)
    assert " " in model.words_
    assert model.perplexity(["the cat"]) < model.perplexity(["tac eht"])
    panlearn.save(model, tmp_path / "model")
    again = panlearn.load(tmp_path / "model")
    np.testing.assert_array_equal(again.score_samples(CATS), model.score_samples(CATS))
    with pytest.raises(ValueError, match="single str"):
        model.probability("a", "the")


@given(
    st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=8), st.sampled_from([6, 2**31 - 1])
)
def test_distinct_rows_however_wide(documents, largest):
    rows = np.array([d[:3] for d in documents if len(d) >= 3], dtype=np.int32).reshape(-1, 3)
    rows[rows == 5] = largest - 1
    count = np.arange(1.0, len(rows) + 1)
    grams, total = distinct(rows, count)
    expected = Counter()
    for row, n in zip(rows.tolist(), count, strict=True):
        expected[tuple(row)] += n
    assert [tuple(g) for g in grams.tolist()] == sorted(expected)
    assert total.tolist() == [expected[k] for k in sorted(expected)]


def test_merged_counts_are_those_of_the_whole():
    texts = [text.split() for text in TEXTS]
    whole = NGramCounts.of(tokenize(texts), order=3)
    merged = NGramCounts.of(tokenize(texts[5:]), order=3) + NGramCounts.of(
        tokenize(texts[:5]), order=3
    )
    assert merged.words.tolist() == whole.words.tolist()
    np.testing.assert_array_equal(merged.grams, whole.grams)
    np.testing.assert_array_equal(merged.count, whole.count)


def test_no_document_and_words_that_look_like_names():
    model = NGramModel(2).fit(["a b", "b a"])
    assert model.log_probabilities([]) == []
    # they were never seen: in a document they are unknown words
    for word in ("<s>", "</s>"):
        assert model.score([["a", word]]) == model.score([["a", "unheard"]])
    assert model.probability("</s>", ["b"]) > model.probability("<unk>", ["b"])


@pytest.mark.parametrize("smoothing", ["kneser_ney", "add_k", "mle"])
def test_a_name_of_the_model_in_a_document_is_the_unknown_word(smoothing):
    """A corpus whose rare words were replaced gives the model of one whose rare words were rare."""
    marked = [["a", "<unk>", "b"], ["a", "b", "<unk>"], ["b", "a", "b"], ["a", "<s>", "b"]]
    rare = [["a", "x", "b"], ["a", "b", "y"], ["b", "a", "b"], ["a", "z", "b"]]
    given = NGramModel(2, smoothing=smoothing).fit(marked)
    found = NGramModel(2, smoothing=smoothing, min_count=2).fit(rare)
    assert given.words_.tolist() == ["a", "b"]
    for context in ([], ["a"], ["<unk>"], ["b"]):
        law = given.distribution(context)
        assert sum(law.values()) == pytest.approx(1)
        assert law == pytest.approx(found.distribution(context))
        assert given.probability("<unk>", context) == law["<unk>"]
    np.testing.assert_allclose(given.score_samples(marked), found.score_samples(rare))
