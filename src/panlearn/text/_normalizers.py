"""Steps that bring a text to a normal form, by the names that files of tokenizers give them."""

from __future__ import annotations

import base64
import binascii
import functools
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from panlearn.text._piece_counts import to_utf8

Step = Callable[[str], str]

# White space of Unicode; Python counts four separators of old files besides.
SPACES = r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
_LEFT, _RIGHT = re.compile(rf"\A{SPACES}+"), re.compile(rf"{SPACES}+\Z")
_SHORT = 6  # bytes from which on a cluster is looked up character by character
_JOINERS = "\u200c\u200d\uff9e\uff9f"
_PREPENDED = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e"


def normalizer(part: Any) -> Step:
    """Give the steps of the ``normalizer`` of a file, one after the other, as one function.

    A ValueError names a step that is not known.
    """
    steps = [_step(step) for step in flat(part, "normalizers")]

    def normalise(text: str) -> str:
        for step in steps:
            text = step(text)
        return text

    return normalise


def flat(part: Any, name: str) -> list[Any]:
    """The steps of a sequence, which may hold sequences, or the one step."""
    if part is None:
        return []
    if not isinstance(part, dict):
        raise ValueError(f"the file has {part!r:.60} where a step with a type is due")
    if part.get("type") != "Sequence":
        return [part]
    return [step for inner in part[name] for step in flat(inner, name)]


def _step(step: dict[str, Any]) -> Step:
    kind = step.get("type")
    if kind in ("NFC", "NFD", "NFKC", "NFKD"):
        return functools.partial(unicodedata.normalize, kind)
    if kind == "Precompiled":
        return CharacterMap(step.get("precompiled_charsmap") or "")
    if kind == "Lowercase":  # each character by itself: that a sigma is the last does not matter
        return lambda text: "".join([c.lower() for c in text])
    if kind == "StripAccents":
        return lambda text: "".join([c for c in text if unicodedata.category(c)[0] != "M"])
    if kind == "Strip":
        ends = [_LEFT] * bool(step.get("strip_left", True))
        ends += [_RIGHT] * bool(step.get("strip_right", True))
        return lambda text: functools.reduce(lambda t, end: end.sub("", t), ends, text)
    if kind == "Replace":
        return _replacement(step)
    raise ValueError(f"the file normalises text by {kind!r}, which is not known here")


def _replacement(step: dict[str, Any]) -> Step:
    pattern, content = step.get("pattern") or {}, step.get("content", "")
    if set(pattern) == {"String"} and pattern["String"]:
        return lambda text: text.replace(pattern["String"], content)
    if pattern == {"Regex": " {2,}"}:  # others would have to be read as their author's package does
        return functools.partial(re.compile(" {2,}").sub, lambda _: content)
    raise ValueError(f"the file replaces the pattern {pattern!r}, which is not known here")


class CharacterMap:
    """A table of SentencePiece: what characters, and characters with their marks, become.

    Its keys are a trie in one array of numbers, in which a byte of UTF-8 leads from a place to
    another; what is written instead stands behind it. The package tokenizers looks up clusters of
    a character and its marks if they are short, takes the shortest key that one begins with for
    the whole of it, and else goes character by character. So does this.
    """

    def __init__(self, encoded: str) -> None:
        try:
            content = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError(f"the table of characters is no base64: {error}") from None
        size = int.from_bytes(content[:4], "little")
        if size % 4 or not 4 <= size <= len(content) - 4:
            raise ValueError("the table of characters is cut short")
        self._units = np.frombuffer(content, "<u4", size // 4, 4).tolist()
        self._written = content[4 + size :]
        self._becomes = functools.lru_cache(maxsize=1 << 16)(self._replaced)

    def __call__(self, text: str) -> str:
        """Replace what has an entry."""
        return "".join([self._becomes(cluster) for cluster in clusters(text)])

    def _replaced(self, cluster: str) -> str:
        whole = self._find(cluster) if len(to_utf8(cluster)) < _SHORT else None
        if whole is not None:
            return whole
        return "".join([c if (found := self._find(c)) is None else found for c in cluster])

    def _find(self, text: str) -> str | None:
        """What stands for the shortest key that a text begins with."""
        units, place = self._units, 0
        try:
            place ^= _offset(units[0])
            for byte in to_utf8(text):
                place ^= byte
                unit = units[place]
                if not byte or unit & 0x800000FF != byte:
                    return None
                place ^= _offset(unit)
                if unit >> 8 & 1:
                    start = units[place] & 0x7FFFFFFF
                    return self._written[start:].split(b"\0", 1)[0].decode()
        except (IndexError, UnicodeDecodeError):
            raise ValueError(f"the table of characters is broken at {text!r}") from None
        return None


def _offset(unit: int) -> int:
    return unit >> 10 << ((unit & 0x200) >> 6)


def clusters(text: str) -> Iterator[str]:
    """Characters, each with the marks that follow it: those of Unicode, if they are short."""
    start = 0
    for i in range(1, len(text)):
        before, after = _kind(text[i - 1]), _kind(text[i])
        line = text[i - 1 : i + 1] == "\r\n"
        joined = "control" not in (before, after) and (after == "mark" or before == "prepended")
        if not (line or joined):
            yield text[start:i]
            start = i
    if text:
        yield text[start:]


@functools.lru_cache(maxsize=1 << 16)
def _kind(character: str) -> str:
    category = unicodedata.category(character)
    tone = "\U0001f3fb" <= character <= "\U0001f3ff" or "\U000e0020" <= character <= "\U000e007f"
    if category[0] == "M" or character in _JOINERS or tone:
        return "mark"
    if character in _PREPENDED:
        return "prepended"
    return "control" if category in ("Cc", "Cf", "Zl", "Zp", "Cs") else "letter"
