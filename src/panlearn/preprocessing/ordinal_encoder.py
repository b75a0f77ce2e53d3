"""Labels as whole numbers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_array

from panlearn.core.columns import ColumnMap
from panlearn.core.sources import Rows
from panlearn.preprocessing._labels import LabelEncoder, TableCounts


@dataclass(eq=False, repr=False)
class OrdinalEncoder(OneToOneFeatureMixin, TransformerMixin, LabelEncoder):
    r"""Each label as its place among the sorted labels of its column.

    .. math:: z_{ij} = k \quad\text{if}\quad x_{ij} = c_{jk}, \qquad c_{j0} < c_{j1} < \ldots

    Parameters
    ----------
    categories : "auto" or list of array-like, default="auto"
        The labels of each column, in the order to number them in; "auto" takes those of the rows,
        sorted.
    handle_unknown : {"error", "use_encoded_value"}, default="error"
        What becomes of a label that `fit` did not see.
    unknown_value : float or None, default=None
        The number of such a label, with "use_encoded_value".

    Attributes
    ----------
    categories_ : list of n_features ndarrays
        The labels of each column; NaN, if entries are missing, is the last.
    statistic_ : TableCounts
        The labels of the rows seen, counted, from which `partial_fit` goes on.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    One pass over the rows. Labels are found and counted as they pass, so that arrays, streams, Dask
    collections and parts given to `partial_fit` have the same categories. Unlike in scikit-learn a
    missing entry has a number of its own, the last, and is not NaN. A block of n rows sorts the
    labels of d columns, :math:`O(d \, n \log n)`.

    References
    ----------
    S. S. Stevens (1946). On the theory of scales of measurement. Science 103(2684).
    doi:10.1126/science.103.2684.677

    Examples
    --------
    >>> from panlearn.preprocessing import OrdinalEncoder
    >>> encoder = OrdinalEncoder().fit([["red"], ["green"], ["red"]])
    >>> encoder.transform([["red"], ["green"]])
    array([[1.],
           [0.]])
    """

    categories: Literal["auto"] | list = "auto"
    _: KW_ONLY
    handle_unknown: Literal["error", "use_encoded_value"] = "error"
    unknown_value: float | None = None

    @property
    def _unknown_passes(self) -> bool:
        return self.handle_unknown != "error"

    def _solve(self, statistic: TableCounts, rows: Rows) -> None:
        if self._unknown_passes and self.unknown_value is None:
            raise ValueError('handle_unknown="use_encoded_value" needs unknown_value, such as -1')
        super()._solve(statistic, rows)

    def _column_change(self, before: OrdinalEncoder, change: ColumnMap | None) -> None:
        for moved in self._category_change(before):
            if not np.array_equal(moved, np.arange(len(moved))):
                self._refuse_new(before, "which number the others anew")

    def transform(self, X: Any) -> np.ndarray:
        """Number the labels of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Batches or Dask collection
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features), Batches or Dask array
        """
        codes, floats = self._codes(X)
        numbers = codes.astype(floats)
        if self._unknown_passes:
            numbers[codes < 0] = self.unknown_value
        return numbers

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Give the labels that have these numbers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            None where a number is that of no label.
        """
        self._require_fitted()
        X = check_array(X, dtype=np.float64)
        if X.shape[1] != len(self.categories_):
            raise ValueError(
                f"X has {X.shape[1]} columns, and {len(self.categories_)} were encoded"
            )
        labels = np.empty(X.shape, dtype=object)
        for j, known in enumerate(self.categories_):
            right = np.isin(X[:, j], np.arange(len(known)))
            labels[right, j] = known[X[right, j].astype(int)]
        return labels
