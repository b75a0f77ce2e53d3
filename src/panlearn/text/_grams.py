r"""Terms: words, and runs of words (n-grams), of documents, numbered and counted.

A term is a row of numbers of sorted words, -1 behind its last: rows in lexicographic order are
terms in the order of their words. Terms become strings only when somebody asks for their names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from panlearn.core.jit import jit
from panlearn.core.statistics import Statistic
from panlearn.text._documents import Tokens
from panlearn.text._words import as_objects, union


@dataclass(frozen=True)
class Terms:
    """The terms of documents, and where each occurs.

    Attributes
    ----------
    words : ndarray of object, shape (n_words,)
        Sorted.
    grams : ndarray of int32, shape (n_terms, longest)
        Places in `words`, in lexicographic order, -1 behind the last word of a term.
    indptr, indices, counts : ndarrays
        A sparse matrix in CSR form: how often document d has each term.
    """

    words: np.ndarray
    grams: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, tokens: Tokens, shortest: int = 1, longest: int = 1) -> Self:
        """Number the terms of `shortest` to `longest` words."""
        order = sorted(range(len(tokens.words)), key=tokens.words.__getitem__)
        words = as_objects([tokens.words[i] for i in order])
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        if longest == 1:  # every word is a term, and sorted already
            grams = np.arange(len(order), dtype=np.int32)[:, None]
            return cls(words, grams, *count_terms(rank[tokens.ids], tokens.offsets, len(grams)))
        ids, offsets, grams = _number_grams(rank[tokens.ids], tokens.offsets, shortest, longest)
        by_words, place = sorted_rows(grams, len(words))
        return cls(words, grams[by_words], *count_terms(place[ids], offsets, len(grams)))


def _number_grams(
    ids: np.ndarray, offsets: np.ndarray, shortest: int, longest: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number every n-gram: that of n words is a pair, of the first n - 1 and the last."""
    n_words = int(ids.max(initial=-1)) + 1
    number, rows = ids.astype(np.int64), np.arange(n_words, dtype=np.int32)[:, None]
    position = np.arange(len(ids))
    end = np.repeat(offsets[1:], np.diff(offsets))
    found, at, tables, n_terms = [], [], [], 0
    for n in range(1, longest + 1):
        if n > 1:
            inside = position + n - 1 < end[position]
            position, number = position[inside], number[inside]
            pairs = number * n_words + ids[position + n - 1]
            number, distinct = number_keys(pairs)
            rows = np.column_stack([rows[distinct // n_words], distinct % n_words])
        if n >= shortest:
            found.append(number + n_terms)
            at.append(position)
            n_terms += len(rows)
            padding = np.full((len(rows), longest - n), -1)
            tables.append(np.hstack([rows, padding]).astype(np.int32))
    document = np.searchsorted(offsets, np.concatenate(at), side="right") - 1
    order = np.argsort(document, kind="stable")
    lengths = np.bincount(document, minlength=len(offsets) - 1)
    return (
        np.concatenate(found)[order],
        np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
        np.concatenate(tables),
    )


def sorted_rows(grams: np.ndarray, n_words: int) -> tuple[np.ndarray, np.ndarray]:
    """The order of the rows of distinct terms, and the place of each row in it."""
    keys = pack(grams, n_words)
    order = np.argsort(keys, kind="stable") if keys is not None else np.lexsort(grams.T[::-1])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return order, place


def pack(grams: np.ndarray, n_words: int) -> np.ndarray | None:
    """Each row as one number, in the same order; None if 63 bits are too few."""
    if (n_words + 1) ** grams.shape[1] >= 2**63:
        return None
    keys = np.zeros(len(grams), dtype=np.int64)
    for column in grams.T:
        keys = keys * (n_words + 1) + (column + 1)
    return keys


@jit(plain=lambda ids, offsets, n_terms: 5 * len(ids) + n_terms)
def count_terms(
    ids: np.ndarray, offsets: np.ndarray, n_terms: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How often each document has each term: a matrix in CSR form, its columns in order.

    The documents of each term are listed, then the terms of each document: two passes that sort.
    """
    n_documents, n = len(offsets) - 1, len(ids)
    start = np.zeros(n_terms + 1, dtype=np.int64)
    for i in range(n):
        start[ids[i] + 1] += 1
    for term in range(n_terms):
        start[term + 1] += start[term]
    document_of, free = np.empty(n, dtype=np.int32), np.empty(n_terms, dtype=np.int64)
    for term in range(n_terms):
        free[term] = start[term]
    for document in range(n_documents):
        for i in range(offsets[document], offsets[document + 1]):
            document_of[free[ids[i]]] = document
            free[ids[i]] += 1
    column, count = np.empty(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    last = np.empty(n_documents, dtype=np.int64)
    for document in range(n_documents):
        last[document] = offsets[document] - 1
    for term in range(n_terms):
        for i in range(start[term], start[term + 1]):
            document = document_of[i]
            at = last[document]
            if at < offsets[document] or column[at] != term:
                at += 1
                last[document], column[at] = at, term
            count[at] += 1
    indptr = np.zeros(n_documents + 1, dtype=np.int64)
    for document in range(n_documents):  # close the gaps that repeated terms leave
        n_kept = last[document] + 1 - offsets[document]
        indptr[document + 1] = indptr[document] + n_kept
        for i in range(n_kept):
            column[indptr[document] + i] = column[offsets[document] + i]
            count[indptr[document] + i] = count[offsets[document] + i]
    return indptr, column[: indptr[-1]], count[: indptr[-1]]


@jit(plain=lambda keys: 10 * len(keys))
def number_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number distinct integers in the order of first appearance, and list them."""
    size = 1 << 10
    numbers, distinct = np.empty(len(keys), dtype=np.int64), np.empty(size, dtype=np.int64)
    table, n = np.full(2 * size, -1, dtype=np.int64), 0
    for i in range(len(keys)):
        slot = _slot(keys[i], len(table))
        while table[slot] >= 0 and distinct[table[slot]] != keys[i]:
            slot = (slot + 1) & (len(table) - 1)
        if table[slot] < 0:
            table[slot], distinct[n] = n, keys[i]
            n += 1
            numbers[i] = n - 1
            if n == len(distinct):  # the table is never more than half full
                distinct = np.concatenate((distinct, np.empty(n, dtype=np.int64)))
                table = np.full(4 * n, -1, dtype=np.int64)
                for number in range(n):
                    slot = _slot(distinct[number], len(table))
                    while table[slot] >= 0:
                        slot = (slot + 1) & (len(table) - 1)
                    table[slot] = number
        else:
            numbers[i] = table[slot]
    return numbers, distinct[:n].copy()


@jit
def _slot(key: int, size: int) -> np.int64:
    """Spread a number over a table whose size is a power of two (Fibonacci hashing)."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(size - 1))


def _renumber(grams: np.ndarray, place: np.ndarray, longest: int) -> np.ndarray:
    """The same terms in other numbers of words, and with room for longer ones."""
    table = np.append(place, -1).astype(np.int32)  # -1 stays what it is
    padding = np.full((len(grams), longest - grams.shape[1]), -1, dtype=np.int32)
    return np.hstack([table[grams], padding])


@dataclass(frozen=True)
class TermCounts(Statistic):
    r"""How often each term occurs, and in how many documents.

    Attributes
    ----------
    words : ndarray of object, shape (n_words,)
        Sorted.
    grams : ndarray of int32, shape (n_terms, longest)
        The terms, as in `Terms`.
    count : ndarray of shape (n_terms,)
    document_frequency : ndarray of shape (n_terms,)
    weight : float
        The weight of the documents, their number.
    """

    words: np.ndarray
    grams: np.ndarray
    count: np.ndarray
    document_frequency: np.ndarray
    weight: float

    @classmethod
    def of(cls, terms: Terms, weight: np.ndarray | None = None) -> Self:
        """Count the terms of some documents."""
        n = len(terms.grams)
        w = np.ones(len(terms.indptr) - 1) if weight is None else weight.astype(float)
        each = None if weight is None else np.repeat(w, np.diff(terms.indptr))
        occurrences = terms.counts if each is None else terms.counts * each
        count = np.bincount(terms.indices, occurrences, minlength=n)
        frequency = np.bincount(terms.indices, each, minlength=n).astype(float)
        return cls(terms.words, terms.grams, count, frequency, float(w.sum()))

    @classmethod
    def never(cls, terms: list[list[str]]) -> Self:
        """Terms that were not seen, so far."""
        words = sorted({word for term in terms for word in term})
        index, longest = {word: i for i, word in enumerate(words)}, max(map(len, terms), default=1)
        rows = sorted({tuple(index[word] for word in term) for term in terms})
        grams = np.array([[*row, *[-1] * (longest - len(row))] for row in rows], dtype=np.int32)
        none = np.zeros(len(rows))
        return cls(as_objects(words), grams.reshape(-1, longest), none, none.copy(), 0.0)

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if not isinstance(other, TermCounts):
            return NotImplemented
        longest = max(self.grams.shape[1], other.grams.shape[1])
        both: list[Any] = [self, other]
        words, places = union(self.words, other.words)
        parts = zip(both, places, strict=True)
        grams = np.concatenate([_renumber(part.grams, at, longest) for part, at in parts])
        order, _ = sorted_rows(grams, len(words))
        grams = grams[order]
        number = np.cumsum(np.any(np.diff(grams, axis=0, prepend=-2), axis=1)) - 1
        place = np.empty(len(order), dtype=np.int64)
        place[order] = number
        n = int(number[-1]) + 1 if len(number) else 0
        count, frequency = (
            np.bincount(place, np.concatenate([getattr(part, name) for part in both]), n)
            for name in ("count", "document_frequency")
        )
        first = np.flatnonzero(np.diff(number, prepend=-1))
        return type(self)(words, grams[first], count, frequency, self.weight + other.weight)

    def __mul__(self, factor: float) -> Self:
        count, frequency = factor * self.count, factor * self.document_frequency
        return type(self)(self.words, self.grams, count, frequency, factor * self.weight)

    @property
    def is_finite(self) -> bool:
        """Whether the weights were finite."""
        return bool(np.isfinite(self.weight) and np.isfinite(self.count).all())

    def names(self, which: Any = slice(None), between: str = " ") -> np.ndarray:
        """Terms as strings, their words joined."""
        rows = self.grams[which]
        if rows.shape[1] == 1:
            return self.words[rows[:, 0]]
        words = self.words.tolist()
        return as_objects([between.join(words[i] for i in row if i >= 0) for row in rows.tolist()])

    def find(self, terms: Terms | TermCounts) -> np.ndarray:
        """The place of each of other terms, no longer ones, among these; -1 if it is not here."""
        if self.words is terms.words and self.grams is terms.grams:
            return np.arange(len(self.grams))
        place = {word: i for i, word in enumerate(self.words.tolist())}
        here = np.array([place.get(w, -2) for w in terms.words.tolist()], dtype=np.int32)
        rows = _renumber(terms.grams, here, self.grams.shape[1])
        known = ~(rows == -2).any(axis=1)
        found, n = np.full(len(rows), -1), len(self.grams)
        mine, theirs = pack(self.grams, len(self.words)), pack(rows[known], len(self.words))
        if mine is None or theirs is None:  # too many words for one number a term
            _, code = np.unique(
                np.concatenate([self.grams, rows[known]]), axis=0, return_inverse=True
            )
            mine, theirs = code[:n], code[n:]
        at = np.minimum(np.searchsorted(mine, theirs), max(n - 1, 0))
        if n:
            found[known] = np.where(mine[at] == theirs, at, -1)
        return found
