"""Classification and regression by the rows within a radius."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from panlearn.core.estimator import fitting
from panlearn.core.labels import encode_labels
from panlearn.core.parameters import NonNegative
from panlearn.neighbors._answers import AveragedRows, VotingRows
from panlearn.neighbors._ball import Ball
from panlearn.neighbors._base import StoredRows


@dataclass(eq=False, repr=False)
class _RowsWithin(StoredRows):
    """A model of the rows within a radius; abstract."""

    radius: NonNegative[float] = 1.0

    def radius_neighbors(
        self, X: Any = None, radius: float | None = None, return_distance: bool = True
    ) -> Any:
        """Find the training rows within a radius of each row, nearest first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            The rows to find neighbours of. Without them, those of each training row, which is
            then not its own neighbour.
        radius : float, default=None
            The largest distance; the parameter of the model if not given.
        return_distance : bool, default=True
            Whether to return the distances as well.

        Returns
        -------
        distances : ndarray of shape (n_queries,), of arrays
            If asked for.
        indices : ndarray of shape (n_queries,), of arrays
            Equal distances go by index.
        """
        ball = self._around(X, radius).nearest_first
        distance, index = (_apart(values, ball.ends) for values in (ball.distance, ball.which))
        return (distance, index) if return_distance else index

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: float | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
    ) -> sparse.csr_array:
        """Lay the neighbours out as a sparse matrix.

        Parameters
        ----------
        X, radius
            As in `radius_neighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether an entry is one or the distance.

        Returns
        -------
        csr_array of shape (n_queries, n_samples_fit)
        """
        return self._graph(self._around(X, radius), mode)

    def _around(self, X: Any, radius: float | None) -> Ball:
        """The neighbours of rows given by the user, or of each training row but itself."""
        self._require_fitted()
        radius = self.radius if radius is None else radius
        if not (isinstance(radius, int | float | np.number) and 0 <= radius < np.inf):
            raise ValueError(f"radius must be a number from 0 on; got {radius!r}")
        if X is not None:
            return self._within(self._queries(X), radius)
        ball = self._within(self.X_, radius)
        query = ball.query
        kept = query != ball.which
        ends = np.append(0, np.cumsum(np.bincount(query[kept], minlength=self.n_samples_fit_)))
        return Ball(ends, ball.distance[kept], ball.which[kept])

    def _within(self, Q: Any, radius: float) -> Ball:
        ball = self._index.within(Q, float(radius), self.n_jobs)
        return ball._replace(distance=ball.distance.astype(self.X_.dtype, copy=False))

    def _refuse_lonely(self, ball: Ball, remedy: str) -> None:
        lonely = np.flatnonzero(ball.sizes == 0)
        if len(lonely):
            raise ValueError(
                f"no training row is within radius={self.radius} of row {lonely[0]} (and of "
                f"{len(lonely)} rows in all): they are too far away; {remedy}"
            )


def _apart(values: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """An array of arrays, one a query."""
    parts = np.empty(len(ends) - 1, dtype=object)
    for i in range(len(parts)):
        parts[i] = values[ends[i] : ends[i + 1]]
    return parts


@dataclass(eq=False, repr=False)
class RadiusNeighborsClassifier(VotingRows, _RowsWithin):
    r"""The class that most of the training rows within a radius have.

    .. math::
        \hat y(x) = \arg\max_c \sum_{i : \|x_i - x\| \le r} w_i(x) \, [y_i = c]

    Parameters
    ----------
    radius : float, default=1.0
        The radius r.
    weights : {"uniform", "distance"} or callable, default="uniform"
        Whether neighbours count alike or by the inverse of their distance, in which case those at
        distance zero, if any, count alone. A callable turns an array of distances into weights,
        one row of them at a time; infinite ones count alone, and where all are zero the neighbours
        count alike, with a warning.
    metric : str or callable, default="minkowski"
        The distance, as in `KNeighborsClassifier`.
    outlier_label : label or "most_frequent", default=None
        The label of a row that has no neighbour, or that of the largest class. None refuses such
        rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    outlier_label_ : label
        That of a row that has no neighbour, or None.
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
    Distances come from differences in float64, so that the k-d tree and the search of all pairs
    agree on every row, also at the radius itself. An equal vote goes to the first of `classes_`. A
    query costs :math:`O(n d)`, with the tree the rows that it finds. Where `outlier_label` is none
    of the classes, the probabilities of a row without neighbours are all zero.

    References
    ----------
    E. Fix and J. L. Hodges (1989). Discriminatory analysis. Nonparametric discrimination:
    consistency properties. International Statistical Review 57(3). doi:10.2307/1403797

    Examples
    --------
    >>> from panlearn.neighbors import RadiusNeighborsClassifier
    >>> model = RadiusNeighborsClassifier(2.0, outlier_label="?")
    >>> model.fit([[0], [1], [2], [8], [9]], list("aaabb")).predict([[1.2], [8.4], [30]]).tolist()
    ['a', 'b', '?']
    """

    _: KW_ONLY
    outlier_label: str | float | bool | None = None

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
        RadiusNeighborsClassifier
            The model itself.
        """
        rows = self._keep(X, y, "labels")
        self.classes_, self.y_ = encode_labels(np.asarray(rows.y))
        label = self.outlier_label
        if isinstance(label, str) and label == "most_frequent":
            label = self.classes_[np.bincount(self.y_).argmax()]
        elif label is not None and isinstance(label, str) != (self.classes_.dtype.kind in "OUS"):
            raise ValueError(
                f"outlier_label={label!r} is of another type than the labels "
                f"{self.classes_.tolist()}; give one like them, or 'most_frequent'"
            )
        self.outlier_label_ = label
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
        return self._answers(X)[0]

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
        shares, lonely = self._answers(X)
        labels = self.classes_[shares.argmax(axis=1)]
        if lonely.any():
            # so that a longer label is not cut down to the length of the others
            labels = labels.astype(np.result_type(labels, np.asarray(self.outlier_label_)))
            labels[lonely] = self.outlier_label_
        return labels

    def _answers(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Shares of the classes, and which rows have no neighbour."""
        ball = self._within(self._queries(X), self.radius)
        if self.outlier_label_ is None:
            self._refuse_lonely(ball, "raise radius, scale the features, or give outlier_label")
        shares, lonely = self._shares(ball), ball.sizes == 0
        shares[lonely] = self.classes_ == self.outlier_label_
        return shares, lonely


@dataclass(eq=False, repr=False)
class RadiusNeighborsRegressor(AveragedRows, _RowsWithin):
    r"""The mean target of the training rows within a radius.

    .. math::
        \hat y(x) = \frac{\sum_{i : \|x_i - x\| \le r} w_i(x) \, y_i}
        {\sum_{i : \|x_i - x\| \le r} w_i(x)}

    Parameters
    ----------
    radius : float, default=1.0
        The radius r.
    weights : {"uniform", "distance"} or callable, default="uniform"
        As in `RadiusNeighborsClassifier`.
    metric : str or callable, default="minkowski"
        The distance, as in `KNeighborsClassifier`.

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
    The search is that of `RadiusNeighborsClassifier`. A row without a neighbour has no mean and is
    refused by number; scikit-learn answers NaN. A query costs :math:`O(n d)`, with the tree the
    rows that it finds.

    References
    ----------
    E. Fix and J. L. Hodges (1989). Discriminatory analysis. Nonparametric discrimination:
    consistency properties. International Statistical Review 57(3). doi:10.2307/1403797

    Examples
    --------
    >>> from panlearn.neighbors import RadiusNeighborsRegressor
    >>> model = RadiusNeighborsRegressor(1.0).fit([[0], [1], [2], [3]], [0.0, 1.0, 4.0, 9.0])
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
        RadiusNeighborsRegressor
            The model itself.
        """
        self.y_: Any = np.array(self._keep(X, y, "numbers").y)
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
        ball = self._within(self._queries(X), self.radius)
        self._refuse_lonely(ball, "raise radius, scale the features, or use KNeighborsRegressor")
        return self._mean(ball)
