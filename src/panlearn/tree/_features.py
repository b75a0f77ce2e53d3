"""Features as the kernels read them: presorted for exact trees, binned for forests."""

from __future__ import annotations

from typing import Any

import numpy as np

from panlearn.core.threads import threads
from panlearn.tree._grow import Features
from panlearn.tree._split import MISSING


def presort(X: np.ndarray) -> Features:
    """The values of each feature, and the rows in their order, missing ones last."""
    columns = np.ascontiguousarray(X.T)
    order = np.empty(columns.shape, dtype=np.int32)
    for column, place in zip(columns, order, strict=True):
        place[:] = np.argsort(column, kind="stable")
    return Features(columns, order, np.empty((len(columns), 0)), np.inf)


def bin_features(X: np.ndarray, weight: np.ndarray, n_jobs: Any = None) -> Features:
    """The bin of each value.

    With few distinct values each has its bin; else the bins have about the same weight. A value is
    in bin b or below exactly if it does not exceed threshold b.
    """
    n, d = X.shape
    # a row lies in one cache line, of which a node looks at several features
    bins = np.full((n, d), MISSING, dtype=np.uint8)
    thresholds = np.full((d, MISSING), np.inf)
    with threads(n_jobs) as run:
        for j, (cuts, places) in enumerate(run(lambda x: _bins(x, weight), list(X.T))):
            thresholds[j, : len(cuts)] = cuts
            bins[:, j] = places
    return Features(bins.T, np.empty((d, 0), np.int32), thresholds, MISSING - 1)


def _bins(x: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The thresholds of one feature, and the bin of each value."""
    x = x.astype(np.float64)
    known = ~np.isnan(x)
    order = np.argsort(x)[: known.sum()]
    values = x[order]
    first = np.flatnonzero(np.diff(values, prepend=-np.inf))  # where a new value begins
    if len(first) > MISSING:
        mass = np.cumsum(weight[order])
        wanted = np.searchsorted(mass, np.arange(1, MISSING) * mass[-1] / MISSING, side="right")
        first = np.unique(np.r_[0, first[np.searchsorted(first, wanted, side="right") - 1]])
    above, below = values[first[1:]], values[first[1:] - 1]
    cuts = below / 2 + above / 2
    cuts = np.where((cuts >= below) & (cuts < above), cuts, below)
    places = np.full(len(x), MISSING, np.uint8)
    places[order] = np.repeat(np.arange(len(first)), np.diff(first, append=len(values)))
    return cuts, places
