"""Counts of n-grams, which merge, and the tables of probabilities that come of them.

Words are numbers: 0 begins a document, 1 ends it, 2 is any unknown word, the others follow. A
document is padded by n - 1 beginnings, so that every k-gram for k < n has a word before it, and all
shorter counts follow from those of n-grams.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from panlearn.core.statistics import Statistic
from panlearn.core.value import Value
from panlearn.text._documents import Tokens
from panlearn.text._words import as_objects

START, END, UNKNOWN, FIRST = 0, 1, 2, 3
"""Numbers that are no words, and the number of the first word."""
RESERVED = ("<s>", "</s>", "<unk>")
"""The names of these, which in a document stand for a word that is not known."""


@dataclass(frozen=True)
class NGramCounts(Statistic):
    r"""How often each n-gram occurs: the distinct ones, sorted, with their weighted counts.

    Attributes
    ----------
    words : ndarray of object, shape (n_words,)
        Sorted; word i has the number i + 3.
    grams : ndarray of int32, shape (n_grams, order)
    count : ndarray of shape (n_grams,)
    weight : float
        The weight of the documents, their number.

    Examples
    --------
    >>> from panlearn.text._documents import tokenize
    >>> from panlearn.text._ngrams import NGramCounts
    >>> seen = NGramCounts.of(tokenize([["a", "b"]]), order=2)
    >>> (seen + seen).grams.tolist(), (seen + seen).count.tolist()
    ([[0, 3], [3, 4], [4, 1]], [2.0, 2.0, 2.0])
    """

    words: np.ndarray
    grams: np.ndarray
    count: np.ndarray
    weight: float

    @classmethod
    def of(cls, tokens: Tokens, weight: np.ndarray | None = None, *, order: int) -> Self:
        """Count the n-grams of some documents."""
        w = np.ones(len(tokens)) if weight is None else np.asarray(weight, dtype=float)
        known = [i for i, word in enumerate(tokens.words) if word not in RESERVED]
        names = sorted(known, key=tokens.words.__getitem__)
        number = np.full(len(tokens.words), UNKNOWN, dtype=np.int32)
        number[names] = np.arange(FIRST, FIRST + len(names), dtype=np.int32)
        grams = windows(number[tokens.ids], tokens.offsets, order)
        count = np.repeat(w, tokens.lengths + 1)
        words = as_objects([tokens.words[i] for i in names])
        return cls(words, *distinct(grams, count), float(w.sum()))

    @classmethod
    def zero(cls, order: int) -> Self:
        """Count nothing."""
        return cls(as_objects([]), np.zeros((0, order), dtype=np.int32), np.zeros(0), 0.0)

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if not isinstance(other, NGramCounts):
            return NotImplemented
        words = as_objects(sorted({*self.words.tolist(), *other.words.tolist()}))
        place = {word: FIRST + i for i, word in enumerate(words.tolist())}
        parts = []
        for part in (self, other):
            names = [START, END, UNKNOWN, *(place[word] for word in part.words.tolist())]
            parts.append(np.array(names, dtype=np.int32)[part.grams])
        count = np.concatenate([self.count, other.count])
        return type(self)(words, *distinct(np.vstack(parts), count), self.weight + other.weight)

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.words, self.grams, factor * self.count, factor * self.weight)

    @property
    def is_finite(self) -> bool:
        """Whether the weights were finite."""
        return bool(np.isfinite(self.weight) and np.isfinite(self.count).all())

    def restrict(self, min_count: int) -> NGramCounts:
        """The same with words of a smaller count as the unknown word."""
        n = FIRST + len(self.words)
        often = np.bincount(self.grams[:, -1], self.count, minlength=n)[FIRST:] >= min(
            min_count, 2**62
        )
        number = np.concatenate([[START, END, UNKNOWN], FIRST - 1 + np.cumsum(often)])
        number[FIRST:][~often] = UNKNOWN
        grams = distinct(number.astype(np.int32)[self.grams], self.count)
        return NGramCounts(self.words[often], *grams, self.weight)


def windows(ids: np.ndarray, offsets: np.ndarray, order: int) -> np.ndarray:
    """Every word of each document, and its end, with the order - 1 numbers before it."""
    lengths = np.diff(offsets) + 1
    ends = np.cumsum(lengths)
    flat = np.full(int(lengths.sum()), END, dtype=np.int32)
    inner = np.ones(len(flat), dtype=bool)
    inner[ends - 1] = False
    flat[inner] = ids
    position = np.arange(len(flat)) - np.repeat(ends - lengths, lengths)
    grams = np.empty((len(flat), order), dtype=np.int32)
    for back in range(order):
        # np.roll wraps around, but only where the document has no such word
        grams[:, order - 1 - back] = np.where(position >= back, np.roll(flat, back), START)
    return grams


def distinct(grams: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows, sorted, with the sums of their counts."""
    n, order = grams.shape
    if not n:
        return grams, count
    size = int(grams.max()) + 1
    if order * np.log2(size) < 62:  # one number a row sorts many times quicker
        key = np.zeros(n, dtype=np.int64)
        for column in grams.T:
            key = key * size + column
        by = np.argsort(key, kind="stable")
        fresh = np.concatenate([[True], np.diff(key[by]) > 0])
    else:
        by = np.lexsort(grams.T[::-1])
        fresh = np.concatenate([[True], (np.diff(grams[by], axis=0) != 0).any(axis=1)])
    return grams[by][fresh], np.add.reduceat(count[by], np.flatnonzero(fresh))


