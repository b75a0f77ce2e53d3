r"""Jaro's similarity of strings, and Winkler's, which counts a common beginning more.

.. math::
    s = \frac13 \left( \frac{c}{|a|} + \frac{c}{|b|} + \frac{c - t}{c} \right), \qquad
    s_w = s + p \ell (1 - s) \text{ if } s > 0.7

for c letters in common, no farther apart than half the longer string, t of them out of order in
pairs, and the first :math:`\ell \le 4` letters the same.

References
----------
M. A. Jaro (1989). Advances in record-linkage methodology as applied to matching the 1985 census of
Tampa, Florida. JASA 84(406). doi:10.1080/01621459.1989.10478785

W. E. Winkler (1990). String comparator metrics and enhanced decision rules in the Fellegi-Sunter
model of record linkage. Proceedings of the Section on Survey Research Methods, ASA.
"""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit
from panlearn.text._bit_parallel import Strings


@jit(plain=lambda texts, patterns, *rest: len(texts.letters) * len(patterns.letters))
def similarities(texts: Strings, patterns: Strings, prefix_weight: float, out: np.ndarray) -> None:
    """Write the similarities of all pairs; with a weight of zero they are Jaro's."""
    for i in range(len(texts.offsets) - 1):
        a = texts.letters[texts.offsets[i] : texts.offsets[i + 1]]
        for j in range(len(patterns.offsets) - 1):
            b = patterns.letters[patterns.offsets[j] : patterns.offsets[j + 1]]
            score, same = _jaro(a, b), 0
            while same < min(4, len(a), len(b)) and a[same] == b[same]:
                same += 1
            if score > 0.7:
                score += same * prefix_weight * (1.0 - score)
            out[i, j] = min(score, 1.0)


@jit
def _jaro(a: np.ndarray, b: np.ndarray) -> float:
    if len(a) == 0 or len(b) == 0:
        return 1.0 if len(a) == len(b) else 0.0
    reach = max(max(len(a), len(b)) // 2 - 1, 0)
    taken, paired = np.zeros(len(b), np.bool_), np.zeros(len(a), np.bool_)
    common = 0
    for i in range(len(a)):
        for j in range(max(0, i - reach), min(len(b), i + reach + 1)):
            if not taken[j] and a[i] == b[j]:
                taken[j] = paired[i] = True
                common += 1
                break
    if common == 0:
        return 0.0
    swapped, j = 0, 0
    for i in range(len(a)):
        if paired[i]:
            while not taken[j]:
                j += 1
            swapped += a[i] != b[j]
            j += 1
    total = common / len(a)
    total += common / len(b)
    total += (common - swapped // 2) / common
    return total / 3.0
