"""Grow a tree, depth first or best first, on presorted or on binned features; compiled."""

from __future__ import annotations

import math

import numpy as np

from panlearn.core.jit import jit
from panlearn.tree._few_numbers import grow_in_lists
from panlearn.tree._growth import Growth
from panlearn.tree._median import median_of
from panlearn.tree._node_search import search
from panlearn.tree._rows import SMALL, divide, divide_all, mark
from panlearn.tree._split import (
    ABSOLUTE_ERROR,
    ENTROPY,
    EPSILON,
    GINI,
    MISSING,
    POISSON,
    SQUARED_ERROR,
    TIE,
    TOP,
    Node,
    score_of,
    total,
)
from panlearn.tree._summary import is_terminal, summarise

LOG_2 = math.log(2.0)


def is_of_numbers(
    criterion: int, n_components: int, n_rows: int, n_signs: int, max_leaf_nodes: int
) -> bool:
    """Whether a tree has nodes for `grow_few`: in bins of so many rows, one number each."""
    return (
        criterion == SQUARED_ERROR
        and n_components == 1
        and n_rows > 0
        and n_signs == 0
        and max_leaf_nodes == 0
    )


_is_of_numbers = jit(is_of_numbers)  # for kernels


def microseconds(n: int, d: int, criterion: int, of_numbers: bool) -> float:
    """About what Python takes to grow a tree on n rows, looking at d features a node."""
    if of_numbers:
        return n * (40 + 10 * d)
    levels = math.log2(n + 1)  # as if it were balanced
    each = {SQUARED_ERROR: 7, POISSON: 15, ABSOLUTE_ERROR: 20 * levels, GINI: 4, ENTROPY: 6}
    return n * d * levels * each[criterion]


def _plain(growth: Growth) -> float:
    columns, criterion, limits = growth.columns, growth.criterion, growth.limits
    of_numbers = is_of_numbers(
        criterion, len(growth.sums), len(columns.bins), len(columns.sign), limits.max_leaf_nodes
    )
    d = min(limits.max_features, len(growth.candidates))
    return microseconds(len(growth.rows), d, criterion, of_numbers)


@jit(error_model="numpy", _nrt=False, plain=_plain, patience=4.0)
def grow(growth: Growth) -> int:
    """Fill the nodes of a tree; how many they are.

    Depth first they are numbered in preorder; best first, with a bound on the leaves, two children
    follow each other, and the node whose split decreases the impurity most is next.
    """
    nodes, most, columns = growth.nodes, growth.limits.max_leaf_nodes, growth.columns
    of_numbers = _is_of_numbers(
        growth.criterion, len(growth.sums), len(columns.bins), len(columns.sign), most
    )
    # twice the parent, and one more for a left child; the root has no parent
    unborn = growth.unborn
    unborn[0] = -2
    count, leaves, n_unborn = 0, 1, 1
    while n_unborn > 0 or leaves < most:
        if n_unborn == 0:
            at = -1
            for i in range(count):
                if nodes[i].waiting and (at < 0 or nodes[i].decrease > nodes[at].decrease):
                    at = i
            if at < 0:
                break
            nodes[at].waiting = False
            leaves += 1
            unborn[0], unborn[1], n_unborn = 2 * at, 2 * at + 1, 2
        n_unborn -= 1
        parent, is_left = unborn[n_unborn] >> 1, unborn[n_unborn] & 1 == 1
        if of_numbers and child_size(growth, parent, is_left) <= SMALL:
            count = grow_few(growth, count, n_unborn)
            continue
        if divide_node(growth, count, parent, is_left):
            if most > 0:
                nodes[count].waiting = True
            else:
                unborn[n_unborn], unborn[n_unborn + 1] = 2 * count, 2 * count + 1
                n_unborn += 2
        count += 1
    for i in range(count if most > 0 else 0):
        if nodes[i].waiting:
            nodes[i].feature, nodes[i].missing_left = -2, False
    return count


@jit(error_model="numpy", _nrt=False)
def child_size(growth: Growth, parent: int, is_left: bool) -> int:
    """How many rows a child has, or the root, which has no parent."""
    if parent < 0:
        return len(growth.rows)
    above = growth.nodes[parent]
    return above.middle - above.start if is_left else above.stop - above.middle


@jit(error_model="numpy", _nrt=False, instead=grow_in_lists)
def grow_few(growth: Growth, count: int, n_unborn: int) -> int:
    """Grow the next unborn node, one of few numbers, and all below it; how many there are then.

    By itself for the sake of Python, which meets it most: see `_few_numbers`.
    """
    unborn, first = growth.unborn, n_unborn
    n_unborn += 1
    while n_unborn > first:
        n_unborn -= 1
        parent, is_left = unborn[n_unborn] >> 1, unborn[n_unborn] & 1 == 1
        if divide_node(growth, count, parent, is_left):
            unborn[n_unborn], unborn[n_unborn + 1] = 2 * count, 2 * count + 1
            n_unborn += 2
        count += 1
    return count


