"""Files of unigram models: Hugging Face's ``tokenizer.json``, as T5 and its relatives have it.

A file is read if what it asks for is what `UnigramTokenizer` does, and refused by name if not.
"""

from __future__ import annotations

import math
from typing import Any

from panlearn.text._bpe_characters import SPACE
from panlearn.text._normalizers import flat

_SPACED = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
_WHOLE = {"prefix": "never", "split": False, "words": False}  # a text that is not cut at all

Fields = dict[str, Any]
"""The fields of a `UnigramTokenizer`."""


def from_huggingface(document: Any) -> Fields:
    """Read the content of a ``tokenizer.json``."""
    model = document.get("model") if isinstance(document, dict) else None
    kind = model.get("type") if isinstance(model, dict) else "no model"
    if not isinstance(model, dict) or kind != "Unigram":
        raise ValueError(f"the file holds no unigram model but {kind!r}")
    vocab = _vocab(model.get("vocab"))
    special: dict[str, int] = {}
    strips: dict[str, list[str]] = {"lstrip": [], "rstrip": []}
    for token in document.get("added_tokens") or []:
        content = token["content"]
        for flag in ("single_word", "normalized"):
            if token.get(flag, False):
                raise ValueError(f"the added token {content!r} has {flag}=True; it is not known")
        special[content] = int(token["id"])
        for flag, names in strips.items():
            names += [content] * bool(token.get(flag, False))
    before, after = _frame(document.get("post_processor"), special)
    normalizer, cut = document.get("normalizer"), _cut(document.get("pre_tokenizer"))
    if cut.pop("spaced") and cut == _WHOLE:  # spaces are written as a symbol, and nothing more
        normalizer = {
            "type": "Sequence",
            "normalizers": [*flat(normalizer, "normalizers"), _SPACED],
        }
    return {
        "vocab": vocab,
        "unk_id": model.get("unk_id"),
        "byte_fallback": bool(model.get("byte_fallback", False)),
        "special_tokens": special,
        "normalizer": normalizer,
        **cut,
        **{flag: tuple(names) for flag, names in strips.items()},
        **{"before": before, "after": after},
    }


def _vocab(rows: Any) -> dict[str, float]:
    """The logarithms of the probabilities, in the order of the ids."""
    if not isinstance(rows, list) or not rows:
        raise ValueError("the file has no vocabulary")
    vocab: dict[str, float] = {}
    for row in rows:
        match row:
            case [str(piece), int() | float() as score] if math.isfinite(score):
                if piece in vocab:
                    raise ValueError(f"the vocabulary has the piece {piece!r} twice")
                vocab[piece] = float(score)
            case _:
                raise ValueError(f"the vocabulary holds {row!r:.60}, no piece with its score")
    return vocab


def _cut(pre_tokenizer: Any) -> Fields:
    """How a text is cut into words."""
    steps = flat(pre_tokenizer, "pretokenizers")
    kinds = [step.get("type") for step in steps]
    if not kinds:
        return {**_WHOLE, "spaced": False}
    if kinds not in (["Metaspace"], ["WhitespaceSplit", "Metaspace"]):
        raise ValueError(
            f"the file cuts text by {kinds}; what is read is Metaspace, and WhitespaceSplit before"
        )
    space = steps[-1]
    if (symbol := space.get("replacement", SPACE)) != SPACE:
        raise ValueError(f"the file writes a space as {symbol!r}; only {SPACE!r} is read")
    older = "always" if space.get("add_prefix_space", True) else "never"
    prefix, split = space.get("prepend_scheme", older), bool(space.get("split", True))
    return {"prefix": prefix, "split": split, "words": len(kinds) > 1, "spaced": True}


def _frame(processor: Any, special: dict[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tokens that are put before and after a text."""
    before: list[int] = []
    after: list[int] = []
    for step in flat(processor, "processors"):
        if step.get("type") != "TemplateProcessing":
            raise ValueError(f"the file frames text by {step.get('type')!r}, which is not known")
        side = before
        for part in step.get("single") or []:
            if "Sequence" in part:
                side = after
            elif (name := part.get("SpecialToken", {}).get("id")) in special:
                side.append(special[name])
            else:
                raise ValueError(f"the file frames text by {name!r}, which is no special token")
    return tuple(before), tuple(after)


def to_huggingface(fields: Fields) -> dict[str, Any]:
    """Give the content of a ``tokenizer.json``."""
    special: dict[str, int] = fields["special_tokens"]
    added = [
        {
            **{"id": number, "content": token, "single_word": False},
            **{flag: token in fields[flag] for flag in ("lstrip", "rstrip")},
            **{"normalized": False, "special": True},
        }
        for token, number in sorted(special.items(), key=lambda item: item[1])
    ]
    space = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": fields["prefix"]}
    space["split"] = fields["split"]
    cut: Any = space
    if fields["words"]:
        cut = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, space]}
    elif {name: fields[name] for name in _WHOLE} == _WHOLE:
        cut = None
    return {
        **{"version": "1.0", "truncation": None, "padding": None, "added_tokens": added},
        **{"normalizer": fields["normalizer"], "pre_tokenizer": cut},
        "post_processor": _template(fields),
        "decoder": _decoder(fields["prefix"]),
        "model": {
            **{"type": "Unigram", "unk_id": fields["unk_id"]},
            "vocab": [[piece, score] for piece, score in fields["vocab"].items()],
            "byte_fallback": fields["byte_fallback"],
        },
    }


def _template(fields: Fields) -> dict[str, Any] | None:
    """What puts tokens around a text, or around each of two."""
    if not fields["before"] and not fields["after"]:
        return None
    names = {number: token for token, number in fields["special_tokens"].items()}
    framed = {}
    for letter, kind in (("A", 0), ("B", 1)):
        before, after = (
            [{"SpecialToken": {"id": names[i], "type_id": kind}} for i in fields[side]]
            for side in ("before", "after")
        )
        framed[letter] = [*before, {"Sequence": {"id": letter, "type_id": kind}}, *after]
    used = {names[i]: i for i in (*fields["before"], *fields["after"])}
    known = {name: {"id": name, "ids": [i], "tokens": [name]} for name, i in used.items()}
    return {
        "type": "TemplateProcessing",
        "single": framed["A"],
        "pair": framed["A"] + framed["B"],
        "special_tokens": known,
    }


def _decoder(prefix: str) -> dict[str, Any]:
    """How pieces are put together again."""
    back = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
    steps = [back, {"type": "ByteFallback"}, {"type": "Fuse"}]
    if prefix != "never":
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": steps}
