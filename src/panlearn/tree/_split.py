r"""The best split of one node along one feature, compiled.

A row r belongs to component ``code[r]`` and adds ``value[r]`` to its sum S. For labels the code is
the class and the value the weight; for numbers there is one component, and the value is weight
times target. With :math:`W` the weight of a node, both criteria are then one,

.. math:: W I = c - \sum_k S_k^2 / W

where c is the same for a node and its two children together: the Gini impurity (c = W) and the
squared error (c the sum of squares). Entropy has :math:`W I = f(W) - \sum_k f(S_k)` with
:math:`f(s) = s \log_2 s`. A row that changes sides changes one term of the sum.

A feature is either its values, where NaN is missing, or the numbers of their bins, where MISSING
is; in both, what is not at most `top` is missing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

SQUARED_ERROR, GINI, ENTROPY = 0, 1, 2
# Bins are numbered from 0 to MISSING - 1.
MISSING = 255
# An impurity below this is rounding.
EPSILON = np.finfo(np.float64).eps
# Scores that differ by less than this part of a node's sum of squares are equal but for rounding.
TIE = 1e-12


class Targets(NamedTuple):
    """What is learned, by row: component, what it adds to the component's sum, and weight."""

    code: np.ndarray
    value: np.ndarray
    weight: np.ndarray


class Limits(NamedTuple):
    """When a node is not split, and how many features are looked at."""

    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    max_features: int
    min_impurity_decrease: float
    min_weight_leaf: float


class Node(NamedTuple):
    """What a search has to know of its node: sums, weight, and when two scores are equal."""

    sums: np.ndarray
    weight: float
    slack: float


@njit(cache=True, nogil=True)
def best_split(
    column: np.ndarray,
    top: float,
    rows: np.ndarray,
    targets: Targets,
    node: Node,
    criterion: int,
    limits: Limits,
    work: np.ndarray,
) -> tuple[float, float, bool]:
    """The best threshold of one feature: its score, itself, and whether missing values go left.

    The rows are in the order of the feature, missing ones last. The first of equal thresholds is
    taken, rising, missing values first to the right. `work` has room for the sums of both sides.
    """
    n, n_codes = len(rows), len(node.sums)
    code, value, row_weight = targets
    left, right = work[0], work[1]
    valid = n
    while not column[rows[valid - 1]] <= top:
        valid -= 1
    best, threshold, missing_left = -np.inf, 0.0, False
    for side in range(2 if valid < n else 1):
        left[:] = 0.0
        left_weight, count = 0.0, 0
        if side == 1:
            for r in rows[valid:]:
                left[code[r]] += value[r]
                left_weight += row_weight[r]
            count = n - valid
        right[:] = node.sums - left
        left_total, right_total = total(left, criterion), total(right, criterion)
        # with missing values on the right, all others may go left
        for i in range(valid if side == 0 and valid < n else valid - 1):
            r = rows[i]
            k, v = code[r], value[r]
            if n_codes == 1:
                left[0] += v
                right[0] -= v
                left_total, right_total = left[0] * left[0], right[0] * right[0]
            elif criterion == GINI:
                left_total += v * (2 * left[k] + v)
                right_total -= v * (2 * right[k] - v)
                left[k] += v
                right[k] -= v
            else:
                left_total += s_log_s(left[k] + v) - s_log_s(left[k])
                right_total += s_log_s(right[k] - v) - s_log_s(right[k])
                left[k] += v
                right[k] -= v
            left_weight += row_weight[r]
            count += 1
            here = column[r]
            if i + 1 < valid and column[rows[i + 1]] == here:
                continue
            if count < limits.min_samples_leaf or n - count < limits.min_samples_leaf:
                continue
            lightest = min(left_weight, node.weight - left_weight)
            if lightest <= 0 or lightest < limits.min_weight_leaf:
                continue
            score = score_of(left_total, left_weight, criterion) + score_of(
                right_total, node.weight - left_weight, criterion
            )
            if score > best + node.slack:
                best, missing_left = score, side == 1
                threshold = midpoint(here, column[rows[i + 1]]) if i + 1 < valid else np.inf
    return best, threshold, missing_left


