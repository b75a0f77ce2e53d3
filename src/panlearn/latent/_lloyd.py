r"""Lloyd's two steps: assign rows to their nearest centres, and sum them up.

Rows in memory remember their centre, an upper bound on the distance from it and a lower bound on
that from any other. When the centres move, the one rises by the move of the centre and the other
sinks by the longest move of the others, and while they do not meet a row keeps its centre, unlooked
(Hamerly); the sums change by the rows that go elsewhere. The others of a chunk go through
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

from panlearn.core.jit import jit
from panlearn.core.statistics import Statistic, Sums

CHUNK = 256  # rows whose scores against all centres stay in the cache
SMALL = 1 << 17  # multiplications up to which to compile would take longer than it saves
SLACK = 1e-12  # taken off a squared bound, so that rounding never makes it too high

Memory = np.dtype([("label", np.int32), ("most", np.float64), ("least", np.float64)], align=True)
"""What a row remembers: its centre, how far it is at most, and how far all others are at least."""


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
        memory["label"], moves = -1, np.zeros(k)
    step = 4096 if sparse.issparse(X) else n  # sparse rows are made dense a few at a time
    for start in range(0, n, max(step, 1)):
        part = slice(start, start + step)
        rows = X[part].toarray() if sparse.issparse(X) else X
        rows = rows if rows.dtype in (np.float64, np.float32) else rows.astype(float)
        w = np.ones(rows.shape[0]) if weight is None else weight[part].astype(float, copy=False)
        kept = memory["label"][part], memory["most"][part], memory["least"][part]
        rows = np.ascontiguousarray(rows)
        inertia += _assign(rows, w, moved, half, origin, moves, count, total, *kept)
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
    origin: np.ndarray,
    moves: np.ndarray,
    count: np.ndarray,
    total: np.ndarray,
    labels: np.ndarray,  # -1 of rows that have not been assigned
    most: np.ndarray,
    least: np.ndarray,
) -> float:
    """argmin_j ½|c_j|² - x·c_j of the rows whose bounds do not settle it; Σ w |x - c|²."""
    n, d = X.shape
    k = half.shape[0]
    drift = np.empty(k)  # the longest move of the other centres, for each
    _longest_of_others(moves, drift)
    # the longest centre has length 1 in single precision
    longest, short, short_half = 0.0, np.empty((k, d), np.float32), np.empty(k, np.float32)
    for j in range(k):
        longest = max(longest, np.sqrt(2 * half[j]))
    unit = 1 / longest if longest > 0 else 1.0
    for j in range(k):
        short_half[j] = unit * unit * half[j]
        for a in range(d):
            short[j, a] = unit * centres[j, a]
    back = 1 / (unit * unit)
    error = (d + 8) * 2.0**-23 * longest  # of a score in single precision, for a row of length 1
    rows, square, place = np.empty((CHUNK, d)), np.empty(CHUNK), np.empty(CHUNK, np.int64)
    open_rows, near, beyond = np.empty((CHUNK, d), np.float32), np.empty(CHUNK), np.empty(CHUNK)
    low, second = np.empty(CHUNK, np.float32), np.empty(CHUNK, np.float32)
    best, buffer, inertia = np.empty(CHUNK, np.int32), np.empty(k * CHUNK, np.float32), 0.0
    ahead = 0
    while ahead < n:
        m = 0
        while ahead < n and m < CHUNK:
            own = labels[ahead]
            place[m] = ahead
            if own < 0:
                m += 1
            else:
                most[ahead] += moves[own]
                least[ahead] -= drift[own]
                m += not most[ahead] * (1 + SLACK) < least[ahead]
            ahead += 1
        for a in range(m):
            i, size2 = place[a], 0.0
            for j in range(d):
                value = X[i, j] - origin[j]
                rows[a, j] = value
                size2 += value * value
            square[a] = size2
            scale = unit if unit * unit * size2 < 1e30 else 0.0
            for j in range(d):
                open_rows[a, j] = scale * rows[a, j]
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
            doubt = 2 * error * (np.sqrt(square[a]) + longest)
            first, other = np.float64(low[a]) * back, np.float64(second[a]) * back
            slack = SLACK * (square[a] + longest**2)
            near[a] = np.sqrt(max(square[a] + 2 * (first + doubt), 0.0) + slack)
            beyond[a] = np.sqrt(max(square[a] + 2 * (other - doubt) - slack, 0.0))
            if not other - first > doubt or not square[a] * unit * unit < 1e30:
                best[a] = -1
        for a in range(m):
            i, own, old = place[a], best[a], labels[place[a]]
            most[i], least[i] = near[a], beyond[a]
            if own < 0:
                own, other = _in_double(rows[a], centres, half)
                slack = SLACK * (square[a] + longest**2)
                least[i] = np.sqrt(max(square[a] + 2 * other - slack, 0.0))
                most[i] = np.sqrt(_squared_distance(rows[a], centres[own]))
            if own != old:
                w, distance = weight[i], _squared_distance(rows[a], centres[own])
                inertia += w * distance
                count[own] += w
                for j in range(d):
                    total[own, j] += w * rows[a, j]
                if old >= 0:
                    inertia -= w * _squared_distance(rows[a], centres[old])
                    count[old] -= w
                    for j in range(d):
                        total[old, j] -= w * rows[a, j]
                labels[i], most[i] = own, np.sqrt(distance)
    return inertia


@jit
def _longest_of_others(moves: np.ndarray, drift: np.ndarray) -> None:
    first = second = 0.0
    for move in moves:
        if move > first:
            first, second = move, first
        elif move > second:
            second = move
    for j in range(len(moves)):
        drift[j] = first if moves[j] < first else second


@jit(fastmath={"reassoc", "contract"})
def _squared_distance(row: np.ndarray, centre: np.ndarray) -> float:
    distance = 0.0
    for j in range(len(row)):
        distance += (row[j] - centre[j]) ** 2
    return distance


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
