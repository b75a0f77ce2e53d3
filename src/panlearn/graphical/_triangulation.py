"""From a graph to a tree of cliques: elimination by min-fill, then a tree of largest overlaps."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np


def moral_graph(n: int, scopes: Iterable[Sequence[int]]) -> list[set[int]]:
    """Neighbours of each variable: those that share a table with it."""
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for scope in scopes:
        for a, b in combinations(scope, 2):
            neighbours[a].add(b)
            neighbours[b].add(a)
    return neighbours


def cliques(neighbours: list[set[int]], cardinality: Sequence[int]) -> list[tuple[int, ...]]:
    """The maximal cliques that elimination leaves: next goes who adds the fewest edges.

    Ties go to the smallest table, then to the first variable, so that the answer is one.
    """
    graph = [set(s) for s in neighbours]
    left = set(range(len(graph)))
    priority = {v: (*_priority(graph, v, cardinality), v) for v in left}
    queue = sorted(priority.values())
    found: list[set[int]] = []
    holders: list[list[set[int]]] = [[] for _ in graph]  # the cliques of each variable
    while left:
        entry = heapq.heappop(queue)
        v = entry[2]
        if v not in left or entry != priority[v]:
            continue  # it has a newer entry
        around = graph[v]
        clique = around | {v}
        if not any(clique <= other for other in holders[v]):
            found.append(clique)
            for u in clique:
                holders[u].append(clique)
        changed = set(around)
        for a, b in combinations(around, 2):
            if b not in graph[a]:
                graph[a].add(b)
                graph[b].add(a)
                changed |= graph[a] & graph[b]  # an edge more between two of their neighbours
        for a in around:
            graph[a].discard(v)
        left.discard(v)
        for u in changed & left:
            priority[u] = (*_priority(graph, u, cardinality), u)
            heapq.heappush(queue, priority[u])
    return [tuple(sorted(c)) for c in found]


def _priority(graph: list[set[int]], v: int, cardinality: Sequence[int]) -> tuple[int, float]:
    """Edges that the elimination of v adds, and the logarithm of the size of its clique."""
    around = graph[v]
    present = sum(len(graph[a] & around) for a in around) // 2
    size = sum(math.log(cardinality[u]) for u in around) + math.log(cardinality[v])
    return len(around) * (len(around) - 1) // 2 - present, round(size, 9)


def spanning_tree(overlap: np.ndarray) -> list[tuple[int, int]]:
    """Edges (node, parent) of a tree with the largest total overlap, from node 0 on (Prim)."""
    n = len(overlap)
    best, parent = overlap[0].astype(float), np.zeros(n, dtype=int)
    best[0] = -np.inf
    edges = []
    for _ in range(n - 1):
        node = int(best.argmax())
        edges.append((node, int(parent[node])))
        best[node] = -np.inf
        closer = (overlap[node] > best) & (best > -np.inf)
        best[closer], parent[closer] = overlap[node][closer], node
    return edges
