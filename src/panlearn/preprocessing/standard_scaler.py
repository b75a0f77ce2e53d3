"""Columns of mean zero and variance one."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from panlearn.core.columns import ColumnMap, Columns
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.mergeable import Mergeable
from panlearn.core.sources import Rows
from panlearn.core.validation import FLOATS, read_rows

EPS = np.finfo(float).eps


@dataclass(eq=False, repr=False)
class StandardScaler(OneToOneFeatureMixin, TransformerMixin, Mergeable):
    r"""Each column less its mean, divided by its standard deviation.

    .. math::
        z_{ij} = \frac{x_{ij} - \mu_j}{\sigma_j}, \qquad
        \mu_j = \frac1w \sum_i w_i x_{ij}, \qquad
        \sigma_j^2 = \frac1w \sum_i w_i (x_{ij} - \mu_j)^2, \qquad w = \sum_i w_i

    Parameters
    ----------
    with_mean : bool, default=True
        Whether to subtract the mean.
    with_std : bool, default=True
        Whether to divide by the standard deviation.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        The means :math:`\mu`.
    var_ : ndarray of shape (n_features,)
        The variances :math:`\sigma^2`, without a correction for the mean.
    scale_ : ndarray of shape (n_features,)
        What columns are divided by: :math:`\sigma`, and 1 for a column that is constant.
    n_samples_seen_ : float
        The weight w of the rows seen.
    statistic_ : Columns
        The moments of the rows seen, from which `partial_fit` goes on.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    One pass over the rows, :math:`O(n d)`. Moments are centred and merged by Chan's update with a
    mean of twice the digits, so that columns at an offset of 1e8 keep theirs; an array, a stream, a
    Dask collection and parts given to `partial_fit` have the same numbers. `transform` of a stream
    is a stream and of a Dask collection a Dask array. Unlike scikit-learn's, missing entries are
    refused, and so are sparse matrices, which centring would fill.

    References
    ----------
    T. F. Chan, G. H. Golub and R. J. LeVeque (1983). Algorithms for computing the sample variance:
    analysis and recommendations. The American Statistician 37(3).
    doi:10.1080/00031305.1983.10483115

    Examples
    --------
    >>> from panlearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit([[1.0, 5.0], [3.0, 5.0]])
    >>> scaler.transform([[4.0, 5.0]])
    array([[2., 0.]])
    """

    learned = shapes(
        mean_="(n_features,)",
        var_="(n_features,)",
        scale_="(n_features,)",
    )

    _: KW_ONLY
    with_mean: bool = True
    with_std: bool = True

    def _read_training(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        return read_rows(self, X, None, sample_weight, reset=reset)

    def _summarise(self, rows: Rows) -> Columns:
        return map_reduce(_columns, rows)

    def _solve(self, statistic: Columns, rows: Rows) -> None:
        self.n_samples_seen_ = statistic.weight
        variance = statistic.squares / statistic.weight
        deviation = np.sqrt(variance)
        constant = deviation <= 4 * EPS * np.abs(statistic.mean)
        scale = np.where(constant | (not self.with_std), 1.0, deviation)
        for name, value in (("mean_", statistic.mean), ("var_", variance), ("scale_", scale)):
            setattr(self, name, value.astype(rows.dtype))

    def _column_change(self, before: StandardScaler, change: ColumnMap | None) -> ColumnMap:
        """How scaled columns moved since `before`, while those given moved by `change`."""
        if change is None:
            d = len(self.mean_)
            change = ColumnMap(np.arange(d), np.ones(d), np.zeros(d))
        place, factor = change.place, change.scale
        shift = change.shift.copy()
        shift[place] += factor * before._centre()
        return ColumnMap(
            place,
            factor * before.scale_ / self.scale_[place],
            (shift - self._centre()) / self.scale_,
        )

    def _centre(self) -> np.ndarray:
        return self.mean_ if self.with_mean else np.zeros_like(self.mean_)

    def transform(self, X: Any) -> np.ndarray:
        """Centre and scale rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Batches or Dask collection
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features), Batches or Dask array
        """
        self._require_fitted()
        X = validate_data(self, X, reset=False, dtype=FLOATS)
        return ((X - self._centre()) / self.scale_).astype(X.dtype, copy=False)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Give the rows that have these scaled values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Scaled rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        self._require_fitted()
        X = check_array(X, dtype=FLOATS)
        if X.shape[1] != len(self.scale_):
            raise ValueError(f"X has {X.shape[1]} columns, and {len(self.scale_)} were scaled")
        return (X * self.scale_ + self._centre()).astype(X.dtype, copy=False)


def _columns(X: Any, y: Any, weight: Any) -> Columns:
    return Columns.of(X, weight)