@jit(error_model="numpy", _nrt=False)
def place(nodes: np.ndarray, at: int, parent: int, is_left: bool, sign: int, n: int) -> None:
    """Make a node, the root of n rows or the child of one that splits on a feature of this sign."""
    node = nodes[at]
    node.left, node.right, node.feature, node.low, node.high = -1, -1, -2, -1, -1
    node.missing_left, node.waiting = False, False
    if parent < 0:
        node.start, node.stop, node.depth, node.lower, node.upper = 0, n, 0, -np.inf, np.inf
        return
    above = nodes[parent]
    node.depth, node.lower, node.upper = above.depth + 1, above.lower, above.upper
    if is_left:
        above.left, node.start, node.stop = at, above.start, above.middle
    else:
        above.right, node.start, node.stop = at, above.middle, above.stop
    if sign != 0:  # neither side may pass the middle of both
        if is_left == (sign > 0):
            node.upper = above.between
        else:
            node.lower = above.between


@jit(error_model="numpy", _nrt=False)
def divide_node(growth: Growth, at: int, parent: int, is_left: bool) -> bool:
    """Summarise a node, and divide its rows by the best split; False if it stays a leaf."""
    nodes, value, limits, criterion = growth.nodes, growth.value, growth.limits, growth.criterion
    targets, local, signs, sums = growth.targets, growth.local, growth.columns.sign, growth.sums
    sign = signs[nodes[parent].feature] if len(signs) > 0 and parent >= 0 else 0
    place(nodes, at, parent, is_left, sign, len(growth.rows))
    node = nodes[at]
    start, stop = node.start, node.stop
    weight, impurity = summarise(local, targets, criterion, start, stop, sums)
    node.weight, node.impurity, node.size = weight, impurity, stop - start
    for k in range(len(sums)):
        value[at, k] = sums[k] / weight
    if criterion == ABSOLUTE_ERROR:
        for o in range(len(sums)):
            rows = targets.order[o, start:stop]
            value[at, o] = median_of(rows, targets.value[o], targets.weight)[0]
    if len(signs) > 0:
        value[at, 0] = min(max(value[at, 0], node.lower), node.upper)
        if criterion >= GINI:
            value[at, 1] = 1 - value[at, 0]
    if is_terminal(node.depth, stop - start, impurity, limits):
        return False

    n_outputs = max(len(local.code), len(local.value))
    if criterion == ABSOLUTE_ERROR:
        base = -weight * impurity * n_outputs
    else:
        base = score_of(total(sums, criterion), sums, weight, n_outputs, criterion)
    slack = TIE * (weight * impurity * n_outputs + abs(base))
    score, feature, low, high, missing_left = search(
        growth.columns,
        growth.rows[start:stop],
        targets,
        local,
        Node(start, sums, weight, slack, node.lower, node.upper),
        criterion,
        limits,
        growth.work,
        growth.candidates,
        growth.state,
    )
    # the weight of the root is that of all rows
    node.decrease = (score - base) / nodes[0].weight / n_outputs
    if criterion == ENTROPY:
        node.decrease /= LOG_2
    if feature < 0 or node.decrease + EPSILON < limits.min_impurity_decrease:
        return False
    node.feature, node.low, node.high, node.missing_left = feature, low, high, missing_left
    divide_rows(growth, at)
    return True


@jit(error_model="numpy", _nrt=False)
def divide_rows(growth: Growth, at: int) -> None:
    """Divide the rows of a node, and what goes with them, by its split."""
    local, columns, goes_left = growth.local, growth.columns, growth.goes_left
    node = growth.nodes[at]
    start, stop, j, low = node.start, node.stop, node.feature, node.low
    inside, to_left = growth.rows[start:stop], node.missing_left
    presorted = columns.order.shape[1] > 0
    if presorted:
        ranks = columns.ranks[j]
        missing_seen = mark(ranks, inside, ranks[low], TOP, to_left, goes_left)
    else:
        missing_seen = mark(columns.bins[:, j], inside, low, MISSING, to_left, goes_left)
    middle = start + divide_all(local, inside, start, goes_left, growth.integers, growth.floats)
    node.middle = middle
    if not missing_seen:  # a value that is first missing later goes where more rows went
        node.missing_left = middle - start > stop - middle
    if presorted or len(columns.sign) > 0:
        needed, left = False, growth.work.sides[0]
        node.between = 0.0
        for side in range(2):
            first, end = (start, middle) if side == 0 else (middle, stop)
            weight, impurity = summarise(local, growth.targets, growth.criterion, first, end, left)
            node.between += left[0] / weight / 2
            if not is_terminal(node.depth + 1, end - first, impurity, growth.limits):
                needed = True
        for i in range(len(columns.order) if presorted and needed else 0):
            segment = columns.order[i, start:stop]
            divide(segment, segment, goes_left, growth.integers)
