"""The sums on both sides of every place between bins, compiled; `_split` says what for."""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit
from panlearn.tree._split import GINI, SQUARED_ERROR, Node, finish, total


@jit(error_model="numpy", _nrt=False)
def walk_bins(
    histogram: np.ndarray,
    lowest: int,
    end: int,
    weighed: bool,
    node: Node,
    n_outputs: int,
    criterion: int,
    left_weight: float,
    sides: np.ndarray,
    line: np.ndarray,
) -> None:
    """Move the bins to the left one by one, as `walk_rows` does with rows."""
    left, right, last = sides[0], sides[1], len(node.sums)
    for k in range(last):
        right[k] = node.sums[k] - left[k]
    if last == 1 and criterion == SQUARED_ERROR:  # the usual cases by themselves, without arrays
        walk_sum(histogram, lowest, end, left, right, left_weight, line)
        return
    if last == 2 and criterion == GINI and not weighed:
        walk_two(histogram, lowest, end, left, right, left_weight, line)
        return
    quotients = criterion == GINI or criterion == SQUARED_ERROR
    for b in range(lowest, end):
        left_total, right_total, bin_weight = 0.0, 0.0, 0.0
        for k in range(last):
            in_bin = histogram[b, k]
            bin_weight += in_bin
            left[k] += in_bin
            right[k] -= in_bin
            left_total += left[k] * left[k]
            right_total += right[k] * right[k]
        left_weight += histogram[b, last] if weighed else bin_weight
        line[0, b], line[1, b] = left_total, right_total
        line[2, b], line[3, b] = left_weight, left[0]
        if not quotients:
            line[0, b], line[1, b] = total(left, criterion), total(right, criterion)
            finish(line, b, sides, node, n_outputs, criterion)


def _walk_sum(
    histogram: np.ndarray,
    first: int,
    end: int,
    left: np.ndarray,
    right: np.ndarray,
    left_weight: float,
    line: np.ndarray,
) -> None:
    """Do as `walk_sum` does, in operations on arrays, which add from the left."""
    if first >= end:
        return
    ours, weight = histogram[first:end].T.copy()
    others = ours.copy()
    others[0] = right[0] - ours[0]
    ours[0] += left[0]
    weight[0] += left_weight
    ours, others = np.add.accumulate(ours), np.subtract.accumulate(others)
    line[:4, first:end] = ours * ours, others * others, np.add.accumulate(weight), ours


@jit(error_model="numpy", _nrt=False, instead=_walk_sum)
def walk_sum(
    histogram: np.ndarray,
    first: int,
    end: int,
    left: np.ndarray,
    right: np.ndarray,
    left_weight: float,
    line: np.ndarray,
) -> None:
    """Move bins of one sum and its weight to the left."""
    ours, others = left[0], right[0]
    for b in range(first, end):
        ours += histogram[b, 0]
        others -= histogram[b, 0]
        left_weight += histogram[b, 1]
        line[0, b], line[1, b] = ours * ours, others * others
        line[2, b], line[3, b] = left_weight, ours


def _walk_two(
    histogram: np.ndarray,
    first: int,
    end: int,
    left: np.ndarray,
    right: np.ndarray,
    left_weight: float,
    line: np.ndarray,
) -> None:
    """Do as `walk_two` does, in operations on arrays, which add from the left."""
    if first >= end:
        return
    ours = histogram[first:end, :2].T.copy()
    others, weight = ours.copy(), ours[0] + ours[1]
    others[:, 0] = right - ours[:, 0]
    ours[:, 0] += left
    weight[0] += left_weight
    ours, others = np.add.accumulate(ours, axis=1), np.subtract.accumulate(others, axis=1)
    line[0, first:end] = ours[0] * ours[0] + ours[1] * ours[1]
    line[1, first:end] = others[0] * others[0] + others[1] * others[1]
    line[2, first:end], line[3, first:end] = np.add.accumulate(weight), ours[0]


@jit(error_model="numpy", _nrt=False, instead=_walk_two)
def walk_two(
    histogram: np.ndarray,
    first: int,
    end: int,
    left: np.ndarray,
    right: np.ndarray,
    left_weight: float,
    line: np.ndarray,
) -> None:
    """Move bins of the sums of two classes to the left."""
    ours, ours_2, others, others_2 = left[0], left[1], right[0], right[1]
    for b in range(first, end):
        one, two = histogram[b, 0], histogram[b, 1]
        ours += one
        ours_2 += two
        others -= one
        others_2 -= two
        left_weight += one + two
        line[0, b] = ours * ours + ours_2 * ours_2
        line[1, b] = others * others + others_2 * others_2
        line[2, b], line[3, b] = left_weight, ours
