r"""Learning byte pairs to merge: pair counts that are kept up to date, and a heap of pairs.

Each place of a symbol in the distinct words is in the list of the pair that starts there. To merge
a pair is to walk its list: places leave the lists of the pairs that they were in and join those of
the pairs that arise, so that a merge costs what it changes and memory grows with the letters of
the distinct words alone.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np

from panlearn.core.jit import jit
from panlearn.text._word_table import LENGTH, START, VALUE, WordTable, find, insert

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


class Places(NamedTuple):
    """The symbols of all distinct words, one after the other, linked both ways."""

    symbols: np.ndarray
    words: np.ndarray
    left: np.ndarray  # the neighbours within the word
    right: np.ndarray
    before: np.ndarray  # the neighbours in the list of the pair that starts here
    after: np.ndarray
    pairs: np.ndarray


@jit
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
    pairs, n_pairs = _first_pairs(places, counts)
    heap = [(-pairs.counts[p], pairs.keys[p], np.int64(p)) for p in range(n_pairs)]
    heapq.heapify(heap)
    merges, n_merges = np.empty((1024, 3), np.int32), 0
    while n_tokens < limit and len(heap):
        count, key, pair = heapq.heappop(heap)
        if pairs.counts[pair] != -count:  # it has lost places since it was put there
            if pairs.counts[pair] > 0:
                heapq.heappush(heap, (-pairs.counts[pair], key, pair))
            continue
        if -count < min_frequency or count >= 0:
            break
        a, b = key >> 32, key & 0xFFFFFFFF
        spelling = np.empty(lengths[a] + lengths[b], np.uint8)
        spelling[: lengths[a]] = tokens.letters[starts[a] : starts[a] + lengths[a]]
        spelling[lengths[a] :] = tokens.letters[starts[b] : starts[b] + lengths[b]]
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
            merges = np.concatenate((merges, merges))
        merges[n_merges, 0], merges[n_merges, 1], merges[n_merges, 2] = a, b, new
        n_merges += 1
        if n_pairs + 2 * pairs.sizes[pair] > len(pairs.keys):
            pairs = _grow(pairs, n_pairs, 2 * (n_pairs + 2 * pairs.sizes[pair]))
        arisen = n_pairs
        touched = [np.int64(0) for _ in range(0)]
        while pairs.heads[pair] != _EMPTY:
            n_pairs = _merge_place(places, pairs, n_pairs, counts, new, pair, n_merges, touched)
        for other in touched:
            if other < arisen or pairs.counts[other] > 0:
                heapq.heappush(heap, (-pairs.counts[other], pairs.keys[other], other))
    return merges[:n_merges].copy()


@jit
def _merge_place(
    places: Places,
    pairs: Pairs,
    n_pairs: int,
    counts: np.ndarray,
    new: Any,
    pair: Any,
    stamp: int,
    touched: list[Any],
) -> int:
    """Merge at the first place of a pair's list: x a b y becomes x ab y."""
    at = pairs.heads[pair]
    second, first = places.right[at], places.left[at]
    count, third = counts[places.words[at]], places.right[second]
    _leave(places, pairs, at, count)
    if third != _EMPTY:
        _leave(places, pairs, second, count)
        places.left[third] = at
    places.symbols[at], places.right[at] = new, third
    if first != _EMPTY:
        _leave(places, pairs, first, count)
        n_pairs = _join(places, pairs, n_pairs, first, count, stamp, touched)
    if third != _EMPTY:
        n_pairs = _join(places, pairs, n_pairs, at, count, stamp, touched)
    return n_pairs


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
def _join(
    places: Places,
    pairs: Pairs,
    n_pairs: int,
    at: int,
    count: int,
    stamp: int,
    touched: list[Any],
) -> int:
    """Put a place at the end of the list of the pair that starts there, which may be new."""
    key = np.int64(places.symbols[at]) << 32 | np.int64(places.symbols[places.right[at]])
    mask = len(pairs.slots) - 1
    slot = pair_hash(key) & mask
    while pairs.slots[slot] != _EMPTY and pairs.keys[pairs.slots[slot]] != key:
        slot = (slot + 1) & mask
    pair = pairs.slots[slot]
    if pair == _EMPTY:
        pair = n_pairs
        n_pairs += 1
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
        touched.append(np.int64(pair))
    return n_pairs


@jit
def _link_places(symbols: np.ndarray, offsets: np.ndarray) -> Places:
    n = len(symbols)
    words, left, right = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    for word in range(len(offsets) - 1):
        for at in range(offsets[word], offsets[word + 1]):
            words[at] = word
            left[at] = at - 1 if at > offsets[word] else _EMPTY
            right[at] = at + 1 if at + 1 < offsets[word + 1] else _EMPTY
    lists = np.empty((3, n), np.int32)
    return Places(symbols.astype(np.int32), words, left, right, lists[0], lists[1], lists[2])


@jit
def _first_pairs(places: Places, counts: np.ndarray) -> tuple[Pairs, int]:
    pairs, n_pairs = _empty_pairs(1024), 0
    touched = [np.int64(0) for _ in range(0)]
    for at in range(len(places.symbols)):
        if places.right[at] != _EMPTY:
            if n_pairs == len(pairs.keys):
                pairs = _grow(pairs, n_pairs, 2 * n_pairs)
            count = counts[places.words[at]]
            n_pairs = _join(places, pairs, n_pairs, at, count, 0, touched)
    return pairs, n_pairs


@jit
def _empty_pairs(capacity: int) -> Pairs:
    n_slots = 16
    while n_slots < 2 * capacity:
        n_slots *= 2
    slots, keys = np.full(n_slots, _EMPTY, np.int32), np.empty(capacity, np.int64)
    lists = np.empty((4, capacity), np.int32)
    return Pairs(slots, keys, np.empty(capacity), lists[0], lists[1], lists[2], lists[3])


@jit
def _grow(pairs: Pairs, n_pairs: int, capacity: int) -> Pairs:
    """The pairs with room for more."""
    wide = _empty_pairs(capacity)
    wide.keys[:n_pairs] = pairs.keys[:n_pairs]
    wide.counts[:n_pairs] = pairs.counts[:n_pairs]
    wide.sizes[:n_pairs] = pairs.sizes[:n_pairs]
    wide.heads[:n_pairs] = pairs.heads[:n_pairs]
    wide.tails[:n_pairs] = pairs.tails[:n_pairs]
    wide.stamps[:n_pairs] = pairs.stamps[:n_pairs]
    mask = len(wide.slots) - 1
    for pair in range(n_pairs):
        slot = pair_hash(wide.keys[pair]) & mask
        while wide.slots[slot] != _EMPTY:
            slot = (slot + 1) & mask
        wide.slots[slot] = pair
    return wide


@jit
def pair_hash(key: Any) -> Any:
    """Fibonacci hashing: the high bits of a wrapping product."""
    code = key * np.int64(-7046029254386353131)
    return code ^ (code >> 32)
