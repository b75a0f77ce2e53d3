r"""Files of byte-level BPE: Hugging Face's ``tokenizer.json``, GPT-2's vocabulary and merges.

A file is read if what it asks for is what `BPETokenizer` does, and refused by name if it is not:
text is not normalised, no space is put before it, and every byte has a token.
"""

from __future__ import annotations

import json
from typing import Any

from panlearn.text._bpe_codec import spell, unspell

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# GPT-4 forbids to go back where it makes no difference, and so do some files of GPT-2's pattern.
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)
_KNOWN = {GPT2: "gpt2", LLAMA3: "llama3", _CL100K: "llama3"}
_PLAIN = {"single_word": False, "lstrip": False, "rstrip": False}

State = dict[str, Any]
"""What a tokenizer is: vocab, merges, special_tokens, pattern, ignore_merges."""


def from_huggingface(document: Any) -> State:
    """Read the content of a ``tokenizer.json``."""
    model = document.get("model", {}) if isinstance(document, dict) else {}
    if model.get("type", "BPE") != "BPE" or "merges" not in model or "vocab" not in model:
        raise ValueError(f"the file holds no BPE model but {model.get('type', 'no model')!r}")
    if document.get("normalizer") is not None:
        raise ValueError(
            f"the file normalises text by {document['normalizer'].get('type')!r}, so that decoding "
            "would not give the text back; only files without a normalizer are read"
        )
    for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(name):
            raise ValueError(f"the file has {name}={model[name]!r}, which byte-level BPE has not")
    special = {}
    for token in document.get("added_tokens") or []:
        if any(token.get(key, False) for key in _PLAIN):
            raise ValueError(
                f"the added token {token['content']!r} takes spaces beside it or whole words; only "
                "plain ones are read"
            )
        special[token["content"]] = int(token["id"])
    pairs = [tuple(m.split(" ") if isinstance(m, str) else m) for m in model["merges"]]
    state = _check(model["vocab"], pairs, special)
    state["pattern"] = _pattern(document.get("pre_tokenizer"))
    state["ignore_merges"] = bool(model.get("ignore_merges", False))
    return state


def from_gpt2(vocab: str, merges: str) -> State:
    """Read the contents of a ``vocab.json`` and a ``merges.txt``."""
    lines = [line for line in merges.split("\n") if line and not line.startswith("#version")]
    pairs = [tuple(line.rstrip("\r").split(" ")) for line in lines]
    table = json.loads(vocab)
    made = {"".join(pair) for pair in pairs} | {spell(bytes([b])) for b in range(256)}
    # what no merge makes is never text: these are the special tokens
    special = {token: number for token, number in table.items() if token not in made}
    return _check(table, pairs, special) | {"pattern": "gpt2", "ignore_merges": False}


def _check(vocab: dict[str, int], merges: list[Any], special: dict[str, int]) -> State:
    vocab = {token: int(number) for token, number in vocab.items() if token not in special}
    if missing := [byte for byte in range(256) if spell(bytes([byte])) not in vocab]:
        raise ValueError(
            f"the vocabulary has no token for the bytes {missing[:5]}, so not every text can be "
            "encoded; is it a byte-level one?"
        )
    for token in vocab:
        try:
            unspell(token)
        except KeyError:
            raise ValueError(f"the token {token!r} is not spelt in GPT-2's characters") from None
    for pair in merges:
        if len(pair) != 2 or not {*pair, "".join(pair)} <= vocab.keys():
            raise ValueError(f"the merge {pair!r} is not of two tokens that make a third")
    numbers = [*vocab.values(), *special.values()]
    if len(set(numbers)) != len(numbers) or min(numbers) < 0 or max(numbers) >= 2**31:
        raise ValueError("ids must be different numbers from 0 to 2 ** 31 - 1")
    return {"vocab": vocab, "merges": merges, "special_tokens": special}


def _pattern(pre_tokenizer: Any) -> str:
    """Which of the patterns a file's pre-tokenizer is."""
    parts = pre_tokenizer or {}
    steps = parts["pretokenizers"] if parts.get("type") == "Sequence" else [parts]
    kinds = [step.get("type") for step in steps]
    if kinds not in (["ByteLevel"], ["Split", "ByteLevel"]):
        raise ValueError(f"the file cuts text by {kinds}; what is read is ByteLevel, or a Split")
    if steps[-1].get("add_prefix_space", True):
        raise ValueError("the file puts a space before each text, so decoding would not give it")
    if steps[-1].get("use_regex", True) != (len(steps) == 1):
        raise ValueError("the file cuts text by two patterns, or by none")
    if len(steps) == 1:
        return "gpt2"
    split = steps[0]
    regex = split.get("pattern", {}).get("Regex")
    if regex not in _KNOWN or split.get("behavior") != "Isolated" or split.get("invert"):
        raise ValueError(
            f"the file cuts text by the pattern {regex!r}; known are those of GPT-2, GPT-4, Llama 3"
        )
    return _KNOWN[regex]


def to_huggingface(state: State) -> dict[str, Any]:
    """Give the content of a ``tokenizer.json``."""
    level: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False}
    cut: dict[str, Any] = {**level, "use_regex": True}
    if state["pattern"] == "llama3":
        split = {"type": "Split", "pattern": {"Regex": LLAMA3}, "behavior": "Isolated"}
        steps = [{**split, "invert": False}, {**level, "use_regex": False}]
        cut = {"type": "Sequence", "pretokenizers": steps}
    added = [
        {"id": number, "content": token, **_PLAIN, "normalized": False, "special": True}
        for token, number in sorted(state["special_tokens"].items(), key=lambda item: item[1])
    ]
    model = {
        **{"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None},
        **{"end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False},
        "ignore_merges": state["ignore_merges"],
        "vocab": _by_id(state["vocab"] | state["special_tokens"]),
        "merges": [list(pair) for pair in state["merges"]],
    }
    return {
        **{"version": "1.0", "truncation": None, "padding": None, "added_tokens": added},
        **{"normalizer": None, "pre_tokenizer": cut, "post_processor": {**level}},
        "decoder": {**level},
        "model": model,
    }


def to_gpt2(state: State) -> tuple[str, str]:
    """Give the contents of a ``vocab.json`` and a ``merges.txt``."""
    vocab = json.dumps(_by_id(state["vocab"] | state["special_tokens"]))
    lines = ["#version: 0.2", *(" ".join(pair) for pair in state["merges"]), ""]
    return vocab, "\n".join(lines)


def _by_id(vocab: dict[str, int]) -> dict[str, int]:
    return dict(sorted(vocab.items(), key=lambda item: item[1]))
