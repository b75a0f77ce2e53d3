r"""Encoding with byte pairs: pieces that were seen before are looked up, others are merged.

A piece of n bytes is merged in :math:`O(n \log n)`, lowest rank first and leftmost among equals,
from a heap of the pairs of neighbours; so a text without spaces takes no quadratic time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from panlearn.core.jit import jit
from panlearn.text._bpe_training import pair_hash
from panlearn.text._pretokenize import next_piece
from panlearn.text._word_table import LENGTH, VALUE, WordTable, copy, empty_table, find, insert

_LONGEST = 256  # longer pieces are not remembered
MOST = 1 << 20  # pieces remembered at most


class MergeTable(NamedTuple):
    """What each pair of ids merges to.

    Attributes
    ----------
    keys : ndarray of int64
        ``left << 32 | right`` in a hash table; -1 is an empty slot.
    values : ndarray of int64
        ``rank << 32 | new id``.
    bytes : ndarray of shape (256,)
        The id of each byte.
    """

    keys: np.ndarray
    values: np.ndarray
    bytes: np.ndarray


class Memory(NamedTuple):
    """The ids of pieces that were seen.

    The value in the table is the id if there is one, else ``~start`` of a list in `ids`, which
    begins with its length.
    """

    table: WordTable
    ids: np.ndarray
    used: np.ndarray


def merge_table(merges: np.ndarray, byte_ids: np.ndarray) -> MergeTable:
    """Hash merges (left, right, new id) in the order of their ranks."""
    n_slots = max(16, 1 << int(2 * max(len(merges), 1) - 1).bit_length())
    table = MergeTable(
        np.full(n_slots, -1, np.int64), np.zeros(n_slots, np.int64), byte_ids.astype(np.int32)
    )
    _fill(table, merges.astype(np.int64))
    return table


def empty_memory() -> Memory:
    """Remember nothing."""
    return Memory(empty_table(1 << 12), np.empty(1 << 12, np.int32), np.zeros(1, np.int64))


@jit(plain=lambda table, merges: 5 * len(merges))
def _fill(table: MergeTable, merges: np.ndarray) -> None:
    mask = len(table.keys) - 1
    for rank in range(len(merges)):
        key = merges[rank, 0] << 32 | merges[rank, 1]
        slot = pair_hash(key) & mask
        while table.keys[slot] != -1 and table.keys[slot] != key:
            slot = (slot + 1) & mask
        table.keys[slot], table.values[slot] = key, rank << 32 | merges[rank, 2]


@jit
def _merge_of(table: MergeTable, left: int, right: int) -> int:
    """Rank and new id of a pair; -1 if it does not merge."""
    key = np.int64(left) << 32 | np.int64(right)
    mask = len(table.keys) - 1
    slot = pair_hash(key) & mask
    while table.keys[slot] != -1:
        if table.keys[slot] == key:
            return table.values[slot]
        slot = (slot + 1) & mask
    return -1


@jit(plain=lambda text, *rest: 10 * len(text))
def encode(
    text: np.ndarray,
    offsets: np.ndarray,
    pattern: int,
    classes: np.ndarray,
    merges: MergeTable,
    memory: Memory,
) -> tuple[np.ndarray, np.ndarray, Memory]:
    """The ids of texts that lie one after the other, where those of each end, and the memory."""
    ids, n = np.empty(len(text), np.int32), 0
    ends = np.zeros(len(offsets), np.int64)
    table, store, used = memory
    for document in range(len(offsets) - 1):
        at, stop = offsets[document], offsets[document + 1]
        while at < stop:
            end = next_piece(text, at, stop, pattern, classes)
            slot, code = find(table, text, at, end)
            if table.entries[slot, LENGTH]:
                value = table.entries[slot, VALUE]
                if value >= 0:
                    ids[n] = value
                    n += 1
                else:
                    for k in range(~value + 1, ~value + 1 + store[~value]):
                        ids[n] = store[k]
                        n += 1
            else:
                size = _merge_piece(text, at, end, merges, ids, n)
                if end - at <= _LONGEST and table.sizes[0] < MOST:
                    value = np.int64(ids[n])
                    if size > 1:
                        first = used[0]
                        if first + size + 1 > len(store):
                            room = np.empty(2 * len(store), np.int32)
                            copy(store, 0, first, room, 0)
                            store = room
                        store[first] = size
                        copy(ids, n, n + size, store, first + 1)
                        used[0], value = first + size + 1, np.int64(~first)
                    table = insert(table, slot, code, text, at, end, value)
                n += size
            at = end
        ends[document + 1] = n
    return ids[:n].copy(), ends, Memory(table, store, used)


@jit
def _merge_piece(
    text: np.ndarray, start: int, stop: int, merges: MergeTable, ids: np.ndarray, at: int
) -> int:
    """Write the ids of one piece to `ids` from `at`, and say how many there are."""
    symbols = ids[at : at + stop - start]  # a symbol stands where its first byte is
    for k in range(stop - start):
        symbols[k] = merges.bytes[text[start + k]]
    return merge_symbols(symbols, merges)


@jit(plain=lambda symbols, merges: 50 * len(symbols))
def merge_symbols(symbols: np.ndarray, merges: MergeTable) -> int:
    """Merge symbols in their place, and say how many are left."""
    size = len(symbols)
    if size < 2:
        return size
    work = np.empty(5 * size, np.int64)
    left, right = work[:size], work[size : 2 * size]
    heap, n = work[2 * size :], 0  # rank << 32 | place: each merge takes one out and puts in two
    for k in range(size):
        left[k], right[k] = k - 1, k + 1
    for k in range(size - 1):
        merge = _merge_of(merges, symbols[k], symbols[k + 1])
        if merge >= 0:
            n = _push(heap, n, merge >> 32 << 32 | k)
    while n:
        best = heap[0]
        n = _pop(heap, n)
        place = best & 0xFFFFFFFF
        second = right[place]
        if second >= size:  # the symbol here, or the one after it, has gone
            continue
        merge = _merge_of(merges, symbols[place], symbols[second])
        if merge < 0 or merge >> 32 != best >> 32:
            continue
        symbols[place] = merge & 0xFFFFFFFF
        right[place], right[second] = right[second], size  # the second is no more
        if right[place] < size:
            left[right[place]] = place
            merge = _merge_of(merges, symbols[place], symbols[right[place]])
            if merge >= 0:
                n = _push(heap, n, merge >> 32 << 32 | place)
        if place > 0:
            merge = _merge_of(merges, symbols[left[place]], symbols[place])
            if merge >= 0:
                n = _push(heap, n, merge >> 32 << 32 | left[place])
    count, place = 0, 0
    while place < size:
        symbols[count] = symbols[place]
        count, place = count + 1, right[place]
    return count


@jit
def _push(heap: np.ndarray, size: int, value: int) -> int:
    """Put a number into a binary heap, the least first; its new size."""
    at = size
    while at > 0 and value < heap[(at - 1) >> 1]:
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = value
    return size + 1


@jit
def _pop(heap: np.ndarray, size: int) -> int:
    """Take out the least; the new size."""
    size -= 1
    value, at, child = heap[size], 0, 1
    while child < size:
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    heap[at] = value
    return size
