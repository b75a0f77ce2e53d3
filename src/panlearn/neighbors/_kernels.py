"""Loops of the neighbour search that BLAS cannot express."""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit

GROUP = 32  # values that are compared at once before any of them is looked at


@jit
def push(values: np.ndarray, indices: np.ndarray, value: float, index: int) -> None:
    """Replace the root of a max-heap of pairs (value, index) by a smaller pair."""
    size, i = values.shape[0], 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            values[right] > values[child]
            or (values[right] == values[child] and indices[right] > indices[child])
        ):
            child = right
        if values[child] < value or (values[child] == value and indices[child] < index):
            break
        values[i], indices[i] = values[child], indices[child]
        i = child
    values[i], indices[i] = value, index


@jit
def keep_smallest(block: np.ndarray, first: int, values: np.ndarray, indices: np.ndarray) -> None:
    """Let the columns of `block`, which start at index `first`, into each row's heap.

    Columns come in the order of their index, so an equal value that comes later stays out.
    """
    rows, columns = block.shape
    for i in range(rows):
        top = values[i, 0]
        for start in range(0, columns, GROUP):
            stop = min(start + GROUP, columns)
            found = 0
            for j in range(start, stop):
                found |= block[i, j] < top
            if found:
                for j in range(start, stop):
                    if block[i, j] < top:
                        push(values[i], indices[i], block[i, j], first + j)
                        top = values[i, 0]


@jit
def _raise(difference: float, p: float) -> float:
    """|difference|^p, without the power function where none is needed."""
    if p == 1.0:
        return abs(difference)
    return abs(difference) ** p


@jit
def powered_distances(queries: np.ndarray, columns: np.ndarray, p: float) -> np.ndarray:
    r"""Sums :math:`\sum_f |q_f - x_f|^p` (for p = inf the maximum) of all queries and rows x.

    `columns` holds the rows x as its columns, so that the inner loop runs along memory.
    """
    d, n = columns.shape
    out = np.zeros((queries.shape[0], n))
    for i in range(queries.shape[0]):
        row = out[i]
        for f in range(d):
            value, column = queries[i, f], columns[f]
            if p == 2.0:
                for j in range(n):
                    difference = value - column[j]
                    row[j] += difference * difference
            elif p == np.inf:
                for j in range(n):
                    row[j] = max(row[j], abs(value - column[j]))
            else:
                for j in range(n):
                    row[j] += _raise(value - column[j], p)
    return out


@jit
def paired_distances(
    queries: np.ndarray, X: np.ndarray, which: np.ndarray, near: np.ndarray, p: float
) -> np.ndarray:
    """What `powered_distances` has of pairs: of query ``which[k]`` and row ``near[k]`` of X."""
    out, first = np.zeros(len(which)), 0
    if p == 2.0:  # four at once, as each addition waits for the last of its pair
        while first + 4 <= len(which):
            _four_squares(
                queries, X, which[first : first + 4], near[first : first + 4], out[first:]
            )
            first += 4
    for k in range(first, len(which)):
        for f in range(X.shape[1]):
            difference = np.float64(queries[which[k], f]) - np.float64(X[near[k], f])
            if p == 2.0:
                out[k] += difference * difference
            elif p == np.inf:
                out[k] = max(out[k], abs(difference))
            else:
                out[k] += _raise(difference, p)
    return out


@jit
def _four_squares(
    queries: np.ndarray, X: np.ndarray, which: np.ndarray, near: np.ndarray, out: np.ndarray
) -> None:
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    q, r, s, t = queries[which[0]], queries[which[1]], queries[which[2]], queries[which[3]]
    w, x, y, z = X[near[0]], X[near[1]], X[near[2]], X[near[3]]
    for f in range(X.shape[1]):
        one, two = np.float64(q[f]) - np.float64(w[f]), np.float64(r[f]) - np.float64(x[f])
        three, four = np.float64(s[f]) - np.float64(y[f]), np.float64(t[f]) - np.float64(z[f])
        a += one * one
        b += two * two
        c += three * three
        d += four * four
    out[0], out[1], out[2], out[3] = a, b, c, d
