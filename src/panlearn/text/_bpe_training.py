r"""Learning byte pairs to merge: pair counts that are kept up to date, and a heap of pairs.

Each place of a symbol in the distinct words is in the list of the pair that starts there. To merge
a pair is to walk its list: places leave the lists of the pairs that they were in and join those of
the pairs that arise, so that a merge costs what it changes and memory grows with the letters of
the distinct words alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from panlearn.core.jit import jit
from panlearn.text._word_table import LENGTH, START, VALUE, WordTable, copy, find, insert

FORBIDDEN = -1  # the value of a spelling that no merge may make
_EMPTY = -1


class Pairs(NamedTuple):
    """Pairs of symbols, by the order in which they arose, and a hash table of them."""

    slots: np.ndarray  # the pair that each slot holds
    keys: np.ndarray  # left << 32 | right
    counts: np.ndarray
    sizes: np.ndarray  # how many places
    heads: np.ndarray  # the first and last place of the list
    tails: np.ndarray
    stamps: np.ndarray  # the merge that last added to it
    touched: np.ndarray  # the pairs that this merge added to
    used: np.ndarray  # how many pairs there are, and how many of them are touched


class Heap(NamedTuple):
    """The most frequent pair first, the first of equals by its two ids; binary, from place 1."""

    counts: np.ndarray
    keys: np.ndarray
    pairs: np.ndarray


class Places(NamedTuple):
    """The symbols of all distinct words, one after the other, linked both ways."""

    symbols: np.ndarray
    words: np.ndarray
    left: np.ndarray  # the neighbours within the word
    right: np.ndarray
    before: np.ndarray  # the neighbours in the list of the pair that starts here
    after: np.ndarray
    pairs: np.ndarray


@jit(plain=lambda symbols, *rest: 200 * len(symbols))
def learn_merges(
    symbols: np.ndarray,
    offsets: np.ndarray,
    counts: np.ndarray,
    tokens: WordTable,
    n_tokens: int,
    limit: int,
    min_frequency: float,
) -> np.ndarray:
    """Merge the most frequent pair again and again, the first of equals by its two ids.

    Parameters
    ----------
    symbols, offsets : ndarray
        Word w is ``symbols[offsets[w] : offsets[w + 1]]``.
    counts : ndarray of float64
        How often each word occurs: exact for whole numbers up to 2 ** 53.
    tokens : WordTable
        The spelling of every symbol and its id; spellings that may not arise have the value -1.
    n_tokens : int
        The first new id; ids in `tokens` are below it.
    limit : int
        Stop at this many ids.
    min_frequency : float
        Stop when no pair is as frequent.

    Returns
    -------
    ndarray of shape (n_merges, 3)
        Left, right and new id. Two merges may spell the same token; they share its id.
    """
    starts, lengths = np.zeros(limit, np.int64), np.zeros(limit, np.int64)
    for entry in tokens.entries:
        if entry[LENGTH] and entry[VALUE] != FORBIDDEN:
            starts[entry[VALUE]], lengths[entry[VALUE]] = entry[START], entry[LENGTH]
    places = _link_places(symbols, offsets)
    pairs = _first_pairs(places, counts)
    heap, waiting = _empty_heap(2 * pairs.used[0]), 0
    for pair in range(pairs.used[0]):
        waiting = push(heap, waiting, pairs.counts[pair], pairs.keys[pair], pair)
    merges, n_merges = np.empty((1024, 3), np.int32), 0
    while n_tokens < limit and waiting:
        count, key, pair = heap.counts[1], heap.keys[1], heap.pairs[1]
        waiting = pop(heap, waiting)
        if pairs.counts[pair] != count:  # it has lost places since it was put there
            if pairs.counts[pair] > 0:
                waiting = push(heap, waiting, pairs.counts[pair], key, pair)
            continue
        if count < min_frequency or count <= 0:
            break
        a, b = key >> 32, key & 0xFFFFFFFF
        spelling = np.empty(lengths[a] + lengths[b], np.uint8)
        copy(tokens.letters, starts[a], starts[a] + lengths[a], spelling, 0)
        copy(tokens.letters, starts[b], starts[b] + lengths[b], spelling, lengths[a])
        slot, code = find(tokens, spelling, 0, len(spelling))
        new = n_tokens
        if tokens.entries[slot, LENGTH]:
            new = tokens.entries[slot, VALUE]
            if new == FORBIDDEN:
                continue
        else:
            starts[new], lengths[new] = tokens.sizes[1], len(spelling)
            tokens = insert(tokens, slot, code, spelling, 0, len(spelling), new)
            n_tokens += 1
        if n_merges == len(merges):
            wide = np.empty((2 * n_merges, 3), np.int32)
            for merge in range(n_merges):
                for k in range(3):
                    wide[merge, k] = merges[merge, k]
            merges = wide
        merges[n_merges, 0], merges[n_merges, 1], merges[n_merges, 2] = a, b, new
        n_merges += 1
        arisen = pairs.used[0]
        if arisen + 2 * pairs.sizes[pair] > len(pairs.keys):
            pairs = _grow(pairs, 2 * (arisen + 2 * pairs.sizes[pair]))
        pairs.used[1] = 0
        while pairs.heads[pair] != _EMPTY:
            _merge_place(places, pairs, counts, new, pair, n_merges)
        if waiting + pairs.used[1] >= len(heap.keys):
            heap = _grow_heap(heap, 2 * (waiting + pairs.used[1]))
        for i in range(pairs.used[1]):
            other = np.int64(pairs.touched[i])
            if other < arisen or pairs.counts[other] > 0:
                waiting = push(heap, waiting, pairs.counts[other], pairs.keys[other], other)
    return merges[:n_merges]


@jit
def push(heap: Heap, size: int, count: float, key: int, pair: int) -> int:
    """Put in a pair; the new size, for which there is room."""
    at = size + 1
    while at > 1 and _is_before(count, key, heap.counts[at >> 1], heap.keys[at >> 1]):
        heap.counts[at], heap.keys[at] = heap.counts[at >> 1], heap.keys[at >> 1]
        heap.pairs[at] = heap.pairs[at >> 1]
        at >>= 1
    heap.counts[at], heap.keys[at], heap.pairs[at] = count, key, pair
    return size + 1


@jit
def pop(heap: Heap, size: int) -> int:
    """Take out the first; the new size."""
    count, key, pair = heap.counts[size], heap.keys[size], heap.pairs[size]
    at, child = 1, 2
    while child < size:
        if child + 1 < size and _is_before(
            heap.counts[child + 1], heap.keys[child + 1], heap.counts[child], heap.keys[child]
        ):
            child += 1
        if not _is_before(heap.counts[child], heap.keys[child], count, key):
            break
        heap.counts[at], heap.keys[at] = heap.counts[child], heap.keys[child]
        heap.pairs[at] = heap.pairs[child]
        at, child = child, 2 * child
    heap.counts[at], heap.keys[at], heap.pairs[at] = count, key, pair
    return size - 1


@jit
def _is_before(count: float, key: int, other_count: float, other_key: int) -> bool:
    return count > other_count or (count == other_count and key < other_key)


@jit
def _empty_heap(capacity: int) -> Heap:
    return Heap(
        np.empty(capacity + 1), np.empty(capacity + 1, np.int64), np.empty(capacity + 1, np.int64)
    )


@jit
def _grow_heap(heap: Heap, capacity: int) -> Heap:
    """The heap with room for more."""
    wide = _empty_heap(capacity)
    copy(heap.counts, 0, len(heap.counts), wide.counts, 0)
    copy(heap.keys, 0, len(heap.keys), wide.keys, 0)
    copy(heap.pairs, 0, len(heap.pairs), wide.pairs, 0)
    return wide


@jit
def _merge_place(
    places: Places, pairs: Pairs, counts: np.ndarray, new: Any, pair: Any, stamp: int
) -> None:
    """Merge at the first place of a pair's list: x a b y becomes x ab y."""
    at = np.int64(pairs.heads[pair])
    second, first = np.int64(places.right[at]), np.int64(places.left[at])
    count, third = counts[places.words[at]], places.right[second]
    _leave(places, pairs, at, count)
    if third != _EMPTY:
        _leave(places, pairs, second, count)
        places.left[third] = at
    places.symbols[at], places.right[at] = new, third
    if first != _EMPTY:
        _leave(places, pairs, first, count)
        _join(places, pairs, first, count, stamp)
    if third != _EMPTY:
        _join(places, pairs, at, count, stamp)


