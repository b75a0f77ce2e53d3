"""Trees laid out for rows to walk: compact nodes, several rows at a time; compiled.

A branch that depends on a value of a row is guessed wrong half of the time, which costs more than
all else. So there is none: the two children of a node lie next to each other and a comparison adds
0 or 1 to the first; a leaf leads to itself; and a few rows walk side by side, whose reads do not
wait for each other, as many steps as the tree is deep or, in a deep one, till none of them moves. A
comparison with a missing value is false: a node where it goes left asks whether a row goes right,
another whether it goes left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from panlearn.core.jit import jit
from panlearn.core.threads import threads
from panlearn.tree._features import BLOCK_ROWS, dense_blocks

SIDE_BY_SIDE = 8
IN_CACHE = 1024  # rows that stay there while all trees pass
MANY = 1 << 19  # ways of a row through a tree: fewer are done before threads have gained anything
SURE = 12  # steps without a look whether a row still moves, which costs half as much as the step
HALF, LOWER = np.uint64(32), np.uint64(2**32 - 1)  # bits of half a number, and all of the lower


class Walk(NamedTuple):
    """The nodes of some trees, one tree after the other.

    Attributes
    ----------
    root : ndarray of shape (n_trees,)
        Where each tree begins.
    depth : ndarray of shape (n_trees,)
        The most steps from there to a leaf.
    node : ndarray of shape (n_nodes,)
        In one number, so that one read gets both: in the lower half where a row goes that a node
        answers with no, after which comes where one with yes goes, of a leaf the leaf itself; in
        the upper half the feature.
    sign, bound : ndarray of shape (n_nodes,)
        A node asks whether the feature, times the sign, exceeds the bound; a leaf says no.
    value : ndarray of shape (n_nodes, n_components)
        What a node predicts.
    number : ndarray of shape (n_nodes,)
        The number of a node in its tree.
    """

    root: np.ndarray
    depth: np.ndarray
    node: np.ndarray
    sign: np.ndarray
    bound: np.ndarray
    value: np.ndarray
    number: np.ndarray

    def find_leaves(self, X: np.ndarray, leaves: np.ndarray) -> None:
        """Fill in the leaf of each row in each tree by its number there, (n, n_trees)."""
        find_leaves(X, *self[:5], leaves)
        np.take(self.number, leaves, out=leaves)

    def sum_values(self, X: Any, n_jobs: int | None) -> np.ndarray:
        """Sum what the trees, one after the other, predict of each row, (n, n_components)."""
        total = np.zeros((X.shape[0], self.value.shape[1]))

        def add(block: tuple[slice, np.ndarray]) -> None:
            add_values(block[1], *self[:5], self.value, total[block[0]])

        if X.shape[0] <= BLOCK_ROWS or X.shape[0] * len(self.root) <= MANY:
            deque(map(add, dense_blocks(X)), maxlen=0)
            return total
        with threads(n_jobs) as run:
            deque(run(add, dense_blocks(X, BLOCK_ROWS)), maxlen=0)
        return total


def lay_out(trees: Sequence[Any]) -> Walk:
    """Bring the nodes of trees into the order of their parents, each beside its sibling."""
    size = np.array([tree.node_count for tree in trees])
    root = np.cumsum(size) - size

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(tree, name) for tree in trees])

    left, right, missing_left = map(
        joined, ("children_left", "children_right", "missing_go_to_left")
    )
    leaf = left < 0
    inner = np.flatnonzero(~leaf)
    tree = np.searchsorted(root, inner, side="right") - 1
    # before the children of the j-th inner node of all come those of the others, and the roots
    below = tree + 1 + 2 * np.arange(len(inner))
    place = np.empty(len(left), dtype=np.int64)
    place[root] = root
    place[root[tree] + left[inner]] = below + ~missing_left[inner]
    place[root[tree] + right[inner]] = below + missing_left[inner]
    order = np.empty_like(place)
    order[place] = np.arange(len(place))
    child = place.copy()
    child[inner] = below
    threshold = joined("threshold").astype(np.float64)
    # at most the threshold is below the next number: of minus both, above
    bound = np.where(missing_left, threshold, -np.nextafter(threshold, np.inf))
    feature = np.where(leaf, 0, joined("feature")).astype(np.uint64)
    return Walk(
        root.astype(np.uint32),
        _depths(root, child[order]),
        (feature << HALF | child.astype(np.uint64))[order],
        np.where(missing_left, 1.0, -1.0)[order],
        np.where(leaf, np.inf, bound)[order],
        joined("value")[order],
        (np.arange(len(left)) - np.repeat(root, size))[order],
    )


def _depths(root: np.ndarray, child: np.ndarray) -> np.ndarray:
    """The most steps from each root to a leaf: the nodes of all trees, a level at a time."""
    depth, tree, at = np.zeros(len(root), dtype=np.int64), np.arange(len(root)), root
    while len(at):
        inner = child[at] != at
        at, tree = child[at[inner]], tree[inner]
        depth[tree] += 1
        at, tree = np.concatenate([at, at + 1]), np.concatenate([tree, tree])
    return depth


@jit(error_model="numpy")
def next_node(
    X: np.ndarray,
    row: int,
    at: int,
    node: np.ndarray,
    sign: np.ndarray,
    bound: np.ndarray,
) -> Any:
    """Where a row goes from a node; indices are unsigned, of which none counts from the end."""
    both = node[at]
    more = sign[at] * X[np.uint64(row), both >> HALF] > bound[at]
    return np.uint32(both & LOWER) + np.uint32(more)


@jit(error_model="numpy")
def lead(
    X: np.ndarray,
    start: int,
    root: int,
    depth: int,
    node: np.ndarray,
    sign: np.ndarray,
    bound: np.ndarray,
    at: np.ndarray,
) -> None:
    """Fill `at` with the leaves of the rows side by side from `start` on."""
    for r in range(SIDE_BY_SIDE):
        at[r] = root
    for _ in range(min(depth, SURE)):
        for r in range(SIDE_BY_SIDE):
            at[r] = next_node(X, start + r, at[r], node, sign, bound)
    moved = np.uint32(depth > SURE)
    while moved:
        moved = np.uint32(0)
        for r in range(SIDE_BY_SIDE):
            new = next_node(X, start + r, at[r], node, sign, bound)
            moved |= new ^ at[r]
            at[r] = new


@jit(error_model="numpy")
def leaf_of(
    X: np.ndarray,
    row: int,
    root: int,
    node: np.ndarray,
    sign: np.ndarray,
    bound: np.ndarray,
) -> int:
    """The leaf of one row."""
    at, new = root, next_node(X, row, root, node, sign, bound)
    while new != at:
        at, new = new, next_node(X, row, new, node, sign, bound)
    return at


@jit(error_model="numpy", plain=lambda X, root, *rest: 20 * len(X) * len(root))
def find_leaves(
    X: np.ndarray,
    root: np.ndarray,
    depth: np.ndarray,
    node: np.ndarray,
    sign: np.ndarray,
    bound: np.ndarray,
    leaves: np.ndarray,
) -> None:
    """Fill in the leaf of each row in each tree."""
    n, at = len(X), np.empty(SIDE_BY_SIDE, np.uint32)
    whole = n - n % SIDE_BY_SIDE
    for start in range(0, whole, SIDE_BY_SIDE):
        for t in range(len(root)):
            lead(X, start, root[t], depth[t], node, sign, bound, at)
            for r in range(SIDE_BY_SIDE):
                leaves[np.uint64(start + r), t] = at[r]
    for row in range(whole, n):
        for t in range(len(root)):
            leaves[np.uint64(row), t] = leaf_of(X, row, root[t], node, sign, bound)


@jit(error_model="numpy", plain=lambda X, root, *rest: 20 * len(X) * len(root))
def add_values(
    X: np.ndarray,
    root: np.ndarray,
    depth: np.ndarray,
    node: np.ndarray,
    sign: np.ndarray,
    bound: np.ndarray,
    value: np.ndarray,
    total: np.ndarray,
) -> None:
    """Add what each tree, one after the other, predicts of each row."""
    n, at = len(X), np.empty(SIDE_BY_SIDE, np.uint32)
    for first in range(0, n, IN_CACHE):
        last = min(first + IN_CACHE, n)
        whole = last - last % SIDE_BY_SIDE
        for t in range(len(root)):
            for start in range(first, whole, SIDE_BY_SIDE):
                lead(X, start, root[t], depth[t], node, sign, bound, at)
                for c in range(value.shape[1]):
                    for r in range(SIDE_BY_SIDE):
                        total[np.uint64(start + r), c] += value[at[r], c]
            for row in range(whole, last):
                leaf = leaf_of(X, row, root[t], node, sign, bound)
                for c in range(value.shape[1]):
                    total[np.uint64(row), c] += value[leaf, c]
