"""Byte pair encoding against its definition, written out in a few slow lines."""

import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pydoc_data.topics import topics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import panlearn
from panlearn.text import BPETokenizer, _bpe_codec
from panlearn.text._bpe_codec import BYTE_ORDER, spell, unspell
from panlearn.text._bpe_encoding import MOST, empty_memory
from panlearn.text._piece_counts import PieceCounts, Texts

CORPUS = [topics[name] for name in sorted(topics)[:12]]
ANY_TEXT = st.text(st.characters(), max_size=60)  # surrogates and NULs are among them
FEW_LETTERS = st.lists(st.text("ab \n", max_size=12), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer(vocab_size=600, special_tokens=("<|end|>", "<|end|><|pad|>")).fit(CORPUS)


def merged(word, pair):
    """The word with a pair of neighbours made one, from the left."""
    out, at = [], 0
    while at < len(word):
        size = 2 if tuple(word[at : at + 2]) == pair else 1
        out.append(type(word[0])().join(word[at : at + size]))
        at += size
    return out


def slow_merges(texts, n_merges, min_frequency=0):
    """Count all pairs before each merge."""
    counted = PieceCounts.of(Texts.of(texts))
    counts = dict(zip(counted.pieces(), counted.count, strict=True))
    words = {piece: [bytes([b]) for b in piece] for piece in counts}
    ids = {bytes([b]): i for i, b in enumerate(BYTE_ORDER)}
    merges = []
    while len(ids) < 256 + n_merges:
        pairs = Counter()
        for piece, word in words.items():
            for pair in pairwise(word):
                pairs[pair] += counts[piece]
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], -ids[pair[0]], -ids[pair[1]]))
        if pairs[best] < min_frequency:
            break
        merges.append(best)
        ids.setdefault(best[0] + best[1], len(ids))
        words = {piece: merged(word, best) for piece, word in words.items()}
    return [(spell(a), spell(b)) for a, b in merges], ids


def slow_encode(piece, merges):
    """Apply the first merge that applies, until none does."""
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    word = [spell(bytes([b])) for b in piece]
    while applicable := [pair for pair in pairwise(word) if pair in ranks]:
        word = merged(word, min(applicable, key=ranks.get))
    return word


@given(texts=FEW_LETTERS, min_frequency=st.integers(0, 3))
def test_merges_are_those_of_the_definition(texts, min_frequency):
    model = BPETokenizer(vocab_size=266, min_frequency=min_frequency).fit([*texts, ""])
    merges, ids = slow_merges(texts, 10, min_frequency)
    assert model.merges_ == merges
    assert {unspell(token): number for token, number in model.vocab_.items()} == ids


def test_merges_of_real_text_are_those_of_the_definition():
    texts = [CORPUS[0][:3000]]
    model = BPETokenizer(vocab_size=256 + 60).fit(texts)
    assert model.merges_ == slow_merges(texts, 60)[0]


@given(text=ANY_TEXT | st.text("abelnst <|>", max_size=30))
def test_every_text_is_decoded_to_itself(tokenizer, text):
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids, errors="strict") == text
    assert tokenizer.decode(np.array(ids, dtype=np.int32), errors="strict") == text
    assert tokenizer.decode_bytes(ids) == text.encode("utf-8", "surrogatepass")
    atomic = tokenizer.encode(text, special="atomic")
    assert tokenizer.decode(atomic, errors="strict") == text
    assert tokenizer.transform([text])[0].tolist() == ids


def test_every_code_point_is_decoded_to_itself(tokenizer):
    everything = "".join(map(chr, range(0x110000)))
    assert tokenizer.decode(tokenizer.encode(everything), errors="strict") == everything


@given(text=ANY_TEXT | st.text("the statement of", max_size=40))
def test_pieces_are_merged_lowest_rank_first(tokenizer, text):
    pieces = PieceCounts.of(Texts.of([text])).pieces()
    for piece in pieces:
        symbols = slow_encode(piece, tokenizer.merges_)
        found, _ = tokenizer._codec().encode_strings(_whole([piece]), -1)
        assert tokenizer.tokens(found.tolist()) == symbols


def _whole(pieces):
    offsets = np.cumsum([0, *map(len, pieces)])
    return Texts(np.frombuffer(b"".join(pieces), np.uint8), offsets, np.arange(len(offsets)))


@given(text=ANY_TEXT)
def test_offsets_are_the_characters_of_each_token(tokenizer, text):
    ids, offsets = tokenizer.encode_offsets(text)
    assert ids == tokenizer.encode(text)
    assert all(start < stop for start, stop in offsets)
    covered = [0, *(stop for _, stop in offsets)]
    for (start, stop), before in zip(offsets, covered, strict=False):
        assert start in (before, before - 1)  # the next character, or the rest of the last
        assert 0 < stop <= len(text)
    for i, (start, stop) in zip(ids, offsets, strict=True):
        content = tokenizer.decode_bytes([i])
        assert content in text[start:stop].encode("utf-8", "surrogatepass")