@jit
def _leave(places: Places, pairs: Pairs, at: int, count: int) -> None:
    """Take a place out of the list of its pair."""
    pair, before, after = places.pairs[at], places.before[at], places.after[at]
    if before == _EMPTY:
        pairs.heads[pair] = after
    else:
        places.after[before] = after
    if after == _EMPTY:
        pairs.tails[pair] = before
    else:
        places.before[after] = before
    pairs.sizes[pair] -= 1
    # weights that are no whole numbers leave roundings behind
    pairs.counts[pair] = pairs.counts[pair] - count if pairs.sizes[pair] else 0.0


@jit
def _join(places: Places, pairs: Pairs, at: int, count: int, stamp: int) -> None:
    """Put a place at the end of the list of the pair that starts there, which may be new."""
    key = np.int64(places.symbols[at]) << 32 | np.int64(places.symbols[places.right[at]])
    mask = len(pairs.slots) - 1
    slot = pair_hash(key) & mask
    while pairs.slots[slot] != _EMPTY and pairs.keys[pairs.slots[slot]] != key:
        slot = (slot + 1) & mask
    pair = pairs.slots[slot]
    if pair == _EMPTY:
        pair = pairs.used[0]
        pairs.used[0] += 1
        pairs.slots[slot], pairs.keys[pair] = pair, key
        pairs.counts[pair], pairs.sizes[pair], pairs.stamps[pair] = 0.0, 0, 0
        pairs.heads[pair] = pairs.tails[pair] = _EMPTY
    tail = pairs.tails[pair]
    places.pairs[at], places.before[at], places.after[at] = pair, tail, _EMPTY
    if tail == _EMPTY:
        pairs.heads[pair] = at
    else:
        places.after[tail] = at
    pairs.tails[pair] = at
    pairs.counts[pair] += count
    pairs.sizes[pair] += 1
    if pairs.stamps[pair] != stamp:
        pairs.stamps[pair] = stamp
        pairs.touched[pairs.used[1]] = pair
        pairs.used[1] += 1


