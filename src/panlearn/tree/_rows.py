"""Move rows: divide them, sort them by bin; compiled."""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit
from panlearn.tree._split import MISSING, TOP, Targets

# Below this many rows it is quicker to sort them than to walk all bins.
SMALL = 48


def _divide(values: np.ndarray, rows: np.ndarray, goes_left: np.ndarray, buffer: np.ndarray) -> int:
    """Do as `divide` does, in operations on arrays."""
    left = goes_left[rows]
    front, back, last = values[left], values[~left], values[-1]
    buffer[: len(back)] = back
    if left[-1]:  # as the loop leaves it
        buffer[len(back)] = last
    values[: len(front)], values[len(front) :] = front, back
    return len(front)


@jit(error_model="numpy", instead=_divide)
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
    for i in range(back):  # not by slices, of which the compiler checks the shapes at length
        values[front + i] = buffer[i]
    return front


def _divide_all(
    local: Targets,
    rows: np.ndarray,
    start: int,
    goes_left: np.ndarray,
    integers: np.ndarray,
    floats: np.ndarray,
) -> int:
    """Do as `divide_all` does, in operations on arrays, those of all outputs at once."""
    stop, left = start + len(rows), goes_left[rows]
    order = np.argsort(~left, kind="stable")
    for values in (local.code, local.value):
        if len(values) > 0:
            values[:, start:stop] = values[:, start:stop][:, order]
    for segment in local.order[:, start:stop]:
        divide(segment, segment, goes_left, integers)
    for line in (local.weight[start:stop], rows):
        line[:] = line[order]
    return int(np.count_nonzero(left))


@jit(error_model="numpy", _nrt=False, instead=_divide_all)
def divide_all(
    local: Targets,
    rows: np.ndarray,
    start: int,
    goes_left: np.ndarray,
    integers: np.ndarray,
    floats: np.ndarray,
) -> int:
    """Divide the rows of a node, and their targets from `start` on; how many go left.

    The last two are memory.
    """
    stop = start + len(rows)
    for o in range(len(local.code)):
        divide(local.code[o, start:stop], rows, goes_left, integers)
    for o in range(len(local.value)):
        divide(local.value[o, start:stop], rows, goes_left, floats)
    for o in range(len(local.order)):
        segment = local.order[o, start:stop]
        divide(segment, segment, goes_left, integers)
    divide(local.weight[start:stop], rows, goes_left, floats)
    return divide(rows, rows, goes_left, integers)


def _mark(
    keys: np.ndarray,
    rows: np.ndarray,
    highest: int,
    missing: int,
    missing_left: bool,
    goes_left: np.ndarray,
) -> bool:
    """Do as `mark` does, in operations on arrays."""
    found = keys[rows]
    goes_left[rows] = found <= highest
    if missing not in found.tolist():
        return False
    goes_left[rows[found == missing]] = missing_left
    return True


@jit(error_model="numpy", _nrt=False, instead=_mark)
def mark(
    keys: np.ndarray,
    rows: np.ndarray,
    highest: int,
    missing: int,
    missing_left: bool,
    goes_left: np.ndarray,
) -> bool:
    """Mark the rows whose keys are not above the highest; whether one has the key of no value."""
    seen = False
    for r in rows:
        goes_left[r] = keys[r] <= highest
        if keys[r] == missing:
            goes_left[r], seen = missing_left, True
    return seen


def _sort_by_bin(
    bins: np.ndarray,
    rows: np.ndarray,
    start: int,
    keys: np.ndarray,
    places: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Do as `sort_by_bin` does, in operations on arrays."""
    found = bins[rows].astype(keys.dtype)  # a byte has no room for TOP
    places[:] = start + np.argsort(found, kind="stable")
    keys[start : start + len(rows)] = np.where(found < MISSING, found, TOP)


@jit(error_model="numpy", instead=_sort_by_bin)
def sort_by_bin(
    bins: np.ndarray,
    rows: np.ndarray,
    start: int,
    keys: np.ndarray,
    places: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Number the rows from `start` on; fill `places` with the numbers in the order of their bins.

    Equal ones keep their order. ``keys[i]`` becomes the key of row i, TOP for a missing value. Few
    rows are inserted one by one, many counted; `counts` is zero before and after.
    """
    n = len(rows)
    if n <= SMALL:
        for i in range(n):
            key, at = np.int32(bins[rows[i]]) << 16 | np.int32(i), i
            while at > 0 and places[at - 1] > key:
                places[at] = places[at - 1]
                at -= 1
            places[at] = key
        for i in range(n):
            b = places[i] >> 16
            places[i] = start + (places[i] & 0xFFFF)
            keys[places[i]] = b if b < MISSING else TOP
        return
    for r in rows:
        counts[bins[r]] += 1
    end = 0
    for b in range(MISSING + 1):
        end += counts[b]
        counts[b] = end - counts[b]
    for i in range(n):
        b = bins[rows[i]]
        places[counts[b]] = start + i
        keys[start + i] = b if b < MISSING else TOP
        counts[b] += 1
    counts[:] = 0
