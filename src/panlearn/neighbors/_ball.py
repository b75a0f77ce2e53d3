"""The rows near each of some queries, one query after the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse


class Ball(NamedTuple):
    """The rows near each query: of query i the entries from ends[i] to ends[i + 1]."""

    ends: np.ndarray
    distance: np.ndarray
    which: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """How many rows are near each query."""
        return np.diff(self.ends)

    @property
    def query(self) -> np.ndarray:
        """The query of each entry."""
        return np.repeat(np.arange(len(self.ends) - 1), self.sizes)

    def matrix(self, values: np.ndarray, n_rows: int) -> sparse.csr_array:
        """One value an entry as a matrix of shape (n_queries, n_rows)."""
        shape = (len(self.ends) - 1, n_rows)
        return sparse.csr_array((values, self.which, self.ends), shape=shape)

    @property
    def nearest_first(self) -> Ball:
        """The same if rows were by index: those of a query by distance, equal ones by index."""
        query = self.query
        if len(self.ends) <= 1 << 16:
            query = query.astype(np.uint16)  # such are sorted by their digits
        order = np.argsort(self.distance, kind="stable")
        order = order[np.argsort(query[order], kind="stable")]
        return Ball(self.ends, self.distance[order], self.which[order])


def balls(distance: np.ndarray, radius: float) -> Ball:
    """The entries of a matrix of distances, (n_queries, n_rows), that are within a radius."""
    inside = distance <= radius
    sizes, place = np.count_nonzero(inside, axis=1), np.flatnonzero(inside)
    first = np.arange(0, distance.size, distance.shape[1])
    return Ball(
        np.append(0, np.cumsum(sizes)), distance.ravel()[place], place - np.repeat(first, sizes)
    )


def joined(parts: list[Ball]) -> Ball:
    """Those of several blocks of queries as one."""
    starts = np.append(0, np.cumsum([len(p.which) for p in parts]))
    ends = [p.ends[1:] + start for p, start in zip(parts, starts, strict=False)]
    return Ball(
        np.concatenate([[0], *ends]).astype(np.int64),
        np.concatenate([p.distance for p in parts]),
        np.concatenate([p.which for p in parts]),
    )
