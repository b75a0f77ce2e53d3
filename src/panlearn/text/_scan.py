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

from panlearn.core.jit import jit

_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # of FNV-1a
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def scan(documents: list[str], shortest: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    r"""Ids, offsets and distinct words: all runs of ``\w`` of at least `shortest` characters."""
    parts = [document.encode("utf-8", "surrogatepass") for document in documents]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    text = b"".join(parts)
    buffer = np.frombuffer(text, dtype=np.uint8)
    wordy = _ascii_wordy() if text.isascii() else _wordy()
    ids, offsets, bounds = _scan_words(buffer, ends, wordy, shortest)
    ids = ids.copy()  # without the room that was left over
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


@jit(plain=lambda buffer, *rest: 8 * len(buffer))
def _scan_words(
    buffer: np.ndarray, ends: np.ndarray, wordy: np.ndarray, shortest: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the words of all documents; the bounds are those of the first of each.

    A row of the table is the key of a word and one more than its number, 0 where it is free.
    """
    n_documents, n_tokens, n_words = len(ends) - 1, 0, 0
    ids = np.empty(len(buffer) // shortest + 1, dtype=np.int32)
    offsets = np.zeros(n_documents + 1, dtype=np.int64)
    table = np.zeros((1 << 12, 2), dtype=np.uint64)
    bounds = np.empty((1 << 11, 2), dtype=np.int64)
    for document in range(n_documents):
        at, end = ends[document], ends[document + 1]
        while at < end:
            start, length, width = at, 0, 1
            while at < end:
                code = np.int64(buffer[at])
                if code < 0x80:
                    width = 1
                elif code < 0xE0:
                    code, width = code & 0x1F, 2
                elif code < 0xF0:
                    code, width = code & 0x0F, 3
                else:
                    code, width = code & 0x07, 4
                for i in range(1, width):
                    code = (code << 6) | (buffer[at + i] & 0x3F)
                if not wordy[code]:
                    break
                at += width
                length += 1
            if length >= shortest:
                key, mask = _key(buffer, start, at), len(table) - 1
                slot = _slot(key, len(table))
                while table[slot, 1] and not (
                    table[slot, 0] == key and _same(buffer, bounds[table[slot, 1] - 1], start, at)
                ):
                    slot = (slot + 1) & mask
                word = int(table[slot, 1]) - 1
                if word < 0:
                    word = n_words
                    n_words += 1
                    table[slot, 0], table[slot, 1] = key, n_words
                    bounds[word, 0], bounds[word, 1] = start, at
                    if n_words == len(bounds):
                        table, bounds = _grown(table, bounds)
                ids[n_tokens] = word
                n_tokens += 1
            if length == 0:
                at += width  # the character is in no word
        offsets[document + 1] = n_tokens
    return ids[:n_tokens], offsets, bounds[:n_words]


@jit
def _key(buffer: np.ndarray, start: int, stop: int) -> np.uint64:
    """Up to eight bytes of a word stand for themselves; of more, their hash, whose low byte is 0.

    No word holds the byte 0, so that a key says which of the two it is.
    """
    key = np.uint64(0)
    if stop - start <= 8:
        for i in range(start, stop):
            key = (key << np.uint64(8)) | np.uint64(buffer[i])
        return key
    key = _OFFSET
    for i in range(start, stop):
        key = (key ^ np.uint64(buffer[i])) * _PRIME
    return key & ~np.uint64(0xFF)


@jit
def _slot(key: np.uint64, size: int) -> np.int64:
    """Spread keys over a table whose size is a power of two (Fibonacci hashing)."""
    mixed = key * _GOLDEN
    return np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(size - 1))


@jit
def _same(buffer: np.ndarray, bound: np.ndarray, start: int, stop: int) -> bool:
    """Whether words of one key are one word: short ones are, of others the bytes decide."""
    if stop - start <= 8:
        return True
    if bound[1] - bound[0] != stop - start:
        return False
    for i in range(stop - start):
        if buffer[bound[0] + i] != buffer[start + i]:
            return False
    return True


@jit
def _grown(table: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Twice the room; the table is never more than half full."""
    room = np.empty((2 * len(bounds), 2), dtype=np.int64)
    for word in range(len(bounds)):  # loops are compiled in less time than assignments of arrays
        room[word, 0], room[word, 1] = bounds[word, 0], bounds[word, 1]
    wider = np.zeros((2 * len(table), 2), dtype=np.uint64)
    for row in range(len(table)):
        if table[row, 1]:
            slot = _slot(table[row, 0], len(wider))
            while wider[slot, 1]:
                slot = (slot + 1) & (len(wider) - 1)
            wider[slot, 0], wider[slot, 1] = table[row, 0], table[row, 1]
    return wider, room


@jit(plain=lambda ids, *rest: 2 * len(ids))
def document_frequencies(ids: np.ndarray, offsets: np.ndarray, n_words: int) -> np.ndarray:
    """How many documents hold each word."""
    frequency, last = np.zeros(n_words, dtype=np.int64), np.zeros(n_words, dtype=np.int64)
    for document in range(len(offsets) - 1):
        for at in range(offsets[document], offsets[document + 1]):
            if last[ids[at]] != document + 1:
                last[ids[at]] = document + 1
                frequency[ids[at]] += 1
    return frequency
