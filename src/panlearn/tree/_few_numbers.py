"""All that grows below a node of few rows, each with one number, in lists of Python.

What `grow_few` runs while nothing is compiled. A forest of numbers has a leaf for every row or
two, so nearly all of its nodes have few rows, and an operation of NumPy takes as long as a dozen
steps of Python. Everything is added in the order of the kernels. The tree and the order of the
rows are written, and not the memory for the work.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import inf, ulp
from typing import Any, NamedTuple

import numpy as np

from panlearn.core.splitmix import next_below
from panlearn.tree._growth import Growth
from panlearn.tree._split import EPSILON, MISSING, TIE, Limits

LEAST = ulp(0.0)  # the lightest weight: every side has one


class Few(NamedTuple):
    """The rows, known by where they stood at first: weight times target, weight, keys by feature.

    The keys of a feature are empty until it is looked at. `bins` and `state` are arrays.
    """

    value: list[float]
    weight: list[float]
    keys: list[list[int]]
    bins: np.ndarray
    candidates: list[int]
    state: np.ndarray
    limits: Limits


class Split(NamedTuple):
    """The best split of a node: score, feature, ends of both sides, where missing values go."""

    score: float = -inf
    feature: int = -2
    low: int = -1
    high: int = -1
    missing_left: bool = False


def grow_in_lists(growth: Growth, count: int, n_unborn: int) -> int:
    """Do as `grow_few` does."""
    parent, is_left = divmod(int(growth.unborn[n_unborn]), 2)
    nodes, limits, local, rows = growth.nodes, growth.limits, growth.local, growth.rows
    start, stop, depth, heaviest, tiny = 0, len(rows), 0, 0.0, float(EPSILON)
    if parent >= 0:
        above = nodes[parent]
        start, stop = (above.start, above.middle) if is_left else (above.middle, above.stop)
        start, stop, depth = int(start), int(stop), int(above.depth) + 1
        heaviest = float(nodes[0].weight)
    bins = growth.columns.bins[rows[start:stop]]
    few = Few(
        local.value[0, start:stop].tolist(),
        local.weight[start:stop].tolist(),
        [[] for _ in growth.candidates],
        bins,
        growth.candidates.tolist(),
        growth.state,
        limits,
    )
    first, means, order = count, [], []
    unborn = [(list(range(stop - start)), start, depth, parent, is_left)]
    while unborn:
        members, begin, depth, parent, is_left = unborn.pop()
        size, node = len(members), nodes[count]
        total, weight, impurity = summary(members, few)
        heaviest = heaviest or weight
        means.append(total / weight)
        node.left, node.right, node.lower, node.upper = -1, -1, -inf, inf
        node.start, node.stop, node.depth, node.waiting = begin, begin + size, depth, False
        node.weight, node.impurity, node.size = weight, impurity, size
        if is_left:
            nodes[parent].left = count
        elif parent >= 0:
            nodes[parent].right = count
        split = Split()
        if not (
            depth >= limits.max_depth
            or size < limits.min_samples_split
            or size < 2 * limits.min_samples_leaf
            or impurity <= tiny
        ):
            base = total * total / weight
            slack = TIE * (weight * impurity + abs(base))
            split = best_of(members, few, total, weight, slack, next_below)
            node.decrease = decrease = (split.score - base) / heaviest
            if decrease + tiny < limits.min_impurity_decrease:
                split = Split()
        _, node.feature, node.low, node.high, node.missing_left = split
        if split.feature < 0:
            order += members
        else:
            left, right, missing_seen = sides(members, few.keys[split.feature], split)
            node.middle = middle = begin + len(left)
            if not missing_seen:  # a value that is first missing later goes where more rows went
                node.missing_left = len(left) > len(right)
            unborn.append((right, middle, depth + 1, count, 0))
            unborn.append((left, begin, depth + 1, count, 1))
        count += 1
    growth.value[first:count, 0], growth.candidates[:] = means, few.candidates
    for line in (rows, local.weight, local.value[0]):
        line[start:stop] = line[start:stop][order]
    return count


def summary(members: list[int], few: Few) -> tuple[float, float, float]:
    """Sum, weight and impurity, as `summarise` gives them."""
    value, weight = few.value, few.weight
    total, whole, squares = 0.0, 0.0, 0.0  # not by `sum`, which corrects its rounding
    for p in members:
        total += value[p]
        whole += weight[p]
    mean = total / whole
    for p in members:
        residual = value[p] / weight[p] - mean
        squares += weight[p] * (residual * residual)
    return total, whole, max(0.0, squares / whole)


def best_of(
    members: list[int],
    few: Few,
    total: float,
    weight: float,
    slack: float,
    draw: Callable[[Any, int], tuple[Any, int]],
) -> Split:
    """The best split along the features that are drawn, as `search` finds it."""
    candidates, d, most = few.candidates, len(few.candidates), few.limits.max_features
    best, drawn, split_seen = Split(), 0, False
    while drawn < d and not (drawn >= most and split_seen):
        if most < d:
            few.state[0], swap = draw(few.state[0], d - drawn)
            swap += drawn
            candidates[drawn], candidates[swap] = candidates[swap], candidates[drawn]
        j = candidates[drawn]
        drawn += 1
        keys = few.keys[j] = few.keys[j] or few.bins[:, j].tolist()
        order = sorted(members, key=keys.__getitem__)
        if keys[order[0]] == keys[order[-1]]:
            continue
        split_seen = True
        score, low, high, to_left = best_place(order, keys, few, total, weight, slack)
        if score > best.score + slack:
            best = Split(score, j, low, high if high < MISSING else -1, to_left)
    return best


def best_place(
    order: list[int], keys: list[int], few: Few, total: float, whole: float, slack: float
) -> tuple[float, int, int, bool]:
    """Walk along rows in the order of their keys, as `best_split` does.

    Gives the score, the keys on both sides of the place, and whether missing values go left.
    """
    value, weight, limits = few.value, few.weight, few.limits
    n, least = len(order), limits.min_samples_leaf
    most, lightest = n - least, limits.min_weight_leaf or LEAST
    valid = n
    while keys[order[valid - 1]] == MISSING:
        valid -= 1
    best, low, high, missing_left = -inf, -1, -1, False
    needed = -inf
    for side in range(2 if valid < n else 1):
        ours, heavy, count = 0.0, 0.0, 0
        if side == 1:
            for p in order[valid:]:
                ours += value[p]
                heavy += weight[p]
            count = n - valid
        others = total - ours
        # with missing values on the right, all others may go left
        for p, after in pairwise(order[: valid + 1 - side]):
            v = value[p]
            ours += v
            others -= v
            heavy += weight[p]
            count += 1
            if keys[p] == keys[after]:
                continue
            rest = whole - heavy
            if lightest <= rest and lightest <= heavy and least <= count <= most:
                score = ours * ours / heavy + others * others / rest
                if score > needed:
                    best, low, high, missing_left = score, keys[p], keys[after], side == 1
                    needed = score + slack
    return best, low, high, missing_left


def sides(members: list[int], keys: list[int], split: Split) -> tuple[list[int], list[int], bool]:
    """The rows on the left and on the right, and whether the value of one is missing."""
    low, left, right, missing_seen = split.low, [], [], False
    for p in members:
        if keys[p] <= low:
            left.append(p)
        elif keys[p] < MISSING:
            right.append(p)
        else:
            missing_seen = True
            (left if split.missing_left else right).append(p)
    return left, right, missing_seen
