r"""Words of many documents in one compiled pass over their bytes.

The documents lie one after the other in UTF-8. A word is a longest run of characters that
Python's ``\w`` matches; each distinct one gets a number in the order of first appearance, found
through a hash table of the bytes, so that only distinct words become Python strings.
"""

from __future__ import annotations

import functools
import re
import sys

import numpy as np
from numba import njit

_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # of FNV-1a


def scan(documents: list[str], shortest: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    r"""Ids, offsets and distinct words: all runs of ``\w`` of at least `shortest` characters."""
    parts = [document.encode("utf-8", "surrogatepass") for document in documents]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    text = b"".join(parts)
    buffer = np.frombuffer(text, dtype=np.uint8)
    wordy = _ascii_wordy() if text.isascii() else _wordy()
    ids, offsets, bounds = _scan_words(buffer, ends, wordy, shortest)
    words = [text[start:stop].decode("utf-8", "surrogatepass") for start, stop in bounds.tolist()]
    return ids, offsets, words


@functools.cache
def _wordy() -> np.ndarray:
    r"""Whether ``\w`` matches, for every code point."""
    table = np.zeros(sys.maxunicode + 1, dtype=np.bool_)
    for run in re.finditer(r"\w+", "".join(map(chr, range(sys.maxunicode + 1)))):
        table[run.start() : run.end()] = True
    return table


@functools.cache
def _ascii_wordy() -> np.ndarray:
    return np.array([bool(re.match(r"\w", chr(code))) for code in range(128)])


@njit(cache=True, nogil=True)
def _scan_words(
    buffer: np.ndarray, ends: np.ndarray, wordy: np.ndarray, shortest: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the words of all documents; the bounds are those of the first of each."""
    n_bytes, n_documents = len(buffer), len(ends) - 1
    ids = np.empty(n_bytes // shortest + 1, dtype=np.int32)
    offsets = np.zeros(n_documents + 1, dtype=np.int64)
    table = np.full(1 << 12, -1, dtype=np.int32)
    bounds = np.empty((1 << 11, 2), dtype=np.int64)
    hashes = np.empty(1 << 11, dtype=np.uint64)
    n_tokens, n_words = 0, 0
    for document in range(n_documents):
        at, end = ends[document], ends[document + 1]
        while at < end:
            start, length, key = at, 0, _OFFSET
            while at < end:
                code, width = np.int64(buffer[at]), 1
                if code >= 0xF0:
                    code, width = code & 0x07, 4
                elif code >= 0xE0:
                    code, width = code & 0x0F, 3
                elif code >= 0x80:
                    code, width = code & 0x1F, 2
                for i in range(1, width):
                    code = (code << 6) | (buffer[at + i] & 0x3F)
                if not wordy[code]:
                    break
                for i in range(width):
                    key = (key ^ np.uint64(buffer[at + i])) * _PRIME
                at += width
                length += 1
            if length >= shortest:
                slot, mask = _slot(key, len(table)), len(table) - 1
                word = table[slot]
                while word >= 0 and not _same(buffer, bounds, hashes, word, start, at, key):
                    slot = (slot + 1) & mask
                    word = table[slot]
                if word < 0:
                    word = n_words
                    table[slot] = word
                    bounds[word, 0], bounds[word, 1], hashes[word] = start, at, key
                    n_words += 1
                    if n_words == len(hashes):
                        table, bounds, hashes = _grown(bounds, hashes)
                ids[n_tokens] = word
                n_tokens += 1
            if at < end and length == 0:
                at += width  # the character that is in no word
        offsets[document + 1] = n_tokens
    return ids[:n_tokens].copy(), offsets, bounds[:n_words].copy()


@njit(cache=True, nogil=True)
def _slot(key: np.uint64, size: int) -> np.int64:
    """Where to look first: the high bits too, since the low ones of FNV mix less."""
    return np.int64((key ^ (key >> np.uint64(29))) & np.uint64(size - 1))


@njit(cache=True, nogil=True)
def _same(
    buffer: np.ndarray,
    bounds: np.ndarray,
    hashes: np.ndarray,
    word: int,
    start: int,
    stop: int,
    key: np.uint64,
) -> bool:
    """Whether the bytes are those of the word with this number."""
    first = bounds[word, 0]
    if hashes[word] != key or bounds[word, 1] - first != stop - start:
        return False
    for i in range(stop - start):
        if buffer[first + i] != buffer[start + i]:
            return False
    return True


@njit(cache=True, nogil=True)
def _grown(bounds: np.ndarray, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Twice the room; the table is never more than half full."""
    n = len(hashes)
    more_bounds = np.empty((2 * n, 2), dtype=np.int64)
    more_hashes = np.empty(2 * n, dtype=np.uint64)
    more_bounds[:n], more_hashes[:n] = bounds, hashes
    table = np.full(4 * n, -1, dtype=np.int32)
    for word in range(n):
        slot = _slot(hashes[word], 4 * n)
        while table[slot] >= 0:
            slot = (slot + 1) & (4 * n - 1)
        table[slot] = word
    return table, more_bounds, more_hashes


@njit(cache=True, nogil=True)
def document_frequencies(
    ids: np.ndarray, offsets: np.ndarray, weight: np.ndarray, n_words: int
) -> np.ndarray:
    """Weight of the documents that hold each word, each document once."""
    frequency, last = np.zeros(n_words), np.full(n_words, -1, dtype=np.int64)
    for document in range(len(offsets) - 1):
        for at in range(offsets[document], offsets[document + 1]):
            if last[ids[at]] != document:
                last[ids[at]] = document
                frequency[ids[at]] += weight[document]
    return frequency
