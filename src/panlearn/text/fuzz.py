r"""Similarities of strings from 0 to 100, by rapidfuzz's names.

All are of insertions and deletions, the longest common subsequence in two strings' lengths,

.. math::
    \mathrm{ratio}(a, b) = 100 \left( 1 - \frac{d(a, b)}{|a| + |b|} \right)

`partial_ratio` is the best ratio of the shorter string with a stretch of the longer one;
`token_sort_ratio` the ratio of the words in order of the alphabet; `token_set_ratio` leaves words
that both have, and how often, out of account; `token_ratio` is the better of the two. The three of
``partial_`` names take the partial ratio of the same. `QRatio` is the ratio, but 0 of an empty
string; `WRatio` the best of what fits the lengths, the words with a factor 0.95, and a part with
0.9, or 0.6 where one string is more than eight times as long. Each takes ``processor=None`` and
``score_cutoff=None``: below the cutoff it is 0.

A ratio costs :math:`O(|a| |b|)`, 64 cells at a time, and a partial one a ratio for each stretch,
:math:`O(|a|^2 |b|)` with a the shorter.

References
----------
M. Bachmann (2020). RapidFuzz: rapid fuzzy string matching. doi:10.5281/zenodo.5584996

H. Hyyrö, Y. Pinzon and A. Shinohara (2005). Fast bit-vector algorithms for approximate string
matching under indel distance. SOFSEM. doi:10.1007/978-3-540-30577-4_40

Examples
--------
>>> from panlearn.text.fuzz import WRatio, partial_ratio, ratio, token_set_ratio, token_sort_ratio
>>> ratio("this is a test", "this is a test!").__round__(2)
96.55
>>> partial_ratio("this is a test", "well, this is a test!")
100.0
>>> token_sort_ratio("fuzzy wuzzy was a bear", "wuzzy fuzzy was a bear")
100.0
>>> token_set_ratio("fuzzy was a bear", "fuzzy fuzzy was a bear")
100.0
>>> WRatio("this is a test", "this is a new test!!!").__round__(1)
85.5
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from panlearn.text._scorers import Scorer
from panlearn.text.distance import Indel

__all__ = [
    "QRatio",
    "WRatio",
    "partial_ratio",
    "partial_token_ratio",
    "partial_token_set_ratio",
    "partial_token_sort_ratio",
    "ratio",
    "token_ratio",
    "token_set_ratio",
    "token_sort_ratio",
]


def _ratios(A: Sequence[Any], B: Sequence[Any]) -> np.ndarray:
    return Indel.normalized_similarity.pairs(A, B) * 100


def _each(score: Callable[[Any, Any], float]) -> Callable[..., np.ndarray]:
    """A score of one pair as one of all pairs."""

    def pairs(A: Sequence[Any], B: Sequence[Any]) -> np.ndarray:
        scores = [score(a, b) for a in A for b in B]
        return np.array(scores, dtype=float).reshape(len(A), len(B))

    return pairs


def _partial(a: Any, b: Any) -> float:
    shorter, longer = (a, b) if len(a) <= len(b) else (b, a)
    if not len(shorter):
        return 100.0 if not len(longer) else 0.0
    best = _best_stretch(shorter, longer)
    return max(best, _best_stretch(longer, shorter)) if len(a) == len(b) else best


def _best_stretch(short: Any, long: Any) -> float:
    """The best ratio with a stretch of the same length, or with a shorter one at either end."""
    n = len(short)
    stretches = [long[max(0, end - n) : end] for end in range(1, len(long) + n)]
    stretches = [stretch for stretch in stretches if len(stretch)]
    return float(_ratios([short], stretches).max())


def _in_order(words: Iterable[str]) -> str:
    return " ".join(sorted(words))


def _token_sort_ratios(A: Sequence[str], B: Sequence[str]) -> np.ndarray:
    return _ratios(*([_in_order(text.split()) for text in part] for part in (A, B)))


def _token_set(s1: str, s2: str) -> float:
    """The best ratio of two of: the words of both; these and those of a; these and those of b."""
    a, b = set(s1.split()), set(s2.split())
    both, only_a, only_b = a & b, a - b, b - a
    if not a or not b:
        return 0.0
    if both and not (only_a and only_b):
        return 100.0
    rest_a, rest_b = _in_order(only_a), _in_order(only_b)
    n = len(" ".join(both))
    length_a, length_b = (n + bool(n) + len(rest) for rest in (rest_a, rest_b))
    pairs = [(Indel.distance(rest_a, rest_b), length_a + length_b)]
    if n:
        pairs += [(length - n, n + length) for length in (length_a, length_b)]
    return max(100 - 100 * distance / total for distance, total in pairs)


def _token(s1: str, s2: str) -> float:
    return max(_token_set(s1, s2), token_sort_ratio(s1, s2))


def _partial_token_sort(s1: str, s2: str) -> float:
    return _partial(_in_order(s1.split()), _in_order(s2.split()))


def _partial_token_set(s1: str, s2: str) -> float:
    a, b = set(s1.split()), set(s2.split())
    if not a or not b:
        return 0.0
    return 100.0 if a & b else _partial(_in_order(a), _in_order(b))


def _partial_token(s1: str, s2: str) -> float:
    return max(_partial_token_sort(s1, s2), _partial_token_set(s1, s2))


def _quick(s1: Any, s2: Any) -> float:
    return ratio(s1, s2) if len(s1) and len(s2) else 0.0


def _weighted(s1: str, s2: str) -> float:
    """The best of the scores that fit the lengths; words, and then parts, count a little less."""
    if not s1 or not s2:
        return 0.0
    longer, shorter = max(len(s1), len(s2)), min(len(s1), len(s2))
    if longer < 1.5 * shorter:
        return max(ratio(s1, s2), 0.95 * _token(s1, s2))
    part = 0.9 if longer <= 8 * shorter else 0.6
    words = _partial_token(s1, s2) * 0.95 * part
    return max(ratio(s1, s2), _partial(s1, s2) * part, words)


ratio = Scorer("ratio", _ratios, scale=100.0)
partial_ratio = Scorer("partial_ratio", _each(_partial), scale=100.0)
token_sort_ratio = Scorer("token_sort_ratio", _token_sort_ratios, scale=100.0)
token_set_ratio = Scorer("token_set_ratio", _each(_token_set))
token_ratio = Scorer("token_ratio", _each(_token))
partial_token_sort_ratio = Scorer("partial_token_sort_ratio", _each(_partial_token_sort))
partial_token_set_ratio = Scorer("partial_token_set_ratio", _each(_partial_token_set))
partial_token_ratio = Scorer("partial_token_ratio", _each(_partial_token))
QRatio = Scorer("QRatio", _each(_quick), scale=100.0)
WRatio = Scorer("WRatio", _each(_weighted))
