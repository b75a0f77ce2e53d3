r"""Files of BPE: Hugging Face's ``tokenizer.json``, GPT-2's vocabulary and merges.

A file is read if what it asks for is what `BPETokenizer` does, and refused by name if it is not.
"""

from __future__ import annotations

import json
from typing import Any

from panlearn.text._bpe_characters import BYTES, SPACE
from panlearn.text._bpe_codec import spell, unspell

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
# GPT-4 forbids to go back where it makes no difference, and so do some files of GPT-2's pattern.
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)
_KNOWN = {GPT2: "gpt2", LLAMA3: "llama3", _CL100K: "llama3", QWEN2: "qwen2"}
_PLAIN = {"single_word": False, "lstrip": False, "rstrip": False}

STYLE = ("pattern", "ignore_merges", "alphabet", "prefix", "normalize")
State = dict[str, Any]
"""What a tokenizer is: vocab, merges, special_tokens, start_token and what STYLE names."""


def from_huggingface(document: Any) -> State:
    """Read the content of a ``tokenizer.json``."""
    model = document.get("model", {}) if isinstance(document, dict) else {}
    if model.get("type", "BPE") != "BPE" or "merges" not in model or "vocab" not in model:
        raise ValueError(f"the file holds no BPE model but {model.get('type', 'no model')!r}")
    for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(name):
            raise ValueError(f"the file has {name}={model[name]!r}, which is not known here")
    special = {}
    for token in document.get("added_tokens") or []:
        if any(token.get(key, False) for key in _PLAIN):
            raise ValueError(
                f"the added token {token['content']!r} takes spaces beside it or whole words; only "
                "plain ones are read"
            )
        special[token["content"]] = int(token["id"])
    pairs = [tuple(m.split(" ") if isinstance(m, str) else m) for m in model["merges"]]
    style = _style(document, bool(model.get("ignore_merges", False)))
    if style["alphabet"] == "characters" and not model.get("byte_fallback"):
        raise ValueError("the file has no byte_fallback, so that not every text can be encoded")
    start = _start(document.get("post_processor"), special)
    return _check(model["vocab"], pairs, special, style) | {"start_token": start}


def _style(document: dict[str, Any], ignore_merges: bool) -> State:
    """What STYLE names."""
    style = {"pattern": "gpt2", "ignore_merges": ignore_merges, "alphabet": "bytes"}
    style |= {"prefix": "prepend", "normalize": None}
    normalizer, cut = document.get("normalizer"), document.get("pre_tokenizer")
    kinds = [step.get("type") for step in _steps(normalizer, "normalizers")]
    if cut is not None and cut.get("type") == "Metaspace":
        return style | {"alphabet": "characters", "prefix": _metaspace(cut, kinds)}
    if cut is None and normalizer is not None and "Replace" in kinds:
        return style | {"alphabet": "characters", "prefix": _prepend(normalizer, kinds)}
    if kinds not in ([], ["NFC"], ["NFD"], ["NFKC"], ["NFKD"]):
        raise ValueError(f"the file normalises text by {kinds}; only normal forms are known")
    return style | {"pattern": _pattern(cut), "normalize": kinds[0] if kinds else None}


def _steps(part: Any, name: str) -> list[Any]:
    """The steps of a sequence, or the one step."""
    if part is None:
        return []
    return part[name] if part.get("type") == "Sequence" else [part]


def _metaspace(cut: dict[str, Any], normalizers: list[Any]) -> str:
    if normalizers or cut.get("split", True) or cut.get("replacement", SPACE) != SPACE:
        raise ValueError("the file cuts text at spaces or normalises it besides; neither is known")
    return cut.get("prepend_scheme", "always")


def _prepend(normalizer: dict[str, Any], kinds: list[Any]) -> str:
    steps = _steps(normalizer, "normalizers")
    replaced = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    first = {"type": "Prepend", "prepend": SPACE}
    if steps == [first, replaced]:
        return "prepend"
    if steps == [replaced]:
        return "never"
    raise ValueError(f"the file normalises text by {kinds}; only spaces as {SPACE!r} are known")


def _start(post_processor: Any, special: dict[str, int]) -> int | None:
    """The token that is put before a text."""
    for step in _steps(post_processor, "processors"):
        if step.get("type") == "TemplateProcessing":
            first = next(iter(step.get("single") or [{}]))
            name = first.get("SpecialToken", {}).get("id")
            if name is not None:
                return special.get(name)
    return None


def from_gpt2(vocab: str, merges: str) -> State:
    """Read the contents of a ``vocab.json`` and a ``merges.txt``."""
    lines = [line for line in merges.split("\n") if line and not line.startswith("#version")]
    pairs = [tuple(line.rstrip("\r").split(" ")) for line in lines]
    table = json.loads(vocab)
    made = {"".join(pair) for pair in pairs} | {spell(bytes([b])) for b in range(256)}
    # what no merge makes is never text: these are the special tokens
    special = {token: number for token, number in table.items() if token not in made}
    style = _style({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}}, False)
    return _check(table, pairs, special, style) | {"start_token": None}


