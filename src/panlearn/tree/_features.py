"""Features as the kernels read them: presorted for exact trees, binned for forests.

X may be sparse, dense columns of it are made one at a time; but the keys that a tree is grown on
are as many as X would have entries if it were dense: eight bytes each presorted, one binned.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse

from panlearn.core.memory import require_memory
from panlearn.core.threads import threads
from panlearn.tree._growth import Columns
from panlearn.tree._split import MISSING, TOP

BLOCK_BYTES = 1 << 25
BLOCK_ROWS = 1 << 14
BLOCK_COLUMNS = 1 << 10
SORTED = 1 << 14  # entries of the columns that are sorted in one go
NO_SIGN = np.zeros(0, dtype=np.int8)


@dataclass(frozen=True, eq=False)
class Features(ABC):
    """The keys of all features, and what they mean; abstract."""

    columns: Columns

    @abstractmethod
    def _between(self, feature: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Numbers between what goes left and what goes right."""

    def thresholds(self, feature: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The threshold of each node that splits, infinite where only missing values go right."""
        result = np.full(len(feature), -2.0)
        result[feature >= 0] = np.inf
        inner = (feature >= 0) & (high >= 0)
        if inner.any():
            result[inner] = self._between(feature[inner], low[inner], high[inner])
        return result


@dataclass(frozen=True, eq=False)
class Presorted(Features):
    """Features whose keys are the ranks of their values; ends of sides are rows of X."""

    X: Any

    def _between(self, feature: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        ends = [
            np.asarray(self.X[rows, feature]).ravel().astype(np.float64) for rows in (low, high)
        ]
        return midpoints(*ends)


@dataclass(frozen=True, eq=False)
class Binned(Features):
    """Features in bins: a value is in bin b or below exactly if it does not exceed cut b."""

    cuts: np.ndarray

    def _between(self, feature: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return self.cuts[feature, (low + high) // 2]


def midpoints(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Numbers that are at least `below` and less than `above`, half way if the floats allow it."""
    middle = below / 2 + above / 2
    return np.where((below <= middle) & (middle < above), middle, below)


def dense_columns(X: Any) -> Iterator[np.ndarray]:
    """The columns of X, one after the other."""
    if not sparse.issparse(X):
        yield from X.T
        return
    X = X.tocsc()
    for j in range(X.shape[1]):
        yield X[:, [j]].toarray()[:, 0]


def dense_blocks(X: Any, step: int = sys.maxsize) -> Iterator[tuple[slice, np.ndarray]]:
    """Stretches of the rows of X and where they lie: of some megabytes if they are sparse."""
    n, d = X.shape
    if sparse.issparse(X):
        step = max(1, BLOCK_BYTES // (X.dtype.itemsize * d))
    for start in range(0, n, step):
        part = slice(start, start + step)
        yield part, X[part].toarray() if sparse.issparse(X) else np.ascontiguousarray(X[part])


def presort(X: Any, sign: np.ndarray = NO_SIGN) -> Presorted:
    """The ranks of the values of each feature, and the rows in their order, missing ones last."""
    n, d = X.shape
    remedy = "give fewer columns, or grow a forest, which needs an eighth"
    require_memory((2, d, n), "what a tree keeps of X", remedy, itemsize=4)
    ranks, order = np.empty((d, n), np.int32), np.empty((d, n), np.int32)
    columns, width = dense_columns(X), max(1, SORTED // n)
    for start in range(0, d, width):
        part = slice(start, start + width)
        block = np.stack(list(islice(columns, width)))
        rows = np.argsort(block, axis=1, kind="stable")
        values = np.take_along_axis(block, rows, axis=1)
        rank = np.zeros(block.shape, np.int32)
        np.cumsum(values[:, 1:] != values[:, :-1], axis=1, out=rank[:, 1:])
        rank[np.isnan(values)] = TOP
        order[part] = rows
        np.put_along_axis(ranks[part], rows, rank, axis=1)
    return Presorted(Columns(ranks, order, np.empty((0, d), np.uint8), sign), X)


def bin_features(
    X: Any, weight: np.ndarray, n_jobs: Any = None, sign: np.ndarray = NO_SIGN
) -> Binned:
    """The bin of each value.

    With few distinct values each has its bin; else the bins have about the same weight.
    """
    n, d = X.shape
    require_memory((n, d), "what a forest keeps of X", "give fewer columns", itemsize=1)
    # a row lies in one cache line, of which a node looks at several features
    bins = np.full((n, d), MISSING, dtype=np.uint8)
    thresholds = np.full((d, MISSING), np.inf)
    if n <= MISSING and not sparse.issparse(X):
        for start in range(0, d, BLOCK_COLUMNS):
            part = slice(start, start + BLOCK_COLUMNS)
            _bin_few(X[:, part], bins[:, part], thresholds[part])
    else:
        with threads(n_jobs) as run:
            columns = run(lambda x: _bins(x, weight), dense_columns(X))
            for j, (cuts, places) in enumerate(columns):
                thresholds[j, : len(cuts)] = cuts
                bins[:, j] = places
    no_order = np.empty((d, 0), np.int32)
    return Binned(Columns(no_order, no_order, bins, sign), thresholds)


def _bin_few(X: np.ndarray, bins: np.ndarray, thresholds: np.ndarray) -> None:
    """Fill in what `_bins` gives of each column, where each value of each may have its bin."""
    values = X.T.astype(np.float64)
    order = np.argsort(values, axis=1)
    values = np.take_along_axis(values, order, axis=1)
    known = ~np.isnan(values)
    new = (values[:, 1:] != values[:, :-1]) & known[:, 1:]
    places = np.zeros(values.shape, dtype=np.int64)
    np.cumsum(new, axis=1, out=places[:, 1:])
    column, row = np.nonzero(new)
    cuts = midpoints(values[column, row], values[column, row + 1])
    thresholds[column, places[column, row]] = cuts
    np.put_along_axis(bins.T, order, np.where(known, places, MISSING).astype(np.uint8), axis=1)


def _bins(x: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The thresholds of one feature, and the bin of each value."""
    x = x.astype(np.float64)
    known = ~np.isnan(x)
    order = np.argsort(x)[: known.sum()]
    values = x[order]
    # where a new value begins
    first = np.flatnonzero(np.r_[len(values) > 0, values[1:] != values[:-1]])
    if len(first) > MISSING:
        mass = np.cumsum(weight[order])
        wanted = np.searchsorted(mass, np.arange(1, MISSING) * mass[-1] / MISSING, side="right")
        first = np.unique(np.r_[0, first[np.searchsorted(first, wanted, side="right") - 1]])
    cuts = midpoints(values[first[1:] - 1], values[first[1:]])
    places = np.full(len(x), MISSING, np.uint8)
    places[order] = np.repeat(np.arange(len(first)), np.diff(first, append=len(values)))
    return cuts, places
