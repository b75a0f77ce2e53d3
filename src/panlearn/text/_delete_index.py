"""Words near a word: an index of what is left of the words when letters are deleted.

Two words within d edits have a common rest after at most d deletions from each, and it is enough to
look at their first letters. So each word of the lexicon is listed under the hashes of all rests of
its head, a query asks for the rests of its own, and the few words that are found are measured.

References
----------
T. Bocek, E. Hunt and B. Stiller (2007). Fast similarity search in large dictionaries. Technical
report ifi-2007.02, University of Zurich.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from panlearn.core.jit import jit

HEAD = 7
"""How many letters are looked at: more find fewer words that are then too far, but list more."""


class DeleteIndex(NamedTuple):
    """Letters of the words, and their numbers by hash; ``starts`` cuts the hashes by first bits."""

    letters: np.ndarray
    offsets: np.ndarray
    hashes: np.ndarray
    numbers: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, words: list[str], max_distance: int) -> DeleteIndex:
        """List the rests of the heads of all words."""
        letters, offsets = code_points(words)
        hashes, numbers = rests(letters, offsets, max_distance)
        by = np.argsort(hashes, kind="stable")
        hashes, numbers = hashes[by], numbers[by]
        bits = max(int(np.log2(len(hashes) + 1)), 1)
        edges = np.arange(2**bits, dtype=np.uint64) << np.uint64(64 - bits)
        starts = np.append(np.searchsorted(hashes, edges), len(hashes))
        return cls(letters, offsets, hashes, numbers, starts)

    def near(self, word: str, max_distance: int) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the words within a distance, and their distances."""
        letters = np.frombuffer(word.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        return search(letters, *self, max_distance)


def code_points(words: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Letters of all words, one after the other, and where each begins."""
    text = "".join(words).encode("utf-32-le", "surrogatepass")
    lengths = np.array([0, *map(len, words)], dtype=np.int64)
    return np.frombuffer(text, dtype=np.uint32), np.cumsum(lengths)


@jit
def hash_of(letters: np.ndarray, n: int, deleted: int) -> np.uint64:
    """Hash the first n letters without those whose bits are set in `deleted`."""
    value = np.uint64(0xCBF29CE484222325)
    for i in range(n):
        if not (deleted >> i) & 1:
            value = (value ^ np.uint64(letters[i])) * np.uint64(0x100000001B3)
    value ^= value >> np.uint64(32)  # the first bits depend on all letters
    value *= np.uint64(0x9E3779B97F4A7C15)
    return value ^ (value >> np.uint64(29))


@jit
def ones(number: int) -> int:
    """How many bits are set."""
    count = 0
    while number:
        number &= number - 1
        count += 1
    return count


@jit(plain=lambda letters, offsets, *rest: 500 * len(offsets))
def rests(
    letters: np.ndarray, offsets: np.ndarray, max_distance: int
) -> tuple[np.ndarray, np.ndarray]:
    """Hashes of the rests of all words, and whose they are."""
    each = 0
    for deleted in range(1 << HEAD):
        each += ones(deleted) <= max_distance
    hashes = np.empty(each * (len(offsets) - 1), dtype=np.uint64)
    numbers = np.empty(len(hashes), dtype=np.int32)
    at = 0
    for w in range(len(offsets) - 1):
        word = letters[offsets[w] : offsets[w + 1]]
        n = min(len(word), HEAD)
        for deleted in range(1 << n):
            if ones(deleted) <= max_distance:
                hashes[at], numbers[at] = hash_of(word, n, deleted), w
                at += 1
    return hashes[:at].copy(), numbers[:at].copy()


@jit(plain=lambda word, *rest: 500 * len(word))
def search(
    word: np.ndarray,
    letters: np.ndarray,
    offsets: np.ndarray,
    hashes: np.ndarray,
    numbers: np.ndarray,
    starts: np.ndarray,
    max_distance: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Words whose head has a rest in common, and that are within the distance; unsorted.

    Edits are insertions, deletions, replacements and swaps of neighbours.
    """
    shift = 64
    while 1 << (64 - shift) < len(starts) - 1:
        shift -= 1
    seen = np.zeros((len(offsets) >> 6) + 1, dtype=np.uint64)  # a bit a word: quick to make
    found, distance = np.empty(16, dtype=np.int64), np.empty(16, dtype=np.int64)
    size, n = 0, min(len(word), HEAD)
    reach = np.empty((2, 2 * max_distance + 3), dtype=np.int64)
    for deleted in range(1 << n):
        if ones(deleted) > max_distance:
            continue
        value = hash_of(word, n, deleted)
        bucket = np.int64(value >> np.uint64(shift))
        for j in range(starts[bucket], starts[bucket + 1]):
            w = numbers[j]
            bit = np.uint64(1) << np.uint64(w & 63)
            if hashes[j] != value or seen[w >> 6] & bit:
                continue
            seen[w >> 6] |= bit
            d = edits(word, letters[offsets[w] : offsets[w + 1]], max_distance, reach)
            if d <= max_distance:
                if size == len(found):
                    found = np.concatenate((found, found))
                    distance = np.concatenate((distance, distance))
                found[size], distance[size] = w, d
                size += 1
    return found[:size], distance[:size]


@jit
def edits(a: np.ndarray, b: np.ndarray, most: int, reach: np.ndarray) -> int:
    """Count the edits between two words; more than `most` of them are given as one more.

    On a diagonal d of the dynamic programme letter i of a stands against letter i + d of b. How far
    e edits reach on each is all that e + 1 need to know, and equal letters are passed at no cost.
    ``reach`` is memory of shape (2, 2 most + 3), with diagonal d at place d + most + 1.
    """
    n, m = len(a), len(b)
    end = m - n  # the diagonal of the last letters
    if abs(end) > most:
        return most + 1
    for at in range(reach.shape[1]):
        reach[0, at] = reach[1, at] = -2 - most  # nowhere yet, nor one edit later
    for e in range(most + 1):
        old, new, left = reach[(e + 1) % 2], reach[e % 2], most - e
        for d in range(max(-e, end - left), min(e, end + left) + 1):
            at = d + most + 1
            i = 0
            if e:
                i = old[at]
                if 0 <= i < n - 1 and 0 <= i + d < m - 1:
                    i += a[i] == b[i + d + 1] and a[i + 1] == b[i + d]  # swapped: two letters
                i = min(max(i + 1, old[at - 1], old[at + 1] + 1), n, m - d)
            while i < n and i + d < m and a[i] == b[i + d]:
                i += 1
            new[at] = i
        if new[end + most + 1] == n:
            return e
    return most + 1
