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

import math
from typing import NamedTuple

import numpy as np

from panlearn.core.jit import jit
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

    sides : (2, n_components), sums. histogram : (MISSING + 1, n_components + 1), the sums of each
    bin and its weight; it and counts, (MISSING + 1,), are zero between searches. line : (5, n), for
    each place between rows, or bins, the totals on the left and on the right, the weight and the
    first sum on the left, and the score. keys : (n_rows,). places : (n,). ranks, errors : see
    `fill_errors`.
    """

    sides: np.ndarray
    histogram: np.ndarray
    counts: np.ndarray
    line: np.ndarray
    keys: np.ndarray
    places: np.ndarray
    ranks: np.ndarray
    errors: np.ndarray


@jit(error_model="numpy", _nrt=False)
def best_split(
    keys: np.ndarray,
    rows: np.ndarray,
    targets: Targets,
    node: Node,
    sign: int,
    criterion: int,
    limits: Limits,
    sides: np.ndarray,
    line: np.ndarray,
    ranks: np.ndarray,
    errors: np.ndarray,
) -> tuple[float, int, bool]:
    """The best split of rows in the order of their keys: its score, its place, missing values left.

    The place is that of the last row that goes left, -1 if no split keeps the limits. The first of
    equal ones is taken, rising, missing values first to the right. The last four are memory, see
    `Work`.
    """
    n, left = len(rows), sides[0]
    valid = n
    while keys[rows[valid - 1]] == TOP:
        valid -= 1
    best, place, missing_left = -np.inf, -1, False
    for side in range(2 if valid < n else 1):
        for k in range(len(left)):
            left[k] = 0.0
        left_weight, count = 0.0, 0
        if side == 1:
            for r in rows[valid:]:
                add_row(left, targets, r, criterion)
                left_weight += targets.weight[r]
            count = n - valid
        # with missing values on the right, all others may go left
        end = valid if side == 0 and valid < n else valid - 1
        if criterion == ABSOLUTE_ERROR:
            fill_errors(rows, count, node.start, targets, ranks, errors)
        walk_rows(rows[:end], targets, node, criterion, left_weight, sides, line)
        if criterion == ABSOLUTE_ERROR:
            for i in range(end):
                line[0, i] = -errors[0, count + i]
                line[1, i] = -errors[1, count + i + 1]
        fill_scores(line, 0, end, node.weight, criterion)
        for i in range(end):
            if (
                line[4, i] > best + node.slack
                and keys[rows[i]] != keys[rows[i + 1]]
                and min(count + i + 1, n - count - i - 1) >= limits.min_samples_leaf
                and keeps_limits(line[2, i], line[3, i], sign, node, limits)
            ):
                best, place, missing_left = line[4, i], i, side == 1
    return best, place, missing_left


@jit(error_model="numpy", _nrt=False)
def walk_rows(
    rows: np.ndarray,
    targets: Targets,
    node: Node,
    criterion: int,
    left_weight: float,
    sides: np.ndarray,
    line: np.ndarray,
) -> None:
    """Move the rows to the left one by one, and fill the line but for the scores.

    The left side begins with the sums and the weight that are given.
    """
    left, right = sides[0], sides[1]
    for k in range(len(left)):
        right[k] = node.sums[k] - left[k]
    if len(left) == 1 and criterion == SQUARED_ERROR:  # the usual cases by themselves
        ours, others = left[0], right[0]
        for i in range(len(rows)):
            v = targets.value[0, rows[i]]
            ours += v
            others -= v
            left_weight += targets.weight[rows[i]]
            line[0, i], line[1, i] = ours * ours, others * others
            line[2, i], line[3, i] = left_weight, ours
        return
    left_total, right_total = total(left, criterion), total(right, criterion)
    n_outputs = max(len(targets.code), len(targets.value))
    if n_outputs == 1 and criterion == GINI:
        for i in range(len(rows)):
            k, w = targets.code[0, rows[i]], targets.weight[rows[i]]
            left_total += w * (2 * left[k] + w)
            right_total -= w * (2 * right[k] - w)
            left[k] += w
            right[k] -= w
            left_weight += w
            line[0, i], line[1, i] = left_total, right_total
            line[2, i], line[3, i] = left_weight, left[0]
        return
    for i in range(len(rows)):
        r = rows[i]
        w = targets.weight[r]
        left_weight += w
        for o in range(n_outputs):
            if criterion < GINI:
                left[o] += targets.value[o, r]
                right[o] -= targets.value[o, r]
                continue
            k = targets.code[o, r]
            if criterion == GINI:
                left_total += w * (2 * left[k] + w)
                right_total -= w * (2 * right[k] - w)
            else:
                left_total += s_log_s(left[k] + w) - s_log_s(left[k])
                right_total += s_log_s(right[k] - w) - s_log_s(right[k])
            left[k] += w
            right[k] -= w
        if criterion < ABSOLUTE_ERROR:
            left_total, right_total = total(left, criterion), total(right, criterion)
        line[0, i], line[1, i] = left_total, right_total
        line[2, i], line[3, i] = left_weight, left[0]
        if criterion == POISSON or criterion == ENTROPY:
            finish(line, i, sides, node, n_outputs, criterion)


@jit(error_model="numpy", _nrt=False)
def finish(
    line: np.ndarray, i: int, sides: np.ndarray, node: Node, n_outputs: int, criterion: int
) -> None:
    """Make the totals of a place what its sides add to the score, as these are no quotients."""
    left, right = sides[0], sides[1]
    line[0, i] = score_of(line[0, i], left, line[2, i], n_outputs, criterion)
    line[1, i] = score_of(line[1, i], right, node.weight - line[2, i], n_outputs, criterion)
    if criterion == POISSON:  # each output needs a positive mean on both sides
        for o in range(len(left)):
            if min(left[o], right[o]) <= TIE * node.sums[o]:
                line[0, i] = -np.inf


def _fill_scores(line: np.ndarray, first: int, end: int, weight: float, criterion: int) -> None:
    """Do as `fill_scores` does, in operations on arrays."""
    left, right, left_weight = line[0, first:end], line[1, first:end], line[2, first:end]
    if criterion == GINI or criterion == SQUARED_ERROR:
        left, right = left / left_weight, right / (weight - left_weight)
    line[4, first:end] = left + right


@jit(error_model="numpy", _nrt=False, instead=_fill_scores)
def fill_scores(line: np.ndarray, first: int, end: int, weight: float, criterion: int) -> None:
    """The scores of all places of a line, by themselves, for several divisions go at once."""
    if criterion == GINI or criterion == SQUARED_ERROR:
        for i in range(first, end):
            line[4, i] = line[0, i] / line[2, i] + line[1, i] / (weight - line[2, i])
    else:
        for i in range(first, end):
            line[4, i] = line[0, i] + line[1, i]


@jit(error_model="numpy", _nrt=False)
def keeps_limits(
    left_weight: float, left_first: float, sign: int, node: Node, limits: Limits
) -> bool:
    """Whether both sides are heavy enough, and the predictions rise as the sign says.

    They have to fall if it is -1, and to lie within the bounds of the node.
    """
    right_weight = node.weight - left_weight
    lightest = min(left_weight, right_weight)
    if lightest <= 0 or lightest < limits.min_weight_leaf:
        return False
    if sign == 0:
        return True
    left, right = left_first / left_weight, (node.sums[0] - left_first) / right_weight
    inside = node.lower <= min(left, right) and max(left, right) <= node.upper
    return inside and (left - right) * sign <= 0


@jit(error_model="numpy", _nrt=False)
def add_row(sums: np.ndarray, targets: Targets, r: int, criterion: int) -> None:
    """Add what a row adds to the sums."""
    if criterion >= GINI:
        for o in range(len(targets.code)):
            sums[targets.code[o, r]] += targets.weight[r]
    else:
        for o in range(len(targets.value)):
            sums[o] += targets.value[o, r]


@jit(error_model="numpy", _nrt=False)
def s_log_s(s: float) -> float:
    """Return s log s, zero at zero."""
    return s * math.log(s) if s > 0 else 0.0


@jit(error_model="numpy", _nrt=False)
def total(sums: np.ndarray, criterion: int) -> float:
    """Sum of S_k squared, or of S_k log S_k."""
    result = 0.0
    for s in sums:
        result += term(s, criterion)
    return result


@jit(error_model="numpy", _nrt=False)
def term(s: float, criterion: int) -> float:
    """One term of the total."""
    return s_log_s(s) if criterion == ENTROPY or criterion == POISSON else s * s


@jit(error_model="numpy", _nrt=False)
def score_of(
    total: float, sums: np.ndarray, weight: float, n_outputs: int, criterion: int
) -> float:
    """What a side adds to the score of a split: minus its weighted impurity, and a constant."""
    if criterion == ENTROPY:
        return total - n_outputs * s_log_s(weight)
    if criterion == POISSON and weight > 0:
        everything = 0.0
        for s in sums:
            everything += s
        return total - everything * math.log(weight)
    return total / weight