@njit(cache=True, nogil=True, error_model="numpy")
def best_bin_split(
    bins: np.ndarray,
    rows: np.ndarray,
    targets: Targets,
    node: Node,
    criterion: int,
    limits: Limits,
    work: np.ndarray,
    histogram: np.ndarray,
    counts: np.ndarray,
    line: np.ndarray,
) -> tuple[float, float, bool]:
    """The best of the thresholds between bins, as `best_split` gives it; NaN if no two bins differ.

    histogram : (MISSING + 1, n_codes + 1), the sums of each bin and, for numbers, its weight; for
    labels that is the sum of the sums. It and counts are zero before and after. line : (4, MISSING)
    is for work. The targets are in the order of the rows, which is read from memory more quickly.
    """
    n, n_codes = len(rows), len(node.sums)
    code, value, row_weight = targets
    numbers, counted = criterion == SQUARED_ERROR, limits.min_samples_leaf > 1
    width, flat = np.uint64(n_codes + 1), histogram.ravel()
    for i in range(n):  # unsigned, for there is no negative index to look out for
        flat[np.uint64(bins[rows[i]]) * width + np.uint64(code[i])] += value[i]
    if numbers:
        for i in range(n):
            flat[np.uint64(bins[rows[i]]) * width + np.uint64(1)] += row_weight[i]
    lowest, highest, missing = occupied(bins, rows, histogram, numbers)
    if counted:
        for r in rows:
            counts[int(bins[r])] += 1

    left, right = work[0], work[1]
    best, threshold, missing_left = -np.inf, np.nan, False
    if lowest < highest or (missing and highest >= 0):
        threshold = 0.0  # two bins differ, though every split may break a limit
    for side in range(2 if missing else 1):
        left[:] = 0.0
        left_weight, count = 0.0, 0
        if side == 1:
            left[:] = histogram[MISSING, :n_codes]
            left_weight = histogram[MISSING, 1] if numbers else left.sum()
            count = counts[MISSING]
        right[:] = node.sums - left
        # An empty bin repeats the score before it: to skip it would cost a branch that mispredicts.
        # With missing values on the right, all others may go left.
        end = highest + 1 if side == 0 and missing else highest
        left_totals, right_totals, left_weights, scores = line
        for b in range(lowest, end):
            left_total, right_total, bin_weight = 0.0, 0.0, 0.0
            for k in range(n_codes):
                in_bin = histogram[b, k]
                bin_weight += in_bin
                left[k] += in_bin
                right[k] -= in_bin
                left_total += term(left[k], criterion)
                right_total += term(right[k], criterion)
            left_weight += histogram[b, 1] if numbers else bin_weight
            left_totals[b], right_totals[b], left_weights[b] = left_total, right_total, left_weight
        for b in range(lowest, end):  # by itself, for several divisions go at once
            right_weight = node.weight - left_weights[b]
            if criterion == ENTROPY:
                scores[b] = left_totals[b] - s_log_s(left_weights[b])
                scores[b] += right_totals[b] - s_log_s(right_weight)
            else:
                scores[b] = left_totals[b] / left_weights[b] + right_totals[b] / right_weight
        for b in range(lowest, end):
            count += counts[b]
            if not scores[b] > best + node.slack:
                continue
            if counted and min(count, n - count) < limits.min_samples_leaf:
                continue
            lightest = min(left_weights[b], node.weight - left_weights[b])
            if lightest > 0 and lightest >= limits.min_weight_leaf:
                best, missing_left, threshold = scores[b], side == 1, b
    if best > -np.inf:
        above = int(threshold) + 1
        while above < highest and not histogram[above].any():
            above += 1
        threshold = midpoint(threshold, above) if above <= highest else np.inf
    histogram[lowest : highest + 1] = 0.0
    histogram[MISSING] = 0.0
    if counted:
        counts[:] = 0
    return best, threshold, missing_left


@njit(cache=True, nogil=True)
def occupied(
    bins: np.ndarray, rows: np.ndarray, histogram: np.ndarray, numbers: bool
) -> tuple[int, int, bool]:
    """The lowest and the highest bin in use, and whether the missing one is.

    Of few rows the bins themselves are looked at, of many their sums: weights, so that what is in
    use is not zero.
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
    first = 1 if numbers else 0
    for b in range(MISSING):
        if histogram[b, first:].any():
            lowest, highest = min(lowest, b), b
    return lowest, highest, bool(histogram[MISSING, first:].any())


@njit(cache=True, nogil=True)
def sort_by_bin(bins: np.ndarray, keys: np.ndarray, rows: np.ndarray) -> None:
    """Fill `rows` with the places of a few bins in their order; `keys` is for work."""
    for i in range(len(bins)):
        key, at = np.int32(bins[i]) << 16 | np.int32(i), i
        while at > 0 and keys[at - 1] > key:
            keys[at] = keys[at - 1]
            at -= 1
        keys[at] = key
    for i in range(len(bins)):
        rows[i] = keys[i] & 0xFFFF


@njit(cache=True, nogil=True)
def midpoint(below: float, above: float) -> float:
    """A number that is at least `below` and less than `above`, half way if the floats allow it."""
    middle = np.float64(below) / 2 + np.float64(above) / 2
    return middle if below <= middle < above else np.float64(below)


@njit(cache=True, nogil=True)
def summary(targets: Targets, criterion: int, sums: np.ndarray) -> tuple[float, float]:
    """Fill the sums of a node; its weight and its impurity."""
    code, value, row_weight = targets
    sums[:] = 0.0
    weight = 0.0
    for i in range(len(code)):
        sums[code[i]] += value[i]
        weight += row_weight[i]
    if criterion == GINI:
        gini = 1.0
        for s in sums:
            gini -= (s / weight) ** 2  # not the sum over weight squared, which may underflow
        return weight, max(0.0, gini)
    if criterion == ENTROPY:
        entropy = 0.0
        for s in sums:
            if s > 0:
                entropy -= s / weight * np.log2(s / weight)
        return weight, entropy
    mean, squares = sums[0] / weight, 0.0
    for i in range(len(code)):
        squares += row_weight[i] * (value[i] / row_weight[i] - mean) ** 2
    return weight, squares / weight


@njit(cache=True, nogil=True)
def s_log_s(s: float) -> float:
    """Return s log s, zero at zero."""
    return s * np.log(s) if s > 0 else 0.0


@njit(cache=True, nogil=True)
def total(sums: np.ndarray, criterion: int) -> float:
    """Sum of S_k squared, or of S_k log S_k."""
    result = 0.0
    for s in sums:
        result += term(s, criterion)
    return result


@njit(cache=True, nogil=True)
def term(s: float, criterion: int) -> float:
    """One term of the total."""
    return s_log_s(s) if criterion == ENTROPY else s * s


@njit(cache=True, nogil=True)
def score_of(total: float, weight: float, criterion: int) -> float:
    """What a node adds to the score of a split: minus its weighted impurity, and a constant."""
    return total - s_log_s(weight) if criterion == ENTROPY else total / weight
