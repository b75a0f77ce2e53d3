r"""Exact nearest neighbours: a k-d tree in low dimension, screened products of matrices above.

For Euclidean distances in high dimension the candidates of each query come from
:math:`|x|^2 - 2 q^\top x`, one product of matrices in float32. That formula cancels, so it only
screens: the distances of the candidates are computed again from differences in float64, and a
bound on the rounding of the formula certifies that no other row can be nearer. A query that is
not certified is screened again in float64 and, at last, compared with every row by differences.
So near-duplicates at a large offset are told apart, and equal distances go by index.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from panlearn.core.threads import n_threads, threads
from panlearn.neighbors._ball import Ball, balls, joined
from panlearn.neighbors._kernels import (
    keep_smallest,
    paired_distances,
    powered_distances,
)
from panlearn.neighbors._units import peak_of, power_of_two

Found = tuple[np.ndarray, np.ndarray]
Answer = tuple[np.ndarray, np.ndarray, np.ndarray]  # powered distances, indices, certain or not

LOW_DIMENSION = 10
QUERIES, ROWS = 256, 2048  # a block of products in float32 stays in the cache
WIDE = 64  # columns: with fewer, all distances take little longer than to screen for those in reach
SPARSE = 1 / 8  # of the pairs: if more are in reach, all distances are found sooner
SOME = 16  # rows whose mean is the middle of all
BLOCK = 1 << 16  # numbers that stay in the cache while they are centred
SHARED = 1 << 24  # multiplications that are worth a second thread
FEW = 10_000  # numbers: with all of these a query is compared sooner than they are screened
SINGLE = 1e6  # squares of what is smaller, and of its inverse, are good numbers of float32
SAFE = 1e100  # squares of what is smaller, and of its inverse, are floats


class NeighborIndex:
    """The rows X, ready for queries by Minkowski's distance of order p."""

    def __init__(self, X: Any, p: float, algorithm: str, leaf_size: int, peak: float = 0.0) -> None:
        self.p, self.algorithm, self.leaf_size = float(p), algorithm, leaf_size
        peak = max(peak, peak_of(X))
        safe = peak == 0 or (1 / SAFE < peak < SAFE and self.p in (1, 2, np.inf))
        self.unit = 1.0 if safe else power_of_two(peak)
        self.X = X if self.unit == 1 else X / self.unit
        self.n = X.shape[0]
        self.tree: Any = None
        self.screened: Any = None
        if sparse.issparse(X):
            self.squares = np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()
            self.radius = float(np.sqrt(self.squares.max()))
        elif algorithm == "kd_tree" or (
            algorithm == "auto" and X.shape[1] <= LOW_DIMENSION and self.n > QUERIES
        ):
            self.tree = cKDTree(self.X, leafsize=leaf_size, balanced_tree=False)
        elif self.p == 2 and X.size > FEW:
            peak /= self.unit
            self.scale = 1.0 if 1 / SINGLE < peak < SINGLE else power_of_two(peak)
            some = self.X[:: max(1, self.n // SOME)]  # any point among the rows will do
            self.mean = some.mean(axis=0, dtype=np.float64) / self.scale
            self.screened = self._augmented(self.X, np.float32)
            self.radius = float(np.sqrt(self.screened[:, -1].max()))

    def _scaled_for(self, Q: Any) -> NeighborIndex:
        """The index itself, or one in whose units the queries are floats with their squares."""
        peak = peak_of(Q)
        if peak / self.unit <= SAFE:
            return self
        return NeighborIndex(self.X * self.unit, self.p, self.algorithm, self.leaf_size, peak)

    def query(self, Q: Any, k: int, n_jobs: int | None) -> Found:
        """Distances and indices of the k nearest rows, nearest first, equal ones by index.

        For None all cores are used.
        """
        if (other := self._scaled_for(Q)) is not self:
            return other.query(Q, k, n_jobs)
        Q = Q if self.unit == 1 else Q / self.unit
        count = n_threads(-1 if n_jobs is None else n_jobs)
        if self.tree is not None:
            distance, index = self._by_tree(Q, k, count)
        else:
            powered, index = self._by_blocks(Q, k, count)
            distance = self._root(powered)
        return distance * self.unit if self.unit != 1 else distance, index

    def within(self, Q: Any, radius: float, n_jobs: int | None) -> Ball:
        """All rows within a radius of each query, by index; the distances are by differences."""
        if (other := self._scaled_for(Q)) is not self:
            return other.within(Q, radius, n_jobs)
        Q = Q if self.unit == 1 else Q / self.unit
        limit = radius / self.unit
        step = max(1, (1 << 17) // self.n) if self.tree is None else 4 * QUERIES

        @cache
        def columns() -> np.ndarray:
            return self.X.T.astype(np.float64, order="C")

        def look(part: slice) -> Ball:
            if sparse.issparse(self.X):
                return balls(self._sparse_distances(Q[part]), limit)
            queries = np.asarray(Q[part], dtype=np.float64)
            if self.screened is not None and self.X.shape[1] >= WIDE:
                place = np.flatnonzero(self._in_reach(queries, limit))
                if len(place) <= SPARSE * len(queries) * self.n:
                    return self._compared(queries, place, limit)
            return balls(self._root(powered_distances(queries, columns(), self.p)), limit)

        def ask(part: slice) -> Ball:
            queries = np.asarray(Q[part], dtype=np.float64)
            # a little beyond, as the tree rounds in its own way; the distances decide
            near = cKDTree(queries, balanced_tree=False).sparse_distance_matrix(
                self.tree, limit * (1 + 1e-9), p=self.p, output_type="ndarray"
            )
            return self._compared(queries, np.sort(near["i"] * self.n + near["j"]), limit)

        count = n_threads(-1 if n_jobs is None else n_jobs)
        parts = [slice(i, i + step) for i in range(0, Q.shape[0], step)]
        with threads(count) as run:
            ball = joined(list(run(look if self.tree is None else ask, parts)))
        return ball._replace(distance=ball.distance * self.unit)

    def _compared(self, Q: np.ndarray, place: np.ndarray, limit: float) -> Ball:
        """Those of some pairs that are within the limit; a place is n times query plus row."""
        query, which = np.divmod(place, self.n)
        exact = self._root(paired_distances(Q, self.X, query, which, self.p))
        inside = exact <= limit
        ends = np.cumsum(np.bincount(query[inside], minlength=len(Q)))
        return Ball(np.append(0, ends), exact[inside], which[inside])

    def _in_reach(self, Q: np.ndarray, limit: float) -> np.ndarray:
        """Whether each row may be within the limit of each query, by products in float32."""
        with np.errstate(over="ignore", invalid="ignore"):
            left, norm = self._screening(Q, np.float32)
            beyond = (limit / self.scale) ** 2 - norm**2 + self._rounding(norm, np.float32)
            return ~(left @ self.screened.T > beyond[:, None])  # what is no number may be

    def _sparse_distances(self, Q: Any) -> np.ndarray:
        """The distances of queries to every row, by differences."""
        everyone = np.arange(self.n)[None]
        rows = [self._sparse_powers(Q[i : i + 1], everyone) for i in range(Q.shape[0])]
        return self._root(np.concatenate(rows))

    def _by_tree(self, Q: np.ndarray, k: int, threads: int) -> Found:
        """Ask for one more than k: if it is as near as the k-th, a tie was broken at random."""
        distance, index = self._ask_tree(Q, min(k + 1, self.n), threads)
        tied = np.flatnonzero((distance[:, k - 1] == distance[:, -1]) & (k < self.n))
        distance, index = distance[:, :k], index[:, :k]
        for start in range(0, len(tied), 16 * QUERIES):
            self._settle(Q, tied[start : start + 16 * QUERIES], threads, distance, index)
        return distance, index

    def _settle(
        self, Q: np.ndarray, rows: Any, threads: int, distance: np.ndarray, index: np.ndarray
    ) -> None:
        """Find the nearest of queries whose k-th place is tied, in place."""
        k = distance.shape[1]
        for ask in (4 * k, 16 * k):
            if not len(rows) or ask >= self.n:
                break
            near, which = self._ask_tree(Q[rows], ask, threads)
            distance[rows], index[rows] = near[:, :k], which[:, :k]
            rows = rows[near[:, k - 1] == near[:, -1]]
        if len(rows):
            powered, index[rows] = self._by_blocks(Q[rows], k, threads)
            distance[rows] = self._root(powered)

    def _ask_tree(self, Q: np.ndarray, count: int, threads: int) -> Found:
        places = np.arange(1, count + 1)  # not `count`: for 1 the answer would lose an axis
        # neighbouring queries one after the other find their part of the tree in the cache
        order = cKDTree(Q, leafsize=QUERIES, balanced_tree=False, compact_nodes=False).indices
        distance, index = np.empty((len(Q), count)), np.empty((len(Q), count), dtype=np.int64)
        found = self.tree.query(Q[order], places, p=self.p, workers=threads)
        distance[order], index[order] = found
        tied = np.flatnonzero((distance[:, 1:] == distance[:, :-1]).any(axis=1))
        if len(tied):
            distance[tied], index[tied] = _in_order(distance[tied], index[tied], count)
        return distance, index

    def _by_blocks(self, Q: Any, k: int, count: int) -> Found:
        """Powered distances and indices; each way gets the queries that the last left open."""
        ways: list[Callable[..., Answer]] = [self._compare_all]
        if sparse.issparse(self.X):
            ways = [self._screen_sparse, *ways] if self.p == 2 else ways
        elif self.screened is not None:
            ways = [self._screen_single, self._screen_double, *ways]
        powered = np.empty((Q.shape[0], k))
        index = np.empty((Q.shape[0], k), dtype=np.int64)
        left = np.arange(Q.shape[0])
        step = QUERIES
        if Q.shape[0] * self.X.shape[0] * Q.shape[1] > SHARED:
            step = min(step, -(-Q.shape[0] // count))
        if sparse.issparse(self.X):  # one row of products a query is in memory
            step = min(QUERIES, max(1, (1 << 24) // self.n))
        with threads(count) as run:
            for way in ways:
                queries = Q if len(left) == Q.shape[0] else Q[left]
                parts = [slice(i, i + step) for i in range(0, len(left), step)]
                answers = run(partial(way, k=k), [queries[part] for part in parts])
                open_ones = [left[:0]]
                for part, (near, which, certain) in zip(parts, answers, strict=True):
                    powered[left[part]], index[left[part]] = near, which
                    open_ones.append(left[part][~certain])
                left = np.concatenate(open_ones)
        return powered, index

    def _screen_single(self, Q: np.ndarray, k: int) -> Answer:
        """Screen by products in float32."""
        return self._screen_dense(Q, k, np.float32)

    def _screen_double(self, Q: np.ndarray, k: int) -> Answer:
        """Screen by products in float64."""
        return self._screen_dense(Q, k, np.float64)

    def _screen_dense(self, Q: np.ndarray, k: int, dtype: type) -> Answer:
        count = self._candidates(k)
        with np.errstate(over="ignore", invalid="ignore"):
            left, norm = self._screening(Q, dtype)
            value, candidate = _heaps(len(Q), count, dtype)
            for first in range(0, self.n, ROWS):
                rows = slice(first, first + ROWS)
                single = dtype is np.float32
                right = self.screened[rows] if single else self._augmented(self.X[rows], dtype)
                keep_smallest(left @ right.T, first, value, candidate)
            rounding = self._rounding(norm, dtype)
            # every row that was left out is at least as far as this, in units of the scale
            least = value[:, 0] + norm**2 - rounding
            # and of the candidates k are nearer than those beyond this; what is no number may be
            near = ~(value > (np.partition(value, k - 1)[:, k - 1] + 2 * rounding)[:, None])
        candidate[~np.isfinite(value).all(axis=1)] = 0  # not certain, whatever they are
        exact = np.full(value.shape, np.inf)
        exact[near] = paired_distances(Q, self.X, np.nonzero(near)[0], candidate[near], 2.0)
        distance, which = _in_order(exact, candidate, k)
        with np.errstate(over="ignore"):
            certain = (np.sqrt(distance[:, -1]) / self.scale) ** 2 < least
        return distance, which, certain | (count == self.n)

    def _screening(self, Q: np.ndarray, dtype: type) -> Found:
        """What `_augmented` rows are multiplied by, and the norms, in units of the scale."""
        left = self._augmented(Q, dtype)
        norm = np.sqrt(left[:, -1], dtype=np.float64)
        left[:, :-1] *= -2
        left[:, -1] = 1
        return left, norm

    def _screen_sparse(self, Q: Any, k: int) -> Answer:
        """Screen by products of sparse matrices in float64, about the origin."""
        count = self._candidates(k)
        norm = np.sqrt(np.asarray(Q.multiply(Q).sum(axis=1)).ravel())
        products = (Q @ self.X.T).toarray().astype(np.float64, copy=False)
        value, candidate = _heaps(Q.shape[0], count, np.float64)
        keep_smallest(self.squares - 2 * products, 0, value, candidate)
        least = value[:, 0] + norm**2 - self._rounding(norm, self.X.dtype)
        exact = self._sparse_powers(Q, candidate)
        near, which = _in_order(exact, candidate, k)
        return near, which, (near[:, -1] < least) | (count == self.n)

    def _compare_all(self, Q: Any, k: int) -> Answer:
        """Compare with every row by differences."""
        value, which = _heaps(Q.shape[0], k, np.float64)
        if sparse.issparse(self.X):
            everyone = np.arange(self.n)[None]
            for i in range(Q.shape[0]):
                powered = self._sparse_powers(Q[i : i + 1], everyone)
                keep_smallest(powered, 0, value[i : i + 1], which[i : i + 1])
        else:
            Q = np.asarray(Q, dtype=np.float64)
            for first in range(0, self.n, ROWS):
                columns = self.X[first : first + ROWS].T.astype(np.float64, order="C")
                keep_smallest(powered_distances(Q, columns, self.p), first, value, which)
        return *_in_order(value, which, k), np.ones(Q.shape[0], dtype=bool)

    def _sparse_powers(self, Q: Any, rows: np.ndarray) -> np.ndarray:
        """Sums of |q - x|^p over the rows named for each query; for p = inf the maxima."""
        query = np.repeat(np.arange(Q.shape[0]), rows.shape[1])
        difference = abs(self.X[rows.ravel()].astype(np.float64) - Q[query].astype(np.float64))
        if self.p == np.inf:
            total = difference.max(axis=1).toarray()
        else:
            total = difference.power(self.p).sum(axis=1)
        return np.asarray(total).reshape(rows.shape)

    def _augmented(self, X: np.ndarray, dtype: type) -> np.ndarray:
        """Rows centred and scaled, with their squares beside them: one product screens."""
        out = np.empty((X.shape[0], X.shape[1] + 1), dtype)
        step = max(1, BLOCK // X.shape[1])
        for first in range(0, len(X), step):
            rows = slice(first, first + step)
            part = X[rows] if self.scale == 1 else X[rows] / self.scale
            centred = np.subtract(part, self.mean, out=out[rows, :-1], casting="same_kind")
            out[rows, -1] = np.vecdot(centred, centred)
        return out

    def _candidates(self, k: int) -> int:
        return min(self.n, k + 8 + k // 4)

    def _rounding(self, norm: np.ndarray, dtype: Any) -> np.ndarray:
        """A bound on what rounding does to |q|^2 + |x|^2 - 2 q'x and to the coordinates."""
        eps, tiny = np.finfo(dtype).eps, np.finfo(dtype).tiny
        return (self.X.shape[1] + 10) * (eps * (norm + self.radius) ** 2 + tiny)

    def _root(self, powered: np.ndarray) -> np.ndarray:
        if self.p == 2:
            return np.sqrt(powered)
        return powered if self.p in (1, np.inf) else powered ** (1 / self.p)


def _heaps(rows: int, count: int, dtype: Any) -> Found:
    """A heap a row, full of what is beyond everything."""
    return np.full((rows, count), np.inf, dtype), np.zeros((rows, count), dtype=np.int64)


def _in_order(distance: np.ndarray, index: np.ndarray, k: int) -> Found:
    """Sort each row by distance, equal ones by index, and keep k of them."""
    order = np.lexsort((index, distance), axis=-1)[:, :k]
    return np.take_along_axis(distance, order, 1), np.take_along_axis(index, order, 1)