def test_a_long_piece_takes_no_quadratic_time(tokenizer):
    text = "ab" * 200_000  # a scan a merge would take hours
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_special_tokens_are_text_or_atoms_or_refused(tokenizer):
    end, pad = tokenizer.special_tokens_.values()
    text = "a<|end|>b<|end|><|pad|><|end|>"
    assert (end, pad) == (0, 1)
    assert not {end, pad} & set(tokenizer.encode(text))
    a, b = tokenizer.encode("a"), tokenizer.encode("b")
    assert tokenizer.encode(text, special="atomic") == [*a, end, *b, pad, end]  # the longest first
    batch = [text, "", ["b", "<|end|>b"], "a"]
    expected = [[*a, end, *b, pad, end], [], [*b, end, *b], a]
    assert tokenizer.encode_batch(batch, special="atomic") == expected
    assert tokenizer.decode([*a, end, *b]) == "a<|end|>b"
    assert tokenizer.decode([*a, end, *b], skip_special_tokens=True) == "ab"
    assert tokenizer.tokens([end, *a]) == ["<|end|>", "a"]
    ids, offsets = tokenizer.encode_offsets(text, special="atomic")
    assert offsets[:3] == [(0, 1), (1, 8), (8, 9)]
    assert len(ids) == 5
    with pytest.raises(ValueError, match="holds the special token"):
        tokenizer.encode(text, special="refuse")
    assert tokenizer.encode("ab", special="refuse") == tokenizer.encode("ab")
    with pytest.raises(ValueError, match="special must be"):
        tokenizer.encode(text, special="all")


def test_no_merge_spells_a_special_token():
    model = BPETokenizer(vocab_size=300, special_tokens=("the",)).fit(["the the the"])
    assert "the" not in model.vocab_
    assert model.decode(model.encode("the the")) == "the the"
    text = "a a\n\nthe \n\n a"
    for special in (" ", "\n", " a"):  # bytes, or a token, that are special only where it is asked
        model = BPETokenizer(vocab_size=300, special_tokens=(special,)).fit([text] * 3)
        assert model.decode(model.encode(text)) == text
    named = BPETokenizer(vocab_size=300, special_tokens=("Ġthe",)).fit([text] * 3)
    assert "Ġthe" not in named.vocab_  # that is " the", and a file would hold one of the two


def test_a_special_token_has_a_name_of_its_own():
    with pytest.raises(ValueError, match="'é' is the name of an ordinary token"):
        BPETokenizer(special_tokens=("é",)).fit(["a"])
    model = BPETokenizer(vocab_size=300).fit(["the the the cat"] * 2)
    model.set_params(special_tokens=("the",))
    with pytest.raises(ValueError, match="'the' is the name of an ordinary token"):
        model.partial_fit(["the"])
    assert model.special_tokens_ == {}
    model.set_params(vocab_size=320, special_tokens=(" cat",)).partial_fit(["the catalogue"] * 9)
    assert model.decode(model.encode("the cat catalogue")) == "the cat catalogue"


def test_a_stream_of_ids_is_decoded_in_whole_characters(tokenizer):
    ids = [i for c in "é世\ud800a".encode("utf-8", "surrogatepass") for i in [_byte(tokenizer, c)]]
    parts = list(tokenizer.decode_stream(ids[:5]))
    assert parts == ["é", "世"]
    assert list(tokenizer.decode_stream(ids[:1])) == ["\N{REPLACEMENT CHARACTER}"]
    assert list(tokenizer.decode_stream(ids)) == ["é", "世", "\ud800", "a"]
    # a byte that is no text does not take the surrogate beside it along
    assert tokenizer.decode([ids[0], *ids[5:]]) == "\N{REPLACEMENT CHARACTER}\ud800a"
    assert tokenizer.decode(ids[:1], errors="ignore") == ""
    with pytest.raises(UnicodeDecodeError):
        tokenizer.decode(ids[:1], errors="strict")


def _byte(tokenizer, byte):
    return tokenizer.vocab_[spell(bytes([byte]))]


def test_partial_fit_keeps_ids_and_goes_on():
    half, rest = CORPUS[:6], CORPUS[6:]
    model = BPETokenizer(vocab_size=300).fit(half)
    before, merges = dict(model.vocab_), list(model.merges_)
    model.set_params(vocab_size=350, special_tokens=("<|new|>",)).partial_fit(rest)
    assert model.vocab_.items() >= before.items()
    assert model.merges_[: len(merges)] == merges
    assert model.n_tokens == 350
    assert model.special_tokens_ == {"<|new|>": 300}
    assert model.decode(model.encode(CORPUS[0])) == CORPUS[0]
    # on the same text it goes on as if it had never stopped
    whole = BPETokenizer(vocab_size=320).fit(half)
    assert BPETokenizer(vocab_size=300).fit(half).set_params(vocab_size=320).partial_fit(
        half
    ).merges_ == (whole.merges_)
    assert BPETokenizer(vocab_size=320).partial_fit(half).merges_ == whole.merges_


