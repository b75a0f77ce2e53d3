"""Grow a tree, depth first, on presorted or on binned features; compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from panlearn.core.splitmix import next_below
from panlearn.tree._split import (
    ENTROPY,
    EPSILON,
    MISSING,
    SQUARED_ERROR,
    TIE,
    Limits,
    Node,
    Targets,
    best_bin_split,
    best_split,
    score_of,
    sort_by_bin,
    summary,
    total,
)

# Below this many rows it is quicker to sort them than to walk all bins.
SMALL = 48


class Features(NamedTuple):
    """The features, one a row of each array.

    columns : (d, n), values or bins; what is not at most `top` is missing. order : (d, n), the rows
    by each feature, missing ones last, or (d, 0) for bins. thresholds : (d, MISSING), where a value
    is in bin b or below exactly if it does not exceed threshold b, or (d, 0) for values.
    """

    columns: np.ndarray
    order: np.ndarray
    thresholds: np.ndarray
    top: float


@njit(cache=True, nogil=True)
def grow(
    features: Features,
    rows: np.ndarray,
    targets: Targets,
    n_codes: int,
    criterion: int,
    limits: Limits,
    seed: int,
) -> tuple[np.ndarray, ...]:
    """Grow one tree on some rows, all of them if the features are presorted.

    Nodes are numbered in preorder. `rows` and ``features.order`` are left partitioned by node.
    """
    columns, order, thresholds, top = features
    d, n = len(columns), len(rows)
    presorted = order.shape[1] > 0
    capacity = 2 * n - 1
    if limits.max_depth < 40:
        capacity = min(capacity, 2 ** (limits.max_depth + 1) - 1)
    left, right = np.full(capacity, -1, np.int32), np.full(capacity, -1, np.int32)
    feature, threshold = np.full(capacity, -2, np.int32), np.full(capacity, -2.0)
    missing_left = np.zeros(capacity, np.bool_)
    impurity, weights = np.empty(capacity), np.empty(capacity)
    samples, values = np.empty(capacity, np.int32), np.empty((capacity, n_codes))

    # the targets in the order of `rows`: a node reads its own side by side
    numbers = criterion == SQUARED_ERROR
    code, value = targets.code[rows], targets.value[rows]
    row_weight = targets.weight[rows] if numbers else value
    local = Targets(code, value, row_weight)
    goes_left = np.empty(columns.shape[1], np.bool_)
    integers, floats = np.empty(n, np.int32), np.empty(n)
    sums, work = np.empty(n_codes), np.empty((2, n_codes))
    histogram, counts = np.zeros((MISSING + 1, n_codes + 1)), np.zeros(MISSING + 1, np.int64)
    line = np.empty((4, MISSING))
    few, keys = np.empty(SMALL, columns.dtype), np.empty(SMALL, np.int32)
    places = np.empty(SMALL, np.int32)
    candidates = np.arange(d)
    state = np.uint64(seed)
    total_weight = summary(local, criterion, sums)[0]
    stack = [(0, n, 0, -1, False)]
    count = 0
    while len(stack) > 0:
        start, stop, depth, parent, is_left = stack.pop()
        at = count
        count += 1
        if parent >= 0:
            if is_left:
                left[parent] = at
            else:
                right[parent] = at
        size = stop - start
        inside, own = rows[start:stop], part(local, start, stop)
        weight, impure = summary(own, criterion, sums)
        weights[at], impurity[at], samples[at] = weight, impure, size
        values[at] = sums / weight
        if is_terminal(depth, size, impure, limits):
            continue

        base = score_of(total(sums, criterion), weight, criterion)
        slack = TIE * (weight * impure + abs(base))
        node = Node(sums, weight, slack)
        best, best_feature, best_cut, best_missing = -np.inf, -1, 0.0, False
        split_seen = False
        for drawn in range(d):
            if drawn >= limits.max_features and split_seen:
                break
            if limits.max_features < d:  # the next of a random permutation
                state, swap = next_below(state, d - drawn)
                swap += drawn
                candidates[drawn], candidates[swap] = candidates[swap], candidates[drawn]
            j = candidates[drawn]
            column = columns[j]
            if presorted:
                segment = order[j, start:stop]
                first = column[segment[0]]
                if first == column[segment[-1]] or not first <= top:
                    continue
                score, cut, to_left = best_split(
                    column, top, segment, targets, node, criterion, limits, work
                )
            elif size <= SMALL:
                for i in range(size):
                    few[i] = column[inside[i]]
                if (few[:size] == few[0]).all():
                    continue
                sort_by_bin(few[:size], keys, places)
                score, cut, to_left = best_split(
                    few, top, places[:size], own, node, criterion, limits, work
                )
            else:
                score, cut, to_left = best_bin_split(
                    column, inside, own, node, criterion, limits, work, histogram, counts, line
                )
                if np.isnan(cut):
                    continue
            split_seen = True
            if score > best + slack:
                best, best_feature, best_cut, best_missing = score, j, cut, to_left
        if best_feature < 0:
            continue
        decrease = (best - base) / total_weight
        if criterion == ENTROPY:
            decrease /= np.log(2.0)
        if decrease + EPSILON < limits.min_impurity_decrease:
            continue

        column, missing_seen = columns[best_feature], False
        for r in inside:
            x = column[r]
            if x <= top:
                goes_left[r] = x <= best_cut
            else:
                goes_left[r], missing_seen = best_missing, True
        divide(own.code, inside, goes_left, integers)
        divide(own.value, inside, goes_left, floats)
        if numbers:
            divide(own.weight, inside, goes_left, floats)
        middle = start + divide(inside, inside, goes_left, integers)
        feature[at], threshold[at] = best_feature, best_cut
        if not presorted and best_cut < np.inf:
            threshold[at] = thresholds[best_feature, int(best_cut)]
        # a value that is first missing later goes where more rows went
        missing_left[at] = best_missing if missing_seen else middle - start > stop - middle
        if presorted:
            _, left_impure = summary(part(local, start, middle), criterion, sums)
            _, right_impure = summary(part(local, middle, stop), criterion, sums)
            if not (
                is_terminal(depth + 1, middle - start, left_impure, limits)
                and is_terminal(depth + 1, stop - middle, right_impure, limits)
            ):
                for j in range(d):
                    divide(order[j, start:stop], order[j, start:stop], goes_left, integers)
        stack.append((middle, stop, depth + 1, at, False))
        stack.append((start, middle, depth + 1, at, True))
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
def is_terminal(depth: int, size: int, impurity: float, limits: Limits) -> bool:
    """Whether a node is a leaf before any split of it is looked at."""
    return bool(
        depth >= limits.max_depth
        or size < limits.min_samples_split
        or size < 2 * limits.min_samples_leaf
        or impurity <= EPSILON
    )


@njit(cache=True, nogil=True)
def part(targets: Targets, start: int, stop: int) -> Targets:
    """The targets of a stretch of rows."""
    code, value, weight = targets
    return Targets(code[start:stop], value[start:stop], weight[start:stop])


@njit(cache=True, nogil=True)
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
