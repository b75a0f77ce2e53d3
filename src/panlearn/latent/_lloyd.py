r"""Lloyd's two steps: assign rows to their nearest centres, and sum them up.

Rows in memory remember their centre, and how much nearer it is than any other, at least. When the
centres move, that gap closes by the move of the centre and the longest move of the others, and
while it is open a row keeps its centre, unlooked (Hamerly, who keeps its two ends); the sums change
by the rows that go elsewhere. The others of a chunk go through
one matrix product with all centres in single precision; where its rounding could hide the nearest
centre the row is scored again in double, so the answer is that of double precision throughout.

References
----------
G. Hamerly (2010). Making k-means even faster. SDM. doi:10.1137/1.9781611972801.12
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from panlearn.core.statistics import Statistic, Sums
from panlearn.latent._lloyd_kernel import assign_open

SMALL = 1 << 17  # multiplications up to which to compile would take longer than it saves

Memory = np.dtype([("label", np.int32), ("gap", np.float64)], align=True)
"""What a row remembers: its centre, and how much farther all others are, at least."""


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
    def of(
        cls,
        X: Any,
        weight: Any,
        centres: np.ndarray,
        origin: np.ndarray,
        memory: np.ndarray | None = None,
        moves: np.ndarray | None = None,
    ) -> Self:
        """Assign the rows of a batch, or with `moves` sum up what changes, as in `assign`."""
        k, d = centres.shape
        count, total = np.zeros(k), np.zeros((k, d))
        _, inertia = assign(X, weight, centres, origin, count, total, memory, moves)
        weighs = X.shape[0] if weight is None else weight.sum(dtype=float)
        return cls(float(weighs), count, total, inertia)

    def moved(self, centres: np.ndarray, step: np.ndarray) -> Self:
        """What the changes are added to when centres, less `origin`, have gone a step."""
        size = self.count[:, None]
        grown = (step * (2 * (size * centres - self.total) + size * step)).sum()
        return replace(self, weight=0.0, inertia=self.inertia + float(grown))

    def variance(self, centres: np.ndarray) -> float:
        """The mean variance of a feature of the rows, from their centres, less `origin`."""
        size = self.count[:, None]
        square = self.inertia + float((centres * (2 * self.total - size * centres)).sum())
        mean = self.total.sum(axis=0) / self.weight
        return max(square / self.weight - float(mean @ mean), 0.0) / len(mean)


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
    memory: np.ndarray | None = None,
    moves: np.ndarray | None = None,
) -> tuple[np.ndarray, float]:
    """Label each row with its nearest centre; add it up in `count` and `total`, if given.

    Returns the labels and the weighted sum of squared distances. Rows and centres are taken less
    `origin`, so that data far from zero keep their digits. `memory` is filled with what the rows
    are to remember. If the centres have gone `moves` since it was, what it makes unnecessary is
    left out, and the sums are the changes by rows that go to another centre.
    """
    k, d = centres.shape
    n = X.shape[0]
    memory = np.zeros(n, Memory) if memory is None else memory
    inertia = 0.0
    count = np.zeros(k) if count is None else count
    total = np.zeros((k, d)) if total is None else total
    moved = np.ascontiguousarray(centres - origin)
    half = 0.5 * (moved**2).sum(axis=1)
    if is_small(n, k, d) and moves is None and not sparse.issparse(X):
        inertia = _assign_few(X, weight, moved, half, origin, count, total, memory["label"])
        return memory["label"], inertia
    if moves is None:
        memory["label"], memory["gap"], moves = -1, -1.0, np.zeros(k)
    step = 4096 if sparse.issparse(X) else n  # sparse rows are made dense a few at a time
    for start in range(0, n, max(step, 1)):
        part = slice(start, start + step)
        rows = X[part].toarray() if sparse.issparse(X) else X
        rows = rows if rows.dtype in (np.float64, np.float32) else rows.astype(float)
        w = np.ones(rows.shape[0]) if weight is None else weight[part].astype(float, copy=False)
        kept = memory["label"][part], memory["gap"][part]
        rows = np.ascontiguousarray(rows)
        inertia += assign_open(rows, w, moved, half, origin, moves, count, total, *kept)
    return memory["label"], inertia


def is_small(n: int, k: int, d: int) -> bool:
    """Whether so many rows are assigned to k centres sooner than anything is compiled."""
    return n * k * max(d, 16) <= SMALL


def _assign_few(
    X: np.ndarray,
    weight: np.ndarray | None,
    centres: np.ndarray,  # less the origin
    half: np.ndarray,
    origin: np.ndarray,
    count: np.ndarray,
    total: np.ndarray,
    labels: np.ndarray,
) -> float:
    """Do what `assign_open` does by products of all rows and centres, which nobody remembers."""
    rows = X - origin
    scores = rows @ centres.T
    np.subtract(half, scores, out=scores)
    own = labels[:] = scores.argmin(axis=1)
    scores[:] = 0.0  # now the weight of each row, in the column of its centre
    scores[np.arange(len(rows)), own] = 1.0 if weight is None else weight
    count += np.bincount(own, weight, len(half))
    total += scores.T @ rows
    rows -= centres.take(own, axis=0)
    if weight is None:
        return float(np.vdot(rows, rows))
    return float(weight @ np.einsum("ij,ij->i", rows, rows))
