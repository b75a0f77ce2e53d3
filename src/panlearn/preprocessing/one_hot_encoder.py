"""Labels as indicators."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import _check_feature_names_in

from panlearn.core.columns import ColumnMap
from panlearn.core.learned import shapes
from panlearn.core.sources import Rows
from panlearn.preprocessing._labels import LabelEncoder, TableCounts


@dataclass(eq=False, repr=False)
class OneHotEncoder(TransformerMixin, LabelEncoder):
    r"""A column of zeros and ones for each label of each column.

    .. math:: z_{i,jk} = [x_{ij} = c_{jk}], \qquad c_{j0} < c_{j1} < \ldots

    Parameters
    ----------
    categories : "auto" or list of array-like, default="auto"
        The labels of each column, in order; "auto" takes those of the rows, sorted.
    drop : {"first", "if_binary"} or None, default=None
        The label that gets no column of its own: the first of every column, or of those with two
        labels, so that the columns of a model without a penalty are not collinear.
    sparse_output : bool, default=True
        Whether to give a sparse matrix.
    handle_unknown : {"error", "ignore"}, default="error"
        What becomes of a label that `fit` did not see: an error, or zeros throughout.

    Attributes
    ----------
    categories_ : list of n_features ndarrays
        The labels of each column; NaN, if entries are missing, is the last.
    drop_idx_ : ndarray of shape (n_features,)
        The place of the label without a column, -1 where every label has one.
    statistic_ : TableCounts
        The labels of the rows seen, counted, from which `partial_fit` goes on.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    One pass over the rows. Labels are found and counted as they pass, so that arrays, streams, Dask
    collections and parts given to `partial_fit` have the same columns. A missing entry has a column
    of its own. A block of n rows sorts the labels of d columns, :math:`O(d \, n \log n)`.

    References
    ----------
    D. B. Suits (1957). Use of dummy variables in regression equations. Journal of the American
    Statistical Association 52(280). doi:10.1080/01621459.1957.10501412

    Examples
    --------
    >>> from panlearn.preprocessing import OneHotEncoder
    >>> encoder = OneHotEncoder(sparse_output=False).fit([["red"], ["green"], ["red"]])
    >>> encoder.transform([["red"], ["green"]])
    array([[0., 1.],
           [1., 0.]])
    >>> encoder.get_feature_names_out(["colour"]).tolist()
    ['colour_green', 'colour_red']
    """

    learned = shapes(drop_idx_="(n_features,)")

    categories: Literal["auto"] | list = "auto"
    _: KW_ONLY
    drop: Literal["first", "if_binary"] | None = None
    sparse_output: bool = True
    handle_unknown: Literal["error", "ignore"] = "error"

    @property
    def _unknown_passes(self) -> bool:
        return self.handle_unknown != "error"

    def _solve(self, statistic: TableCounts, rows: Rows) -> None:
        super()._solve(statistic, rows)
        sizes = np.array([len(labels) for labels in self.categories_])
        dropped = {"first": sizes > 0, "if_binary": sizes == 2, None: sizes < 0}[self.drop]
        self.drop_idx_ = np.where(dropped, 0, -1)

    def _check_learned(self) -> None:
        sizes = [len(labels) for labels in self.categories_]
        if not all(-1 <= at < n for at, n in zip(self.drop_idx_.tolist(), sizes, strict=True)):
            raise ValueError("drop_idx_ names labels that there are not")

    def _columns(self) -> list[np.ndarray]:
        """The column of the encoding that each label has, -1 for none."""
        found, start = [], 0
        for labels, dropped in zip(self.categories_, self.drop_idx_, strict=True):
            place = np.arange(start, start + len(labels))
            if dropped >= 0:
                place[dropped + 1 :] -= 1
                place[dropped] = -1
            found.append(place)
            start += len(labels) - (dropped >= 0)
        return found

    def _width(self) -> int:
        return sum(map(len, self.categories_)) - int((self.drop_idx_ >= 0).sum())

    def _column_change(self, before: OneHotEncoder, change: ColumnMap | None) -> ColumnMap | None:
        """New labels are columns that were zero so far; the others move to their new places."""
        place = []
        parts = zip(before._columns(), self._columns(), self._category_change(before), strict=True)
        for old, new, moved in parts:
            at = new[moved]
            if ((at < 0) != (old < 0)).any():
                self._refuse_new(before, "so that another label has no column")
            place.append(at[old >= 0])
        joined = np.concatenate(place)
        return ColumnMap(joined, np.ones(len(joined)), np.zeros(self._width()))

    def transform(self, X: Any) -> Any:
        """Give the indicators of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Batches or Dask collection
            The rows.

        Returns
        -------
        {sparse matrix, ndarray} of shape (n_samples, n_columns), Batches or Dask array
        """
        codes, floats = self._codes(X)
        at = np.column_stack(
            # an unknown label, -1, finds the -1 that is put behind the others
            [np.append(place, -1)[c] for place, c in zip(self._columns(), codes.T, strict=True)]
        )
        known = at >= 0
        ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        shape = (len(at), self._width())
        ones = sparse.csr_array((np.ones(ends[-1], floats), at[known], ends), shape)
        return ones if self.sparse_output else ones.toarray()

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Give the labels that have these indicators.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_columns)
            Indicators, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            None where all indicators of a column are zero and no label lacks one.
        """
        self._require_fitted()
        X = check_array(X, accept_sparse="csr")
        if X.shape[1] != self._width():
            raise ValueError(f"X has {X.shape[1]} columns, and the encoding {self._width()}")
        X = X.toarray() if sparse.issparse(X) else X
        rows = np.empty((len(X), len(self.categories_)), dtype=object)
        pairs = zip(self.categories_, self._columns(), self.drop_idx_, strict=True)
        for j, (labels, place, dropped) in enumerate(pairs):
            given = X[:, place[place >= 0]]
            known = labels[place >= 0]
            if dropped >= 0:
                rows[:, j] = labels[dropped]
            hit = (given != 0).any(axis=1)
            if len(known):
                rows[hit, j] = known[given[hit].argmax(axis=1)]
        return rows

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Name the columns of the encoding: that of the feature, and the label.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features; those of the training data, or x0, x1 and so on, if None.

        Returns
        -------
        ndarray of str
        """
        self._require_fitted()
        names = _check_feature_names_in(self, input_features)
        parts = zip(names, self.categories_, self._columns(), strict=True)
        return np.array(
            [f"{n}_{label}" for n, labels, at in parts for label in labels[at >= 0].tolist()],
            dtype=object,
        )