@settings(max_examples=10)
@given(cuts=st.lists(st.integers(0, 12), max_size=4))
def test_any_batches_teach_the_same(cuts):
    bounds = [0, *sorted(cuts), 12]
    batches = [CORPUS[a:b] for a, b in pairwise(bounds)]
    whole = BPETokenizer(vocab_size=400).fit(CORPUS)
    assert BPETokenizer(vocab_size=400).fit(panlearn.Batches(batches)).merges_ == whole.merges_


def test_weights_of_long_lists_are_repetitions(monkeypatch):
    monkeypatch.setattr(_bpe_codec, "_BLOCK_CHARACTERS", 5000)
    weight = np.arange(12) % 3
    weighted = BPETokenizer(vocab_size=300).fit(CORPUS, sample_weight=weight)
    repeated = [text for text, times in zip(CORPUS, weight, strict=True) for _ in range(times)]
    assert weighted.merges_ == BPETokenizer(vocab_size=300).fit(repeated).merges_
    for wrong, message in [(weight[1:], "sample_weight"), (-weight, "egative")]:
        with pytest.raises(ValueError, match=message):
            BPETokenizer(vocab_size=300).fit(CORPUS, sample_weight=wrong)


def test_counts_beyond_32_bits_are_kept():
    model = BPETokenizer(vocab_size=257).fit(["the", "cat"], sample_weight=[2**40, 2**40 + 1])
    assert model.merges_ == [("a", "t")]


def test_memory_grows_with_distinct_words_not_with_text():
    words = [f"word{i}" for i in range(50)]
    counted = sum(PieceCounts.of(Texts.of([" ".join(words)])) for _ in range(200))
    assert len(counted.count) == 2 + 50  # "word" with a space or without, and numbers
    assert counted.letters.nbytes < 500


def test_a_fresh_process_learns_and_encodes_the_same():
    code = (
        "from pydoc_data.topics import topics; from panlearn.text import BPETokenizer; import zlib;"
        "X = [topics[n] for n in sorted(topics)[:12]]; m = BPETokenizer(vocab_size=600).fit(X);"
        "print(zlib.crc32(repr((m.merges_, list(m.vocab_.items()), m.encode(X[3]))).encode()))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
        for env in ({**_environment(), "PYTHONHASHSEED": seed} for seed in "12")
    ]
    assert runs[0].stdout == runs[1].stdout != "", runs[0].stderr


def _environment():
    return {**os.environ, "PYTHONPATH": ":".join(p for p in sys.path if p)}


def test_many_texts_on_threads_are_each_encoded_as_alone(tokenizer, monkeypatch):
    monkeypatch.setattr(_bpe_codec, "_BLOCK_CHARACTERS", 1000)
    assert tokenizer.encode_batch(CORPUS) == [tokenizer.encode(text) for text in CORPUS]


def test_a_full_memory_changes_nothing(tokenizer):
    codec, pieces = tokenizer._codec(), Texts.of(CORPUS)
    full = empty_memory()
    full.table.sizes[0] = MOST
    codec._memories.append(full)
    ids, _ = codec.encode_strings(pieces, 0)
    assert full.table.sizes[0] == MOST
    assert all(memory is not full for memory in codec._memories)
    assert ids.tolist() == [i for one in tokenizer.encode_batch(CORPUS) for i in one]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"vocab_size": 256, "special_tokens": ("a",)}, "too small"),
        ({"special_tokens": ("a", "a")}, "different"),
        ({"special_tokens": ("",)}, "non-empty"),
        ({"special_tokens": "abc"}, "special_tokens"),
        ({"pattern": "gpt3"}, "pattern"),
        ({"vocab_size": 0}, "vocab_size"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        BPETokenizer(**parameters).fit(["a text"])


def test_bad_input_is_refused(tokenizer):
    with pytest.raises(ValueError, match="must be a str"):
        tokenizer.encode(b"bytes")
    with pytest.raises(ValueError, match="list of documents"):
        tokenizer.transform("one text")
    for wrong in ([600], [-1], ["a"], [[1]]):
        with pytest.raises(ValueError, match="no id"):
            tokenizer.decode(wrong)
    with pytest.raises(ValueError, match="no document"):
        BPETokenizer().fit([])
    assert BPETokenizer().fit(["", ""]).merges_ == []
    assert tokenizer.encode("") == []
    assert tokenizer.decode([]) == ""
