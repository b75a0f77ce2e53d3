"""Co-occurrences by a double loop over words; PMI from its definition."""

import math

import numpy as np
import pytest
from scipy import sparse

import panlearn
from panlearn.text import WordTokenizer, cooccurrence, pmi

TEXT = "The cat sat on the mat. The dog sat on the mat."


def by_loops(sentences, window):
    words = sorted({w for s in sentences for w in s})
    F = np.zeros((len(words), len(words)))
    for s in sentences:
        for i in range(len(s)):
            for j in range(i + 1, min(i + window, len(s) - 1) + 1):
                F[words.index(s[i]), words.index(s[j])] += 1
    return words, F


@pytest.mark.parametrize("window", [1, 2, 5, 100])
def test_counts_are_those_of_a_double_loop(window, rng):
    sentences = [list(rng.choice(list("abcde"), n)) for n in (7, 1, 0, 2, 30)]
    words, F = by_loops(sentences, window)
    found = cooccurrence(sentences, window=window)
    assert found.words.tolist() == words
    np.testing.assert_array_equal(found.forward.toarray(), F)
    np.testing.assert_array_equal(found.symmetric.toarray(), F + F.T)
    flat = [w for s in sentences for w in s]
    np.testing.assert_array_equal(found.count, [flat.count(w) for w in words])


def test_windows_end_with_the_sentence_the_text_and_the_boundary():
    cut = [["the", "cat", "sat", "on", "the", "mat"], ["the", "dog", "sat", "on", "the", "mat"]]
    expected = by_loops(cut, 2)[1]
    for documents in ([TEXT], TEXT.split(". "), cut):
        found = cooccurrence(documents, window=2).forward.toarray()
        np.testing.assert_array_equal(found, expected)
    across = cooccurrence([TEXT], window=2, boundary=None).forward.sum()
    assert across == expected.sum() + 3
    lines = cooccurrence(["one two\nthree four"], boundary="\n")
    assert lines.forward.sum() == 2
    assert cooccurrence(["3.5 is no end"], tokenizer=WordTokenizer(pattern=r"[\w.]+")).weight == 1


def test_parts_streams_and_bags_add_up_to_the_whole():
    bag = pytest.importorskip("dask.bag")
    texts = [TEXT, "A bird! A cat? A dog", "nothing else", "the end"]
    whole = cooccurrence(texts, window=3)
    parts = cooccurrence(texts[:1], window=3) + cooccurrence(texts[1:], window=3)
    stream = cooccurrence(panlearn.Batches([texts[:3], texts[3:]]), window=3)
    bagged = cooccurrence(bag.from_sequence(texts, npartitions=3), window=3)
    for other in (parts, stream, bagged):
        assert other.words.tolist() == whole.words.tolist()
        np.testing.assert_array_equal(other.forward.toarray(), whole.forward.toarray())
        np.testing.assert_array_equal(other.count, whole.count)
        assert other.weight == whole.weight


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"window": 0}, "window"),
        ({"window": 1.5}, "window"),
        ({"boundary": "("}, "no regular expression"),
        ({"boundary": "(a)"}, "capture"),
    ],
)
def test_settings_that_make_no_sense(given, says):
    with pytest.raises(ValueError, match=says):
        cooccurrence([TEXT], **given)


def test_pmi_of_pairs_and_triples_is_the_logarithm_of_the_ratio(rng):
    for shape in ((3, 4), (2, 3, 4)):
        counts = rng.integers(1, 9, size=shape)
        p = counts / counts.sum()
        found = pmi(counts)
        for at in np.ndindex(shape):
            alone = [p.take(i, axis=k).sum() for k, i in enumerate(at)]
            assert found[at] == pytest.approx(math.log(p[at] / math.prod(alone)), abs=1e-12)
        np.testing.assert_allclose(pmi(counts, positive=True), np.maximum(found, 0), atol=1e-15)


def test_where_nothing_was_counted_it_is_minus_infinity_or_left_out():
    counts = np.array([[3.0, 0.0, 0.0], [1.0, 2.0, 0.0]])
    dense = pmi(counts)
    assert np.isneginf(dense[counts == 0]).all()
    for kind in (sparse.csr_array, sparse.coo_matrix, sparse.csc_matrix):
        given = kind(counts)
        found = pmi(given)
        assert found.nnz == 3
        np.testing.assert_allclose(found.toarray(), np.where(counts > 0, dense, 0), atol=1e-15)
        positive = pmi(given, positive=True)
        np.testing.assert_allclose(positive.toarray(), np.maximum(dense, 0), atol=1e-15)
        assert (positive.data > 0).all()
        np.testing.assert_array_equal(given.toarray(), counts)


def test_of_cooccurrences_the_symmetric_counts_are_taken():
    seen = cooccurrence([TEXT])
    np.testing.assert_allclose(pmi(seen).toarray(), pmi(seen.symmetric).toarray(), rtol=1e-15)
    alone = pmi(seen.forward, marginals=[seen.count, seen.count])
    i, j = (seen.words.tolist().index(w) for w in ("sat", "on"))
    assert alone[i, j] == pytest.approx(math.log(7.2), abs=1e-12)


@pytest.mark.parametrize("bad", [[1.0, 2.0], [[-1.0, 2.0]], [[0.0, 0.0]], [[np.nan, 1.0]]])
def test_counts_that_are_none_are_refused(bad):
    with pytest.raises(ValueError, match="counts must be"):
        pmi(bad)


def test_marginals_of_another_shape_are_refused():
    for marginals in ([[1, 2], [1]], [[1, 2]], [[1, 0], [1, 2]]):
        with pytest.raises(ValueError, match="marginals"):
            pmi(np.ones((2, 2)), marginals=marginals)
