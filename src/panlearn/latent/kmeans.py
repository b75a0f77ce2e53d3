"""Clusters around their means."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import _check_sample_weight

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.estimator import Estimator, fitting
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.progress import Iterations, Iterative
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows, Rows
from panlearn.core.starts import Starts, best_of, k_means_plus_plus, sample_rows
from panlearn.core.validation import read_rows
from panlearn.core.warning import warn
from panlearn.latent._extremes import checked_rows
from panlearn.latent._lloyd import Assigned, Farthest, Memory, assign, is_small
from panlearn.latent._nearest import distances, nearest

RARE = 1e-9  # of all: sums of less that changed may have lost their digits


@dataclass(eq=False, repr=False)
class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Iterative, Estimator):
    r"""Clusters around centres, each row with the nearest.

    .. math::
        \min_{\mu_1, \dots, \mu_k} \; \sum_i s_i \min_j \|x_i - \mu_j\|_2^2

    Parameters
    ----------
    n_clusters : int, default=8
        The number k of clusters.
    init : {"k-means++", "random"}, array-like or callable, default="k-means++"
        The first centres: rows far from one another, any rows, these, of shape (n_clusters,
        n_features), or what a function ``init(X, n_clusters, random_state=...)`` of the sampled
        rows returns.
    n_init : int or "auto", default="auto"
        How many starts to try; the lowest inertia wins. "auto" is 10 for "random" and a function,
        else 1.
    max_iter : int, default=300
        The most iterations of one start.
    tol : float, default=1e-4
        The loop ends when the squared movement of all centres, relative to the mean variance of a
        feature, does not exceed it. At 0 it ends when nothing changes.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the starts.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The means of the clusters.
    labels_ : ndarray of shape (n_samples,)
        The cluster of each training row; absent if the rows were a stream or a Dask collection.
    inertia_ : float
        The objective at the centres; after `partial_fit` that of its rows, of a stream before they
        moved the centres.
    cluster_weights_ : ndarray of shape (n_clusters,)
        The weight of the rows in each cluster, from which `partial_fit` goes on.
    n_iter_ : int
        Iterations of the start that won.
    converged_ : bool
        Whether it converged.
    history_ : dict
        ``inertia`` before and ``change`` of each iteration.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    Lloyd's iterations: each row goes to its nearest centre, found through one matrix product a
    chunk of rows, and each centre to the mean of its rows; :math:`O(n k d)` an iteration, one walk
    over the rows wherever they are. Rows in memory keep a bound on the distance from all other
    centres, and those that it settles cost :math:`O(d)`, which late iterations live on. A centre
    without rows moves to the row farthest from its own centre. Starts are drawn from at most
    ``max(10000, 100 k)`` distinct rows, chosen by a hash of their values, so that the order and the
    source of the rows change nothing; k-means++ takes the best of a few candidates a step, and
    starts over few rows run side by side. The answer is the same for any number of threads.

    `partial_fit` moves each centre towards the mean of its new rows by their share in the weight it
    has seen; the first call starts from its own rows.

    References
    ----------
    S. P. Lloyd (1982). Least squares quantization in PCM. IEEE Transactions on Information Theory
    28(2). doi:10.1109/TIT.1982.1056489

    G. Hamerly (2010). Making k-means even faster. SDM. doi:10.1137/1.9781611972801.12

    D. Arthur and S. Vassilvitskii (2007). k-means++: the advantages of careful seeding. SODA.

    D. Sculley (2010). Web-scale k-means clustering. WWW. doi:10.1145/1772690.1772862

    Examples
    --------
    >>> from panlearn.latent import KMeans
    >>> model = KMeans(2, random_state=0).fit([[0.0], [1.0], [9.0], [10.0]])
    >>> sorted(model.cluster_centers_.ravel().tolist()), model.inertia_
    ([0.5, 9.5], 1.0)
    """

    learned = shapes(
        cluster_centers_="(n_clusters, n_features)",
        cluster_weights_="(n_clusters,)",
        labels_="(n_samples,)",
    )

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, sparse=True)

    n_clusters: Positive[int] = 8
    _: KW_ONLY
    init: Literal["k-means++", "random"] | np.ndarray | Callable = "k-means++"
    n_init: Literal["auto"] | Starts = "auto"
    max_iter: Positive[int] = 300
    tol: NonNegative[float] = 1e-4
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters of training data.

        Parameters
        ----------
        X : {array-like, sparse matrix}, Batches or Dask collection
            The rows, of shape (n_samples, n_features). A stream is walked several times.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        KMeans
            The model itself.
        """
        rows = read_rows(self, X, None, sample_weight, repeatable=True)
        found = self._found(rows)
        if (few := np.count_nonzero(found.rows.count)) < self.n_clusters:
            warn(
                f"{few} clusters have rows, fewer than n_clusters={self.n_clusters}: X may have "
                f"{few} distinct rows; some centres are the same",
                ConvergenceWarning,
            )
        self._learned(rows, found.centres, found.rows)
        if found.labels is not None:
            self.labels_ = found.labels
        return self

    def _found(self, rows: Rows) -> _Clusters:
        """The clusters of the best start."""
        starts = self._starts(rows)
        origin = starts[0].mean(axis=0)

        def run(estimator: Any, start: np.ndarray) -> _Clusters:
            return _lloyd(estimator, rows, start, origin)

        return best_of(self, rows, starts, run, lambda result: -result.rows.inertia)

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Move the centres towards the means of new rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; the first rows must be at least `n_clusters`.

        Returns
        -------
        KMeans
            The model itself.
        """
        first = not self.__sklearn_is_fitted__()
        rows = read_rows(self, X, None, sample_weight, reset=first, repeatable=first)
        if first:
            centres, seen = self._starts(rows)[0], np.zeros(self.n_clusters)
        else:
            centres, seen = self.cluster_centers_.astype(float), self.cluster_weights_
        origin = centres.mean(axis=0)
        new = map_reduce(lambda X, y, w: Assigned.of(X, w, centres, origin), rows)
        total = seen + new.count
        pull = new.total - new.count[:, None] * (centres - origin)
        centres = centres + pull / np.where(total > 0, total, 1)[:, None]
        self.n_iter_, self.converged_ = 1, True
        self.history_: dict[str, list[float]] = {}
        self._learned(rows, centres, dataclasses.replace(new, count=total))
        if isinstance(rows, ArrayRows):
            now = self.cluster_centers_.astype(float)
            self.labels_, self.inertia_ = assign(rows.X, rows.weight, now, origin)
        elif hasattr(self, "labels_"):
            del self.labels_
        return self

    def _starts(self, rows: Rows) -> list[np.ndarray]:
        """The centres of each start."""
        k = self.n_clusters
        if isinstance(rows, ArrayRows) and rows.X.shape[0] < k:
            raise ValueError(
                f"n_samples={rows.X.shape[0]} should be >= n_clusters={k}; ask for fewer clusters"
            )
        if not isinstance(self.init, str) and not callable(self.init):
            return [_given(self.init, (k, rows.n_features))]
        if isinstance(rows, ArrayRows):
            rows.reject_non_finite()
        rng = generator(self.random_state)
        sample = sample_rows(rows, rng, size=max(10_000, 100 * k))
        n_init = self.n_init
        if n_init == "auto":
            n_init = 1 if self.init == "k-means++" else 10
        if callable(self.init):
            seeds = rng.integers(2**31, size=n_init)
            states = [np.random.RandomState(seed) for seed in seeds]
            try:
                made = [self.init(sample.rows, k, random_state=state) for state in states]
            except TypeError as error:
                raise ValueError(
                    f"init={self.init!r} must take X, k and random_state: {error}"
                ) from error
            return [_given(centres, (k, rows.n_features)) for centres in made]
        trials = None if self.init == "k-means++" else 0
        weight = sample.weight_of
        with np.errstate(over="ignore", invalid="ignore"):
            points = sample.rows - sample.mean
            if not np.isfinite(np.vdot(points, points)):
                raise ValueError("the squares of X overflow: rescale its columns")
        return [sample.rows[_choose(points, weight, k, rng, trials)] for _ in range(n_init)]

    def _learned(self, rows: Rows, centres: np.ndarray, seen: Assigned) -> None:
        self.cluster_centers_ = centres.astype(rows.dtype, copy=False)
        self.cluster_weights_ = seen.count
        self.inertia_ = float(seen.inertia)

    def predict(self, X: Any) -> np.ndarray:
        """Give the nearest centre of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X, centres = self._check(X), self.cluster_centers_.astype(float)
        return nearest(X, centres, centres.mean(axis=0))

    def transform(self, X: Any) -> np.ndarray:
        """Give the distances of each row from the centres.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        X = self._check(X)
        centres = self.cluster_centers_.astype(float)
        if not sparse.issparse(X):
            return distances(X, centres, centres.mean(axis=0))
        return euclidean_distances(X, centres).astype(X.dtype, copy=False)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Give minus the objective on rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the sum.

        Returns
        -------
        float
        """
        return -self._nearest(X, sample_weight)[1]

    def _check(self, X: Any) -> Any:
        self._require_fitted()
        X = checked_rows(self, X, reset=False, accept_sparse="csr")
        if sparse.issparse(X) and not X.has_canonical_format:  # scikit-learn's norms need it
            X = X.copy()
            X.sum_duplicates()
        return X

    def _nearest(self, X: Any, weight: Any = None) -> tuple[np.ndarray, float]:
        X = self._check(X)
        if weight is not None:
            weight = _check_sample_weight(weight, X, dtype=float)
        centres = self.cluster_centers_.astype(float)
        return assign(X, weight, centres, centres.mean(axis=0))

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _given(centres: Any, shape: tuple[int, int]) -> np.ndarray:
    """A copy of centres that the user gave."""
    try:
        array = np.array(centres, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"init must hold numbers: {error}") from error
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"init must hold finite centres of shape {shape}; got {array.shape}")
    return array


