"""Files of tokenizers as models bring them, against the package tokenizers on a hard corpus."""

import json
from pydoc_data.topics import topics

import pytest
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from panlearn.text import BPETokenizer
from panlearn.text._bpe_files import LLAMA3, QWEN2

CORPUS = [topics[name] for name in sorted(topics)[:12]]
HARD = [
    *("", " ", "  ", "\n", " \n\n  x ", "a", " a", "  a", "a  b   c ", "\t\ttab", "x\r\ny\r"),
    *(
        "'s it's IT'S we'LL 'tis",
        "1",
        "12 345 6789",
        "a1b22 333c",
        " 1  2   3",
        "1.5e-3\u00bd\u2167",
    ),
    *(
        "e\u0301\u0301 cafe\u0301 caf\u00e9 \u1e9b\u0323 \ufb01",
        "\u4e16\u754c \u3053\u3093\u306b\u3061\u306f",
        "\U0001f600\U0001f469\u200d\U0001f680 \u2764\ufe0f",
    ),
    *(
        "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd",
        "\x00\x01\x1c\x7f",
        "\u2581 \u2581a \u2581\u2581",
        "--- === ...!?",
        "\u00a0\u3000\u2003x",
    ),
    *("a" * 200, "the the the " * 20, "https://x.org/?q=1&r=%20", "def f(x):\n    return x  # 2\n"),
    *(
        "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0928\u092e\u0938\u094d\u0924\u0947",
        "\u017fo '\u017f",
        "<0x41> <0x0A>",
        "\ufffd\ufeff",
    ),
    *CORPUS[:3],
]
SPECIAL = ["<unk>", "<s>", "</s>"]


def characters(first):
    """As Llama 2 and TinyLlama: spaces are a symbol, what has no token is spelt in bytes."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    if first == "prepend":
        steps = [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
        tokenizer.normalizer = normalizers.Sequence(steps)
        tokenizer.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=first, split=True)
    spelt = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=[*SPECIAL, *spelt], show_progress=False, limit_alphabet=70
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    # words are cut while it learns; the files of models do not
    document = json.loads(tokenizer.to_str())
    cut = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": first, "split": False}
    document["pre_tokenizer"] = None if first == "prepend" else cut
    document["added_tokens"] = [t for t in document["added_tokens"] if t["content"] in SPECIAL]
    tokenizer = Tokenizer.from_str(json.dumps(document))
    ends = [] if first == "never" else [decoders.Strip(" ", 1, 0)]
    steps = [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), *ends]
    tokenizer.decoder = decoders.Sequence(steps)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    return tokenizer


def of_bytes(cut, normalizer=None):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = cut
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=900,
        special_tokens=["<|endoftext|>"],
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens([AddedToken("<|im_start|>", special=True, normalized=False)])
    return tokenizer


def split(regex):
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(regex), "isolated"), level])


FILES = {
    "llama 2": lambda: characters("prepend"),
    "tinyllama": lambda: characters("first"),
    "always": lambda: characters("always"),
    "never": lambda: characters("never"),
    "smollm": lambda: of_bytes(
        pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
    ),
    "qwen": lambda: of_bytes(split(QWEN2), normalizers.NFC()),
    "llama 3": lambda: of_bytes(split(LLAMA3)),
}


@pytest.fixture(scope="module", params=FILES.values(), ids=FILES)
def pair(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("file") / "tokenizer.json"
    theirs = request.param()
    theirs.save(str(path))
    return theirs, BPETokenizer.from_huggingface(path), path


def test_ids_and_texts_are_theirs(pair):
    theirs, ours, _ = pair
    for text in HARD:
        ids = theirs.encode(text, add_special_tokens=False).ids
        assert ours.encode(text) == ids, repr(text[:50])
        assert ours.tokens(ids) == [theirs.id_to_token(i) for i in ids]
        assert ours.decode(ids) == theirs.decode(ids), repr(text[:50])
        assert "".join(ours.decode_stream(ids)) == ours.decode(ids)
    assert ours.encode_batch(HARD) == [ours.encode(text) for text in HARD]


def test_special_tokens_are_theirs(pair):
    theirs, ours, _ = pair
    marks = list(ours.special_tokens_)
    for text in [f"{m}a b{m} c{m}{m}" for m in marks] + [f" x {m}  y" for m in marks]:
        expected = theirs.encode(text, add_special_tokens=False).ids
        assert ours.encode(text, special="atomic") == expected


def test_they_read_what_we_write(pair, tmp_path):
    theirs, ours, _ = pair
    ours.to_huggingface(tmp_path / "tokenizer.json")
    written = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    again = BPETokenizer.from_huggingface(tmp_path / "tokenizer.json")
    assert again.get_params() == ours.get_params()
    assert again.start_token_ == ours.start_token_
    for text in HARD:
        assert written.encode(text).ids == theirs.encode(text).ids
        assert written.decode(written.encode(text).ids) == theirs.decode(theirs.encode(text).ids)


def test_the_start_token_is_the_files(pair):
    theirs, ours, _ = pair
    first = theirs.encode("a b").ids[0]
    expected = first if first != theirs.encode("a b", add_special_tokens=False).ids[0] else None
    assert ours.start_token_ == expected


@pytest.mark.parametrize("prefix", ["prepend", "first"])
def test_characters_learn_the_same_merges(prefix):
    spelt = [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer = Tokenizer(models.BPE(byte_fallback=True))
    if prefix == "prepend":
        steps = [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
        tokenizer.normalizer = normalizers.Sequence(steps)
        tokenizer.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=spelt, show_progress=False)
    tokenizer.train_from_iterator(CORPUS[:4], trainer)
    ours = BPETokenizer(700, alphabet="characters", prefix=prefix).fit(CORPUS[:4])
    assert ours.vocab_ == tokenizer.get_vocab()
    text = CORPUS[1]
    assert ours.decode(ours.encode(text)) == text
