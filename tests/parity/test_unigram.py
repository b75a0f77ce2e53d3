"""Unigram models against the package tokenizers: files of the styles that people have."""

import base64
import json
import struct
import unicodedata
from pydoc_data.topics import topics

import pytest
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    processors,
    trainers,
)
from tokenizers import pre_tokenizers as cuts

from panlearn.text import UnigramTokenizer

HARD = [
    "Café naïve Ångström ΣΊΣΥΦΟΣ İstanbul ﬁligree Straße ẞ ŉ ǆ ŒUVRE ½ ﷺ ㌀ ① ªº ㎏",
    "中文字符 混合text繁體 豈 𠀀𪜀 日本語ｶﾞﾀｶﾅ ﾊﾟ 한국어 각 \u1100\u1161\u11a8",
    "😀 👩‍👩‍👧 🇩🇪 a🏻 ª🏻 1\ufe0f\u20e3 ©\ufe0f zero\u200bwidth\u200djoiner \u2060",
    "a\x07c\x1cd\x85e\ufffdf\u2028g\tq\nr\r\ns\rt\x0bz\x7f\x9f\xad",
    "e\u0301\u0323 q\u0307\u0323 \u0301 o\u0302\u0301 ﬁ\u0301 Ａ\u0301 ª\u0301 \u0600e\u0301",
    "don't ``quoted'' $5.99 (what?!) #hash_tag – — “quoted” … ¿qué? ، 。",
    *("", " ", "   ", "▁", "▁▁ a▁b ▁", " a", "a ", "  spaces \xa0 \u3000 \u2003 here  "),
    "العربية עִבְרִית हिन्दी ไทย ทำ ქართული ELŐTT ΟΔΟΣ",
    "x" * 90 + "é" * 70,
    "<extra_id_0> one<extra_id_1>two </s>three <mask> four  <mask>five <unk> <pad> <0x41>",
]
TEXTS = [*HARD, *list(topics.values())[::25]]


def charsmap():
    """A table as SentencePiece writes it: compatible forms, compositions, what is no letter."""
    table = {c: unicodedata.normalize("NFKC", c) for c in map(chr, range(0x80, 0x3400))}
    table |= {c: unicodedata.normalize("NFKC", c) for c in map(chr, range(0xF900, 0xFFF0))}
    table = {c: to for c, to in table.items() if to != c}
    marks = "\u0300\u0301\u0302\u0307\u0308\u0323"
    for c in map(chr, [*range(65, 91), *range(97, 123), *range(0xC0, 0x250)]):
        for mark in marks:
            if len(to := unicodedata.normalize("NFC", c + mark)) == 1:
                table[c + mark] = to
    table |= dict.fromkeys("\t\n\r\x0b\u200b\u2028\u3000", " ") | dict.fromkeys("\x07\x7f\xad", "")
    written, places = b"", {}
    for to in table.values():
        if to not in places:
            places[to] = len(written)
            written += to.encode() + b"\0"
    nodes, root = [{}], 0
    for key, to in table.items():
        node = root
        for byte in key.encode():
            if byte not in nodes[node]:
                nodes.append({})
                nodes[node][byte] = len(nodes) - 1
            node = nodes[node][byte]
        nodes[node][0] = places[to]
    # a block of 256 units for the children of each node: node k leads to units 256 (k + 1) ...
    units = [0] * (256 * (len(nodes) + 1))
    place = {0: 0}
    for node, children in enumerate(nodes):
        base = 256 * (node + 1)
        for byte, child in children.items():
            if byte:
                place[child] = base + byte
                units[base + byte] = byte
            else:
                units[base] = 1 << 31 | child
    for node, children in enumerate(nodes):
        at, base = place[node], 256 * (node + 1)
        units[at] |= (at ^ base) << 10 | (0 in children) << 8
    body = struct.pack(f"<{len(units)}I", *units)
    return struct.pack("<I", len(body)) + body + written


