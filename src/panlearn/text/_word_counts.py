"""Counts of words, which merge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from panlearn.core.statistics import Statistic
from panlearn.text._documents import Tokens
from panlearn.text._scan import document_frequencies


@dataclass(frozen=True)
class WordCounts(Statistic):
    r"""How often each word occurs, and in how many documents.

    .. math::
        c_w = \sum_d \omega_d \, n_{dw}, \qquad f_w = \sum_d \omega_d \, [n_{dw} > 0]

    for :math:`n_{dw}` occurrences of word w in document d of weight :math:`\omega_d`.

    Attributes
    ----------
    words : ndarray of object, shape (n_words,)
        Sorted.
    count : ndarray of shape (n_words,)
    document_frequency : ndarray of shape (n_words,)
    weight : float
        The weight of the documents, their number.

    Examples
    --------
    >>> from panlearn.text._documents import tokenize
    >>> from panlearn.text._word_counts import WordCounts
    >>> seen = WordCounts.of(tokenize(["no no"])) + WordCounts.of(tokenize(["oh no"]))
    >>> seen.words.tolist(), seen.count.tolist(), seen.document_frequency.tolist()
    (['no', 'oh'], [3.0, 1.0], [2.0, 1.0])
    """

    words: np.ndarray
    count: np.ndarray
    document_frequency: np.ndarray
    weight: float

    @classmethod
    def of(cls, tokens: Tokens, weight: np.ndarray | None = None) -> Self:
        """Count the words of some documents."""
        n = len(tokens.words)
        w = np.ones(len(tokens)) if weight is None else weight.astype(float)
        per_token = None if weight is None else np.repeat(w, tokens.lengths)
        count = np.bincount(tokens.ids, per_token, minlength=n).astype(float)
        frequency = document_frequencies(tokens.ids, tokens.offsets, w, n)
        order = sorted(range(n), key=tokens.words.__getitem__)
        words = as_objects([tokens.words[i] for i in order])
        return cls(words, count[order], frequency[order], float(w.sum()))

    @classmethod
    def zero(cls) -> Self:
        """Count nothing."""
        return cls(as_objects([]), np.zeros(0), np.zeros(0), 0.0)

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if not isinstance(other, WordCounts):
            return NotImplemented
        both: list[Any] = [self, other]
        words, places = union(self.words, other.words)
        count, frequency = np.zeros(len(words)), np.zeros(len(words))
        for part, at in zip(both, places, strict=True):
            count[at] += part.count
            frequency[at] += part.document_frequency
        return type(self)(words, count, frequency, self.weight + other.weight)

    def __mul__(self, factor: float) -> Self:
        count, frequency = factor * self.count, factor * self.document_frequency
        return type(self)(self.words, count, frequency, factor * self.weight)

    @property
    def is_finite(self) -> bool:
        """Whether the weights were finite."""
        return bool(np.isfinite(self.weight) and np.isfinite(self.count).all())


def union(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Merge sorted words, and give the places of both; a batch that brings no new word is quick."""
    words, known = one, set(one.tolist())
    if new := [word for word in other.tolist() if word not in known]:
        words = as_objects(sorted([*one.tolist(), *new]))  # two sorted runs, which merge
    index = {word: i for i, word in enumerate(words.tolist())}
    first, second = (
        np.array([index[word] for word in part.tolist()], dtype=np.int64) for part in (one, other)
    )
    return words, (first, second)


def as_objects(words: Any) -> np.ndarray:
    """Words as an array of objects: NumPy's own strings are padded and lose NULs at the end."""
    array = np.empty(len(words), dtype=object)
    array[:] = words
    return array
