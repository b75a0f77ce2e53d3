"""Files of WordPiece: Hugging Face's ``tokenizer.json``, as BERT and its descendants have it.

A file is read if what it asks for is what `WordPieceTokenizer` does, and refused by name if not.
"""

from __future__ import annotations

from typing import Any

from panlearn.text._wordpiece import PREFIX

_NORMALIZER = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized")

State = dict[str, Any]
"""The fields of a tokenizer that a file holds, ``vocab`` and ``special_tokens``."""


def from_huggingface(document: Any) -> State:
    """Read the content of a ``tokenizer.json``."""
    model = document.get("model") if isinstance(document, dict) else None
    if not isinstance(model, dict) or model.get("type", "WordPiece") != "WordPiece":
        kind = model.get("type") if isinstance(model, dict) else "no model"
        raise ValueError(f"the file holds no WordPiece model but {kind!r}")
    if (prefix := model.get("continuing_subword_prefix", PREFIX)) != PREFIX:
        raise ValueError(f"the file marks pieces by {prefix!r}; only {PREFIX!r} is read")
    normalizer = document.get("normalizer") or {}
    if normalizer.get("type") != "BertNormalizer":
        raise ValueError(
            f"the file normalises text by {normalizer.get('type')!r}; only BertNormalizer is read"
        )
    cut = document.get("pre_tokenizer") or {}
    if cut.get("type") != "BertPreTokenizer":
        raise ValueError(
            f"the file cuts text by {cut.get('type')!r}; only BertPreTokenizer is read"
        )
    vocab = model.get("vocab")
    if not isinstance(vocab, dict) or not vocab:
        raise ValueError("the file has no vocabulary")
    special = {}
    for token in document.get("added_tokens") or []:
        # spaces beside a token are dropped in any case, so that lstrip and rstrip change nothing
        if flags := [name for name in ("single_word", "normalized") if token.get(name, False)]:
            raise ValueError(
                f"the added token {token['content']!r} has {flags[0]}=True; only plain ones are "
                "read"
            )
        special[token["content"]] = int(token["id"])
    vocab = {token: int(number) for token, number in vocab.items()} | special
    numbers = list(vocab.values())
    if len(set(numbers)) != len(numbers) or min(numbers) < 0 or max(numbers) >= 2**31:
        raise ValueError("ids must be different numbers from 0 to 2 ** 31 - 1")
    unknown = model.get("unk_token", "[UNK]")
    if unknown not in vocab:
        raise ValueError(f"the vocabulary lacks the token for what is unknown, {unknown!r}")
    return {
        "vocab": vocab,
        "special_tokens": special | {unknown: vocab[unknown]},
        "unk_token": unknown,
        "max_input_chars_per_word": int(model.get("max_input_chars_per_word", 100)),
        **{name: normalizer.get(name, name != "strip_accents" or None) for name in _NORMALIZER},
    }


def to_huggingface(state: State) -> dict[str, Any]:
    """Give the content of a ``tokenizer.json``."""
    vocab, special = state["vocab"], state["special_tokens"]
    plain = dict.fromkeys(_FLAGS, False)
    by_id = sorted(special.items(), key=lambda item: item[1])
    return {
        **{"version": "1.0", "truncation": None, "padding": None},
        "added_tokens": [
            {"id": number, "content": token, **plain, "special": True} for token, number in by_id
        ],
        "normalizer": {"type": "BertNormalizer", **{name: state[name] for name in _NORMALIZER}},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": _frame(special),
        "decoder": {"type": "WordPiece", "prefix": PREFIX, "cleanup": True},
        "model": {
            **{"type": "WordPiece", "unk_token": state["unk_token"]},
            "continuing_subword_prefix": PREFIX,
            "max_input_chars_per_word": state["max_input_chars_per_word"],
            "vocab": dict(sorted(vocab.items(), key=lambda item: item[1])),
        },
    }


def _frame(special: dict[str, int]) -> dict[str, Any] | None:
    """What BERT puts around a text, or around two of them."""
    if not {"[CLS]", "[SEP]"} <= special.keys():
        return None
    first, end = ({"SpecialToken": {"id": mark, "type_id": 0}} for mark in ("[CLS]", "[SEP]"))
    single = [first, {"Sequence": {"id": "A", "type_id": 0}}, end]
    second = [
        {"Sequence": {"id": "B", "type_id": 1}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 1}},
    ]
    marks = {
        mark: {"id": mark, "ids": [special[mark]], "tokens": [mark]} for mark in ("[CLS]", "[SEP]")
    }
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": single + second,
        "special_tokens": marks,
    }
