"""Move rows: divide them, sort them by bin, lead them to their leaves; compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from panlearn.tree._split import MISSING, TOP

# Below this many rows it is quicker to sort them than to walk all bins.
SMALL = 48


@njit(cache=True, nogil=True, error_model="numpy")
def divide(values: np.ndarray, rows: np.ndarray, goes_left: np.ndarray, buffer: np.ndarray) -> int:
    """Move the values of the rows that go left to the front, both sides in their order.

    How many they are is returned; `values` may be the rows themselves.
    """
    front, back = 0, 0
    for i in range(len(values)):
        value, left = values[i], int(goes_left[rows[i]])
        # both are written and one pointer moves: no branch to mispredict
        values[front] = value
        buffer[back] = value
        front += left
        back += 1 - left
    values[front:] = buffer[:back]
    return front


@njit(cache=True, nogil=True, error_model="numpy")
def sort_by_bin(
    bins: np.ndarray, rows: np.ndarray, keys: np.ndarray, places: np.ndarray, counts: np.ndarray
) -> None:
    """Fill `keys` with the sorted bins of the rows, and `places` with whose they are.

    The key of a missing value is TOP. Stable. Few rows are inserted one by one, many counted;
    `counts` is zero before and after.
    """
    n = len(rows)
    if n <= SMALL:
        for i in range(n):
            key, at = np.int32(bins[rows[i]]) << 16 | np.int32(i), i
            while at > 0 and keys[at - 1] > key:
                keys[at] = keys[at - 1]
                at -= 1
            keys[at] = key
        for i in range(n):
            places[i] = keys[i] & 0xFFFF
            keys[i] >>= 16
    else:
        for r in rows:
            counts[bins[r]] += 1
        end = 0
        for b in range(MISSING + 1):
            end += counts[b]
            counts[b] = end - counts[b]
        for i in range(n):
            b = int(bins[rows[i]])
            places[counts[b]] = i
            keys[counts[b]] = b
            counts[b] += 1
        counts[:] = 0
    at = n
    while at > 0 and keys[at - 1] == MISSING:
        at -= 1
        keys[at] = TOP


@njit(cache=True, nogil=True, error_model="numpy")
def leaves_of(
    X: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    feature: np.ndarray,
    threshold: np.ndarray,
    missing_left: np.ndarray,
) -> np.ndarray:
    """The leaf of each row."""
    leaves = np.empty(len(X), np.int64)
    for i in range(len(X)):
        node = 0
        while left[node] >= 0:
            x = X[i, feature[node]]
            to_left = missing_left[node] if np.isnan(x) else x <= threshold[node]
            node = left[node] if to_left else right[node]
        leaves[i] = node
    return leaves
