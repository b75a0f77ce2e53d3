"""Classification and regression by the nearest rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from panlearn.core.estimator import fitting
from panlearn.core.labels import encode_labels
from panlearn.core.parameters import Positive
from panlearn.core.short_rows import first_largest
from panlearn.core.sources import ArrayRows
from panlearn.core.validation import Targets
from panlearn.neighbors._answers import AveragedRows, VotingRows
from panlearn.neighbors._ball import Ball
from panlearn.neighbors._base import StoredRows
from panlearn.neighbors._search import Found


@dataclass(eq=False, repr=False)
class _NearestRows(StoredRows):
    """A model of a fixed number of neighbours; abstract."""

    n_neighbors: Positive[int] = 5

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
        return self._graph(_ball(*self.kneighbors(X, n_neighbors)), mode)

    def _keep_enough(self, X: Any, y: Any, targets: Targets) -> ArrayRows:
        """Keep the rows, if they are as many as the neighbours."""
        rows = self._keep(X, y, targets)
        if self.n_neighbors > rows.X.shape[0]:
            raise ValueError(
                f"{type(self).__name__} was asked for n_neighbors={self.n_neighbors} but "
                f"n_samples={rows.X.shape[0]}; lower n_neighbors or give more rows"
            )
        return rows

    def _nearest(self, X: Any, k: int) -> Found:
        """The k nearest of rows given by the user."""
        Q = self._queries(X)
        distance, index = self._index.query(Q, k, self.n_jobs)
        return distance.astype(self.X_.dtype, copy=False), index

    def _near(self, X: Any) -> Ball:
        """Those that decide on rows given by the user."""
        return _ball(*self._nearest(X, self.n_neighbors))

    def _others(self, k: int) -> Found:
        """The k nearest of each training row but itself."""
        distance, index = self._index.query(self.X_, k + 1, self.n_jobs)
        own = index == np.arange(len(index))[:, None]
        own[~own.any(axis=1), -1] = True  # among many duplicates a row may miss itself
        kept = (len(index), k)
        distance = distance[~own].reshape(kept).astype(self.X_.dtype, copy=False)
        return distance, index[~own].reshape(kept)


def _ball(distance: np.ndarray, index: np.ndarray) -> Ball:
    """As many neighbours of each query, laid out one after the other."""
    return Ball(np.arange(0, index.size + 1, index.shape[1]), distance.ravel(), index.ravel())


@dataclass(eq=False, repr=False)
class KNeighborsClassifier(VotingRows, _NearestRows):
    r"""The class that most of the k nearest training rows have.

    .. math::
        \hat y(x) = \arg\max_c \sum_{i \in N_k(x)} w_i(x) \, [y_i = c]

    Parameters
    ----------
    n_neighbors : int, default=5
        The number k of neighbours.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    X_ : {ndarray, csr matrix} of shape (n_samples, n_features)
        The training rows.
    y_ : ndarray of shape (n_samples,)
        The position of each row's label in `classes_`.
    n_samples_fit_ : int
        Number of training rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    The neighbours are exact: equal distances go by index, and an equal vote goes to the first of
    `classes_`. In high dimension a query takes one product of matrices in float32, which only
    screens; the distances of the candidates come from differences in float64, and a bound on
    rounding certifies that no other row is nearer. Near-duplicates at a large offset are therefore
    told apart. A query costs :math:`O(n d)`, with the tree about :math:`O(d \log n)`.

    References
    ----------
    T. M. Cover and P. E. Hart (1967). Nearest neighbor pattern classification. IEEE Transactions
    on Information Theory 13(1). doi:10.1109/TIT.1967.1053964

    J. L. Bentley (1975). Multidimensional binary search trees used for associative searching.
    Communications of the ACM 18(9). doi:10.1145/361002.361007

    Examples
    --------
    >>> from panlearn.neighbors import KNeighborsClassifier
    >>> model = KNeighborsClassifier(3).fit([[0], [1], [2], [8], [9]], list("aaabb"))
    >>> model.predict([[1.2], [8.4]]).tolist()
    ['a', 'b']
    >>> model.predict_proba([[8.4]]).round(2)
    array([[0.33, 0.67]])
    """

    @fitting
    def fit(self, X: Any, y: Any) -> Self:
        """Keep the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels, of any type that sorts.

        Returns
        -------
        KNeighborsClassifier
            The model itself.
        """
        rows = self._keep_enough(X, y, "labels")
        self.classes_, self.y_ = encode_labels(np.asarray(rows.y))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Share of the vote that each class has.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
        """
        return self._shares(self._near(X))

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        return self.classes_[first_largest(self._shares(self._near(X)))]


@dataclass(eq=False, repr=False)
class KNeighborsRegressor(AveragedRows, _NearestRows):
    r"""The mean target of the k nearest training rows.

    .. math::
        \hat y(x) = \frac{\sum_{i \in N_k(x)} w_i(x) \, y_i}{\sum_{i \in N_k(x)} w_i(x)}

    Parameters
    ----------
    n_neighbors : int, default=5
        The number k of neighbours.

    Attributes
    ----------
    X_ : {ndarray, csr matrix} of shape (n_samples, n_features)
        The training rows.
    y_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        The training targets.
    n_samples_fit_ : int
        Number of training rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    The search is that of `KNeighborsClassifier`: exact, equal distances by index. A query costs
    :math:`O(n d)`, with the tree about :math:`O(d \log n)`.

    References
    ----------
    T. M. Cover and P. E. Hart (1967). Nearest neighbor pattern classification. IEEE Transactions
    on Information Theory 13(1). doi:10.1109/TIT.1967.1053964

    Examples
    --------
    >>> from panlearn.neighbors import KNeighborsRegressor
    >>> model = KNeighborsRegressor(2).fit([[0], [1], [2], [3]], [0.0, 1.0, 4.0, 9.0])
    >>> model.predict([[1.4], [2.6]])
    array([2.5, 6.5])
    """

    @fitting
    def fit(self, X: Any, y: Any) -> Self:
        """Keep the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.

        Returns
        -------
        KNeighborsRegressor
            The model itself.
        """
        self.y_: Any = np.array(self._keep_enough(X, y, "numbers").y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the target of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_queries,) or (n_queries, n_targets)
        """
        return self._mean(self._near(X))
