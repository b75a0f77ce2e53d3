"""Scores of two strings: what rapidfuzz calls a scorer, for one pair or for all pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Scorer:
    """A score of two strings.

    Call it with two strings, and if wanted with ``processor``, a function that is applied to both
    first, with ``score_cutoff``, and with the options of its kind. What does not reach the cutoff
    is given as the worst score: 0 of a similarity, 1 of a normalised distance, and one more than
    the cutoff of a distance. ``score_hint`` changes nothing.

    Attributes
    ----------
    name : str
    pairs : callable
        Gives the scores of all pairs of two lists, and takes the options.
    falling : bool
        Whether equal strings have the lowest score, as of a distance.
    whole : bool
        Whether the scores are whole numbers.
    scale : float
        What a score is divided by before it is held against the cutoff.
    """

    name: str
    pairs: Callable[..., np.ndarray]
    falling: bool = False
    whole: bool = False
    scale: float = 1.0

    def __call__(
        self,
        s1: Any,
        s2: Any,
        *,
        processor: Callable[[Any], Any] | None = None,
        score_cutoff: float | None = None,
        score_hint: float | None = None,
        **options: Any,
    ) -> float:
        """Score two strings."""
        return self.table([s1], [s2], processor, score_cutoff, **options)[0, 0].item()

    def __repr__(self) -> str:
        return self.name

    def table(
        self,
        A: Sequence[Any],
        B: Sequence[Any],
        processor: Callable[[Any], Any] | None = None,
        score_cutoff: float | None = None,
        **options: Any,
    ) -> np.ndarray:
        """Score all pairs; a string that is missing, None or NaN, has the worst score with all."""
        missing = [np.array([is_missing(item) for item in part], dtype=bool) for part in (A, B)]
        if not self.whole:  # of whole numbers there is no worst: an error says what is allowed
            A, B = ([("" if is_missing(s) else s) for s in part] for part in (A, B))
        if processor is not None:
            A, B = ([processor(item) for item in part] for part in (A, B))
        scores = self.pairs(A, B, **options)
        if not self.whole:
            absent = missing[0][:, None] | missing[1]
            scores = np.where(absent, float(self.falling), scores)
        if score_cutoff is None:
            return scores
        if self.falling:
            worst = score_cutoff + 1 if self.whole else 1.0
            return np.where(scores <= score_cutoff, scores, worst)
        reached = scores / self.scale >= score_cutoff / self.scale
        return np.where(reached, scores, 0 if self.whole else 0.0)


@dataclass(frozen=True, repr=False)
class Metric:
    r"""A distance of strings with a largest value, and the three scores that follow from it.

    .. math::
        s = m - d, \qquad \bar d = d / m, \qquad \bar s = 1 - \bar d

    for a distance d of strings whose lengths allow m at most.

    Attributes
    ----------
    distance, similarity : Scorer
        d and s, whole numbers for all but Jaro's.
    normalized_distance, normalized_similarity : Scorer
        From 0 to 1; of two empty strings 0 and 1.
    """

    distance: Scorer
    similarity: Scorer
    normalized_distance: Scorer
    normalized_similarity: Scorer

    @classmethod
    def of(cls, name: str, pairs: Callable[..., tuple[np.ndarray, np.ndarray]]) -> Metric:
        """Make the scores of a function that gives distances and their largest values."""

        def similarity(A: Any, B: Any, **options: Any) -> np.ndarray:
            distances, most = pairs(A, B, **options)
            return most - distances

        def relative(A: Any, B: Any, **options: Any) -> np.ndarray:
            distances, most = pairs(A, B, **options)
            return np.divide(distances, most, out=np.zeros(most.shape), where=most > 0)

        return cls(
            Scorer(f"{name}.distance", lambda A, B, **given: pairs(A, B, **given)[0], True, True),
            Scorer(f"{name}.similarity", similarity, False, True),
            Scorer(f"{name}.normalized_distance", relative, True),
            Scorer(f"{name}.normalized_similarity", lambda A, B, **o: 1.0 - relative(A, B, **o)),
        )

    @classmethod
    def bounded(cls, name: str, pairs: Callable[..., np.ndarray]) -> Metric:
        """Make the scores of a similarity that is from 0 to 1 as it is."""

        def distance(A: Any, B: Any, **options: Any) -> np.ndarray:
            return 1.0 - pairs(A, B, **options)

        return cls(
            Scorer(f"{name}.distance", distance, True),
            Scorer(f"{name}.similarity", pairs),
            Scorer(f"{name}.normalized_distance", distance, True),
            Scorer(f"{name}.normalized_similarity", pairs),
        )


def is_missing(item: Any) -> bool:
    """Whether a string is None or NaN."""
    return item is None or (isinstance(item, float) and item != item)


def lengths(A: Sequence[Any], B: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The lengths of the strings of two lists, as a column and a row."""
    first, second = (np.array([len(s) for s in part], dtype=np.int64) for part in (A, B))
    return first[:, None], second[None]