def _choose(
    points: np.ndarray, weight: np.ndarray, k: int, rng: np.random.Generator, trials: int | None
) -> np.ndarray:
    """Indices of the first centres; no trials mean rows drawn by their weight alone."""
    if trials is None:
        return k_means_plus_plus(points, weight, k, rng)
    if (n := len(points)) <= k:
        return np.arange(k) % n
    return rng.choice(n, size=k, replace=False, p=weight / weight.sum())


class _Clusters(NamedTuple):
    """Centres, what is assigned to them, and the cluster of each row if the rows are at hand."""

    centres: np.ndarray
    rows: Assigned
    labels: np.ndarray | None


def _lloyd(estimator: Any, rows: Rows, centres: np.ndarray, origin: np.ndarray) -> _Clusters:
    """Alternate assignment and means."""
    memory, given, kept = None, rows, False
    if isinstance(rows, ArrayRows):  # each block brings what its rows remember in the place of y
        memory, weight = np.zeros(rows.X.shape[0], Memory), rows.weight
        kept = not is_small(len(memory), *centres.shape)
        if kept:  # made once, not in each iteration
            weight = np.ones(len(memory)) if weight is None else weight.astype(float, copy=False)
        rows = ArrayRows(rows.X, memory, weight)
    last: Assigned | None = None
    before, scale = centres, 0.0

    def assigned(moves: np.ndarray | None = None) -> Assigned:
        at = centres
        return map_reduce(lambda X, y, w: Assigned.of(X, w, at, origin, y, moves), rows)

    with Iterations(estimator, max_iter=estimator.max_iter, tol=estimator.tol, rows=given) as loop:
        for _ in loop:
            if last is None or not kept:
                now = whole = assigned()
                scale = scale or whole.variance(centres - origin) or 1.0
            else:
                step = centres - before
                now = last.moved(before - origin, step) + assigned(np.sqrt((step**2).sum(axis=1)))
                # rounding may be all that is left
                if now.inertia <= RARE * whole.inertia or (now.count <= RARE * now.weight).any():
                    now = whole = assigned()
            empty = now.count == 0
            means = now.total / (now.count + empty)[:, None] + origin
            if empty.any():
                means[empty] = centres[empty]
                means = _reseeded(rows, means, np.flatnonzero(empty), centres, origin)
            last, before, centres = now, centres, means
            loop.record(
                inertia=now.inertia,
                change=float(((centres - before) ** 2).sum()) / scale,
                attributes=functools.partial(dict, cluster_centers_=centres),
            )
    # what predict sees are the centres in the floats of X
    centres = centres.astype(rows.dtype).astype(float)
    if kept or (centres != before).any():  # else the sums are whole, and of these centres
        now = assigned()
    return _Clusters(centres, now, None if memory is None else memory["label"].copy())


def _reseeded(
    rows: Rows, means: np.ndarray, empty: np.ndarray, centres: np.ndarray, origin: np.ndarray
) -> np.ndarray:
    """Move the centres without rows to the rows farthest from theirs, as far as there are any."""
    far = map_reduce(
        lambda X, y, weight: Farthest.of(X, weight, centres, origin, size=len(empty)), rows
    )
    usable = far.rows[far.distance > 0]
    means[empty[: len(usable)]] = usable
    return means
