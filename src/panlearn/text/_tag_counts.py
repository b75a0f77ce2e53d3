"""Counts of tags: with words, one after the other, and with the ends of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from panlearn.core.statistics import Statistic
from panlearn.text._documents import Tokens
from panlearn.text._ngrams import distinct
from panlearn.text._words import as_objects


@dataclass(frozen=True)
class TagCounts(Statistic):
    r"""How often tags begin, follow each other, end, and go with words.

    Attributes
    ----------
    tags, words : ndarray of object
        Sorted.
    pairs : ndarray of int32, shape (n_pairs, 2)
        Words and tags that occurred together, sorted.
    count : ndarray of shape (n_pairs,)
    step : ndarray of shape (n_tags + 1, n_tags + 1)
        From tag (row) to tag; the last row is the beginning of a document, the last column its end.
    weight : float
        The weight of the documents.
    """

    tags: np.ndarray
    words: np.ndarray
    pairs: np.ndarray
    count: np.ndarray
    step: np.ndarray
    weight: float

    @classmethod
    def of(cls, tokens: Tokens, y: list[Any], weight: np.ndarray | None = None) -> Self:
        """Count the tags of some documents; y has a list of them for each."""
        w = np.ones(len(tokens)) if weight is None else np.asarray(weight, dtype=float)
        flat = flat_tags(tokens, y)
        words, tags = sorted(tokens.words), sorted(set(flat))
        word_of, tag_of = ({x: i for i, x in enumerate(names)} for names in (words, tags))
        word = np.array([word_of[x] for x in tokens.words], dtype=np.int32)[tokens.ids]
        tag = np.array([tag_of[x] for x in flat], dtype=np.int32)
        each = np.repeat(w, tokens.lengths)
        pairs, count = distinct(np.column_stack([word, tag]), each)
        n = len(tags)
        step, some = np.zeros((n + 1, n + 1)), tokens.lengths > 0
        first, last = tokens.offsets[:-1][some], tokens.offsets[1:][some] - 1
        before = np.roll(tag, 1)
        before[first] = n
        np.add.at(step, (before, tag), each)
        np.add.at(step, (tag[last], np.full(len(last), n)), w[some])
        return cls(as_objects(tags), as_objects(words), pairs, count, step, float(w.sum()))

    @classmethod
    def zero(cls) -> Self:
        """Count nothing."""
        nothing = as_objects([])
        none = np.zeros((0, 2), dtype=np.int32)
        return cls(nothing, nothing, none, np.zeros(0), np.zeros((1, 1)), 0.0)

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if not isinstance(other, TagCounts):
            return NotImplemented
        words = sorted({*self.words.tolist(), *other.words.tolist()})
        tags = sorted({*self.tags.tolist(), *other.tags.tolist()})
        word_of, tag_of = ({x: i for i, x in enumerate(names)} for names in (words, tags))
        step, pairs = np.zeros((len(tags) + 1,) * 2), []
        for part in (self, other):
            tag = np.array([tag_of[x] for x in part.tags.tolist()] + [len(tags)], dtype=np.int32)
            word = np.array([word_of[x] for x in part.words.tolist()], dtype=np.int32)
            step[np.ix_(tag, tag)] += part.step
            pairs.append(np.column_stack([word[part.pairs[:, 0]], tag[part.pairs[:, 1]]]))
        merged = distinct(np.vstack(pairs), np.concatenate([self.count, other.count]))
        weight = self.weight + other.weight
        return type(self)(as_objects(tags), as_objects(words), *merged, step, weight)

    def __mul__(self, factor: float) -> Self:
        sums = (factor * self.count, factor * self.step, factor * self.weight)
        return type(self)(self.tags, self.words, self.pairs, *sums)

    @property
    def is_finite(self) -> bool:
        """Whether the weights were finite."""
        return bool(np.isfinite(self.weight) and np.isfinite(self.count).all())


def flat_tags(tokens: Tokens, y: Any) -> list[str]:
    """The tags of all words; an error says which document has too few or too many."""
    if y is None and len(tokens):
        raise ValueError("y is None; give a list of tags for each document, one a word")
    tagged, flat = [] if y is None else list(y), []
    if len(tagged) != len(tokens):
        raise ValueError(f"X holds {len(tokens)} documents and y {len(tagged)} lists of tags")
    for i, (tags, n) in enumerate(zip(tagged, tokens.lengths.tolist(), strict=True)):
        if isinstance(tags, str) or not hasattr(tags, "__len__") or len(tags) != n:
            raise ValueError(f"document {i} has {n} words and needs as many tags; got {tags!r:.60}")
        flat.extend(tags)
    if not all(isinstance(tag, str) for tag in flat):
        raise ValueError("tags are of type str")
    return [str(tag) for tag in flat]


def suffixes(word: str, longest: int) -> list[str]:
    """The ends of a word up to `longest` letters, marked by whether a capital begins it."""
    mark = "A" if word[:1].isupper() else "a"
    return [mark + word[len(word) - n :] for n in range(min(longest, len(word)) + 1)]


def suffix_laws(
    counted: TagCounts, rare: float, longest: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""P(tag | suffix) from rare words, each smoothed by that of the shorter suffix, and P(tag).

    .. math::
        P_i(t) = \frac{\hat P(t \mid s_i) + \theta P_{i-1}(t)}{1 + \theta}
    """
    n = len(counted.tags)
    overall = np.bincount(counted.pairs[:, 1], counted.count, minlength=n)
    overall = overall / overall.sum()
    theta = max(float(overall.std()), 1e-3)
    often = np.bincount(counted.pairs[:, 0], counted.count, minlength=len(counted.words))
    table: dict[str, np.ndarray] = {}
    for (word, tag), count in zip(counted.pairs.tolist(), counted.count.tolist(), strict=True):
        if often[word] <= rare:
            for suffix in suffixes(counted.words[word], longest):
                table.setdefault(suffix, np.zeros(n))[tag] += count
    laws: dict[str, np.ndarray] = {}
    for suffix in sorted(table, key=len):  # a suffix after the shorter one that it extends
        shorter = laws[suffix[0] + suffix[2:]] if len(suffix) > 1 else overall
        laws[suffix] = (table[suffix] / table[suffix].sum() + theta * shorter) / (1 + theta)
    names = sorted(laws)
    return as_objects(names), np.array([laws[s] for s in names]).reshape(-1, n), overall
