r"""Edit distances with any costs, by dynamic programming, and the path of the cheapest edits.

.. math::
    D_{ij} = \min\{D_{i-1,j} + c_{del},\ D_{i,j-1} + c_{ins},\ D_{i-1,j-1} + c_{sub}
    [a_i \ne b_j],\ \text{and what swaps neighbours}\}

References
----------
R. A. Wagner and M. J. Fischer (1974). The string-to-string correction problem. Journal of the
ACM 21(1). doi:10.1145/321796.321811

R. Lowrance and R. A. Wagner (1975). An extension of the string-to-string correction problem.
Journal of the ACM 22(2). doi:10.1145/321879.321880
"""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit
from panlearn.text._bit_parallel import Strings

NONE, ADJACENT, DAMERAU = 0, 1, 2
EQUAL, REPLACE, DELETE, INSERT, TRANSPOSE = 0, 1, 2, 3, 4


@jit(
    plain=lambda texts, first, last, patterns, *rest: 3 * len(texts.letters) * len(patterns.letters)
)
def distances(
    texts: Strings,
    first: int,
    last: int,
    patterns: Strings,
    costs: np.ndarray,
    swaps: int,
    n_letters: int,
    half: bool,
    cutoff: float,
    out: np.ndarray,
) -> None:
    """Write the distances of the texts from `first` to `last` to all patterns.

    What is above `cutoff` is given as one more than that. If the patterns are the texts and the
    matrix is symmetric, `half` of it is computed.
    """
    longest_text, longest = 0, 0
    for t in range(first, last):
        longest_text = max(longest_text, texts.offsets[t + 1] - texts.offsets[t])
    for k in range(len(patterns.offsets) - 1):
        longest = max(longest, patterns.offsets[k + 1] - patterns.offsets[k])
    n_rows = longest_text + 1 if swaps == DAMERAU else 3
    table = np.empty((n_rows, longest + 1), costs.dtype)  # integers, which are quicker, or floats
    seen = np.zeros(n_letters, np.int64)
    for t in range(first, last):
        a = texts.letters[texts.offsets[t] : texts.offsets[t + 1]]
        for k in range(t + 1 if half else len(patterns.offsets) - 1):
            b = patterns.letters[patterns.offsets[k] : patterns.offsets[k + 1]]
            if swaps == DAMERAU:
                found = _damerau(a, b, costs, table, seen)
            else:
                found = distance(a, b, costs, swaps, table)
            out[t, k] = found if found <= cutoff else cutoff + 1
            if half:
                out[k, t] = out[t, k]


@jit
def distance(
    a: np.ndarray, b: np.ndarray, costs: np.ndarray, swaps: int, table: np.ndarray
) -> float:
    """Three rows are enough: row i stands in ``table[i % 3]``."""
    insert, delete, substitute = costs
    for j in range(len(b) + 1):
        table[0, j] = j * insert
    for i in range(1, len(a) + 1):
        row, above, two_above = table[i % 3], table[(i - 1) % 3], table[(i - 2) % 3]
        left = row[0] = i * delete
        for j in range(1, len(b) + 1):
            same = a[i - 1] == b[j - 1]
            best = above[j - 1] if same else above[j - 1] + substitute
            best = min(best, above[j] + delete)
            if swaps and i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                best = min(best, two_above[j - 2] + substitute)
            left = row[j] = min(best, left + insert)  # last: only this waits for the cell before
    return table[len(a) % 3, len(b)]


@jit
def _damerau(
    a: np.ndarray, b: np.ndarray, costs: np.ndarray, table: np.ndarray, seen: np.ndarray
) -> float:
    """Letters that were swapped may have been edited between; `seen` is zero before and after."""
    insert, delete, substitute = costs
    for j in range(len(b) + 1):
        table[0, j] = j * insert
    for i in range(1, len(a) + 1):
        row, above = table[i], table[i - 1]
        left = row[0] = i * delete
        last = 0  # where b last had the letter a[i - 1]
        for j in range(1, len(b) + 1):
            same = a[i - 1] == b[j - 1]
            best = above[j - 1] if same else above[j - 1] + substitute
            best = min(best, above[j] + delete)
            if last and seen[b[j - 1]]:  # where a last had the letter b[j - 1]
                start = seen[b[j - 1]] - 1
                between = (i - start - 2) * delete + (j - last - 1) * insert
                best = min(best, table[start, last - 1] + between + substitute)
            left = row[j] = min(best, left + insert)
            if same:
                last = j
        seen[a[i - 1]] = i
    for letter in a:
        seen[letter] = 0
    return table[len(a), len(b)]


@jit(plain=lambda a, b, *rest: 2 * len(a) * len(b))
def moves(a: np.ndarray, b: np.ndarray, costs: np.ndarray, swaps: int) -> np.ndarray:
    """The last edit of a cheapest path to each cell; letters are paired where they can be."""
    insert, delete, substitute = costs
    table = np.empty((3, len(b) + 1), costs.dtype)
    moves = np.empty((len(a) + 1, len(b) + 1), np.uint8)
    for j in range(len(b) + 1):
        table[0, j], moves[0, j] = j * insert, INSERT
    for i in range(1, len(a) + 1):
        row, above, two_above = table[i % 3], table[(i - 1) % 3], table[(i - 2) % 3]
        row[0], moves[i, 0] = i * delete, DELETE
        for j in range(1, len(b) + 1):
            same = a[i - 1] == b[j - 1]
            best = above[j - 1] if same else above[j - 1] + substitute
            move = EQUAL if same else REPLACE
            if above[j] + delete < best:
                best, move = above[j] + delete, DELETE
            if row[j - 1] + insert < best:
                best, move = row[j - 1] + insert, INSERT
            if swaps and i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                if two_above[j - 2] + substitute < best:
                    best, move = two_above[j - 2] + substitute, TRANSPOSE
            row[j], moves[i, j] = best, move
    return moves
