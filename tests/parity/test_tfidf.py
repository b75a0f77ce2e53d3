"""tf-idf against scikit-learn's class of the same name."""

from pydoc_data.topics import topics

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer as Peer

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


def test_the_most_frequent_terms_are_those_of_the_peer():
    model, peer = TfidfVectorizer(max_features=50), Peer(max_features=50)
    model.fit(TOPICS), peer.fit(TOPICS)
    count = dict(zip(model.statistic_.names().tolist(), model.statistic_.count, strict=True))
    ours, theirs = (m.get_feature_names_out().tolist() for m in (model, peer))
    # terms that occur as often as the last may differ: the peer takes any of them
    last = min(count[t] for t in ours)
    assert {t for t in ours if count[t] > last} == {t for t in theirs if count[t] > last}
    assert sorted(count[t] for t in ours) == sorted(count[t] for t in theirs)
