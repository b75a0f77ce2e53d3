"""Byte pairs of characters, as SentencePiece has them: a space is a symbol, rare ones are bytes."""

from __future__ import annotations

import functools
import re
import unicodedata
from itertools import pairwise
from typing import Any

import numpy as np

from panlearn.text._bpe_encoding import merge_symbols, merge_table
from panlearn.text._piece_counts import Texts, to_utf8

SPACE = "▁"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
"""The tokens that spell what has none."""
_BYTE = re.compile("<0x([0-9A-F]{2})>")


def written(token: str) -> bytes:
    """The bytes that a token of characters stands for."""
    if found := _BYTE.fullmatch(token):
        return bytes([int(found[1], 16)])
    return to_utf8(token.replace(SPACE, " "))


class Normal:
    """What is done to a string before it is encoded.

    Parameters
    ----------
    form : str or None
        A normal form of Unicode.
    alphabet : {"bytes", "characters"}
        Of characters, spaces are written as a symbol.
    prefix : {"prepend", "always", "first", "never"}
        Where that symbol is put before a text: before every part of it that stands between special
        tokens; before those that do not begin with a space; before the first of these; nowhere.
    """

    def __init__(self, form: Any, alphabet: str, prefix: str) -> None:
        self.form, self._prefix = form, prefix
        self._spaces = alphabet == "characters"
        self.idle = form is None and not self._spaces

    def __call__(self, text: str, first: bool = True) -> str:
        """Give the string that is encoded; `first` says whether the text begins with it."""
        if self.form is not None:
            text = unicodedata.normalize(self.form, text)
        if self._spaces and text:
            text = text.replace(" ", SPACE)
            text = SPACE + text if self.prefixes(text, first) else text
        return text

    def prefixes(self, text: str, first: bool = True) -> bool:
        """Whether a space is put before a string."""
        if not self._spaces or not text:
            return False
        if self._prefix == "prepend":
            return True
        wanted = self._prefix == "always" or (self._prefix == "first" and first)
        return wanted and not text.startswith((SPACE, " "))

    def document(self, document: Any) -> Any:
        """Do so with a document: a string, or a list of strings of which each stands for itself."""
        if self.idle:
            return document
        return self(document) if isinstance(document, str) else [self(text) for text in document]


class Characters:
    """Ids of strings of characters, merged over the whole of each."""

    def __init__(self, vocab: dict[str, int], merges: list[tuple[str, str]]) -> None:
        ids = [(vocab[a], vocab[b], vocab[a + b]) for a, b in merges]
        table = np.array(ids, dtype=np.int64).reshape(-1, 3)
        self._merges = merge_table(table, np.zeros(256))
        self._spelling = functools.lru_cache(maxsize=1 << 16)(functools.partial(_spell, vocab))

    def encode(self, texts: Texts) -> tuple[np.ndarray, np.ndarray]:
        """The ids of all strings, one after the other, and where those of each end."""
        content, parts = texts.text.tobytes(), []
        for start, stop in pairwise(texts.offsets.tolist()):
            string = content[start:stop].decode("utf-8", "surrogatepass")
            symbols = [number for letter in string for number in self._spelling(letter)]
            ids = np.array(symbols, dtype=np.int32)
            parts.append(ids[: merge_symbols(ids, self._merges)])
        ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        return np.concatenate([np.empty(0, np.int32), *parts]), ends


def _spell(vocab: dict[str, int], letter: str) -> tuple[int, ...]:
    if letter in vocab:
        return (vocab[letter],)
    return tuple(vocab[BYTES[byte]] for byte in to_utf8(letter))