def _check(
    vocab: dict[str, int], merges: list[Any], special: dict[str, int], style: State
) -> State:
    vocab = {token: int(number) for token, number in vocab.items() if token not in special}
    of_bytes = style["alphabet"] == "bytes"
    spelt = [spell(bytes([byte])) for byte in range(256)] if of_bytes else BYTES
    if missing := [byte for byte, token in enumerate(spelt) if token not in vocab]:
        raise ValueError(
            f"the vocabulary has no token for the bytes {missing[:5]}, so not every text can be "
            "encoded; is it a byte-level one?"
        )
    for token in vocab if of_bytes else ():
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
    return {"vocab": vocab, "merges": merges, "special_tokens": special, **style}


def _pattern(pre_tokenizer: Any) -> str:
    """Which of the patterns a file's pre-tokenizer is."""
    steps = _steps(pre_tokenizer or {}, "pretokenizers")
    kinds = [step.get("type") for step in steps]
    if kinds == ["Digits", "ByteLevel"] and steps[0].get("individual_digits"):
        if _pattern(steps[1]) == "gpt2":
            return "digits"
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
    of_bytes = state["alphabet"] == "bytes"
    added = [
        {"id": number, "content": token, **_PLAIN, "normalized": False, "special": True}
        for token, number in sorted(state["special_tokens"].items(), key=lambda item: item[1])
    ]
    model = {
        **{"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None},
        **{"end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": not of_bytes},
        "ignore_merges": state["ignore_merges"],
        "vocab": _by_id(state["vocab"] | state["special_tokens"]),
        "merges": [list(pair) for pair in state["merges"]],
    }
    steps = _byte_steps(state) if of_bytes else _character_steps(state["prefix"])
    if state["start_token"] is not None:
        steps["post_processor"] = _template(state)
    return {
        **{"version": "1.0", "truncation": None, "padding": None, "added_tokens": added},
        **steps,
        "model": model,
    }


def _byte_steps(state: State) -> dict[str, Any]:
    """How bytes are cut, and put together again."""
    level: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False}
    cut: dict[str, Any] = {**level, "use_regex": True}
    if state["pattern"] in ("llama3", "qwen2"):
        regex = LLAMA3 if state["pattern"] == "llama3" else QWEN2
        split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated"}
        steps = [{**split, "invert": False}, {**level, "use_regex": False}]
        cut = {"type": "Sequence", "pretokenizers": steps}
    elif state["pattern"] == "digits":
        digits = {"type": "Digits", "individual_digits": True}
        cut = {"type": "Sequence", "pretokenizers": [digits, cut]}
    form = None if state["normalize"] is None else {"type": state["normalize"]}
    return {"normalizer": form, "pre_tokenizer": cut, "post_processor": level, "decoder": level}


def _character_steps(prefix: str) -> dict[str, Any]:
    """How spaces are written, and characters put together again."""
    replaced = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    back = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
    decoders = [back, {"type": "ByteFallback"}, {"type": "Fuse"}]
    if prefix != "never":
        decoders.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    decoder = {"type": "Sequence", "decoders": decoders}
    if prefix == "prepend":
        first = {"type": "Prepend", "prepend": SPACE}
        normal = {"type": "Sequence", "normalizers": [first, replaced]}
        return {"normalizer": normal, "pre_tokenizer": None, "decoder": decoder}
    cut = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": prefix, "split": False}
    return {"normalizer": None, "pre_tokenizer": cut, "decoder": decoder}


def _template(state: State) -> dict[str, Any]:
    """What puts a token before a text."""
    number = state["start_token"]
    (name,) = (token for token, i in state["special_tokens"].items() if i == number)
    start = {"SpecialToken": {"id": name, "type_id": 0}}
    one, two = ({"Sequence": {"id": part, "type_id": i}} for i, part in enumerate("AB"))
    known = {name: {"id": name, "ids": [number], "tokens": [name]}}
    template = {"single": [start, one], "pair": [start, one, start, two], "special_tokens": known}
    return {"type": "TemplateProcessing", **template}


def to_gpt2(state: State) -> tuple[str, str]:
    """Give the contents of a ``vocab.json`` and a ``merges.txt``."""
    vocab = json.dumps(_by_id(state["vocab"] | state["special_tokens"]))
    lines = ["#version: 0.2", *(" ".join(pair) for pair in state["merges"]), ""]
    return vocab, "\n".join(lines)


def _by_id(vocab: dict[str, int]) -> dict[str, int]:
    return dict(sorted(vocab.items(), key=lambda item: item[1]))
