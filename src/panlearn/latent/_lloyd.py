r"""Lloyd's two steps: assign rows to their nearest centres, and sum them up.

Rows in memory remember their centre and a lower bound on the distance from any other. When the
centres move, the bound sinks by the longest move of the others, and while it stays above the
distance from its own centre a row keeps it, unlooked (Hamerly). The others of a chunk go through
one matrix product with all centres in single precision; where its rounding could hide the nearest
centre the row is scored again in double, so the answer is that of double precision throughout.

References
----------
G. Hamerly (2010). Making k-means even faster. SDM. doi:10.1137/1.9781611972801.12
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from panlearn.core.jit import jit
from panlearn.core.statistics import Statistic, Sums

CHUNK = 256  # rows whose scores against all centres stay in the cache
SMALL = 1 << 17  # multiplications up to which to compile would take longer than it saves
SLACK = 1e-12  # taken off a squared bound, so that rounding never makes it too high

Memory = np.dtype([("label", np.int32), ("bound", np.float64)], align=True)
"""What a row remembers between assignments: its centre, and how far all others are at least."""


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
        """Assign the rows of a batch; `memory` is brought up to date, as in `assign`."""
        k, d = centres.shape
        count, total = np.zeros(k), np.zeros((k, d))
        _, inertia = assign(X, weight, centres, origin, count, total, memory, moves)
        return cls(float(count.sum()), count, total, inertia)


@dataclass(frozen=True)
class Spread(Sums):
    """Weight, sum and squared size of the rows less an origin, for their mean variance."""

    weight: float
    total: np.ndarray
    square: float

    @classmethod
    def of(cls, X: Any, weight: Any, origin: np.ndarray) -> Self:
        """Sum up a batch."""
        rows = (X.toarray() if sparse.issparse(X) else X) - origin
        w = np.ones(len(rows)) if weight is None else weight.astype(float)
        return cls(float(w.sum()), w @ rows, float(w @ np.einsum("ij,ij->i", rows, rows)))

    @property
    def variance(self) -> float:
        """The mean variance of a feature."""
        mean = self.total / self.weight
        return max(self.square / self.weight - float(mean @ mean), 0.0) / len(mean)


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
    `origin`, so that data far from zero keep their digits. `memory` holds what the rows remember
    from centres that have gone these `moves` since.
    """
    k, d = centres.shape
    n = X.shape[0]
    memory = np.zeros(n, Memory) if memory is None else memory
    inertia = 0.0
    count = np.zeros(k) if count is None else count
    total = np.zeros((k, d)) if total is None else total
    moved = np.ascontiguousarray(centres - origin)
    half = 0.5 * (moved**2).sum(axis=1)
    if n * k * max(d, 16) <= SMALL and not sparse.issparse(X):
        inertia = _assign_few(X, weight, moved, half, origin, count, total, memory["label"])
        return memory["label"], inertia
    drift = np.zeros(k) if moves is None else _drift(moves)
    longest = float(np.sqrt(2 * half.max()))
    unit = 1 / longest if longest > 0 else 1.0
    short = (unit * moved).astype(np.float32), (unit**2 * half).astype(np.float32)
    step = 4096 if sparse.issparse(X) else n  # sparse rows are made dense a few at a time
    for start in range(0, n, max(step, 1)):
        part = slice(start, start + step)
        rows = X[part].toarray() if sparse.issparse(X) else X
        rows = rows if rows.dtype in (np.float64, np.float32) else rows.astype(float)
        w = np.ones(rows.shape[0]) if weight is None else weight[part].astype(float)
        labels, bounds = memory["label"][part], memory["bound"][part]
        rows = np.ascontiguousarray(rows)
        scaled = *short, longest, unit
        inertia += _assign(
            rows, w, moved, half, *scaled, origin, drift, count, total, labels, bounds
        )
    return memory["label"], inertia


def _drift(moves: np.ndarray) -> np.ndarray:
    """The longest move of the other centres, for each."""
    out, first = np.full(len(moves), moves.max()), int(moves.argmax())
    out[first] = np.delete(moves, first).max(initial=0.0)
    return out


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
    """Do what `_assign` does by products of all rows with all centres, which nobody remembers."""
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


