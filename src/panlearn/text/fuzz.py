r"""Similarities of strings from 0 to 100, by rapidfuzz's names.

All are of insertions and deletions, the longest common subsequence in two strings' lengths,

.. math::
    \mathrm{ratio}(a, b) = 100 \left( 1 - \frac{d(a, b)}{|a| + |b|} \right)

`partial_ratio` is the best ratio of the shorter string with a stretch of the longer one;
`token_sort_ratio` the ratio of the words in order of the alphabet; `token_set_ratio` leaves words
that both have, and how often, out of account. Each takes ``processor=None`` and
``score_cutoff=None``: below the cutoff it is 0.

>>> from panlearn.text.fuzz import partial_ratio, ratio, token_set_ratio, token_sort_ratio
>>> ratio("this is a test", "this is a test!").__round__(2)
96.55
>>> partial_ratio("this is a test", "well, this is a test!")
100.0
>>> token_sort_ratio("fuzzy wuzzy was a bear", "wuzzy fuzzy was a bear")
100.0
>>> token_set_ratio("fuzzy was a bear", "fuzzy fuzzy was a bear")
100.0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from panlearn.text._scorers import Scorer
from panlearn.text.distance import Indel

__all__ = ["partial_ratio", "ratio", "token_set_ratio", "token_sort_ratio"]


def _ratios(A: Sequence[Any], B: Sequence[Any]) -> np.ndarray:
    return Indel.normalized_similarity.pairs(A, B) * 100


def _partial_ratios(A: Sequence[Any], B: Sequence[Any]) -> np.ndarray:
    scores = [_partial(a, b) for a in A for b in B]
    return np.array(scores, dtype=float).reshape(len(A), len(B))


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


def _token_sort_ratios(A: Sequence[str], B: Sequence[str]) -> np.ndarray:
    return _ratios(*([" ".join(sorted(text.split())) for text in part] for part in (A, B)))


def _token_set_ratios(A: Sequence[str], B: Sequence[str]) -> np.ndarray:
    first, second = ([set(text.split()) for text in part] for part in (A, B))
    scores = [_token_set(a, b) for a in first for b in second]
    return np.array(scores, dtype=float).reshape(len(A), len(B))


def _token_set(a: set[str], b: set[str]) -> float:
    """The best ratio of two of: the words of both; these and those of a; these and those of b."""
    both, only_a, only_b = a & b, a - b, b - a
    if not a or not b:
        return 0.0
    if both and not (only_a and only_b):
        return 100.0
    rest_a, rest_b = " ".join(sorted(only_a)), " ".join(sorted(only_b))
    n = len(" ".join(both))
    length_a, length_b = (n + bool(n) + len(rest) for rest in (rest_a, rest_b))
    pairs = [(Indel.distance(rest_a, rest_b), length_a + length_b)]
    if n:
        pairs += [(length - n, n + length) for length in (length_a, length_b)]
    return max(100 - 100 * distance / total for distance, total in pairs)


ratio = Scorer("ratio", _ratios, scale=100.0)
partial_ratio = Scorer("partial_ratio", _partial_ratios, scale=100.0)
token_sort_ratio = Scorer("token_sort_ratio", _token_sort_ratios, scale=100.0)
token_set_ratio = Scorer("token_set_ratio", _token_set_ratios)
