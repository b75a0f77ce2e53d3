"""A table from words, given as bytes, to numbers: open addressing, the bytes kept side by side."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from panlearn.core.jit import jit

HASH, START, LENGTH, VALUE = 0, 1, 2, 3


class WordTable(NamedTuple):
    """Words and a number for each; `insert` returns the table, which may be a larger one.

    Attributes
    ----------
    entries : ndarray of shape (n_slots, 4)
        Hash, start in the letters, length and value; a length of zero is an empty slot.
    letters : ndarray of uint8
    sizes : ndarray of shape (2,)
        How many words and letters there are.
    """

    entries: np.ndarray
    letters: np.ndarray
    sizes: np.ndarray


def empty_table(n_slots: int = 1 << 10) -> WordTable:
    """A table of no words."""
    letters = np.empty(8 * n_slots, dtype=np.uint8)
    return WordTable(np.zeros((n_slots, 4), dtype=np.int64), letters, np.zeros(2, dtype=np.int64))


@jit
def find(table: WordTable, text: np.ndarray, start: int, stop: int) -> tuple[Any, Any]:
    """The slot of ``text[start:stop]``, empty if the word is not there, and its hash."""
    code = np.int64(-3750763034362895579)  # Fowler, Noll and Vo, in wrapping integers
    for at in range(start, stop):
        code = (code ^ np.int64(text[at])) * np.int64(1099511628211)
    code ^= code >> 32
    entries, mask = table.entries, len(table.entries) - 1
    slot = code & mask
    while entries[slot, LENGTH]:
        if entries[slot, HASH] == code and entries[slot, LENGTH] == stop - start:
            shift, at = entries[slot, START] - start, start
            while at < stop and table.letters[at + shift] == text[at]:
                at += 1
            if at == stop:
                return slot, code
        slot = (slot + 1) & mask
    return slot, code


@jit
def insert(
    table: WordTable, slot: int, code: int, text: np.ndarray, start: int, stop: int, value: Any
) -> WordTable:
    """Put a word into the empty slot that `find` gave."""
    n_words, used = table.sizes
    end = used + stop - start
    if end > len(table.letters):
        letters = np.empty(2 * end, dtype=np.uint8)
        copy(table.letters, 0, used, letters, 0)
        table = WordTable(table.entries, letters, table.sizes)
    copy(text, start, stop, table.letters, used)
    entry = table.entries[slot]
    entry[HASH], entry[START], entry[LENGTH], entry[VALUE] = code, used, stop - start, value
    table.sizes[0], table.sizes[1] = n_words + 1, end
    if 2 * (n_words + 1) > len(table.entries):
        table = WordTable(_spread(table.entries), table.letters, table.sizes)
    return table


@jit
def copy(values: np.ndarray, start: int, stop: int, out: np.ndarray, at: int) -> None:
    """Copy a stretch: a loop is compiled in less time than an assignment of slices."""
    for i in range(start, stop):
        out[at + i - start] = values[i]


@jit
def _spread(entries: np.ndarray) -> np.ndarray:
    """The entries over twice as many slots."""
    wide = np.zeros((2 * len(entries), 4), dtype=np.int64)
    mask = len(wide) - 1
    for entry in entries:
        if entry[LENGTH]:
            slot = entry[HASH] & mask
            while wide[slot, LENGTH]:
                slot = (slot + 1) & mask
            for k in range(4):
                wide[slot, k] = entry[k]
    return wide


@jit(plain=lambda table, text, *rest: 10 * len(text))
def insert_words(
    table: WordTable, text: np.ndarray, offsets: np.ndarray, values: np.ndarray
) -> WordTable:
    """Put in words that lie one after the other; one that is there gets the new value."""
    for word in range(len(offsets) - 1):
        start, stop = offsets[word], offsets[word + 1]
        slot, code = find(table, text, start, stop)
        if table.entries[slot, LENGTH]:
            table.entries[slot, VALUE] = values[word]
        else:
            table = insert(table, slot, code, text, start, stop, values[word])
    return table
