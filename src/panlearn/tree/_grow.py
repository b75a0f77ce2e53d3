"""Grow a tree, depth first or best first, on presorted or on binned features; compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from panlearn.core.splitmix import next_below
from panlearn.tree._growth import Columns, Growth, Nodes, in_order, make_nodes, make_work
from panlearn.tree._median import median_of
from panlearn.tree._rows import SMALL, divide, sort_by_bin
from panlearn.tree._split import (
    ABSOLUTE_ERROR,
    ENTROPY,
    EPSILON,
    GINI,
    MISSING,
    POISSON,
    TIE,
    TOP,
    Limits,
    Node,
    Targets,
    Work,
    add_row,
    best_bin_split,
    best_split,
    score_of,
    total,
)


@njit(cache=True, nogil=True, error_model="numpy")
def grow(
    columns: Columns,
    rows: np.ndarray,
    targets: Targets,
    n_components: int,
    criterion: int,
    limits: Limits,
    seed: int,
) -> tuple[int, Nodes]:
    """Grow one tree on some rows, all of them if the features are presorted.

    Depth first the nodes are numbered in preorder; best first, with a bound on the leaves, two
    children follow each other, and the node whose split decreases the impurity most is next.
    """
    n, d, most = len(rows), columns.bins.shape[1], limits.max_leaf_nodes
    capacity = 2 * n - 1
    if limits.max_depth < 40:
        capacity = min(capacity, 2 ** (limits.max_depth + 1) - 1)
    if most > 0:
        capacity = min(capacity, 2 * most - 1)
    nodes = make_nodes(capacity, n, n_components)
    growth = Growth(
        columns,
        rows,
        targets,
        in_order(targets, rows),
        criterion,
        limits,
        nodes,
        make_work(n, n_components, len(targets.order), len(targets.weight)),
        np.empty(n_components),
        np.empty(len(targets.weight), np.bool_),
        np.empty(n, np.int32),
        np.empty(n),
        np.arange(d),
        np.array([np.uint64(seed)]),
    )
    count, leaves, unborn, waiting = 0, 1, [(-1, True)], [0]
    waiting.pop()
    while len(unborn) > 0 or (len(waiting) > 0 and leaves < most):
        if len(unborn) == 0:
            best = 0
            for i in range(1, len(waiting)):
                if nodes.decrease[waiting[i]] > nodes.decrease[waiting[best]]:
                    best = i
            at = waiting.pop(best)
            leaves += 1
            unborn.append((at, False))
            unborn.append((at, True))
        parent, is_left = unborn.pop()
        if divide_node(growth, count, parent, is_left):
            if most > 0:
                waiting.append(count)
            else:
                unborn.append((count, False))
                unborn.append((count, True))
        count += 1
    for at in waiting:
        nodes.feature[at], nodes.missing_left[at] = -2, False
    return count, nodes


@njit(cache=True, nogil=True, error_model="numpy")
def place(nodes: Nodes, at: int, parent: int, is_left: bool, sign: int) -> None:
    """Make a node the child of another, which splits on a feature of this sign."""
    nodes.depth[at] = nodes.depth[parent] + 1
    nodes.bounds[at] = nodes.bounds[parent]
    if is_left:
        nodes.left[parent] = at
        nodes.start[at], nodes.stop[at] = nodes.start[parent], nodes.middle[parent]
    else:
        nodes.right[parent] = at
        nodes.start[at], nodes.stop[at] = nodes.middle[parent], nodes.stop[parent]
    if sign != 0:  # neither side may pass the middle of both
        nodes.bounds[at, 1 if is_left == (sign > 0) else 0] = nodes.between[parent]


@njit(cache=True, nogil=True, error_model="numpy")
def divide_node(growth: Growth, at: int, parent: int, is_left: bool) -> bool:
    """Summarise a node, and divide its rows by the best split; False if it stays a leaf."""
    nodes, limits, criterion = growth.nodes, growth.limits, growth.criterion
    targets, local, signs = growth.targets, growth.local, growth.columns.sign
    if parent >= 0:
        sign = signs[nodes.feature[parent]] if len(signs) > 0 else 0
        place(nodes, at, parent, is_left, sign)
    start, stop, sums = nodes.start[at], nodes.stop[at], growth.sums
    weight, impurity = summarise(local, targets, criterion, start, stop, sums)
    nodes.weight[at], nodes.impurity[at], nodes.size[at] = weight, impurity, stop - start
    if criterion == ABSOLUTE_ERROR:
        for o in range(len(sums)):
            rows = targets.order[o, start:stop]
            nodes.value[at, o] = median_of(rows, targets.value[o], targets.weight)[0]
    else:
        nodes.value[at] = sums / weight
    lower, upper = nodes.bounds[at]
    if len(signs) > 0:
        nodes.value[at, 0] = min(max(nodes.value[at, 0], lower), upper)
        if criterion >= GINI:
            nodes.value[at, 1] = 1 - nodes.value[at, 0]
    if is_terminal(nodes.depth[at], stop - start, impurity, limits):
        return False

    n_outputs = max(len(local.code), len(local.value))
    if criterion == ABSOLUTE_ERROR:
        base = -weight * impurity * n_outputs
    else:
        base = score_of(total(sums, criterion), sums, weight, n_outputs, criterion)
    slack = TIE * (weight * impurity * n_outputs + abs(base))
    node = Node(start, sums, weight, slack, lower, upper)
    inside = growth.rows[start:stop]
    best = search(
        growth.columns,
        inside,
        targets,
        local,
        node,
        criterion,
        limits,
        growth.work,
        growth.candidates,
        growth.state,
    )
    score, nodes.feature[at], nodes.low[at], nodes.high[at], nodes.missing_left[at] = best
    # the weight of the root is that of all rows
    nodes.decrease[at] = (score - base) / nodes.weight[0] / n_outputs
    if criterion == ENTROPY:
        nodes.decrease[at] /= np.log(2.0)
    if nodes.feature[at] < 0 or nodes.decrease[at] + EPSILON < limits.min_impurity_decrease:
        nodes.feature[at] = -2
        return False
    divide_rows(growth, at)
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def search(
    columns: Columns,
    inside: np.ndarray,
    targets: Targets,
    local: Targets,
    node: Node,
    criterion: int,
    limits: Limits,
    work: Work,
    candidates: np.ndarray,
    state: np.ndarray,
) -> tuple[float, int, int, int, bool]:
    """The best split of the rows of a node: its score, feature, ends of sides, missing values left.

    `candidates` are the features in any order, and `state` is that of their drawing.
    """
    d, size, start = len(candidates), len(inside), node.start
    stop = start + size
    presorted = columns.order.shape[1] > 0
    medians = criterion == ABSOLUTE_ERROR
    keys, places = work.keys[:size], work.places[:size]
    if medians:
        for o in range(len(targets.order)):
            for i in range(size):
                work.rank[o, targets.order[o, start + i]] = i
    best, feature, low, high, missing_left = -np.inf, -2, -1, -1, False
    split_seen = False
    for drawn in range(d):
        if drawn >= limits.max_features and split_seen:
            break
        if limits.max_features < d:  # the next of a random permutation
            state[0], swap = next_below(state[0], d - drawn)
            swap += drawn
            candidates[drawn], candidates[swap] = candidates[swap], candidates[drawn]
        j = candidates[drawn]
        sign = columns.sign[j] if len(columns.sign) > 0 else 0
        if not presorted and not medians and size > SMALL:
            score, below, above, to_left = best_bin_split(
                columns.bins[:, j], inside, local, node, sign, criterion, limits, work
            )
            if below == -2:
                continue
        else:
            if presorted:
                ranks, segment = columns.ranks[j], columns.order[j, start:stop]
                if ranks[segment[0]] == ranks[segment[-1]]:
                    continue
                for i in range(size):
                    keys[i] = ranks[segment[i]]
                score, place, to_left = best_split(
                    keys, segment, targets, node, sign, criterion, limits, work
                )
            else:
                sort_by_bin(columns.bins[:, j], inside, keys, places, work.counts)
                if keys[0] == keys[-1]:
                    continue
                own = targets if medians else local
                for i in range(size):
                    places[i] = inside[places[i]] if medians else start + places[i]
                score, place, to_left = best_split(
                    keys, places, own, node, sign, criterion, limits, work
                )
            below, above = -1, -1
            if place >= 0:
                last = place + 1 == size or keys[place + 1] == TOP
                below = segment[place] if presorted else keys[place]
                if not last:
                    above = segment[place + 1] if presorted else keys[place + 1]
        split_seen = True
        if score > best + node.slack:
            best, feature, low, high, missing_left = score, j, below, above, to_left
    return best, feature, low, high, missing_left


@njit(cache=True, nogil=True, error_model="numpy")
def divide_rows(growth: Growth, at: int) -> None:
    """Divide the rows of a node, and what goes with them, by its split."""
    nodes, local, columns, goes_left = growth.nodes, growth.local, growth.columns, growth.goes_left
    start, stop, j = nodes.start[at], nodes.stop[at], nodes.feature[at]
    inside, missing_seen = growth.rows[start:stop], False
    presorted = columns.order.shape[1] > 0
    if presorted:
        ranks = columns.ranks[j]
        low = ranks[nodes.low[at]]
        for r in inside:
            goes_left[r] = ranks[r] <= low
            if ranks[r] == TOP:
                goes_left[r], missing_seen = nodes.missing_left[at], True
    else:
        for r in inside:
            goes_left[r] = columns.bins[r, j] <= nodes.low[at]
            if columns.bins[r, j] == MISSING:
                goes_left[r], missing_seen = nodes.missing_left[at], True
    for o in range(len(local.code)):
        divide(local.code[o, start:stop], inside, goes_left, growth.integers)
    for o in range(len(local.value)):
        divide(local.value[o, start:stop], inside, goes_left, growth.floats)
    for o in range(len(local.order)):
        segment = local.order[o, start:stop]
        divide(segment, segment, goes_left, growth.integers)
    divide(local.weight[start:stop], inside, goes_left, growth.floats)
    middle = start + divide(inside, inside, goes_left, growth.integers)
    nodes.middle[at] = middle
    if not missing_seen:  # a value that is first missing later goes where more rows went
        nodes.missing_left[at] = middle - start > stop - middle
    if presorted or len(columns.sign) > 0:
        needed = False
        nodes.between[at] = 0.0
        for side in range(2):
            low, high = (start, middle) if side == 0 else (middle, stop)
            weight, impurity = summarise(
                local, growth.targets, growth.criterion, low, high, growth.work.left
            )
            nodes.between[at] += growth.work.left[0] / weight / 2
            if not is_terminal(nodes.depth[at] + 1, high - low, impurity, growth.limits):
                needed = True
        for i in range(len(columns.order) if presorted and needed else 0):
            segment = columns.order[i, start:stop]
            divide(segment, segment, goes_left, growth.integers)


@njit(cache=True, nogil=True, error_model="numpy")
def summarise(
    local: Targets, targets: Targets, criterion: int, start: int, stop: int, sums: np.ndarray
) -> tuple[float, float]:
    """Fill the sums of a stretch of rows; its weight, and its impurity, a mean over the outputs."""
    sums[:] = 0.0
    weight, impurity, n_outputs = 0.0, 0.0, max(len(local.code), len(local.value))
    for i in range(start, stop):
        add_row(sums, local, i, criterion)
        weight += local.weight[i]
    if criterion == GINI:
        impurity = float(n_outputs)
        for s in sums:
            impurity -= (s / weight) ** 2  # not the sum over weight squared, which may underflow
    elif criterion == ENTROPY:
        for s in sums:
            if s > 0:
                impurity -= s / weight * np.log2(s / weight)
    elif criterion == ABSOLUTE_ERROR:
        for o in range(n_outputs):
            rows = targets.order[o, start:stop]
            impurity += median_of(rows, targets.value[o], targets.weight)[1]
        impurity /= weight
    else:
        for o in range(n_outputs):
            mean = sums[o] / weight
            for i in range(start, stop):
                v, w = local.value[o, i], local.weight[i]
                if criterion != POISSON:
                    impurity += w * (v / w - mean) ** 2
                elif v > 0:
                    impurity += v * np.log(v / w / mean)
        impurity /= weight
    return weight, max(0.0, impurity / n_outputs)


@njit(cache=True, nogil=True, error_model="numpy")
def is_terminal(depth: int, size: int, impurity: float, limits: Limits) -> bool:
    """Whether a node is a leaf before any split of it is looked at."""
    return bool(
        depth >= limits.max_depth
        or size < limits.min_samples_split
        or size < 2 * limits.min_samples_leaf
        or impurity <= EPSILON
    )
