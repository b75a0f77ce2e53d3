"""Lloyd's two steps: assign rows to their nearest centres, and sum them up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numba import njit
from scipy import sparse

from panlearn.core.statistics import Statistic, Sums

CHUNK = 256  # rows whose scores against all centres stay in the first cache


@dataclass(frozen=True)
class Assigned(Sums):
    r"""Weight and sum of the rows next to each centre, and the weighted squared distances.

    Attributes
    ----------
    weight : float
    count : ndarray of shape (k,)
    total : ndarray of shape (k, d)
        Sums of the rows less `origin`.
    inertia : float
    """

    weight: float
    count: np.ndarray
    total: np.ndarray
    inertia: float

    @classmethod
    def of(cls, X: Any, weight: Any, centres: np.ndarray, origin: np.ndarray) -> Self:
        """Assign the rows of a batch."""
        k, d = centres.shape
        count, total = np.zeros(k), np.zeros((k, d))
        _, inertia = assign(X, weight, centres, origin, count, total)
        return cls(float(count.sum()), count, total, inertia)


@dataclass(frozen=True)
class Farthest(Statistic):
    """The distinct rows farthest from their centres, by falling distance.

    Attributes
    ----------
    distance : ndarray of shape (m,)
        Squared.
    rows : ndarray of shape (m, d)
    size : int
        The most rows to keep.
    """

    distance: np.ndarray
    rows: np.ndarray
    size: int

    @classmethod
    def of(cls, X: Any, weight: Any, centres: np.ndarray, origin: np.ndarray, size: int) -> Self:
        """Find the farthest rows of a batch."""
        labels, _ = assign(X, None, centres, origin)
        rows = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
        distance = ((rows - centres[labels]) ** 2).sum(axis=1)
        seen = slice(None) if weight is None else weight > 0
        return cls(distance[seen], rows[seen], size)._kept()

    def _kept(self) -> Self:
        # ties go by the values of the rows, so that their order does not matter
        order = np.lexsort((*self.rows.T, -self.distance))
        distance, rows = self.distance[order], self.rows[order]
        new = np.r_[True, (rows[1:] != rows[:-1]).any(axis=1)][: len(rows)]
        return type(self)(distance[new][: self.size], rows[new][: self.size], self.size)

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if not isinstance(other, Farthest):
            return NotImplemented
        return type(self)(
            np.concatenate([self.distance, other.distance]),
            np.concatenate([self.rows, other.rows]),
            min(self.size, other.size),
        )._kept()

    def __mul__(self, factor: float) -> Self:
        return self  # distances do not depend on the weights


def assign(
    X: Any,
    weight: np.ndarray | None,
    centres: np.ndarray,
    origin: np.ndarray,
    count: np.ndarray | None = None,
    total: np.ndarray | None = None,
) -> tuple[np.ndarray, float]:
    """Label each row with its nearest centre; add it up in `count` and `total`, if given.

    Returns the labels and the weighted sum of squared distances. Rows and centres are taken less
    `origin`, so that data far from zero keep their digits.
    """
    k, d = centres.shape
    n = X.shape[0]
    labels, inertia = np.empty(n, dtype=np.int32), 0.0
    count = np.zeros(k) if count is None else count
    total = np.zeros((k, d)) if total is None else total
    moved = np.ascontiguousarray((centres - origin).T)
    half = 0.5 * (moved**2).sum(axis=0)
    step = 4096 if sparse.issparse(X) else n  # sparse rows are made dense a few at a time
    for start in range(0, n, max(step, 1)):
        part = slice(start, start + step)
        rows = X[part].toarray() if sparse.issparse(X) else X
        rows = rows if rows.dtype in (np.float64, np.float32) else rows.astype(float)
        w = np.ones(rows.shape[0]) if weight is None else weight[part].astype(float)
        inertia += _assign(
            np.ascontiguousarray(rows), w, moved, half, origin, count, total, labels[part]
        )
    return labels, inertia


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _assign(
    X: np.ndarray,
    weight: np.ndarray,
    centres: np.ndarray,  # (d, k), less the origin
    half: np.ndarray,
    origin: np.ndarray,
    count: np.ndarray,
    total: np.ndarray,
    labels: np.ndarray,
) -> float:
    """argmin_j ½|c_j|² - x·c_j of each row by one product a chunk; returns sum w |x - c|²."""
    n, d = X.shape
    k = half.shape[0]
    rows, scores, inertia = np.empty((CHUNK, d)), np.empty((CHUNK, k)), 0.0
    for start in range(0, n, CHUNK):
        size = min(CHUNK, n - start)
        for i in range(size):
            for j in range(d):
                rows[i, j] = X[start + i, j] - origin[j]
        np.dot(rows[:size], centres, scores[:size])
        for i in range(size):
            best, lowest = 0, half[0] - scores[i, 0]
            for j in range(1, k):
                score = half[j] - scores[i, j]
                if score < lowest:
                    best, lowest = j, score
            w, square = weight[start + i], 0.0
            labels[start + i] = best
            count[best] += w
            for j in range(d):
                total[best, j] += w * rows[i, j]
                square += rows[i, j] * rows[i, j]
            inertia += w * max(square + 2 * lowest, 0.0)
    return inertia
