r"""Grow a tree on presorted features: the exact search of CART, compiled.

A row r belongs to component ``code[r]`` and adds ``value[r]`` to its sum S. For labels the code is
the class and the value the weight; for numbers there is one component, and the value is weight
times target. With :math:`W` the weight of a node, both criteria are then one,

.. math:: W I = c - \sum_k S_k^2 / W

where c is the same for a node and its two children together: the Gini impurity (c = W) and the
squared error (c the sum of squares). Entropy has :math:`W I = f(W) - \sum_k f(S_k)` with
:math:`f(s) = s \log_2 s`. A row that changes sides changes one term of the sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

SQUARED_ERROR, GINI, ENTROPY = 0, 1, 2
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


@njit(cache=True, nogil=True)
def grow(
    columns: np.ndarray,
    order: np.ndarray,
    targets: Targets,
    n_codes: int,
    criterion: int,
    limits: Limits,
    seed: int,
) -> tuple[np.ndarray, ...]:
    """Grow one tree, depth first, nodes numbered in preorder.

    columns : (d, n), one feature a row. order : (d, n), the rows by each feature, missing ones
    last; it is left partitioned by node, unless the tree is a stump.
    """
    d, n = columns.shape
    capacity = 2 * n - 1
    if limits.max_depth < 40:
        capacity = min(capacity, 2 ** (limits.max_depth + 1) - 1)
    left, right = np.full(capacity, -1, np.int32), np.full(capacity, -1, np.int32)
    feature, threshold = np.full(capacity, -2, np.int32), np.full(capacity, -2.0)
    missing_left = np.zeros(capacity, np.bool_)
    impurity, weights = np.empty(capacity), np.empty(capacity)
    samples, values = np.empty(capacity, np.int32), np.empty((capacity, n_codes))

    rows = np.arange(n).astype(np.int32)
    goes_left, buffer = np.empty(n, np.bool_), np.empty(n, np.int32)
    sums, work = np.empty(n_codes), np.empty((2, n_codes))
    candidates = np.arange(d)
    state = np.uint64(seed)
    total_weight = targets.weight.sum()
    stack = [(0, n, 0, -1, False)]
    count = 0
    while len(stack) > 0:
        start, stop, depth, parent, is_left = stack.pop()
        node = count
        count += 1
        if parent >= 0:
            if is_left:
                left[parent] = node
            else:
                right[parent] = node
        size = stop - start
        weight, impure = summary(rows[start:stop], targets, criterion, sums)
        weights[node], impurity[node], samples[node] = weight, impure, size
        values[node] = sums / weight
        if is_terminal(depth, size, impure, limits):
            continue

        base = score_of(total(sums, criterion), weight, criterion)
        slack = TIE * (weight * impure + abs(base))
        best, best_feature, best_threshold, best_missing = -np.inf, -1, 0.0, False
        split_seen = False
        for drawn in range(d):
            if drawn >= limits.max_features and split_seen:
                break
            if limits.max_features < d:  # the next of a random permutation
                state, swap = draw(state, d - drawn)
                swap += drawn
                candidates[drawn], candidates[swap] = candidates[swap], candidates[drawn]
            j = candidates[drawn]
            column, segment = columns[j], order[j, start:stop]
            if column[segment[0]] == column[segment[-1]] or np.isnan(column[segment[0]]):
                continue
            split_seen = True
            score, cut, to_left = best_split(
                column, segment, targets, sums, weight, criterion, limits, slack, work
            )
            if score > best + slack:
                best, best_feature, best_threshold, best_missing = score, j, cut, to_left
        if best_feature < 0:
            continue
        decrease = (best - base) / total_weight
        if criterion == ENTROPY:
            decrease /= np.log(2.0)
        if decrease + EPSILON < limits.min_impurity_decrease:
            continue

        feature[node], threshold[node] = best_feature, best_threshold
        missing_left[node] = best_missing
        column = columns[best_feature]
        for i in range(start, stop):
            x = column[rows[i]]
            goes_left[rows[i]] = best_missing if np.isnan(x) else x <= best_threshold
        middle = start + partition(rows[start:stop], goes_left, buffer)
        _, left_impure = summary(rows[start:middle], targets, criterion, sums)
        _, right_impure = summary(rows[middle:stop], targets, criterion, sums)
        if not (
            is_terminal(depth + 1, middle - start, left_impure, limits)
            and is_terminal(depth + 1, stop - middle, right_impure, limits)
        ):
            for j in range(d):
                partition(order[j, start:stop], goes_left, buffer)
        stack.append((middle, stop, depth + 1, node, False))
        stack.append((start, middle, depth + 1, node, True))
    return (
        left[:count].copy(),
        right[:count].copy(),
        feature[:count].copy(),
        threshold[:count].copy(),
        missing_left[:count].copy(),
        impurity[:count].copy(),
        samples[:count].copy(),
        weights[:count].copy(),
        values[:count].copy(),
    )


@njit(cache=True, nogil=True)
def best_split(
    column: np.ndarray,
    rows: np.ndarray,
    targets: Targets,
    sums: np.ndarray,
    weight: float,
    criterion: int,
    limits: Limits,
    slack: float,
    work: np.ndarray,
) -> tuple[float, float, bool]:
    """The best threshold of one feature: its score, itself, and whether missing values go left.

    The first of equal ones is taken, thresholds rising, missing values first to the right.
    """
    n, n_codes = len(rows), len(sums)
    code, value, row_weight = targets
    left, right = work[0], work[1]
    valid = n
    while np.isnan(column[rows[valid - 1]]):
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
        right[:] = sums - left
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
            lightest = min(left_weight, weight - left_weight)
            if lightest <= 0 or lightest < limits.min_weight_leaf:
                continue
            score = score_of(left_total, left_weight, criterion) + score_of(
                right_total, weight - left_weight, criterion
            )
            if score > best + slack:
                best = score
                missing_left = side == 1 if valid < n else count > n - count
                threshold = np.inf
                if i + 1 < valid:
                    above = column[rows[i + 1]]
                    threshold = np.float64(here) / 2 + np.float64(above) / 2
                    if not here <= threshold < above:
                        threshold = np.float64(here)
    return best, threshold, missing_left


@njit(cache=True, nogil=True)
def summary(
    rows: np.ndarray, targets: Targets, criterion: int, sums: np.ndarray
) -> tuple[float, float]:
    """Fill the sums of a node; its weight and its impurity."""
    code, value, row_weight = targets
    sums[:] = 0.0
    weight = 0.0
    for r in rows:
        sums[code[r]] += value[r]
        weight += row_weight[r]
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
    for r in rows:
        squares += row_weight[r] * (value[r] / row_weight[r] - mean) ** 2
    return weight, squares / weight


@njit(cache=True, nogil=True)
def is_terminal(depth: int, size: int, impurity: float, limits: Limits) -> bool:
    """Whether a node is a leaf before any split of it is looked at."""
    return bool(
        depth >= limits.max_depth
        or size < limits.min_samples_split
        or size < 2 * limits.min_samples_leaf
        or impurity <= EPSILON
    )


@njit(cache=True, nogil=True)
def s_log_s(s: float) -> float:
    """Return s log s, zero at zero."""
    return s * np.log(s) if s > 0 else 0.0


@njit(cache=True, nogil=True)
def total(sums: np.ndarray, criterion: int) -> float:
    """Sum of S_k squared, or of S_k log S_k."""
    result = 0.0
    for s in sums:
        result += s_log_s(s) if criterion == ENTROPY else s * s
    return result


@njit(cache=True, nogil=True)
def score_of(total: float, weight: float, criterion: int) -> float:
    """What a node adds to the score of a split: minus its weighted impurity, and a constant."""
    return total - s_log_s(weight) if criterion == ENTROPY else total / weight


@njit(cache=True, nogil=True)
def partition(rows: np.ndarray, goes_left: np.ndarray, buffer: np.ndarray) -> int:
    """Move the rows that go left to the front, both sides in their order; how many they are."""
    front, back = 0, 0
    for i in range(len(rows)):
        r = rows[i]
        # both are written and one pointer moves: no branch to mispredict
        rows[front] = r
        buffer[back] = r
        left = int(goes_left[r])
        front += left
        back += 1 - left
    rows[front:] = buffer[:back]
    return front


@njit(cache=True, nogil=True)
def draw(state: np.uint64, bound: int) -> tuple[np.uint64, int]:
    """One step of the generator splitmix64: its new state, and a whole number below `bound`."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return state, int(z % np.uint64(bound))


@njit(cache=True, nogil=True)
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
