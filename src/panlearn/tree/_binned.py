"""Grow a tree on binned features: histograms in large nodes, sorting in small ones, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from panlearn.tree._grow import (
    ENTROPY,
    EPSILON,
    TIE,
    Limits,
    Targets,
    best_split,
    draw,
    is_terminal,
    partition,
    score_of,
    summary,
    total,
)

MAX_BINS = 255
# Below this many rows it is quicker to sort them than to walk all bins.
SMALL = 64


def bin_features(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bin of each value, (d, n), and the thresholds between bins, (d, MAX_BINS - 1).

    With few distinct values each has its bin; else the bins hold about equally many rows. A value
    is in bin b or below exactly if it does not exceed threshold b.
    """
    d, n = X.shape[1], len(X)
    codes = np.empty((d, n), dtype=np.uint8)
    thresholds = np.full((d, MAX_BINS - 1), np.inf)
    for j in range(d):
        column = X[:, j].astype(np.float64)
        values = np.sort(column)
        first = np.flatnonzero(np.diff(values, prepend=-np.inf))  # where a new value begins
        if len(first) > MAX_BINS:
            wanted = np.arange(1, MAX_BINS) * n // MAX_BINS
            first = np.unique(np.r_[0, first[np.searchsorted(first, wanted, side="right") - 1]])
        above, below = values[first[1:]], values[first[1:] - 1]
        cuts = below / 2 + above / 2
        cuts = np.where((cuts >= below) & (cuts < above), cuts, below)
        codes[j] = np.searchsorted(cuts, column)
        thresholds[j, : len(cuts)] = cuts
    return codes, thresholds


@njit(cache=True, nogil=True)
def grow_binned(
    codes: np.ndarray,
    thresholds: np.ndarray,
    rows: np.ndarray,
    targets: Targets,
    n_codes: int,
    criterion: int,
    limits: Limits,
    seed: int,
) -> tuple[np.ndarray, ...]:
    """Grow one tree on some rows, depth first, nodes numbered in preorder."""
    d, n = codes.shape[0], len(rows)
    capacity = 2 * n - 1
    if limits.max_depth < 40:
        capacity = min(capacity, 2 ** (limits.max_depth + 1) - 1)
    left, right = np.full(capacity, -1, np.int32), np.full(capacity, -1, np.int32)
    feature, threshold = np.full(capacity, -2, np.int32), np.full(capacity, -2.0)
    impurity, weights = np.empty(capacity), np.empty(capacity)
    samples, values = np.empty(capacity, np.int32), np.empty((capacity, n_codes))

    goes_left, buffer = np.empty(codes.shape[1], np.bool_), np.empty(n, np.int32)
    sums, work = np.empty(n_codes), np.empty((2, n_codes))
    histogram, counts = np.zeros((MAX_BINS, n_codes + 1)), np.zeros(MAX_BINS, np.int64)
    segment = np.empty(SMALL, np.int32)
    candidates = np.arange(d)
    state = np.uint64(seed)
    total_weight = 0.0
    for r in rows:
        total_weight += targets.weight[r]
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
        inside = rows[start:stop]
        weight, impure = summary(inside, targets, criterion, sums)
        weights[node], impurity[node], samples[node] = weight, impure, size
        values[node] = sums / weight
        if is_terminal(depth, size, impure, limits):
            continue

        base = score_of(total(sums, criterion), weight, criterion)
        slack = TIE * (weight * impure + abs(base))
        best, best_feature, best_bin = -np.inf, -1, 0
        split_seen = False
        for drawn in range(d):
            if drawn >= limits.max_features and split_seen:
                break
            if limits.max_features < d:
                state, swap = draw(state, d - drawn)
                swap += drawn
                candidates[drawn], candidates[swap] = candidates[swap], candidates[drawn]
            j = candidates[drawn]
            if size <= SMALL:
                sort_by_code(codes[j], inside, segment)
                if codes[j, segment[0]] == codes[j, segment[size - 1]]:
                    continue
                score, cut, _ = best_split(
                    *(codes[j], segment[:size], targets, sums, weight, criterion, limits),
                    *(slack, work),
                )
                bin = int(cut)
            else:
                score, bin = best_bin_split(
                    *(codes[j], inside, targets, sums, weight, criterion, limits, slack),
                    *(histogram, counts, work),
                )
                if bin < 0:
                    continue
            split_seen = True
            if score > best + slack:
                best, best_feature, best_bin = score, j, bin
        if best_feature < 0:
            continue
        decrease = (best - base) / total_weight
        if criterion == ENTROPY:
            decrease /= np.log(2.0)
        if decrease + EPSILON < limits.min_impurity_decrease:
            continue

        feature[node], threshold[node] = best_feature, thresholds[best_feature, best_bin]
        for r in inside:
            goes_left[r] = codes[best_feature, r] <= best_bin
        middle = start + partition(inside, goes_left, buffer)
        stack.append((middle, stop, depth + 1, node, False))
        stack.append((start, middle, depth + 1, node, True))
    missing_left = np.zeros(count, np.bool_)
    return (
        left[:count].copy(),
        right[:count].copy(),
        feature[:count].copy(),
        threshold[:count].copy(),
        missing_left,
        impurity[:count].copy(),
        samples[:count].copy(),
        weights[:count].copy(),
        values[:count].copy(),
    )


@njit(cache=True, nogil=True)
def sort_by_code(codes: np.ndarray, rows: np.ndarray, segment: np.ndarray) -> None:
    """Insert the few rows of a node into `segment` in the order of their bins."""
    for i in range(len(rows)):
        r, at = rows[i], i
        while at > 0 and codes[segment[at - 1]] > codes[r]:
            segment[at] = segment[at - 1]
            at -= 1
        segment[at] = r


@njit(cache=True, nogil=True)
def best_bin_split(
    codes: np.ndarray,
    rows: np.ndarray,
    targets: Targets,
    sums: np.ndarray,
    weight: float,
    criterion: int,
    limits: Limits,
    slack: float,
    histogram: np.ndarray,
    counts: np.ndarray,
    work: np.ndarray,
) -> tuple[float, int]:
    """The best bin to end the left side with, and its score; -1 if all rows share a bin.

    `histogram` and `counts` are zero before and after.
    """
    n, n_codes = len(rows), len(sums)
    code, value, row_weight = targets
    for r in rows:
        b = codes[r]
        histogram[b, code[r]] += value[r]
        histogram[b, n_codes] += row_weight[r]
        counts[b] += 1
    left, right = work[0], work[1]
    left[:], right[:] = 0.0, sums
    left_weight, count = 0.0, 0
    best, best_bin = -np.inf, -1
    occupied = 0
    for b in range(MAX_BINS):
        if counts[b] == 0:
            continue
        occupied += 1
        for k in range(n_codes):
            left[k] += histogram[b, k]
            right[k] -= histogram[b, k]
            histogram[b, k] = 0.0
        left_weight += histogram[b, n_codes]
        count += counts[b]
        histogram[b, n_codes], counts[b] = 0.0, 0
        if count == n:
            break
        if count < limits.min_samples_leaf or n - count < limits.min_samples_leaf:
            continue
        lightest = min(left_weight, weight - left_weight)
        if lightest <= 0 or lightest < limits.min_weight_leaf:
            continue
        score = score_of(total(left, criterion), left_weight, criterion) + score_of(
            total(right, criterion), weight - left_weight, criterion
        )
        if score > best + slack:
            best, best_bin = score, b
    if occupied > 1 and best_bin < 0:
        return best, 0  # it could be split, but every split breaks a limit
    return best, best_bin