@jit(fastmath={"reassoc", "contract", "nnan"})
def _assign(
    X: np.ndarray,
    weight: np.ndarray,
    centres: np.ndarray,  # less the origin
    half: np.ndarray,
    short: np.ndarray,  # both with the longest centre of length 1
    short_half: np.ndarray,
    longest: float,
    unit: float,
    origin: np.ndarray,
    drift: np.ndarray,
    count: np.ndarray,
    total: np.ndarray,
    labels: np.ndarray,
    bounds: np.ndarray,
) -> float:
    """argmin_j ½|c_j|² - x·c_j of the rows whose bound does not settle it; Σ w |x - c|²."""
    n, d = X.shape
    k = half.shape[0]
    back = 1 / (unit * unit)
    error = (d + 8) * 2.0**-23 * longest  # of a score in single precision, for a row of length 1
    rows, square, near = np.empty((CHUNK, d)), np.empty(CHUNK), np.empty(CHUNK)
    place, open_rows = np.empty(CHUNK, np.int64), np.empty((CHUNK, d), np.float32)
    low, second = np.empty(CHUNK, np.float32), np.empty(CHUNK, np.float32)
    best, buffer, inertia = np.empty(CHUNK, np.int32), np.empty(k * CHUNK, np.float32), 0.0
    for start in range(0, n, CHUNK):
        size, m = min(CHUNK, n - start), 0
        for i in range(size):
            size2, distance, own = 0.0, 0.0, labels[start + i]
            for j in range(d):
                value = X[start + i, j] - origin[j]
                rows[i, j] = value
                size2 += value * value
            bound = bounds[start + i] - drift[own]
            bounds[start + i] = bound
            if bound > 0:
                for j in range(d):
                    distance += (rows[i, j] - centres[own, j]) ** 2
            near[i], square[i] = distance, size2
            if not (bound > 0 and distance < bound * bound):
                scale = unit if unit * unit * size2 < 1e30 else 0.0
                place[m] = i
                for j in range(d):
                    open_rows[m, j] = scale * rows[i, j]
                m += 1
        if m > 0:
            scores = buffer[: k * m].reshape(k, m)  # a row a centre, so that m run side by side
            np.dot(short, open_rows[:m].T, scores)
            for a in range(m):
                best[a], low[a], second[a] = 0, short_half[0] - scores[0, a], np.inf
            for j in range(1, k):
                for a in range(m):
                    score = short_half[j] - scores[j, a]
                    best[a] = np.int32(j) if score < low[a] else best[a]
                    second[a] = min(second[a], max(low[a], score))
                    low[a] = min(low[a], score)
        for a in range(m):
            i = place[a]
            doubt = 2 * error * (np.sqrt(square[i]) + longest)
            gap = (np.float64(second[a]) - np.float64(low[a])) * back
            own, other = best[a], np.float64(second[a]) * back - doubt
            if not gap > doubt or not square[i] * unit * unit < 1e30:
                own, other = _in_double(rows[i], centres, half)
            if own != labels[start + i] or near[i] == 0.0:  # else it is known
                distance = 0.0
                for j in range(d):
                    distance += (rows[i, j] - centres[own, j]) ** 2
                labels[start + i], near[i] = own, distance
            least = square[i] + 2 * other - SLACK * (square[i] + longest**2)
            bounds[start + i] = np.sqrt(max(least, 0.0))
        for i in range(size):
            own, w = labels[start + i], weight[start + i]
            count[own] += w
            inertia += w * near[i]
            for j in range(d):
                total[own, j] += w * rows[i, j]
    return inertia


@jit
def _in_double(row: np.ndarray, centres: np.ndarray, half: np.ndarray) -> tuple[int, float]:
    """The nearest centre of a row, the first of several, and the score of the next."""
    best, low, second = 0, np.inf, np.inf
    for j in range(len(half)):
        score = half[j]
        for i in range(len(row)):
            score -= row[i] * centres[j, i]
        if score < low:
            best, low, second = j, score, low
        elif score < second:
            second = score
    return best, second
