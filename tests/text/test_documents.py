"""Documents to numbers of words: what `re` finds, whatever the documents come in."""

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import panlearn
from panlearn.text import WordTokenizer
from panlearn.text._documents import Tokens, as_list, collect, read_documents, tokenize
from panlearn.text._scan import document_frequencies

# letters, marks, digits, spaces, surrogates, NUL, and capitals that grow in lower case
CHARACTERS = st.one_of(st.characters(), st.sampled_from("aBc1_ .\x00'İßΣé中\ud800𝔸ªⅧ"))
TEXTS = st.lists(st.text(CHARACTERS, max_size=30), max_size=6)
DOCUMENTS = ["The cat sat.", "", "a cat, the CAT & one hat", "Ünï-cødé ωords"]


@pytest.mark.parametrize("pattern", [r"(?u)\b\w\w+\b", r"\w+", r"\b\w+\b", r"(?u)\w\w+"])
@pytest.mark.parametrize("lowercase", [True, False])
@given(texts=TEXTS)
@example(texts=["a", "b", "ab"])
@example(texts=["ΑΣ", "Σ", "İx", "\ud800a"])
@example(texts=[])
def test_the_scanner_finds_what_re_finds(texts, pattern, lowercase):
    tokens = tokenize(texts, WordTokenizer(lowercase, pattern))
    expected = [re.findall(pattern, t.lower() if lowercase else t) for t in texts]
    assert tokens.documents() == expected
    assert [WordTokenizer(lowercase, pattern)(t) for t in texts] == expected
    flat = [word for document in expected for word in document]
    assert tokens.words == list(dict.fromkeys(flat))  # in the order of first appearance
    assert tokens.ids.dtype == np.int32


def test_every_character_is_in_a_word_or_not_as_re_has_it():
    every = [chr(code) for code in range(0x110000)]
    found = tokenize(["".join(every)], WordTokenizer(False, r"\w+")).documents()[0]
    assert found == re.findall(r"\w+", "".join(every))


def test_many_distinct_words_grow_the_table(rng):
    words = [f"w{i}" for i in rng.permutation(20_000)]
    tokens = tokenize([" ".join(words[:9_000]), " ".join(words[::-1])])
    assert tokens.words == words[:9_000] + words[:8_999:-1]
    assert tokens.documents() == [words[:9_000], words[::-1]]


def test_words_that_share_all_but_one_letter_are_told_apart():
    """Up to eight bytes are compared as one number, more by their hash and then byte by byte."""
    words = [
        "x" * i + letter + "x" * (n - i - 1)
        for n in range(2, 20)
        for i in range(n)
        for letter in "abé"
    ]
    text = " ".join(words + words[::-1])
    assert tokenize([text]).documents() == [words + words[::-1]]
    assert tokenize([text]).words == words


def test_other_patterns_stop_words_callables_and_lists_of_tokens():
    assert WordTokenizer(pattern=r"#(\w+)")("#One two #three") == ["one", "three"]
    stopping = WordTokenizer(stop_words=("the", "one"))
    expected = [["cat", "sat"], [], ["cat", "cat", "hat"], ["ünï", "cødé", "ωords"]]
    found = tokenize(DOCUMENTS, stopping)
    assert found.documents() == expected == [stopping(d) for d in DOCUMENTS]
    assert found.words == ["cat", "sat", "hat", "ünï", "cødé", "ωords"]
    assert tokenize(["a b", "B"], str.split).documents() == [["a", "b"], ["B"]]
    mixed = [["The", "a\x00"], "The Cat", ("x",), np.array(["y", "z"])]
    assert tokenize(mixed, stopping).documents() == [["The", "a\x00"], ["cat"], ["x"], ["y", "z"]]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"pattern": "("}, "no regular expression"),
        ({"pattern": "(a)(b)"}, "2 groups"),
        ({"pattern": 3}, "pattern a str"),
        ({"lowercase": "yes"}, "bool"),
        ({"stop_words": "the"}, "tuple of words"),
        ({"stop_words": (1,)}, "tuple of words"),
    ],
)
def test_settings_of_the_tokenizer_that_make_no_sense(wrong, says):
    with pytest.raises(ValueError, match=says):
        WordTokenizer(**wrong)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("text", r"give a list of documents, \[X\]"),
        (b"text", "single bytes"),
        (None, "NoneType"),
        (3, "int"),
        ({"a": "b"}, "dict"),
        (["a", None], "document 1 is None"),
        (["a", float("nan")], "document 1 is nan"),
        (["a", b"b"], "decode"),
        ([["a", 3]], "document 0 holds the token 3"),
        ([["a", None]], "token None"),
        (np.array([["a"], ["b"]]), "2 dimensions"),
        (np.ones(3), "document 0 is 1.0"),
    ],
)
def test_what_is_no_document_is_refused_by_name(wrong, says):
    with pytest.raises(ValueError, match=says):
        tokenize(wrong)