@dataclass(frozen=True)
class NGramTables(Value):
    r"""What each order adds to the next lower one, :math:`p_k(w|h) = a_k(h,w) + g_k(h) p_{k-1}`.

    A context of m words has the key ``number of its last m - 1 words * size + the word before``, an
    n-gram the key ``number of its context * size + word``; both are sorted, and a number is a
    place. Order 0 is the uniform law.

    Attributes
    ----------
    size : int
        How many numbers of words there are.
    contexts : list of ndarray of int64
        Of length 0, 1, ..., order - 1.
    grams : list of ndarray of int64
        Of order 1, 2, ..., order.
    own : list of ndarray
        :math:`a` of each n-gram.
    rest : list of ndarray
        :math:`g` of each context.
    """

    size: int
    contexts: list
    grams: list
    own: list
    rest: list

    @property
    def order(self) -> int:
        """The longest n-gram."""
        return len(self.grams)

    def number(self, contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The table of contexts that are one word longer than those of the last, and numbers."""
        number = np.zeros(len(contexts), dtype=np.int64)
        for k in range(1, contexts.shape[1]):
            number = _find(self.contexts[k], number, contexts[:, -k], self.size)
        if not contexts.shape[1]:
            return np.zeros(1, dtype=np.int64), number
        return np.unique(number * self.size + contexts[:, 0], return_inverse=True)

    def score(self, grams: np.ndarray) -> np.ndarray:
        """p(w | h) of rows (h, w)."""
        word, number = grams[:, -1], np.zeros(len(grams), dtype=np.int64)
        value = np.full(len(grams), 1 / (self.size - 1))
        for k in range(self.order):
            if k:
                number = _find(self.contexts[k], number, grams[:, -1 - k], self.size)
            value *= np.where(number < 0, 1.0, self.rest[k][number])
            place = _find(self.grams[k], number, word, self.size)
            if len(self.own[k]):
                value += np.where(place < 0, 0.0, self.own[k][place])
        return value

    def law(self, context: np.ndarray) -> np.ndarray:
        """p(w | h) of every number of a word; that of START is zero."""
        value = np.full(self.size, 1 / (self.size - 1))
        value[START], number = 0.0, np.zeros(1, dtype=np.int64)
        for k in range(self.order):
            if k:
                number = _find(
                    self.contexts[k], number, context[-k : len(context) - k + 1], self.size
                )
            if number[0] < 0:
                break
            first, last = np.searchsorted(self.grams[k], self.size * (number[0] + np.arange(2)))
            value *= self.rest[k][number[0]]
            value[self.grams[k][first:last] % self.size] += self.own[k][first:last]
        return value


def _find(table: np.ndarray, number: np.ndarray, word: np.ndarray, size: int) -> np.ndarray:
    """Places of the keys; -1 where there is none, or `number` is -1."""
    if not len(table):
        return np.full(len(number), -1)
    key = number * size + word
    place = np.searchsorted(table, key)
    place[place == len(table)] = 0
    return np.where((number >= 0) & (table[place] == key), place, -1)
