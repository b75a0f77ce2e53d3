"""The graph of a transition matrix."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, connected_components


def classes(P: np.ndarray) -> list[np.ndarray]:
    """States that reach each other, together; in the order of their first states."""
    _, label = connected_components(P > 0, connection="strong")
    _, first = np.unique(label, return_index=True)
    return [np.flatnonzero(label == label[i]) for i in np.sort(first)]


def closed_classes(P: np.ndarray) -> list[np.ndarray]:
    """The classes that cannot be left."""
    everyone = np.arange(len(P))
    return [c for c in classes(P) if not P[np.ix_(c, np.setdiff1d(everyone, c))].any()]


def period(P: np.ndarray, members: np.ndarray) -> int:
    """The common divisor of level(i) + 1 - level(j) over the edges i -> j of a class."""
    inner = P[np.ix_(members, members)] > 0
    order, parent = breadth_first_order(inner, 0)
    level = np.zeros(len(members), dtype=int)
    for node in order[1:]:
        level[node] = level[parent[node]] + 1
    source, target = np.nonzero(inner)
    return int(np.gcd.reduce(np.abs(level[source] + 1 - level[target]), initial=0))


def reaching(edges: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """From which states one of the goal is reached, in any number of steps."""
    found, new = goal.copy(), goal
    while new.any():
        new = edges[:, new].any(axis=1) & ~found
        found |= new
    return found
