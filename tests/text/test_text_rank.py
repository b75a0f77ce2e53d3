"""TextRank: graphs of words and sentences that can be drawn by hand."""

import numpy as np
import pytest

from panlearn.text import TextRank, WordTokenizer, pagerank
from panlearn.text.text_rank import split_sentences

PLAIN = TextRank(stop_words=())


def test_words_are_linked_within_the_window():
    text = "red fox the red hen"
    ranks = TextRank(stop_words=("the",)).word_ranks(text)
    chain = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])  # red - fox, red - hen
    np.testing.assert_allclose(list(ranks.values()), pagerank(chain), atol=1e-9)
    assert list(ranks) == ["red", "fox", "hen"]
    wider = TextRank(3, stop_words=("the",)).word_ranks(text)  # and fox - red over the stop word
    np.testing.assert_allclose(list(wider.values()), pagerank(chain), atol=1e-9)
    widest = TextRank(4, stop_words=("the",)).word_ranks(text)  # and fox - hen
    np.testing.assert_allclose(list(widest.values()), 1 / 3, atol=1e-9)


def test_sentences_are_linked_by_what_they_share():
    sentences = ["sun moon star", "sun moon", "star sun", "unrelated words"]
    ranks = PLAIN.sentence_ranks(sentences)
    log = np.log
    W = np.zeros((3, 3))
    W[0, 1] = W[1, 0] = 2 / (log(3) + log(2))
    W[0, 2] = W[2, 0] = 2 / (log(3) + log(2))
    W[1, 2] = W[2, 1] = 1 / (2 * log(2))
    np.testing.assert_allclose(ranks[:3], pagerank(W), atol=1e-9)
    assert ranks[3] == 0
    assert PLAIN.summary(sentences, 2) == ["sun moon star", "sun moon"]
    assert PLAIN.summary(sentences, 9) == sentences


def test_neighbours_become_a_phrase_unless_a_mark_parts_them():
    text = "deep learning, deep learning. Deep: learning of deep nets"
    found = dict(TextRank().keywords(text, 5))
    assert "deep learning" in found
    ranks = TextRank().word_ranks(text)
    assert found["deep learning"] == pytest.approx((ranks["deep"] + ranks["learning"]) / 2)
    assert "learning deep" not in found


def test_ranks_sum_to_one_and_ties_go_by_the_alphabet_and_the_place():
    ranks = PLAIN.word_ranks("one two three four two one")
    assert sum(ranks.values()) == pytest.approx(1)
    assert [w for w, _ in PLAIN.keywords("beta, alpha; beta", 2)] == ["alpha", "beta"]


def test_nothing_to_link():
    assert PLAIN.keywords("") == []
    assert PLAIN.summary("") == []
    assert TextRank().keywords("the of and") == []
    assert PLAIN.summary(["alone", "single"], 1) == ["alone"]
    np.testing.assert_array_equal(PLAIN.sentence_ranks(["a", "b"]), [0.5, 0.5])
    assert PLAIN.sentence_ranks([]).shape == (0,)


def test_sentences():
    text = 'He came. "Why?" she asked. It cost 3.5 pounds, e.g. much. (So it did.) Yes!\n\nend'
    assert split_sentences(text) == [
        "He came.",
        '"Why?" she asked.',
        "It cost 3.5 pounds, e.g. much.",
        "(So it did.)",
        "Yes!",
        "end",
    ]


def test_the_tokenizer_and_tokens():
    upper = TextRank(tokenizer=WordTokenizer(lowercase=False), stop_words=())
    assert set(upper.word_ranks("Rome Paris rome")) == {"Rome", "Paris", "rome"}
    tokens = [["x", "y"], ["x", "y", "z"]]
    np.testing.assert_allclose(PLAIN.sentence_ranks(tokens), 0.5, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: TextRank(1), "window"),
        (lambda: TextRank(2.5), "window"),
        (lambda: TextRank(alpha=1.0), "alpha"),
        (lambda: TextRank(stop_words="the"), "stop_words"),
        (lambda: TextRank().keywords(["a list"]), "must be a str"),
        (lambda: TextRank().sentence_ranks("a text"), "list of documents"),
    ],
)
def test_bad_input_is_named(make, says):
    with pytest.raises(ValueError, match=says):
        make()