@jit
def _link_places(symbols: np.ndarray, offsets: np.ndarray) -> Places:
    n = len(symbols)
    own, words = np.empty(n, np.int32), np.empty(n, np.int32)
    left, right = np.empty(n, np.int32), np.empty(n, np.int32)
    for word in range(len(offsets) - 1):
        for at in range(offsets[word], offsets[word + 1]):
            own[at], words[at] = symbols[at], word
            left[at] = at - 1 if at > offsets[word] else _EMPTY
            right[at] = at + 1 if at + 1 < offsets[word + 1] else _EMPTY
    lists = np.empty((3, n), np.int32)
    return Places(own, words, left, right, lists[0], lists[1], lists[2])


@jit
def _first_pairs(places: Places, counts: np.ndarray) -> Pairs:
    pairs = _empty_pairs(1024)
    for at in range(len(places.symbols)):
        if places.right[at] != _EMPTY:
            if pairs.used[0] == len(pairs.keys):
                pairs = _grow(pairs, 2 * pairs.used[0])
            _join(places, pairs, at, counts[places.words[at]], 0)
    return pairs


@jit
def _empty_pairs(capacity: int) -> Pairs:
    n_slots = 16
    while n_slots < 2 * capacity:
        n_slots *= 2
    slots, keys = np.empty(n_slots, np.int32), np.empty(capacity, np.int64)
    for slot in range(n_slots):
        slots[slot] = _EMPTY
    lists, used = np.empty((5, capacity), np.int32), np.empty(2, np.int64)
    used[0] = used[1] = 0
    return Pairs(
        slots, keys, np.empty(capacity), lists[0], lists[1], lists[2], lists[3], lists[4], used
    )


@jit
def _grow(pairs: Pairs, capacity: int) -> Pairs:
    """The pairs with room for more; none of them is touched."""
    wide = _empty_pairs(capacity)
    mask = len(wide.slots) - 1
    for pair in range(pairs.used[0]):
        wide.keys[pair], wide.counts[pair] = pairs.keys[pair], pairs.counts[pair]
        wide.sizes[pair], wide.stamps[pair] = pairs.sizes[pair], pairs.stamps[pair]
        wide.heads[pair], wide.tails[pair] = pairs.heads[pair], pairs.tails[pair]
        slot = pair_hash(wide.keys[pair]) & mask
        while wide.slots[slot] != _EMPTY:
            slot = (slot + 1) & mask
        wide.slots[slot] = pair
    wide.used[0] = pairs.used[0]
    return wide


@jit
def pair_hash(key: Any) -> Any:
    """Fibonacci hashing: the high bits of a wrapping product."""
    code = key * np.int64(-7046029254386353131)
    return code ^ (code >> 32)
