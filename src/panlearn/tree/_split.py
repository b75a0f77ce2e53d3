r"""The best split of one node along one feature, compiled.

A row adds to the sum S of one component for each output: of labels, its weight to that of its
class; of numbers, weight times target to that of the output. With :math:`W` the weight of a node,

.. math:: W I = c - \sum_k S_k^2 / W

for the Gini impurity (c = W) and the squared error (c the sum of squares), where c is the same for
a node and its two children together. Entropy and the Poisson deviance have

.. math:: W I = c - \sum_k S_k \log (S_k / W)

A row that changes sides changes one term of the sum. The absolute error is the distance from the
median, for which there are no such sums: see `_median`. The score of a split is :math:`c - W I`,
summed over both sides and all outputs.

A feature is a whole number a row, its key: the rank of a value, or its bin; TOP is missing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from panlearn.tree._median import fill_errors

SQUARED_ERROR, POISSON, ABSOLUTE_ERROR, GINI, ENTROPY = 0, 1, 2, 3, 4
# Bins are numbered from 0 to MISSING - 1.
MISSING = 255
# The key of a missing value, above all others.
TOP = 2**31 - 1
# An impurity below this is rounding.
EPSILON = np.finfo(np.float64).eps
# Scores that differ by less than this part of a node's sum of squares are equal but for rounding.
TIE = 1e-12


class Targets(NamedTuple):
    """What is learned.

    code : (n_outputs, n), the component of each label, or (0, n) for numbers. value : (n_outputs,
    n), weight times target, or (0, n) for labels. weight : (n,). order : (n_outputs, n), the rows
    by target, for the absolute error, else (0, n).
    """

    code: np.ndarray
    value: np.ndarray
    weight: np.ndarray
    order: np.ndarray


class Limits(NamedTuple):
    """When a node is not split, and how many features are looked at."""

    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    max_features: int
    max_leaf_nodes: int
    min_impurity_decrease: float
    min_weight_leaf: float


class Node(NamedTuple):
    """What a search has to know of its node.

    Where its rows begin, sums of the components, weight, when two scores are equal, and between
    what the predictions of its children have to lie.
    """

    start: int
    sums: np.ndarray
    weight: float
    slack: float
    lower: float
    upper: float


class Work(NamedTuple):
    """Memory for a search.

    left, right : (n_components,). histogram : (MISSING + 1, n_components + 1), the sums of each bin
    and its weight; it and counts, (MISSING + 1,), are zero between searches. line : (5, MISSING).
    keys, places : (n,). rank, sequence, fenwick, errors : see `fill_errors`.
    """

    left: np.ndarray
    right: np.ndarray
    histogram: np.ndarray
    counts: np.ndarray
    line: np.ndarray
    keys: np.ndarray
    places: np.ndarray
    rank: np.ndarray
    sequence: np.ndarray
    fenwick: np.ndarray
    errors: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy")
def best_split(
    keys: np.ndarray,
    rows: np.ndarray,
    targets: Targets,
    node: Node,
    sign: int,
    criterion: int,
    limits: Limits,
    work: Work,
) -> tuple[float, int, bool]:
    """The best split of rows in the order of their keys: its score, its place, missing values left.

    The place is that of the last row that goes left, -1 if no split keeps the limits. The first of
    equal ones is taken, rising, missing values first to the right.
    """
    n, left, right = len(rows), work.left, work.right
    n_outputs = max(len(targets.code), len(targets.value))
    valid = n
    while keys[valid - 1] == TOP:
        valid -= 1
    best, place, missing_left = -np.inf, -1, False
    for side in range(2 if valid < n else 1):
        left[:] = 0.0
        left_weight, count = 0.0, 0
        if side == 1:
            for r in rows[valid:]:
                add_row(left, targets, r, criterion)
                left_weight += targets.weight[r]
            count = n - valid
        right[:] = node.sums - left
        left_total, right_total = total(left, criterion), total(right, criterion)
        if criterion == ABSOLUTE_ERROR:
            fill_errors(rows, n - valid if side == 1 else 0, node.start, targets, work)
        # with missing values on the right, all others may go left
        for i in range(valid if side == 0 and valid < n else valid - 1):
            r = rows[i]
            w = targets.weight[r]
            if criterion == GINI:
                for o in range(n_outputs):
                    k = targets.code[o, r]
                    left_total += w * (2 * left[k] + w)
                    right_total -= w * (2 * right[k] - w)
                    left[k] += w
                    right[k] -= w
            elif criterion == ENTROPY:
                for o in range(n_outputs):
                    k = targets.code[o, r]
                    left_total += s_log_s(left[k] + w) - s_log_s(left[k])
                    right_total += s_log_s(right[k] - w) - s_log_s(right[k])
                    left[k] += w
                    right[k] -= w
            else:
                for o in range(n_outputs):
                    left[o] += targets.value[o, r]
                    right[o] -= targets.value[o, r]
            left_weight += w
            count += 1
            if i + 1 < valid and keys[i + 1] == keys[i]:
                continue
            if count < limits.min_samples_leaf or n - count < limits.min_samples_leaf:
                continue
            right_weight = node.weight - left_weight
            lightest = min(left_weight, right_weight)
            if lightest <= 0 or lightest < limits.min_weight_leaf:
                continue
            if criterion == ABSOLUTE_ERROR:
                score = -work.errors[0, count - 1] - work.errors[1, count]
            else:
                if criterion < ABSOLUTE_ERROR:
                    left_total, right_total = total(left, criterion), total(right, criterion)
                score = score_of(left_total, left, left_weight, n_outputs, criterion)
                score += score_of(right_total, right, right_weight, n_outputs, criterion)
            if not score > best + node.slack:
                continue
            if criterion == POISSON and not positive(left, right, node.sums):
                continue
            if sign != 0 and not rises(left[0] / left_weight, right[0] / right_weight, sign, node):
                continue
            best, place, missing_left = score, i, side == 1
    return best, place, missing_left


@njit(cache=True, nogil=True, error_model="numpy")
def best_bin_split(
    bins: np.ndarray,
    rows: np.ndarray,
    targets: Targets,
    node: Node,
    sign: int,
    criterion: int,
    limits: Limits,
    work: Work,
) -> tuple[float, int, int, bool]:
    """The best of the splits between bins.

    Its score, the last bin on the left, -2 if no two bins differ, the first on the right, -1 if
    there is none, and whether missing values go left. The targets from where the node begins are in
    the order of the rows, which is read from memory more quickly.
    """
    n, n_components = len(rows), len(node.sums)
    n_outputs = max(len(targets.code), len(targets.value))
    histogram, left, right = work.histogram, work.left, work.right
    weighed = criterion < GINI or n_outputs > 1  # else the weight is the sum of the sums
    counted = limits.min_samples_leaf > 1
    fill_histogram(bins, rows, node.start, targets, weighed, histogram)
    lowest, highest, missing = occupied(bins, rows, histogram, n_components if weighed else 0)
    if counted:
        for r in rows:
            work.counts[int(bins[r])] += 1

    left_totals, right_totals, left_weights, firsts, scores = work.line
    best, low, missing_left = -np.inf, -2, False
    if lowest < highest or (missing and highest >= 0):
        low = -1  # two bins differ, though every split may break a limit
    for side in range(2 if missing else 1):
        left[:] = 0.0
        left_weight, count = 0.0, 0
        if side == 1:
            left[:] = histogram[MISSING, :n_components]
            left_weight = histogram[MISSING, n_components] if weighed else left.sum()
            count = work.counts[MISSING]
        right[:] = node.sums - left
        # An empty bin repeats the score before it: to skip it would cost a branch that mispredicts.
        # With missing values on the right, all others may go left.
        end = highest + 1 if side == 0 and missing else highest
        for b in range(lowest, end):
            left_total, right_total, bin_weight = 0.0, 0.0, 0.0
            for k in range(n_components):
                in_bin = histogram[b, k]
                bin_weight += in_bin
                left[k] += in_bin
                right[k] -= in_bin
                left_total += term(left[k], criterion)
                right_total += term(right[k], criterion)
            left_weight += histogram[b, n_components] if weighed else bin_weight
            if criterion == POISSON:  # done here, for there is a sum of its own for each output
                left_total = score_of(left_total, left, left_weight, n_outputs, criterion)
                right_weight = node.weight - left_weight
                right_total = score_of(right_total, right, right_weight, n_outputs, criterion)
                if not positive(left, right, node.sums):
                    left_total = -np.inf
            left_totals[b], right_totals[b], left_weights[b] = left_total, right_total, left_weight
            firsts[b] = left[0]
        for b in range(lowest, end):  # by itself, for several divisions go at once
            right_weight = node.weight - left_weights[b]
            if criterion == ENTROPY:
                scores[b] = left_totals[b] - n_outputs * s_log_s(left_weights[b])
                scores[b] += right_totals[b] - n_outputs * s_log_s(right_weight)
            elif criterion == POISSON:
                scores[b] = left_totals[b] + right_totals[b]
            else:
                scores[b] = left_totals[b] / left_weights[b] + right_totals[b] / right_weight
        for b in range(lowest, end):
            count += work.counts[b]
            if not scores[b] > best + node.slack:
                continue
            if counted and min(count, n - count) < limits.min_samples_leaf:
                continue
            right_weight = node.weight - left_weights[b]
            lightest = min(left_weights[b], right_weight)
            if lightest <= 0 or lightest < limits.min_weight_leaf:
                continue
            if sign != 0:
                ours, others = firsts[b] / left_weights[b], node.sums[0] - firsts[b]
                if not rises(ours, others / right_weight, sign, node):
                    continue
            best, low, missing_left = scores[b], b, side == 1
    high = low + 1
    while high < highest and not histogram[high].any():
        high += 1
    histogram[lowest : highest + 1] = 0.0
    histogram[MISSING] = 0.0
    if counted:
        work.counts[:] = 0
    return best, low, high if high <= highest else -1, missing_left


@njit(cache=True, nogil=True, error_model="numpy")
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
    # unsigned, for there is no negative index to look out for
    width, flat = np.uint64(last + 1), histogram.ravel()
    weight = targets.weight[start : start + n]
    for o in range(len(targets.code)):
        code = targets.code[o, start : start + n]
        for i in range(n):
            flat[np.uint64(bins[rows[i]]) * width + np.uint64(code[i])] += weight[i]
    for o in range(len(targets.value)):
        value = targets.value[o, start : start + n]
        for i in range(n):
            flat[np.uint64(bins[rows[i]]) * width + np.uint64(o)] += value[i]
    if weighed:
        for i in range(n):
            flat[np.uint64(bins[rows[i]]) * width + np.uint64(last)] += weight[i]


@njit(cache=True, nogil=True, error_model="numpy")
def occupied(
    bins: np.ndarray, rows: np.ndarray, histogram: np.ndarray, first: int
) -> tuple[int, int, bool]:
    """The lowest and the highest bin in use, and whether the missing one is.

    Of few rows the bins themselves are looked at, of many their sums: from column `first` on these
    are weights, so that what is in use is not zero.
    """
    lowest, highest = MISSING, -1
    if len(rows) < MISSING:
        missing = False
        for r in rows:
            b = int(bins[r])
            if b == MISSING:
                missing = True
            else:
                lowest, highest = min(lowest, b), max(highest, b)
        return lowest, highest, missing
    for b in range(MISSING):
        if histogram[b, first:].any():
            lowest, highest = min(lowest, b), b
    return lowest, highest, bool(histogram[MISSING, first:].any())


@njit(cache=True, nogil=True, error_model="numpy")
def add_row(sums: np.ndarray, targets: Targets, r: int, criterion: int) -> None:
    """Add what a row adds to the sums."""
    if criterion >= GINI:
        for o in range(len(targets.code)):
            sums[targets.code[o, r]] += targets.weight[r]
    else:
        for o in range(len(targets.value)):
            sums[o] += targets.value[o, r]


@njit(cache=True, nogil=True, error_model="numpy")
def positive(left: np.ndarray, right: np.ndarray, sums: np.ndarray) -> bool:
    """Whether each output has a positive mean on both sides, as the Poisson deviance needs."""
    for o in range(len(sums)):
        if min(left[o], right[o]) <= TIE * sums[o]:
            return False
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def rises(left: float, right: float, sign: int, node: Node) -> bool:
    """Whether the predictions rise, or fall if sign is -1, within the bounds of the node."""
    inside = node.lower <= min(left, right) and max(left, right) <= node.upper
    return inside and (left - right) * sign <= 0


@njit(cache=True, nogil=True, error_model="numpy")
def s_log_s(s: float) -> float:
    """Return s log s, zero at zero."""
    return s * np.log(s) if s > 0 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def total(sums: np.ndarray, criterion: int) -> float:
    """Sum of S_k squared, or of S_k log S_k."""
    result = 0.0
    for s in sums:
        result += term(s, criterion)
    return result


@njit(cache=True, nogil=True, error_model="numpy")
def term(s: float, criterion: int) -> float:
    """One term of the total."""
    return s_log_s(s) if criterion == ENTROPY or criterion == POISSON else s * s


@njit(cache=True, nogil=True, error_model="numpy")
def score_of(
    total: float, sums: np.ndarray, weight: float, n_outputs: int, criterion: int
) -> float:
    """What a side adds to the score of a split: minus its weighted impurity, and a constant."""
    if criterion == ENTROPY:
        return total - n_outputs * s_log_s(weight)
    if criterion == POISSON:
        return total - sums.sum() * np.log(weight)
    return total / weight
