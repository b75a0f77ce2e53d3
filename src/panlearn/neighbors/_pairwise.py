"""The nearest rows by any distance: scikit-learn's, a function's, or one that the user computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

from panlearn.neighbors._kernels import keep_smallest
from panlearn.neighbors._search import Ball, Found, _heaps, _in_order, balls, joined

BLOCK = 1 << 22
"""Distances that are made at a time."""

Metric = Literal[
    "minkowski",
    "euclidean",
    "l2",
    "manhattan",
    "cityblock",
    "l1",
    "chebyshev",
    "cosine",
    "correlation",
    "nan_euclidean",
    "haversine",
    "mahalanobis",
    "seuclidean",
    "sqeuclidean",
    "braycurtis",
    "canberra",
    "hamming",
    "jaccard",
    "dice",
    "rogerstanimoto",
    "russellrao",
    "sokalsneath",
    "yule",
    "precomputed",
]
ORDERS = {
    "euclidean": 2.0,
    "l2": 2.0,
    "manhattan": 1.0,
    "cityblock": 1.0,
    "l1": 1.0,
    "chebyshev": np.inf,
}
"""The metrics that are Minkowski's, of these orders."""
SPARSE = ("cosine",)
"""Of the others, those that take sparse rows."""


class PairwiseIndex:
    """The rows X, ready for queries by a metric that knows all pairs only."""

    def __init__(self, X: Any, metric: str | Callable, options: Mapping[str, Any]) -> None:
        self.X, self.metric, self.options = X, metric, dict(options)
        self._boolean = metric in PAIRWISE_BOOLEAN_FUNCTIONS

    def query(self, Q: Any, k: int, n_jobs: int | None) -> Found:
        """Distances and indices of the k nearest rows, nearest first, equal ones by index.

        Rows that have no feature in common are infinitely far. Threads are not used: a user's
        function may not bear them.
        """
        n = self.X.shape[0]
        step = max(1, BLOCK // n)
        found = [self._nearest(Q[i : i + step], k) for i in range(0, Q.shape[0], step)]
        distance, index = (np.concatenate(part) for part in zip(*found, strict=True))
        return distance, index

    def within(self, Q: Any, radius: float, n_jobs: int | None) -> Ball:
        """All rows within a radius of each query, by index."""
        step = max(1, BLOCK // self.X.shape[0])
        parts = [Q[i : i + step] for i in range(0, Q.shape[0], step)]
        return joined([balls(self._distances(part), radius) for part in parts])

    def _nearest(self, Q: Any, k: int) -> Found:
        D = self._distances(Q)
        rank = np.minimum(D, np.finfo(np.float64).max)  # the heaps start from infinity
        value, which = _heaps(len(D), k, np.float64)
        keep_smallest(rank, 0, value, which)
        _, index = _in_order(value, which, k)
        return np.take_along_axis(D, index, axis=1), index

    def _distances(self, Q: Any) -> np.ndarray:
        if self.metric == "precomputed":
            D = np.asarray(Q, dtype=np.float64)
        else:
            rows = (A.astype(bool) if self._boolean else A for A in (Q, self.X))
            D = pairwise_distances(*rows, metric=self.metric, **self.options)
            D = np.asarray(D, dtype=np.float64)
        if self.metric == "nan_euclidean":
            D = np.where(np.isnan(D), np.inf, D)
        if not (D >= 0).all():
            row = int(np.flatnonzero(~(D >= 0).all(axis=1))[0])
            raise ValueError(
                f"the distances of row {row} go down to {D[row].min():.3g}; a distance must be a "
                "number and not negative"
            )
        return D


def check_metric(X: Any, metric: str | Callable, options: Mapping[str, Any]) -> None:
    """Try a metric on two rows, so that what is wrong with it is said by `fit`."""
    if metric == "precomputed":
        if sparse.issparse(X):
            raise ValueError("metric='precomputed' takes no sparse X: give all distances")
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"metric='precomputed' needs a square X, the distances of the rows; got {X.shape}"
            )
    elif sparse.issparse(X) and metric not in SPARSE:
        raise ValueError(
            f"metric={metric!r} takes no sparse X; use one of Minkowski's or 'cosine', or make X "
            "dense"
        )
    else:
        try:
            PairwiseIndex(X[:2], metric, options).query(X[:2], 1, None)
        except Exception as error:
            raise ValueError(f"metric={metric!r} failed on two rows of X: {error}") from error
