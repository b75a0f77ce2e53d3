"""Graphs of networks: order, ancestors, separation by the Bayes ball, and trees from data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from panlearn.graphical._triangulation import spanning_tree
from panlearn.theory.information import mutual_information


def topological_order(parents: Sequence[Sequence[int]]) -> list[int]:
    """Parents before children, or an error that shows a cycle."""
    waiting = [len(p) for p in parents]
    below = children(parents)
    order = [v for v, n in enumerate(waiting) if n == 0]
    for v in order:
        for child in below[v]:
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    if len(order) < len(parents):
        left = [v for v, n in enumerate(waiting) if n > 0]
        raise ValueError(f"the edges have a cycle among the variables {left}")
    return order


def children(parents: Sequence[Sequence[int]]) -> list[list[int]]:
    """Turn lists of parents round."""
    below: list[list[int]] = [[] for _ in parents]
    for v, above in enumerate(parents):
        for p in above:
            below[p].append(v)
    return below


def ancestors(parents: Sequence[Sequence[int]], nodes: Iterable[int]) -> set[int]:
    """Nodes and all that lead to them: the only part of a network that their law depends on."""
    found, stack = set(), list(nodes)
    while stack:
        v = stack.pop()
        if v not in found:
            found.add(v)
            stack.extend(parents[v])
    return found


def reachable(parents: Sequence[Sequence[int]], source: int, given: set[int]) -> set[int]:
    """Where the Bayes ball gets from a source: the variables that depend on it given others.

    A variable that is not given lets the ball through, except from one parent to another; a given
    one sends it back to the parents if it came from a parent, and stops it otherwise. So parents
    are coupled if their child, or something below it from where the ball comes back, is given.
    """
    below = children(parents)
    found: set[int] = set()
    seen: set[tuple[int, bool]] = set()
    stack = [(source, True)]
    while stack:
        v, upward = stack.pop()
        if (v, upward) in seen:
            continue
        seen.add((v, upward))
        if v not in given:
            found.add(v)
            stack.extend((child, False) for child in below[v])
        if (upward and v not in given) or (not upward and v in given):
            stack.extend((parent, True) for parent in parents[v])
    return found


def chow_liu(
    codes: np.ndarray, cardinality: Sequence[int], weight: np.ndarray, alpha: float, root: int
) -> list[tuple[int, int]]:
    r"""Edges (parent, child) of the tree of largest total mutual information.

    Pairs are counted over the rows that have both entries, and alpha is spread over their cells.
    """
    d = len(cardinality)
    information = np.zeros((d, d))
    for a in range(d):
        for b in range(a):
            information[a, b] = information[b, a] = _mutual_information(
                codes[:, a], codes[:, b], cardinality[a], cardinality[b], weight, alpha
            )
    order = [root, *(v for v in range(d) if v != root)]
    edges = spanning_tree(information[np.ix_(order, order)])
    return [(order[parent], order[child]) for child, parent in edges]


def _mutual_information(
    a: np.ndarray, b: np.ndarray, n_a: int, n_b: int, weight: np.ndarray, alpha: float
) -> float:
    both = (a >= 0) & (b >= 0)
    cells = a[both] * n_b + b[both]
    seen = np.bincount(cells, weight[both], minlength=n_a * n_b)
    count = seen.reshape(n_a, n_b) + alpha / (n_a * n_b)
    if not count.sum():
        return 0.0
    return mutual_information(count / count.sum())
