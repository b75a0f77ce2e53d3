r"""Distances of strings by rapidfuzz's names, each with its similarity and both from 0 to 1.

`Levenshtein`, `Indel`, `OSA`, `DamerauLevenshtein`, `Hamming`, `LCSseq`, `Jaro` and `JaroWinkler`
each have ``distance``, ``similarity``, ``normalized_distance`` and ``normalized_similarity``:
functions of two strings, and of ``processor=None``, ``score_cutoff=None`` and the options of the
distance, ``weights=(1, 1, 1)`` of Levenshtein's, ``pad=True`` of Hamming's and
``prefix_weight=0.1`` of Winkler's. With m the largest distance that the lengths allow,

.. math::
    s = m - d, \qquad \bar d = d / m, \qquad \bar s = 1 - \bar d

Hamming's distance costs :math:`O(|a|)`, the others at most :math:`O(|a| |b|)`, those of equal costs
for 64 cells at a time.

References
----------
V. I. Levenshtein (1966). Binary codes capable of correcting deletions, insertions, and reversals.
Soviet Physics Doklady 10(8).

W. E. Winkler (1990). String comparator metrics and enhanced decision rules in the Fellegi-Sunter
model of record linkage. Section on Survey Research Methods, American Statistical Association.

Examples
--------
>>> from panlearn.text.distance import JaroWinkler, Levenshtein
>>> Levenshtein.distance("kitten", "sitting"), Levenshtein.similarity("kitten", "sitting")
(3, 4)
>>> round(JaroWinkler.similarity("martha", "marhta"), 4)
0.9611
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from panlearn.core.memory import require_memory
from panlearn.text import _jaro
from panlearn.text._scorers import Metric, lengths
from panlearn.text.edit_distance import edit_distances, read_strings

__all__ = [
    "OSA",
    "DamerauLevenshtein",
    "Hamming",
    "Indel",
    "Jaro",
    "JaroWinkler",
    "LCSseq",
    "Levenshtein",
]


def _levenshtein(
    A: Sequence[Any], B: Sequence[Any], weights: tuple[int, int, int] = (1, 1, 1)
) -> tuple[np.ndarray, np.ndarray]:
    insert, delete, substitute = weights
    found = edit_distances(A, B, insert=insert, delete=delete, substitute=substitute)
    m, n = lengths(A, B)
    paired = np.minimum(m, n) * substitute
    paired = paired + np.where(m >= n, (m - n) * delete, (n - m) * insert)
    return found, np.minimum(m * delete + n * insert, paired)


def _indel(A: Sequence[Any], B: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    m, n = lengths(A, B)
    return edit_distances(A, B, substitute=2), m + n


def _osa(A: Sequence[Any], B: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    return edit_distances(A, B, transposition="adjacent"), np.maximum(*lengths(A, B))


def _damerau(A: Sequence[Any], B: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    return edit_distances(A, B, transposition="damerau"), np.maximum(*lengths(A, B))


def _lcs(A: Sequence[Any], B: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """What is not in the longest common subsequence, of the longer string."""
    apart, total = _indel(A, B)
    most = np.maximum(*lengths(A, B))
    return most - (total - apart) // 2, most


def _hamming(A: Sequence[Any], B: Sequence[Any], pad: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Places with other letters; what one string has more is other too, or refused."""
    _, first, second = read_strings(A, B)
    m, n = lengths(A, B)
    if not pad and (m != n).any():
        raise ValueError("strings of different lengths have no Hamming distance; set pad=True")
    longest = max(m.max(initial=0), n.max(initial=0))
    require_memory((m.size + n.size, longest), "the table of letters", "take fewer strings")
    tables = []
    for strings, size, beyond in ((first, m.ravel(), -1), (second, n.ravel(), -2)):
        table = np.full((len(size), longest), beyond, dtype=np.int64)
        table[np.arange(longest) < size[:, None]] = strings.letters
        tables.append(table)
    most = np.maximum(m, n)
    same = np.array([(row == tables[1]).sum(axis=1) for row in tables[0]], dtype=np.int64)
    return most - same.reshape(most.shape), most


def _jaro_winkler(A: Sequence[Any], B: Sequence[Any], prefix_weight: float = 0.1) -> np.ndarray:
    if not 0 <= prefix_weight <= 0.25:
        raise ValueError(f"prefix_weight must be from 0 to 0.25; got {prefix_weight!r}")
    _, first, second = read_strings(A, B)
    shape = (len(first.offsets) - 1, len(second.offsets) - 1)
    require_memory(shape, "the matrix of similarities", "take fewer strings")
    out = np.empty(shape)
    _jaro.similarities(first, second, float(prefix_weight), out)
    return out


Levenshtein = Metric.of("Levenshtein", _levenshtein)
Indel = Metric.of("Indel", _indel)
OSA = Metric.of("OSA", _osa)
DamerauLevenshtein = Metric.of("DamerauLevenshtein", _damerau)
Hamming = Metric.of("Hamming", _hamming)
LCSseq = Metric.of("LCSseq", _lcs)
Jaro = Metric.bounded("Jaro", lambda A, B: _jaro_winkler(A, B, 0.0))
JaroWinkler = Metric.bounded("JaroWinkler", _jaro_winkler)
