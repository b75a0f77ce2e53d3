"""Arithmetic of rows that are short and many: NumPy starts a loop a row, here are fewer of them.

What comes out has the bits of NumPy's: of fewer than eight numbers it adds one after the other.
"""

from __future__ import annotations

import numpy as np

SHORT, MANY = 8, 500  # rows shorter than this, and more of them: fewer are done before Python is
TOGETHER = 64  # rows that are shifted or divided as one


def shifted(rows: np.ndarray, by: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The rows plus one more row; `out` is where they go, may be the rows, and lies as they do."""
    return _with_each(np.add, rows, by, out)


def divided(rows: np.ndarray, by: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The rows over one more row; `out` is as in `shifted`."""
    return _with_each(np.divide, rows, by, out)


def _with_each(
    ufunc: np.ufunc, rows: np.ndarray, by: np.ndarray, out: np.ndarray | None
) -> np.ndarray:
    n, d = rows.shape
    if n <= MANY or d >= TOGETHER or np.shape(by) != (d,) or not rows.flags.c_contiguous:
        return ufunc(rows, by, out=out)
    out = np.empty(rows.shape, np.result_type(rows, by)) if out is None else out
    whole = n - n % TOGETHER
    long, many = (whole // TOGETHER, TOGETHER * d), np.repeat(by[None], TOGETHER, axis=0).ravel()
    ufunc(rows[:whole].reshape(long), many, out=out[:whole].reshape(long))
    ufunc(rows[whole:], by, out=out[whole:])
    return out


def softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities that go as the exponentials of the scores in a row; these are overwritten."""
    parts = scores.T[:, :, None] if _are_short(scores) else [scores]
    top = largest(scores)
    for part in parts:
        part -= top
    np.exp(scores, out=scores)
    whole = total(scores)
    for part in parts:
        part /= whole
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
