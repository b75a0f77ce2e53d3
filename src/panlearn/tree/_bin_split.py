"""The best split of one node along one feature that is in bins, compiled; `_split` says by what."""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit
from panlearn.tree._bin_walk import walk_bins
from panlearn.tree._split import (
    GINI,
    MISSING,
    Limits,
    Node,
    Targets,
    fill_scores,
    keeps_limits,
)


@jit(error_model="numpy", _nrt=False)
def best_bin_split(
    bins: np.ndarray,
    rows: np.ndarray,
    targets: Targets,
    node: Node,
    sign: int,
    criterion: int,
    limits: Limits,
    sides: np.ndarray,
    histogram: np.ndarray,
    counts: np.ndarray,
    line: np.ndarray,
) -> tuple[float, int, int, bool]:
    """The best of the splits between bins.

    Its score, the last bin on the left, -2 if no two bins differ, the first on the right, -1 if
    there is none, and whether missing values go left. The targets from where the node begins are in
    the order of the rows, which is read from memory more quickly. The other arrays are memory, see
    `Work`.
    """
    n, left, last = len(rows), sides[0], len(node.sums)
    n_outputs = max(len(targets.code), len(targets.value))
    weighed = criterion < GINI or n_outputs > 1  # else the weight is the sum of the sums
    counted = limits.min_samples_leaf > 1
    fill_histogram(bins, rows, node.start, targets, weighed, histogram)
    if counted:
        for r in rows:
            counts[bins[r]] += 1
    lowest, highest, first = 0, MISSING - 1, last if weighed else 0
    while lowest < MISSING and is_empty(histogram, lowest, first):
        lowest += 1
    while highest >= 0 and is_empty(histogram, highest, first):
        highest -= 1
    missing = not is_empty(histogram, MISSING, first)

    best, low, missing_left = -np.inf, -2, False
    if lowest < highest or (missing and highest >= 0):
        low = -1  # two bins differ, though every split may break a limit
    for side in range(2 if missing else 1):
        left_weight, count = 0.0, 0
        for k in range(last):
            left[k] = histogram[MISSING, k] if side == 1 else 0.0
            left_weight += left[k]
        if side == 1:
            count = counts[MISSING]
        if weighed:
            left_weight = histogram[MISSING, last] if side == 1 else 0.0
        # An empty bin repeats the score before it: to skip it would cost a branch that mispredicts.
        # With missing values on the right, all others may go left.
        end = highest + 1 if side == 0 and missing else highest
        walk_bins(
            histogram, lowest, end, weighed, node, n_outputs, criterion, left_weight, sides, line
        )
        fill_scores(line, lowest, end, node.weight, criterion)
        better, place = best_bin(line, lowest, end, best, counts, count, n, sign, node, limits)
        if place >= 0:
            best, low, missing_left = better, place, side == 1
    high = low + 1
    while high < highest and is_empty(histogram, high, first):
        high += 1
    histogram[lowest : highest + 1] = 0.0
    histogram[MISSING] = 0.0
    if counted:
        counts[:] = 0
    return best, low, high if high <= highest else -1, missing_left


def _best_bin(
    line: np.ndarray,
    first: int,
    end: int,
    best: float,
    counts: np.ndarray,
    count: int,
    n: int,
    sign: int,
    node: Node,
    limits: Limits,
) -> tuple[float, int]:
    """Do as `best_bin` does, with numbers of Python."""
    place, least, slack = -1, limits.min_samples_leaf, float(node.slack)
    below = (count + np.cumsum(counts[first:end])).tolist() if least > 1 else []
    needed = best + slack
    for b, score in enumerate(line[4, first:end].tolist(), first):
        if (
            score > needed
            and not (least > 1 and min(below[b - first], n - below[b - first]) < least)
            and keeps_limits(line[2, b], line[3, b], sign, node, limits)
        ):
            best, place, needed = score, b, score + slack
    return best, place


@jit(error_model="numpy", _nrt=False, instead=_best_bin)
def best_bin(
    line: np.ndarray,
    first: int,
    end: int,
    best: float,
    counts: np.ndarray,
    count: int,
    n: int,
    sign: int,
    node: Node,
    limits: Limits,
) -> tuple[float, int]:
    """The first bin of a line with the best score that keeps the limits, -1 if none is better.

    Of the n rows `count` go left before the first bin.
    """
    place, least = -1, limits.min_samples_leaf
    for b in range(first, end):
        count += counts[b]
        if (
            line[4, b] > best + node.slack
            and not (least > 1 and min(count, n - count) < least)
            and keeps_limits(line[2, b], line[3, b], sign, node, limits)
        ):
            best, place = line[4, b], b
    return best, place


def _fill_histogram(
    bins: np.ndarray,
    rows: np.ndarray,
    start: int,
    targets: Targets,
    weighed: bool,
    histogram: np.ndarray,
) -> None:
    """Do as `fill_histogram` does, in operations on arrays."""
    place, inside = bins[rows], slice(start, start + len(rows))
    for code in targets.code:
        np.add.at(histogram, (place, code[inside]), targets.weight[inside])
    for o in range(len(targets.value)):
        np.add.at(histogram[:, o], place, targets.value[o, inside])
    if weighed:
        np.add.at(histogram[:, -1], place, targets.weight[inside])


@jit(error_model="numpy", _nrt=False, instead=_fill_histogram)
def fill_histogram(
    bins: np.ndarray,
    rows: np.ndarray,
    start: int,
    targets: Targets,
    weighed: bool,
    histogram: np.ndarray,
) -> None:
    """Sum what the rows add to each component, by bin, and their weights after it."""
    n, last = len(rows), histogram.shape[1] - 1
    # indices are unsigned, for there is no negative one to look out for
    weight = targets.weight[start : start + n]
    for o in range(len(targets.code)):
        code = targets.code[o, start : start + n]
        for i in range(n):
            histogram[np.uint64(bins[rows[i]]), np.uint64(code[i])] += weight[i]
    for o in range(len(targets.value)):
        value = targets.value[o, start : start + n]
        for i in range(n):
            histogram[np.uint64(bins[rows[i]]), np.uint64(o)] += value[i]
    if weighed:
        for i in range(n):
            histogram[np.uint64(bins[rows[i]]), np.uint64(last)] += weight[i]


@jit(error_model="numpy", _nrt=False)
def is_empty(histogram: np.ndarray, b: int, first: int) -> bool:
    """Whether no row is in a bin: from column `first` on there are weights, which are positive."""
    for k in range(first, histogram.shape[1]):
        if histogram[b, k] != 0:
            return False
    return True
