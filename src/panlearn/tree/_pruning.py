"""Minimal cost-complexity pruning: cut the weakest links of a tree, one after the other."""

from __future__ import annotations

import heapq
from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np

from panlearn.tree._structure import Tree


class Pruning(NamedTuple):
    """Nodes that become leaves, the alpha of each, and the impurity of the leaves after it."""

    nodes: list[int]
    alphas: list[float]
    impurities: list[float]


def weakest_links(tree: Tree, most: float = np.inf) -> Pruning:
    r"""The order in which nodes are made leaves as the price of a leaf rises to `most`.

    A subtree T below t is worth its leaves up to :math:`(R(t) - R(T)) / (|T| - 1)` for each, where
    R is the impurity, weighted by its part of all rows. Of equal ones the first node is cut. The
    impurity before any cut comes first, with alpha zero.
    """
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    risk = (tree.weighted_n_node_samples / tree.weighted_n_node_samples[0] * tree.impurity).tolist()
    parent, leaves, below = [-1] * len(left), [1] * len(left), list(risk)
    for at in reversed(range(len(left))):
        if left[at] >= 0:
            parent[left[at]] = parent[right[at]] = at
            leaves[at] = leaves[left[at]] + leaves[right[at]]
            below[at] = below[left[at]] + below[right[at]]

    def price(at: int) -> float:
        return (risk[at] - below[at]) / (leaves[at] - 1)

    heap = [(price(at), at) for at in range(len(left)) if left[at] >= 0]
    heapq.heapify(heap)
    gone = [left[at] < 0 for at in range(len(left))]
    result = Pruning([], [0.0], [below[0]])
    while heap:
        alpha, at = heapq.heappop(heap)
        if gone[at] or alpha != price(at):  # cut above, or changed by a cut below
            continue
        if alpha > most:
            break
        cut, change = leaves[at] - 1, risk[at] - below[at]
        stack = [at]
        while stack:
            node = stack.pop()
            if not gone[node]:
                gone[node] = True
                stack += [left[node], right[node]]
        below[at], leaves[at] = risk[at], 1
        above = parent[at]
        while above >= 0:
            leaves[above] -= cut
            below[above] += change
            heapq.heappush(heap, (price(above), above))
            above = parent[above]
        result.nodes.append(at)
        result.alphas.append(alpha)
        result.impurities.append(below[0])
    return result


def pruned(tree: Tree, alpha: float) -> Tree:
    """The smallest subtree whose impurity plus alpha for each leaf is least."""
    cut = weakest_links(tree, alpha).nodes
    inner = ~tree.is_leaf
    inner[cut] = False
    kept = np.zeros(tree.node_count, dtype=bool)
    kept[0] = True
    for at in np.flatnonzero(inner):  # a parent comes before its children
        if kept[at]:
            kept[[tree.children_left[at], tree.children_right[at]]] = True
    inner &= kept
    place = np.append(np.cumsum(kept) - 1, -1).astype(np.int32)  # the last for no child
    feature = np.where(inner, tree.feature, -2).astype(np.int32)
    changed = {
        "children_left": place[np.where(inner, tree.children_left, -1)],
        "children_right": place[np.where(inner, tree.children_right, -1)],
        "feature": feature,
        "threshold": np.where(inner, tree.threshold, -2.0),
        "missing_go_to_left": tree.missing_go_to_left & inner,
    }
    arrays = {f.name: changed.get(f.name, getattr(tree, f.name)) for f in fields(tree)[1:]}
    return replace(tree, **{name: array[kept] for name, array in arrays.items()})
