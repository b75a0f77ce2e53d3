"""Files of byte-level BPE: what is written is read again, what cannot be kept is refused."""

import copy
import json
from pydoc_data.topics import topics

import pytest

from panlearn.text import BPETokenizer
from panlearn.text._bpe_files import LLAMA3, from_huggingface, to_huggingface

CORPUS = [topics[name] for name in sorted(topics)[:4]]


@pytest.fixture(scope="module")
def model():
    return BPETokenizer(vocab_size=400, special_tokens=("<|end|>", "a b")).fit(CORPUS)


def _same(one, other):
    text = CORPUS[1] + "<|end|>é\x00"
    assert one.encode(text) == other.encode(text)
    assert one.encode(text, special="atomic") == other.encode(text, special="atomic")
    assert one.vocab_ == other.vocab_
    assert one.merges_ == other.merges_
    assert one.special_tokens_ == other.special_tokens_
    assert one.n_tokens == other.n_tokens


@pytest.mark.parametrize("pattern", ["gpt2", "llama3"])
def test_tokenizer_json_is_read_as_it_was_written(tmp_path, pattern):
    model = BPETokenizer(400, special_tokens=("<|end|>",), pattern=pattern).fit(CORPUS)
    model.to_huggingface(tmp_path / "tokenizer.json")
    back = BPETokenizer.from_huggingface(tmp_path / "tokenizer.json")
    assert back.pattern == pattern
    _same(model, back)
    assert back.set_params(vocab_size=420).partial_fit(CORPUS).n_tokens == 420


def test_files_of_gpt2_are_read_as_they_were_written(tmp_path, model):
    model.to_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    _same(model, BPETokenizer.from_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt"))


def test_merges_may_be_strings(model):
    document = to_huggingface(model._state())
    document["model"]["merges"] = [" ".join(pair) for pair in document["model"]["merges"]]
    _same(model, BPETokenizer._of(from_huggingface(document)))


def test_a_piece_that_is_a_token_may_be_taken_whole(model):
    document = to_huggingface(model._state())
    document["model"]["vocab"]["zqx"] = 400  # no merge makes it
    plain = BPETokenizer._of(from_huggingface(document))
    assert len(plain.encode("zqx")) > 1
    document["model"]["ignore_merges"] = True
    whole = BPETokenizer._of(from_huggingface(document))
    assert whole.encode("zqx") == [400]
    assert whole.decode([400]) == "zqx"
    assert whole.encode("zqxy") == plain.encode("zqxy")


def _split(regex):
    split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    return {"type": "Sequence", "pretokenizers": [split, level]}


def _without(mapping, key):
    return {k: v for k, v in mapping.items() if k != key}


WRONG = {
    "no BPE": lambda d: d["model"].update(type="WordPiece"),
    "normalises": lambda d: d.update(normalizer={"type": "Lowercase"}),
    "dropout": lambda d: d["model"].update(dropout=0.1),
    "takes spaces": lambda d: d["added_tokens"][0].update(lstrip=True),
    "no token for the bytes": lambda d: d["model"].update(vocab=_without(d["model"]["vocab"], "a")),
    "not spelt": lambda d: d["model"]["vocab"].update({"\u4e16": 400}),
    "two tokens": lambda d: d["model"]["merges"].append(["zz", "zz"]),
    "different numbers": lambda d: d["model"]["vocab"].update(a=d["model"]["vocab"]["b"]),
    "space before": lambda d: d["pre_tokenizer"].update(add_prefix_space=True),
    "or by none": lambda d: d["pre_tokenizer"].update(use_regex=False),
    "cuts text by \\[None\\]": lambda d: d.update(pre_tokenizer=None),
    "by the pattern": lambda d: d.update(pre_tokenizer=_split(r"\s+")),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_cannot_be_kept_is_refused(model, message):
    document = copy.deepcopy(to_huggingface(model._state()))
    WRONG[message](document)
    with pytest.raises(ValueError, match=message):
        from_huggingface(json.loads(json.dumps(document)))
    assert from_huggingface(to_huggingface(model._state()) | {"pre_tokenizer": _split(LLAMA3)})
