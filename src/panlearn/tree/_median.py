"""Absolute errors around the weighted medians of growing sets of rows, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from panlearn.core.jit import jit


@jit(error_model="numpy", _nrt=False)
def median_of(rows: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """The weighted median of rows in the order of y / weight, and the sum of distances from it.

    Where half of the weight lies on either side, the middle of the two neighbours.
    """
    half = 0.0
    for r in rows:
        half += weight[r]
    half, below, at = half / 2, 0.0, 0
    while at < len(rows) - 1 and below + weight[rows[at]] < half:
        below += weight[rows[at]]
        at += 1
    r = rows[at]
    median = y[r] / weight[r]
    if below + weight[r] == half and at + 1 < len(rows):
        after = rows[at + 1]
        median = (median + y[after] / weight[after]) / 2
    error = 0.0
    for r in rows:
        error += abs(y[r] - median * weight[r])
    return median, error


@jit(error_model="numpy", _nrt=False)
def fill_errors(
    rows: np.ndarray,
    first: int,
    start: int,
    targets: Any,
    ranks: np.ndarray,
    memory: np.ndarray,
) -> None:
    """Sums of distances from the median for every split of a sequence of rows in two.

    The sequence is the rows, their last `first` ones put to the front. ``memory[0, i]`` is the sum
    of its rows up to i, ``memory[1, i]`` of those from i on; over several outputs they add up.
    ``ranks[o]`` is the place of each row among those of the node by target, which lie in
    ``targets.order`` from `start` on; its last row, and those of `memory` from 2 on, are for work.
    """
    n, sequence = len(rows), ranks[-1]
    memory[:2, :n] = 0.0
    for o in range(len(targets.value)):
        for back in range(2):
            for i in range(n):
                sequence[i] = rows[(n - 1 - i if back else i) - first]  # below 0: from the end
            order = targets.order[o, start : start + n]
            y, weight = targets.value[o], targets.weight
            add_errors(sequence[:n], y, weight, ranks[o], order, memory, back)


@jit(error_model="numpy", _nrt=False)
def add_errors(
    rows: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    rank: np.ndarray,
    order: np.ndarray,
    memory: np.ndarray,
    back: int,
) -> None:
    """Add the errors of the first row, of the first two and so on; from behind if `back` is 1.

    A Fenwick tree over the ranks holds weights and weighted targets: to add a row and to find the
    median of those that are in it takes O(log n) steps each.
    """
    n, mass, moment = len(rows), memory[2], memory[3]
    memory[2:, : n + 1] = 0.0
    highest = 1
    while 2 * highest <= n:
        highest *= 2
    all_mass, all_moment = 0.0, 0.0
    for i in range(n):
        r = rows[i]
        all_mass += weight[r]
        all_moment += y[r]
        at = rank[r] + 1
        while at <= n:
            mass[at] += weight[r]
            moment[at] += y[r]
            at += at & -at
        # the most ranks whose weight is below one half; the next one is a median
        at, below, moment_below, step = 0, 0.0, 0.0, highest
        while step > 0:
            if at + step <= n and below + mass[at + step] < all_mass / 2:
                at += step
                below += mass[at]
                moment_below += moment[at]
            step //= 2
        median = y[order[at]] / weight[order[at]]
        error = median * (2 * below - all_mass) + all_moment - 2 * moment_below
        memory[back, n - 1 - i if back else i] += max(error, 0.0)
