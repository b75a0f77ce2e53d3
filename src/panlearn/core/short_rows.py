"""Reductions of rows that are short and many: NumPy starts a loop a row, here is one a column.

What comes out has the bits of NumPy's: of fewer than eight numbers it adds one after the other.
"""

from __future__ import annotations

import numpy as np

SHORT, MANY = 8, 500  # rows shorter than this, and more of them: fewer are done before Python is


def softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities that go as the exponentials of the scores in a row; these are overwritten."""
    scores -= largest(scores)
    np.exp(scores, out=scores)
    scores /= total(scores)
    return scores


def largest(rows: np.ndarray) -> np.ndarray:
    """The largest number of each row, (n, 1)."""
    if not _are_short(rows):
        return rows.max(axis=1, keepdims=True)
    top = np.maximum(rows[:, 0], rows[:, 1])
    for column in rows.T[2:]:
        np.maximum(top, column, out=top)
    return top[:, None]


def total(rows: np.ndarray) -> np.ndarray:
    """The sum of each row, (n, 1)."""
    if not _are_short(rows):
        return rows.sum(axis=1, keepdims=True)
    result = rows[:, 0] + rows[:, 1]
    for column in rows.T[2:]:
        result += column
    return result[:, None]


def first_largest(rows: np.ndarray) -> np.ndarray:
    """The place of the largest number of each row, the first of equal ones; none is NaN."""
    if not _are_short(rows):
        return rows.argmax(axis=1)
    places, top = np.zeros(len(rows), np.int8), rows[:, 0].copy()
    for j, column in enumerate(rows.T[1:], start=1):
        np.maximum(places, (column > top) * np.int8(j), out=places)
        np.maximum(top, column, out=top)
    return places.astype(np.intp)


def _are_short(rows: np.ndarray) -> bool:
    return len(rows) > MANY and 1 < rows.shape[1] < SHORT
