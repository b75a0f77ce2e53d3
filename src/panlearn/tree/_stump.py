r"""The best stump for weights that change: exact, without a walk over all rows in order; compiled.

The rows in the order of a feature are cut into blocks, once. For new weights a pass that reads
memory in order sums the classes of each block. The score of a split,
:math:`\sum_k L_k^2 / W_L + \sum_k R_k^2 / W_R`, is convex in the sums L that lie on the left, and
inside a block these lie between its ends: so it is at most the largest score at the corners of
that box, and only the rows of a block whose bound exceeds the best score known are walked.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from panlearn.core.jit import jit
from panlearn.tree._features import Presorted
from panlearn.tree._split import MISSING, TIE, TOP
from panlearn.tree._structure import Tree

# A box has 2 to the power of the classes corners; with more than this all rows are walked.
MOST_CLASSES = 4
# Rows of a block at least: to bound fewer takes as long as to walk them.
LEAST = 16


class Blocks(NamedTuple):
    """Presorted features, the block of each row, (d, n), and what a block holds at most, (d,).

    The rows that miss a value are in a block behind all others, the same for every feature.
    """

    ranks: np.ndarray
    order: np.ndarray
    block: np.ndarray
    size: np.ndarray
    valid: np.ndarray
    missing: int


def cut_into_blocks(features: Presorted) -> Blocks:
    """Number the rows of each feature by block."""
    ranks, order = features.columns.ranks, features.columns.order
    valid = (ranks != TOP).sum(axis=1)
    size = np.maximum(LEAST, -(-valid // MISSING))
    missing = int((-(-valid // size)).max())
    block = np.full(order.shape, missing, dtype=np.uint8)
    for j in range(len(order)):
        block[j, order[j, : valid[j]]] = np.arange(valid[j]) // size[j]
    return Blocks(ranks, order, block, size, valid, missing)


def stump_tree(
    features: Presorted,
    feature: int,
    low: int,
    high: int,
    missing_left: bool,
    sums: np.ndarray,
    size: np.ndarray,
) -> Tree:
    """The root and its two children, or the root alone, as `best_stump` found them."""
    nodes = 3 if feature >= 0 else 1
    sums, size = sums[:nodes], size[:nodes]
    weight = sums.sum(axis=1)
    value = sums / weight[:, None]
    splits = np.array([feature, -2, -2][:nodes], dtype=np.int32)
    return Tree(
        len(features.columns.ranks),
        np.array([1, -1, -1] if feature >= 0 else [-1], dtype=np.int32),
        np.array([2, -1, -1] if feature >= 0 else [-1], dtype=np.int32),
        splits,
        features.thresholds(splits, np.full(nodes, low), np.full(nodes, high)),
        np.array([missing_left, False, False][:nodes]),
        1 - (value**2).sum(axis=1),
        size,
        weight,
        value,
    )


@jit(plain=lambda blocks, *rest: 10 * blocks.order.size)
def best_stump(
    blocks: Blocks, codes: np.ndarray, weight: np.ndarray, n_classes: int
) -> tuple[int, int, int, bool, np.ndarray, np.ndarray]:
    """The stump that decreases the Gini impurity most.

    Feature, -2 if no rows differ; the last row that goes left and the first that goes right, -1 if
    only missing values do; whether missing values go left; sums of the classes and number of rows
    of the root, of its left and of its right child.
    """
    d, n = blocks.order.shape
    histogram = np.zeros((d, blocks.missing + 1, n_classes))
    for j in range(d):
        sums_of_blocks = histogram[j]
        block = blocks.block[j]
        for i in range(n):
            sums_of_blocks[block[i], codes[i]] += weight[i]
    sums, mass = np.zeros(n_classes), 0.0
    for i in range(n):
        sums[codes[i]] += weight[i]
    for k in range(n_classes):
        mass += sums[k]
    slack = TIE * mass
    left, work = np.empty(n_classes), np.empty(n_classes)
    # between blocks first, to know what the rows inside a block have to exceed
    known = -np.inf
    for j in range(d):
        for side in range(2 if blocks.valid[j] < n else 1):
            start_of(left, histogram[j], side)
            last = blocks.valid[j] - (side == 1 or blocks.valid[j] == n)
            for b in range(last // blocks.size[j]):
                add(left, histogram[j, b])
                if is_split(blocks, j, (b + 1) * blocks.size[j] - 1):
                    known = max(known, split_score(left, sums))
    best, feature, low, high, missing_left = -np.inf, -2, -1, -1, False
    for j in range(d):
        for side in range(2 if blocks.valid[j] < n else 1):
            start_of(left, histogram[j], side)
            last = blocks.valid[j] - (side == 1 or blocks.valid[j] == n)
            for b in range(-(-last // blocks.size[j])):
                bound = np.inf
                if n_classes <= MOST_CLASSES:
                    bound = bound_of(left, histogram[j, b], sums, work)
                if bound > max(best, known - 2 * slack):
                    for k in range(n_classes):
                        work[k] = left[k]
                    start, stop = b * blocks.size[j], min((b + 1) * blocks.size[j], last)
                    score, at = walk(
                        blocks, j, start, stop, codes, weight, sums, work, best + slack, slack
                    )
                    if at >= 0:
                        best, feature, missing_left = score, j, side == 1
                        low = blocks.order[j, at]
                        high = blocks.order[j, at + 1] if at + 1 < blocks.valid[j] else -1
                add(left, histogram[j, b])

    node_sums, size = np.zeros((3, n_classes)), np.zeros(3, np.int32)
    add(node_sums[0], sums)
    size[0] = n
    if feature >= 0:
        ranks = blocks.ranks[feature]
        for i in range(n):
            to_left = missing_left if ranks[i] == TOP else ranks[i] <= ranks[low]
            child = 1 if to_left else 2
            node_sums[child, codes[i]] += weight[i]
            size[child] += 1
        if blocks.valid[feature] == n:  # a value that is first missing later goes with more rows
            missing_left = size[1] > size[2]
    return feature, low, high, missing_left, node_sums, size


@jit
def start_of(left: np.ndarray, histogram: np.ndarray, side: int) -> None:
    """What lies on the left before any value: nothing, or what is missing."""
    for k in range(len(left)):
        left[k] = histogram[-1, k] if side == 1 else 0.0


@jit
def add(sums: np.ndarray, more: np.ndarray) -> None:
    """Add to sums, in a loop, which is compiled in less time than an operation on arrays."""
    for k in range(len(sums)):
        sums[k] += more[k]


@jit
def is_split(blocks: Blocks, j: int, at: int) -> bool:
    """Whether a threshold goes between this row of the order and the next."""
    if at + 1 == blocks.valid[j]:
        return True
    ranks, order = blocks.ranks[j], blocks.order[j]
    return ranks[order[at]] != ranks[order[at + 1]]


@jit
def split_score(left: np.ndarray, sums: np.ndarray) -> float:
    """The score of a split with these sums on the left; an empty side adds nothing."""
    left_weight, right_weight, left_total, right_total = 0.0, 0.0, 0.0, 0.0
    for k in range(len(sums)):
        right = sums[k] - left[k]
        left_weight += left[k]
        right_weight += right
        left_total += left[k] * left[k]
        right_total += right * right
    score = left_total / left_weight if left_weight > 0 else 0.0
    return score + right_total / right_weight if right_weight > 0 else score


@jit
def bound_of(left: np.ndarray, inside: np.ndarray, sums: np.ndarray, corner: np.ndarray) -> float:
    """The largest score at the corners of the box from `left` to `left` + `inside`."""
    result = -np.inf
    for number in range(2 ** len(left)):
        for k in range(len(left)):
            corner[k] = left[k] + inside[k] * (number >> k & 1)
        result = max(result, split_score(corner, sums))
    return result


@jit
def walk(
    blocks: Blocks,
    j: int,
    start: int,
    stop: int,
    codes: np.ndarray,
    weight: np.ndarray,
    sums: np.ndarray,
    left: np.ndarray,
    best: float,
    slack: float,
) -> tuple[float, int]:
    """The best split inside a block and its place, -1 if none exceeds `best`.

    `left` is what lies left of the block, and in the end of its last row.
    """
    at = -1
    for i in range(start, stop):
        r = blocks.order[j, i]
        left[codes[r]] += weight[r]
        if is_split(blocks, j, i):
            score = split_score(left, sums)
            if score > best:
                best, at = score + slack, i
    return best - slack, at


@jit(plain=lambda weight, *rest: len(weight))
def reweight(
    weight: np.ndarray, wrong: np.ndarray, n_classes: int, learning_rate: float
) -> tuple[float, float]:
    r"""Error and vote of a classifier; the weights, which sum to one, become those for the next.

    :math:`\alpha = \eta (\log\frac{1 - \epsilon}{\epsilon} + \log(K - 1))`; one for a classifier
    without error or no better than chance, which leave the weights as they are.
    """
    error = 0.0
    for i in range(len(weight)):
        if wrong[i]:
            error += weight[i]
    if not 0 < error < 1 - 1 / n_classes:
        return error, 1.0
    alpha = learning_rate * (math.log1p(-error) - math.log(error) + math.log(n_classes - 1))
    # relative to the heaviest, so that a large alpha does not overflow
    factor, mass = math.exp(-alpha), 0.0
    for i in range(len(weight)):
        if not wrong[i]:
            weight[i] *= factor
        mass += weight[i]
    for i in range(len(weight)):
        weight[i] = max(weight[i] / mass, np.finfo(np.float64).tiny)
    return error, alpha
