r"""Cutting text into pieces before byte pairs are merged: patterns, as compiled scanners.

A piece never reaches over a boundary of these patterns, and no merge crosses one:

- ``gpt2``: ``'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+``
- ``llama3``: ``(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
  ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+``
- ``qwen2``: the same, with ``\p{N}`` in place of ``\p{N}{1,3}``
- ``digits``: each number by itself, and what lies between two by the pattern of ``gpt2``
- ``spaces``: a piece begins where a space does, which is written as U+2581

The scanners walk UTF-8 and decode only what is not ASCII. The bytes must be well formed, but for
surrogates, which Python encodes with ``surrogatepass``.
"""

from __future__ import annotations

import functools
import re

import numpy as np

from panlearn.core.jit import jit

OTHER, LETTER, NUMBER, SPACE = 0, 1, 2, 3
PATTERNS = {"gpt2": 0, "llama3": 1, "qwen2": 2, "digits": 3, "spaces": 4}
WHOLE = -1  # no pattern: the text is one piece
# The property White_Space; str.isspace has four control characters more.
_SPACES = [*range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)]
_SPACES += [0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
_ASSIGNED = 0x40000  # what lies beyond, tags and private use, is neither letter nor number
_S, _D, _M, _T, _L, _V, _E, _R = b"sdmtlver"
_APOSTROPHE, _BLANK, _NEWLINE, _RETURN = b"' \n\r"


@functools.cache
def character_classes() -> np.ndarray:
    r"""The class of every code point: of ``\p{L}``, ``\p{N}``, ``\s``, or other."""
    classes = np.zeros(0x110000, dtype=np.uint8)
    points = np.arange(_ASSIGNED, dtype="<u4").tobytes()
    # runs of letters and numbers: most are of letters alone, which one question tells
    for run in re.finditer(r"\w+", points.decode("utf-32-le", "surrogatepass")):
        text = run.group()
        kinds = [LETTER] if text.isalpha() else list(map(_kind, text))
        classes[run.start() : run.end()] = kinds
    classes[_SPACES] = SPACE
    return classes


def _kind(character: str) -> int:
    """Category L, or N: what has a numeric value, but for ideographs, which are letters."""
    if character.isalpha():
        return LETTER
    return NUMBER if character.isnumeric() else OTHER


@jit
def next_piece(text: np.ndarray, start: int, stop: int, pattern: int, classes: np.ndarray) -> int:
    """Where the piece that starts at `start` ends; there is one unless start = stop."""
    if pattern == 0:
        return _next_gpt2(text, start, stop, classes)
    if pattern == 1:
        return _next_llama3(text, start, stop, classes, 3)
    if pattern == 2:
        return _next_llama3(text, start, stop, classes, 1)
    if pattern == 3:
        return _next_digits(text, start, stop, classes)
    if pattern == 4:
        return _next_spaces(text, start, stop)
    return stop


@jit
def _next_gpt2(text: np.ndarray, start: int, stop: int, classes: np.ndarray) -> int:
    if text[start] == _APOSTROPHE:
        end = _contraction(text, start + 1, stop, False)
        if end:
            return end
    kind = _class_at(text, start, classes)
    if kind != SPACE:
        return _run(text, start, stop, kind, classes)
    if text[start] == _BLANK and start + 1 < stop:
        kind = _class_at(text, start + 1, classes)
        if kind != SPACE:
            return _run(text, start + 1, stop, kind, classes)
    return _space(text, start, stop, classes)


@jit
def _next_digits(text: np.ndarray, start: int, stop: int, classes: np.ndarray) -> int:
    kind = _class_at(text, start, classes)
    if kind == NUMBER:
        return start + _width(text[start])
    if kind != SPACE:
        return _next_gpt2(text, start, stop, classes)
    if text[start] == _BLANK and start + 1 < stop:
        kind = _class_at(text, start + 1, classes)
        if kind != SPACE and kind != NUMBER:
            return _run(text, start + 1, stop, kind, classes)
    end = _run(text, start, stop, SPACE, classes)
    if end < stop and _class_at(text, end, classes) == NUMBER:  # what is cut ends here
        return end
    return _space(text, start, stop, classes)


@jit
def _next_spaces(text: np.ndarray, start: int, stop: int) -> int:
    end = start + _width(text[start])
    while end < stop:
        if text[end] == 0xE2 and text[end + 1] == 0x96 and text[end + 2] == 0x81:
            return end
        end += _width(text[end])
    return end


@jit
def _next_llama3(
    text: np.ndarray, start: int, stop: int, classes: np.ndarray, most_digits: int
) -> int:
    if text[start] == _APOSTROPHE:
        end = _contraction(text, start + 1, stop, True)
        if end:
            return end
    kind = _class_at(text, start, classes)
    if kind == LETTER:
        return _run(text, start, stop, LETTER, classes)
    if kind == NUMBER:
        end, digits = start, 0
        while digits < most_digits and end < stop and _class_at(text, end, classes) == NUMBER:
            end, digits = end + _width(text[end]), digits + 1
        return end
    second = start + _width(text[start])
    follows = _class_at(text, second, classes) if second < stop else SPACE
    if follows == LETTER and not _is_newline(text[start]):
        return _run(text, second, stop, LETTER, classes)
    if kind == OTHER or (text[start] == _BLANK and follows == OTHER):
        end = _run(text, second, stop, OTHER, classes)
        while end < stop and _is_newline(text[end]):
            end += 1
        return end
    end = _run(text, start, stop, SPACE, classes)
    for last in range(end - 1, start - 1, -1):
        if _is_newline(text[last]):
            return last + 1
    return _space(text, start, stop, classes)


@jit
def _space(text: np.ndarray, start: int, stop: int, classes: np.ndarray) -> int:
    r"""``\s+(?!\S)|\s+``: a run of spaces leaves its last one to the word that follows."""
    end, last = start, start
    while end < stop and _class_at(text, end, classes) == SPACE:
        last, end = end, end + _width(text[end])
    return end if end == stop or last == start else last


@jit
def _contraction(text: np.ndarray, at: int, stop: int, any_case: bool) -> int:
    """The end of s, t, re, ve, m, ll or d at this place, 0 if there is none."""
    if at >= stop:
        return 0
    # in any case the long s, U+017F, is an s
    if any_case and at + 1 < stop and text[at] == 0xC5 and text[at + 1] == 0xBF:
        return at + 2
    fold = 0x20 if any_case else 0
    one = text[at] | fold
    if one == _S or one == _D or one == _M or one == _T:
        return at + 1
    if at + 1 >= stop:
        return 0
    two = text[at + 1] | fold
    if (one == _L and two == _L) or ((one == _V or one == _R) and two == _E):
        return at + 2
    return 0


@jit
def _run(text: np.ndarray, at: int, stop: int, kind: int, classes: np.ndarray) -> int:
    while at < stop:
        if text[at] < 0x80:
            if classes[text[at]] != kind:
                return at
            at += 1
        else:
            if _class_at(text, at, classes) != kind:
                return at
            at += _width(text[at])
    return at


@jit
def _class_at(text: np.ndarray, at: int, classes: np.ndarray) -> int:
    lead = np.int64(text[at])
    if lead < 0x80:
        return classes[lead]
    if lead < 0xE0:
        return classes[(lead & 0x1F) << 6 | (text[at + 1] & 0x3F)]
    if lead < 0xF0:
        high = (lead & 0x0F) << 6 | (text[at + 1] & 0x3F)
        return classes[high << 6 | (text[at + 2] & 0x3F)]
    high = ((lead & 0x07) << 6 | (text[at + 1] & 0x3F)) << 6 | (text[at + 2] & 0x3F)
    return classes[high << 6 | (text[at + 3] & 0x3F)]


@jit
def _width(lead: int) -> int:
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


@jit
def _is_newline(byte: int) -> bool:
    return byte == _NEWLINE or byte == _RETURN


@jit
def boundaries(text: np.ndarray, pattern: int, classes: np.ndarray) -> np.ndarray:
    """Where the pieces of one text end."""
    ends, n, at = np.empty(len(text), dtype=np.int64), 0, 0
    while at < len(text):
        at = next_piece(text, at, len(text), pattern, classes)
        ends[n] = at
        n += 1
    return ends[:n].copy()