def test_a_tokenizer_that_fails_or_gives_no_list_is_named():
    for bad in (int, str.lower, lambda text: None, lambda text: [1]):
        with pytest.raises(ValueError, match="token"):
            tokenize(["some text"], bad)


def test_arrays_series_and_generators_are_lists():
    pd = pytest.importorskip("pandas")
    expected = tokenize(DOCUMENTS).documents()
    as_objects = np.array(DOCUMENTS, dtype=object)
    for X in (np.array(DOCUMENTS), as_objects, tuple(DOCUMENTS), iter(DOCUMENTS)):
        assert tokenize(X).documents() == expected
    assert tokenize(pd.Series(DOCUMENTS, index=[4, 5, 6, 7])).documents() == expected
    assert as_list(pd.Series(DOCUMENTS, dtype="string")) == DOCUMENTS


def test_parts_join_to_the_whole():
    whole = tokenize(DOCUMENTS)
    joined = Tokens.join([tokenize(DOCUMENTS[:1]), tokenize([]), tokenize(DOCUMENTS[1:])])
    assert joined.words == whole.words
    np.testing.assert_array_equal(joined.ids, whole.ids)
    np.testing.assert_array_equal(joined.offsets, whole.offsets)


def _read(X, y=None, weight=None, **more):
    return read_documents(None, X, y, weight, tokenizer=WordTokenizer(), **more)


def test_lists_streams_and_bags_are_read_alike():
    bag = pytest.importorskip("dask.bag")
    y, weight = list("xyxz"), [1.0, 0.0, 2.0, 3.0]
    kept = [0, 2, 3]
    whole = collect(_read(DOCUMENTS, y, weight))
    assert whole.X.documents() == tokenize([DOCUMENTS[i] for i in kept]).documents()
    assert whole.y == ["x", "x", "z"]
    assert whole.weight.tolist() == [1, 2, 3]
    batches = [(DOCUMENTS[:3], y[:3], weight[:3]), (DOCUMENTS[3:], y[3:], weight[3:])]
    parts = [bag.from_sequence(v, partition_size=3) for v in (DOCUMENTS, y, weight)]
    once = panlearn.Batches(iter(batches))
    for rows in (_read(panlearn.Batches(batches)), _read(once), _read(*parts)):
        read = collect(rows)
        assert read.X.words == whole.X.words
        np.testing.assert_array_equal(read.X.ids, whole.X.ids)
        np.testing.assert_array_equal(read.weight, whole.weight)
        assert read.y == whole.y
    assert collect(_read(panlearn.Batches([DOCUMENTS, DOCUMENTS]))).weight is None


def test_sources_that_cannot_be_read_say_why():
    with pytest.raises(ValueError, match="no document"):
        _read([])
    with pytest.raises(ValueError, match="no document"):
        _read(DOCUMENTS, None, [0, 0, 0, 0])
    with pytest.raises(ValueError, match="4 documents and y 1"):
        _read(DOCUMENTS, ["x"])
    with pytest.raises(ValueError, match="in the batches"):
        _read(panlearn.Batches([DOCUMENTS]), list("abcd"))
    with pytest.raises(ValueError, match="several times"):
        _read(panlearn.Batches(iter([DOCUMENTS])), repeatable=True)
    with pytest.raises(ValueError, match="empty"):
        _read(panlearn.Batches([]))
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match=r"dask\.bag"):
        _read(da.ones(3))


def test_document_frequencies_match_a_loop_over_sets(rng):
    ids, offsets = rng.integers(9, size=50), np.array([0, 3, 3, 20, 50])
    expected = np.zeros(9, dtype=int)
    for d in range(4):
        for word in set(ids[offsets[d] : offsets[d + 1]].tolist()):
            expected[word] += 1
    np.testing.assert_array_equal(document_frequencies(ids, offsets, 9), expected)
