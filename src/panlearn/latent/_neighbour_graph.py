"""The graph of nearest neighbours, its components, and the shortest paths through it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.jit import jit
from panlearn.core.threads import threads
from panlearn.core.warning import warn
from panlearn.neighbors._search import NeighborIndex


class Edges(NamedTuple):
    """An undirected graph in compressed rows; an edge of length zero is an edge."""

    starts: np.ndarray
    ends: np.ndarray
    lengths: np.ndarray

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.starts) - 1


def index_of(X: np.ndarray, p: float = 2.0) -> NeighborIndex:
    """Rows ready for queries."""
    return NeighborIndex(X, p, "auto", min(30, len(X)))


def neighbours(X: np.ndarray, k: int, p: float, n_jobs: int | None) -> tuple[Any, Any]:
    """Distances and indices of the k nearest rows of each row but itself."""
    if k >= len(X):
        raise ValueError(
            f"n_neighbors={k} but n_samples={len(X)}; each row needs that many others: lower "
            "n_neighbors or give more rows"
        )
    distance, index = index_of(X, p).query(X, k + 1, n_jobs)
    own = index == np.arange(len(X))[:, None]
    own[~own.any(axis=1), -1] = True  # among many duplicates a row may miss itself
    return distance[~own].reshape(-1, k), index[~own].reshape(-1, k)


def components(index: np.ndarray, what: str) -> tuple[int, np.ndarray]:
    """Count and label the components of the graph of neighbours; warn if there are several."""
    n, k = index.shape
    graph = sparse.csr_array((np.ones(index.size), index.ravel(), np.arange(n + 1) * k), (n, n))
    count, label = connected_components(graph, directed=False)
    if count > 1:
        warn(
            f"the graph of {k} nearest neighbours has {count} components, the largest with "
            f"{np.bincount(label).max()} of {n} rows; {what}; raise n_neighbors",
            ConvergenceWarning,
        )
    return count, label


def connected_graph(X: np.ndarray, k: int, p: float, n_jobs: int | None) -> Edges:
    """The neighbours of each row, either way; components are joined pairwise where nearest."""
    distance, index = neighbours(X, k, p, n_jobs)
    count, label = components(index, "they are joined by the shortest edge between each two")
    one, other = np.repeat(np.arange(len(X)), k), index.ravel()
    bridges = [(one, other, distance.ravel())]
    for c in range(count - 1):
        here, there = np.flatnonzero(label == c), np.flatnonzero(label > c)
        near, which = (a[:, 0] for a in index_of(X[here], p).query(X[there], 1, n_jobs))
        order = np.lexsort((near, label[there]))  # the nearest row of each component comes first
        best = order[np.r_[True, np.diff(label[there[order]]) > 0]]
        bridges.append((here[which[best]], there[best], near[best]))
    return _undirected(*(np.concatenate(part) for part in zip(*bridges, strict=True)), n=len(X))


def _undirected(one: np.ndarray, other: np.ndarray, length: np.ndarray, *, n: int) -> Edges:
    """Compressed rows of the edges both ways, each once."""
    key = np.concatenate([one * n + other, other * n + one])
    key, first = np.unique(key, return_index=True)
    starts = np.searchsorted(key, np.arange(n + 1) * n)
    return Edges(starts, key % n, np.concatenate([length, length])[first].astype(np.float64))


def geodesics(graph: Edges, n_jobs: int | None = None) -> np.ndarray:
    """Lengths of the shortest paths between all vertices, by Dijkstra from each of them."""
    distance = np.empty((graph.n, graph.n))
    blocks = [(i, min(i + 64, graph.n)) for i in range(0, graph.n, 64)]
    with threads(-1 if n_jobs is None else n_jobs) as run:
        list(run(lambda block: shortest_paths(*graph, *block, distance), blocks))
    return distance


@jit
def shortest_paths(
    starts: np.ndarray,
    ends: np.ndarray,
    lengths: np.ndarray,
    first: int,
    last: int,
    distance: np.ndarray,
) -> None:
    """Dijkstra's algorithm from the vertices first to last - 1, with a binary heap of vertices."""
    n = len(starts) - 1
    heap, place = np.empty(n, np.int64), np.empty(n, np.int64)
    for source in range(first, last):
        row = distance[source]
        row[:] = np.inf
        place[:] = -1
        row[source] = 0.0
        heap[0], place[source], size = source, 0, 1
        while size:
            nearest = heap[0]
            size -= 1
            if size:  # the last vertex of the heap sinks from the top
                vertex, hole = heap[size], 0
                while True:
                    child = 2 * hole + 1
                    if child >= size:
                        break
                    if child + 1 < size and row[heap[child + 1]] < row[heap[child]]:
                        child += 1
                    if row[heap[child]] >= row[vertex]:
                        break
                    heap[hole] = heap[child]
                    place[heap[hole]] = hole
                    hole = child
                heap[hole], place[vertex] = vertex, hole
            for edge in range(starts[nearest], starts[nearest + 1]):
                vertex = ends[edge]
                through = row[nearest] + lengths[edge]
                if through >= row[vertex]:
                    continue
                row[vertex] = through
                if place[vertex] < 0:
                    place[vertex] = size
                    size += 1
                hole = place[vertex]
                while hole and row[heap[(hole - 1) // 2]] > through:
                    heap[hole] = heap[(hole - 1) // 2]
                    place[heap[hole]] = hole
                    hole = (hole - 1) // 2
                heap[hole], place[vertex] = vertex, hole
