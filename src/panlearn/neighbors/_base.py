"""What both nearest-neighbour models share: the rows they keep, and the search among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import validate_data

from panlearn.core.capabilities import Capabilities
from panlearn.core.estimator import Estimator
from panlearn.core.parameters import Bounds, Jobs, Positive
from panlearn.core.sources import ArrayRows
from panlearn.core.validation import FLOATS, Targets, read_rows
from panlearn.core.warning import warn
from panlearn.neighbors._pairwise import ORDERS, Metric, PairwiseIndex, check_metric
from panlearn.neighbors._search import Found, NeighborIndex


@dataclass(eq=False, repr=False)
class NeighborsModel(Estimator):
    """A model that keeps its rows and looks the nearest ones up; abstract."""

    capabilities = Capabilities(sparse=True)

    n_neighbors: Positive[int] = 5
    _: KW_ONLY
    weights: Literal["uniform", "distance"] | Callable = "uniform"
    algorithm: Literal["auto", "brute", "kd_tree"] = "auto"
    leaf_size: Positive[int] = 30
    p: Annotated[float, Bounds(1, closed_low=True, closed_high=True)] = 2
    metric: Metric | Callable = "minkowski"
    metric_params: Mapping | None = None
    n_jobs: Jobs = None

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Find the nearest training rows of each row, nearest first, equal ones by index.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            The rows to find neighbours of. Without them, those of each training row, which is
            then not its own neighbour.
        n_neighbors : int, default=None
            How many; the parameter of the model if not given.
        return_distance : bool, default=True
            Whether to return the distances as well.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            If asked for.
        indices : ndarray of shape (n_queries, n_neighbors)
        """
        self._require_fitted()
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        available = self.n_samples_fit_ - (X is None)
        if not isinstance(k, int | np.integer) or not 1 <= k <= available:
            raise ValueError(
                f"n_neighbors={k!r} but n_samples={self.n_samples_fit_}; ask for a whole number "
                f"from 1 to {available}"
            )
        distance, index = self._others(k) if X is None else self._nearest(X, k)
        return (distance, index) if return_distance else index

    def kneighbors_graph(
        self,
        X: Any = None,
        n_neighbors: int | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
    ) -> sparse.csr_array:
        """Lay the neighbours out as a sparse matrix.

        Parameters
        ----------
        X, n_neighbors
            As in `kneighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether an entry is one or the distance.

        Returns
        -------
        csr_array of shape (n_queries, n_samples_fit)
        """
        if mode not in ("connectivity", "distance"):
            raise ValueError(f"mode must be 'connectivity' or 'distance'; got {mode!r}")
        distance, index = self.kneighbors(X, n_neighbors)
        values = distance if mode == "distance" else np.ones_like(distance)
        ends = np.arange(0, index.size + 1, index.shape[1])
        shape = (len(index), self.n_samples_fit_)
        return sparse.csr_array((values.ravel(), index.ravel(), ends), shape=shape)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_index", None)  # made again from the rows
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "X_" in state:
            self._build()

    def _keep(self, X: Any, y: Any, targets: Targets) -> ArrayRows:
        """Check that the rows are in memory and enough, and make them ready for queries."""
        name, missing = type(self).__name__, self._allow_nan
        rows = read_rows(self, X, y, targets=targets, allow_nan=missing)
        assert isinstance(rows, ArrayRows)  # no other source is declared
        if missing:
            assert_all_finite(rows.X, allow_nan=True, input_name="X")
        else:
            rows.reject_non_finite()
        if callable(self.weights):
            self._check_weights(self.weights)
        if self.n_neighbors > rows.X.shape[0]:
            raise ValueError(
                f"{name} was asked for n_neighbors={self.n_neighbors} but "
                f"n_samples={rows.X.shape[0]}; lower n_neighbors or give more rows"
            )
        if self.algorithm == "kd_tree" and (sparse.issparse(rows.X) or self._order is None):
            raise ValueError(
                "a k-d tree takes no sparse X and no metric but Minkowski's; use algorithm='brute' "
                "or 'auto'"
            )
        if self._order is None:
            check_metric(rows.X, self.metric, self._metric_options)
        self.X_, self.n_samples_fit_ = _canonical(rows.X).copy(), rows.X.shape[0]
        self._build()
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

    def _build(self) -> None:
        if self._order is None:
            self._index: Any = PairwiseIndex(self.X_, self.metric, self._metric_options)
            return
        leaf_size = min(self.leaf_size, self.n_samples_fit_)
        self._index = NeighborIndex(self.X_, self._order, self.algorithm, leaf_size)

    def _nearest(self, X: Any, k: int) -> Found:
        """The k nearest of rows given by the user."""
        self._require_fitted()
        X = validate_data(
            self,
            X,
            reset=False,
            accept_sparse="csr",
            dtype=FLOATS,
            ensure_all_finite="allow-nan" if self._allow_nan else True,
        )
        if sparse.issparse(self.X_):
            X = _canonical(X) if sparse.issparse(X) else sparse.csr_array(X)
        elif sparse.issparse(X):
            X = X.toarray()
        distance, index = self._index.query(X, k, self.n_jobs)
        return distance.astype(self.X_.dtype, copy=False), index

    def _others(self, k: int) -> Found:
        """The k nearest of each training row but itself."""
        distance, index = self._index.query(self.X_, k + 1, self.n_jobs)
        own = index == np.arange(len(index))[:, None]
        own[~own.any(axis=1), -1] = True  # among many duplicates a row may miss itself
        kept = (len(index), k)
        distance = distance[~own].reshape(kept).astype(self.X_.dtype, copy=False)
        return distance, index[~own].reshape(kept)

    def _voices(self, distance: np.ndarray) -> np.ndarray:
        """The weights of neighbours at these distances."""
        if self.weights == "uniform":
            return np.ones_like(distance)
        if self.weights == "distance":
            # as a part of the nearest: the inverse of a small distance may overflow
            nearest, far = distance[:, :1], np.isinf(distance)
            ratio = nearest / np.where((distance > 0) & ~far, distance, 1)
            ratio = np.where(far, np.isinf(nearest), ratio)
            return np.where(nearest == 0, distance == 0, ratio).astype(distance.dtype)
        return _checked_voices(np.asarray(self.weights(distance), dtype=distance.dtype))

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
