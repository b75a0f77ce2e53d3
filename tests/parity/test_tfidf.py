"""tf-idf against scikit-learn's class of the same name."""

from pydoc_data.topics import topics

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer as Peer

import panlearn
from panlearn.text import TfidfVectorizer, WordTokenizer

TOPICS = list(topics.values())[:40]
LETTERS = ["İstanbul Straße ΣΑΣ, naïve café", "x y zz 3.5 snake_case don't", "", "  \x00 tab\ttab"]
CASES = {
    "default": ({}, {}),
    "bigrams": ({"ngram_range": (1, 2)}, {"ngram_range": (1, 2)}),
    "trigrams": ({"ngram_range": (3, 3)}, {"ngram_range": (3, 3)}),
    "unsmoothed": ({"idf": "plain"}, {"smooth_idf": False}),
    "no idf": ({"idf": "none"}, {"use_idf": False}),
    "sublinear": ({"tf": "sublinear"}, {"sublinear_tf": True}),
    "boolean": ({"tf": "boolean"}, {"binary": True}),
    "l1": ({"norm": "l1"}, {"norm": "l1"}),
    "as they come": ({"norm": None}, {"norm": None}),
    "bounds": ({"min_df": 2, "max_df": 0.6}, {"min_df": 2, "max_df": 0.6}),
    "case": ({"tokenizer": WordTokenizer(False)}, {"lowercase": False}),
    "pattern": ({"tokenizer": WordTokenizer(pattern=r"\w+")}, {"token_pattern": r"\w+"}),
    "slow pattern": ({"tokenizer": WordTokenizer(pattern=r"[a-z]+")}, {"token_pattern": r"[a-z]+"}),
    "stop words": (
        {"tokenizer": WordTokenizer(stop_words=("the", "is"))},
        {"stop_words": ["the", "is"]},
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("documents", [TOPICS, 2 * LETTERS], ids=["topics", "letters"])
def test_vectors_and_vocabulary_are_those_of_the_peer(case, documents):
    ours, theirs = CASES[case]
    if case == "trigrams" and documents is not TOPICS:
        documents = [*documents, "one two three four"]
    model, peer = TfidfVectorizer(**ours), Peer(**theirs)
    X, expected = model.fit_transform(documents), peer.fit_transform(documents)
    assert model.get_feature_names_out().tolist() == peer.get_feature_names_out().tolist()
    assert model.vocabulary_ == peer.vocabulary_
    assert X.dtype == expected.dtype
    assert X.has_sorted_indices
    # sums of squares in another order
    np.testing.assert_allclose(X.toarray(), expected.toarray(), rtol=1e-12, atol=1e-15)
    if case != "no idf":
        np.testing.assert_allclose(model.idf_, peer.idf_, rtol=1e-14)
    new = [*documents[1:3], "the zyzzyva is new", ""]
    np.testing.assert_allclose(
        model.transform(new).toarray(), peer.transform(new).toarray(), rtol=1e-12, atol=1e-15
    )


HARD = [
    *LETTERS,
    "The the THE cat sat on the mat, and the cat\u2019s hat; cats sat.",
    "Été été e\u0301te\u0301 naïve coöperate İIıi \ufb01ne µm 5°C Ⅷ",
    "日本語 の 文書 \U0001f600\U0001f600 русский текст",
    "a,b,,c d, e f,a b\n\n\tnew   line \x0b\x1c\u2028 end",
    "aa aa aa aa bb a1 1a 2024-01-01 x_y __init__ don't",
    "",
    "   ",
    "cat",
]


def squashed(text):
    return text.casefold().replace("a", "")


def commas(text):
    return text.split(",")


def halves(text):
    return [text[: len(text) // 2], text[len(text) // 2 :]]


OPTIONS = {
    "analyzer": ["word", "char", "char_wb", halves],
    "ngram_range": [(1, 1), (1, 3), (2, 4)],
    "lowercase": [True, False],
    "strip_accents": [None, "ascii", "unicode", squashed],
    "preprocessor": [None, squashed],
    "tokenizer": [None, commas, str.split],
    "stop_words": [None, "english", ["cat", "été", "a", "ete", " e f"]],
    "token_pattern": [r"(?u)\b\w\w+\b", r"\w+", r"[^,]+", r"(\w)\w"],
    "min_df": [1, 2, 0.2],
    "max_df": [1.0, 3, 0.5],
    "vocabulary": [
        None,
        ["the", "cat", "cat sat", "zebra", " c", "at", "e f"],
        {"sat": 1, "cat": 0, "ca": 2, " cat ": 3},
        {"the", "a", "b"},
    ],
    "binary": [False, True],
    "norm": ["l2", "l1", None],
    "use_idf": [True, False],
    "smooth_idf": [True, False],
    "sublinear_tf": [False, True],
}


@pytest.mark.filterwarnings("ignore:Your stop_words may be inconsistent")
@pytest.mark.filterwarnings("ignore:The parameter")
@pytest.mark.parametrize("seed", range(60))
def test_every_option_means_what_it_means_to_the_peer(seed):
    """Each analyzer with each option in turn, and each option changed with two others."""
    rng = np.random.default_rng(seed)
    given = {name: choices[0] for name, choices in OPTIONS.items()}
    given["analyzer"] = OPTIONS["analyzer"][seed % 4]
    for name in rng.choice(list(OPTIONS), size=5, replace=False):
        given[name] = OPTIONS[name][rng.integers(len(OPTIONS[name]))]
    if given["vocabulary"] is not None:
        given["smooth_idf"] = True  # terms that do not occur have no idf without
    model, peer = TfidfVectorizer(**given), Peer(**given)
    try:
        expected = peer.fit_transform(HARD)
    except ValueError:  # nothing is left
        with pytest.raises(ValueError, match=r"max_df is below min_df|no term is left"):
            model.fit_transform(HARD)
        return
    X = model.fit_transform(HARD)
    assert model.get_feature_names_out().tolist() == peer.get_feature_names_out().tolist()
    assert model.vocabulary_ == peer.vocabulary_
    assert model.fixed_vocabulary_ == peer.fixed_vocabulary_
    assert X.has_sorted_indices
    assert (X != 0).nnz == (expected != 0).nnz
    np.testing.assert_allclose(X.toarray(), expected.toarray(), rtol=1e-12, atol=1e-15)
    new = [*HARD[2:5], "the zyzzyva sat, e f", ""]
    again, wanted = model.transform(new), peer.transform(new)
    np.testing.assert_allclose(again.toarray(), wanted.toarray(), rtol=1e-12, atol=1e-15)
    parts = TfidfVectorizer(**given).fit(panlearn.Batches([HARD[:5], HARD[5:]]))
    assert parts.vocabulary_ == peer.vocabulary_
    np.testing.assert_allclose(parts.transform(HARD).toarray(), X.toarray(), rtol=1e-12)


@pytest.mark.parametrize("binary", [False, True])
def test_the_most_frequent_terms_are_those_of_the_peer(binary):
    model, peer = (c(max_features=50, binary=binary) for c in (TfidfVectorizer, Peer))
    model.fit(TOPICS), peer.fit(TOPICS)
    seen = model.statistic_
    number = seen.document_frequency if binary else seen.count
    count = dict(zip(seen.names().tolist(), number, strict=True))
    ours, theirs = (m.get_feature_names_out().tolist() for m in (model, peer))
    # terms that occur as often as the last may differ: the peer takes any of them
    last = min(count[t] for t in ours)
    assert {t for t in ours if count[t] > last} == {t for t in theirs if count[t] > last}
    assert sorted(count[t] for t in ours) == sorted(count[t] for t in theirs)
