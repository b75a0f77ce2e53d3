"""What the models of neighbours share: the rows they keep, and the search among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from panlearn.core.capabilities import Capabilities
from panlearn.core.derived import derived
from panlearn.core.documentation import inherit_documentation
from panlearn.core.estimator import Estimator
from panlearn.core.learned import shapes
from panlearn.core.parameters import Bounds, Jobs, Positive
from panlearn.core.sources import ArrayRows
from panlearn.core.validation import Targets, known_rows, read_rows
from panlearn.core.warning import warn
from panlearn.neighbors._pairwise import ORDERS, Metric, PairwiseIndex, check_metric
from panlearn.neighbors._search import Ball, NeighborIndex


@dataclass(eq=False, repr=False)
class StoredRows(Estimator):
    """A model that keeps its rows and looks up those near a query; abstract.

    Parameters
    ----------
    weights : {"uniform", "distance"} or callable, default="uniform"
        Whether neighbours count alike or by the inverse of their distance, in which case those at
        distance zero, if any, count alone. A callable turns an array of distances into weights;
        infinite ones count alone, and where all are zero the neighbours count alike, with a
        warning.
    algorithm : {"auto", "brute", "kd_tree"}, default="auto"
        How to search: "auto" takes the k-d tree up to ten features.
    leaf_size : int, default=30
        Rows in a leaf of the tree.
    p : float, default=2
        The order of Minkowski's distance, from 1 to infinity.
    metric : str or callable, default="minkowski"
        The distance. "euclidean" (or "l2"), "manhattan" ("l1", "cityblock") and "chebyshev" are
        Minkowski's of order 2, 1 and infinity. Others are scikit-learn's by name, such as
        "cosine", "correlation", "hamming", "jaccard", "mahalanobis" and "nan_euclidean", for which
        NaN is a missing entry; a function of two rows; or "precomputed": X then holds the
        distances of the rows to the training rows. These compare all pairs.
    metric_params : dict, default=None
        Further parameters of the metric.
    n_jobs : int, default=None
        Threads of a query; None or -1 uses the cores of this process. It changes no result.
    """

    learned = shapes(
        X_="(n_samples_fit, n_features)",
    )

    capabilities = Capabilities(sparse=True)

    _: KW_ONLY
    weights: Literal["uniform", "distance"] | Callable = "uniform"
    algorithm: Literal["auto", "brute", "kd_tree"] = "auto"
    leaf_size: Positive[int] = 30
    p: Annotated[float, Bounds(1, closed_low=True, closed_high=True)] = 2
    metric: Metric | Callable = "minkowski"
    metric_params: Mapping | None = None
    n_jobs: Jobs = None

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        inherit_documentation(cls, StoredRows)

    def _keep(self, X: Any, y: Any, targets: Targets) -> ArrayRows:
        """Check that the rows are in memory and enough, and make them ready for queries."""
        missing = self._allow_nan
        rows = read_rows(self, X, y, targets=targets, allow_nan=missing)
        assert isinstance(rows, ArrayRows)  # no other source is declared
        if missing:
            assert_all_finite(rows.X, allow_nan=True, input_name="X")
        else:
            rows.reject_non_finite()
        if callable(self.weights):
            self._check_weights(self.weights)
        if self.algorithm == "kd_tree" and (sparse.issparse(rows.X) or self._order is None):
            raise ValueError(
                "a k-d tree takes no sparse X and no metric but Minkowski's; use algorithm='brute' "
                "or 'auto'"
            )
        if self._order is None:
            check_metric(rows.X, self.metric, self._metric_options)
        self.X_, self.n_samples_fit_ = _canonical(rows.X).copy(), rows.X.shape[0]
        self._index  # noqa: B018, made ready now and not with the first query
        return rows

    @property
    def _order(self) -> float | None:
        """The order of Minkowski's distance, if the metric is one without further parameters."""
        if callable(self.metric) or (self.metric_params and set(self.metric_params) != {"p"}):
            return None
        if self.metric == "minkowski":
            return (self.metric_params or {}).get("p", self.p)
        return ORDERS.get(self.metric)

    @property
    def _metric_options(self) -> dict[str, Any]:
        order = {"p": self.p} if self.metric == "minkowski" else {}
        return {**order, **(self.metric_params or {})}

    @property
    def _allow_nan(self) -> bool:
        return self.metric == "nan_euclidean"

    @derived("X_")
    def _index(self) -> Any:
        if self._order is None:
            return PairwiseIndex(self.X_, self.metric, self._metric_options)
        leaf_size = min(self.leaf_size, self.n_samples_fit_)
        return NeighborIndex(self.X_, self._order, self.algorithm, leaf_size)

    def _queries(self, X: Any) -> Any:
        """Rows given by the user, sparse if the training rows are."""
        self._require_fitted()
        X = known_rows(self, X, accept_sparse="csr", allow_nan=self._allow_nan)
        if sparse.issparse(self.X_):
            return _canonical(X) if sparse.issparse(X) else sparse.csr_array(X)
        return X.toarray() if sparse.issparse(X) else X

    def _graph(self, near: Ball, mode: str) -> sparse.csr_array:
        """Neighbours as a matrix of ones or of distances."""
        if mode not in ("connectivity", "distance"):
            raise ValueError(f"mode must be 'connectivity' or 'distance'; got {mode!r}")
        values = near.distance if mode == "distance" else np.ones_like(near.distance)
        return near.matrix(values, self.n_samples_fit_)

    def _voices(self, near: Ball) -> np.ndarray:
        """The weight of each neighbour."""
        distance = near.distance
        if self.weights == "uniform":
            return np.ones_like(distance)
        if self.weights == "distance":
            # as a part of the nearest: the inverse of a small distance may overflow
            far, some = np.isinf(distance), near.sizes > 0
            least = np.minimum.reduceat(distance, near.ends[:-1][some])
            nearest = np.repeat(least, near.sizes[some])
            ratio = nearest / np.where((distance > 0) & ~far, distance, 1)
            ratio = np.where(far, np.isinf(nearest), ratio)
            return np.where(nearest == 0, distance == 0, ratio).astype(distance.dtype)
        sizes = near.sizes
        if (sizes == sizes[0]).all() and sizes[0]:  # a matrix of them, a row a query
            tables = [distance.reshape(len(sizes), -1)]
        else:
            tables = [part[None] for part in np.split(distance, near.ends[1:-1]) if len(part)]
        voices = [np.asarray(self.weights(table), dtype=distance.dtype) for table in tables]
        return np.concatenate([distance[:0], *(_checked_voices(v).ravel() for v in voices)])

    def _check_weights(self, weights: Callable) -> None:
        """Try a user's function before it is needed."""
        sample = np.array([[0.5, 1.0], [1.0, 2.0]])
        try:
            voices = np.asarray(weights(sample), dtype=float)
        except Exception as error:
            raise ValueError(f"weights must turn distances into weights: {error}") from error
        if voices.shape != sample.shape:
            raise ValueError(
                f"weights returned an array of shape {voices.shape} for distances of shape "
                f"{sample.shape}; it must return one weight a distance"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = self._order is not None or self.metric == "cosine"
        tags.input_tags.pairwise = tags.input_tags.positive_only = pairwise
        tags.input_tags.allow_nan = self._allow_nan
        return tags


def _checked_voices(voices: np.ndarray) -> np.ndarray:
    """Weights by a user's function; infinite ones count alone, and if all are zero, all alike."""
    if not (voices >= 0).all():
        row = int(np.flatnonzero(~(voices >= 0).all(axis=1))[0])
        raise ValueError(
            f"weights gave the neighbours of row {row} the weights {voices[row]}; they must not be "
            "negative or NaN"
        )
    infinite = np.isinf(voices)
    voices = np.where(infinite.any(axis=1, keepdims=True), infinite, voices)
    silent = ~voices.any(axis=1)
    if silent.any():
        warn(
            f"weights gave all neighbours of row {np.flatnonzero(silent)[0]} the weight zero (and "
            f"those of {silent.sum()} rows in all): there they count alike",
            UserWarning,
        )
        voices[silent] = 1
    return voices


def _canonical(X: Any) -> Any:
    """Add up entries that a sparse matrix stores twice; not in place, it is the user's."""
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