CHARSMAP = charsmap()
T5 = {
    "normalizer": normalizers.Precompiled(CHARSMAP),
    "pre_tokenizer": cuts.Sequence([cuts.WhitespaceSplit(), cuts.Metaspace()]),
    "decoder": decoders.Metaspace(),
}
STYLES = {
    "T5": T5,
    "SentencePiece": T5
    | {
        "normalizer": normalizers.Sequence(
            [
                normalizers.Precompiled(CHARSMAP),
                normalizers.Strip(left=False, right=True),
                normalizers.Replace(Regex(" {2,}"), "▁"),
            ]
        ),
        "pre_tokenizer": cuts.Metaspace(),
    },
    "ALBERT": T5
    | {
        "normalizer": normalizers.Sequence(
            [
                normalizers.Replace("``", '"'),
                normalizers.Replace("''", '"'),
                normalizers.NFKD(),
                normalizers.StripAccents(),
                normalizers.Lowercase(),
                normalizers.Precompiled(CHARSMAP),
                normalizers.Replace(Regex(" {2,}"), " "),
            ]
        ),
        "pre_tokenizer": cuts.Metaspace(),
    },
    "first": T5 | {"normalizer": None, "pre_tokenizer": cuts.Metaspace(prepend_scheme="first")},
    "whole": {
        "normalizer": normalizers.NFKC(),
        "pre_tokenizer": cuts.Metaspace(prepend_scheme="never", split=False),
        "decoder": decoders.Replace("▁", " "),
    },
    "not cut": {
        "normalizer": normalizers.Replace(" ", "▁"),
        "pre_tokenizer": None,
        "decoder": decoders.Replace("▁", " "),
    },
    "bytes": T5
    | {
        "normalizer": None,
        "pre_tokenizer": cuts.Metaspace(split=False),
        "decoder": decoders.Sequence(
            [
                decoders.Replace("▁", " "),
                decoders.ByteFallback(),
                decoders.Fuse(),
                decoders.Strip(" ", 1, 0),
            ]
        ),
    },
}


@pytest.fixture(scope="module")
def pieces():
    """A vocabulary that was learned by the package.

    It learns another one each time, and reads a score of many digits to the last but one: with 13
    binary places all sums are exact, and what is equally likely is so for everybody.
    """
    learner = Tokenizer(models.Unigram())
    learner.pre_tokenizer = cuts.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=700, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>"
    )
    learner.train_from_iterator(list(topics.values())[:12], trainer)
    vocab = json.loads(learner.to_str())["model"]["vocab"]
    return [(piece, round(score * 8192) / 8192) for piece, score in vocab]


@pytest.fixture(scope="module", params=STYLES)
def both(request, pieces, tmp_path_factory):
    style, vocab = STYLES[request.param], [(piece, score) for piece, score in pieces]
    fallback = request.param == "bytes"
    if fallback:
        vocab += [(f"<0x{byte:02X}>", -30.0) for byte in range(256)]
    theirs = Tokenizer(models.Unigram(vocab, unk_id=2, byte_fallback=fallback))
    for name, part in style.items():
        if part is not None:
            setattr(theirs, name, part)
    marks = ["<pad>", "</s>", "<unk>", "<extra_id_0>"]
    theirs.add_special_tokens([AddedToken(mark, normalized=False) for mark in marks])
    stripped = [AddedToken("<mask>", lstrip=True, normalized=False)]
    stripped += [AddedToken("<extra_id_1>", lstrip=True, rstrip=True, normalized=False)]
    theirs.add_special_tokens(stripped)
    theirs.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    path = tmp_path_factory.mktemp("unigram") / "tokenizer.json"
    theirs.save(str(path))
    return UnigramTokenizer.from_huggingface(path), theirs


def test_a_hard_corpus_has_the_same_ids_and_texts(both):
    ours, theirs = both
    for text in TEXTS:
        expected = theirs.encode(text).ids
        found = ours.encode(text, special="atomic", add_special_tokens=True)
        assert found == expected, text[:60]
        for skip in (True, False):
            wanted = theirs.decode(expected, skip_special_tokens=skip)
            assert ours.decode(expected, skip_special_tokens=skip) == wanted


def test_they_read_what_we_write(both, tmp_path):
    ours, theirs = both
    ours.to_huggingface(tmp_path / "tokenizer.json")
    again = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in TEXTS[::3]:
        assert again.encode(text).ids == theirs.encode(text).ids
    assert UnigramTokenizer.from_huggingface(tmp_path / "tokenizer.json").vocab == ours.vocab


def test_a_table_of_sentencepiece_is_read_as_they_read_it():
    """Every character of the first planes with and without a mark."""
    ours = UnigramTokenizer(
        {"<unk>": 0.0, "a": -1.0},
        normalizer={
            "type": "Precompiled",
            "precompiled_charsmap": base64.b64encode(CHARSMAP).decode(),
        },
    )
    theirs = normalizers.Precompiled(CHARSMAP)
    older = [(0x1, 0x590), (0x1E00, 0x2E43), (0x3000, 0x33FF), (0xAC00, 0xAD00), (0xF900, 0xFFFE)]
    letters = [chr(c) for low, high in older for c in range(low, high, 2)]
    for mark in ("", "\u0301", "\u0323\u0301", "\u200d", "\ufe0f", "\uff9e"):
        text = "b".join(c + mark for c in letters)
        assert ours._normalise(text) == theirs.normalize_str(text), repr(mark)
