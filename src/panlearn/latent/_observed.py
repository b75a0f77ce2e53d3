"""Ratings of any kind become a CSR matrix of observed entries, once, at the public boundary."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from panlearn.core.capabilities import require_source
from panlearn.core.validation import FLOATS, reject_hidden
from panlearn.core.warning import warn
from panlearn.latent._extremes import checked_rows
from panlearn.latent.ratings import Ratings, positions


def observed(estimator: Any, X: Any, *, reset: bool) -> Any:
    """The observed entries: stored ones, or of a dense X those that are not NaN.

    With `reset` the estimator remembers the items; without, X must have the items that it has:
    those of Ratings, and of a data frame whose columns are labels of items, are found by label.
    """
    if not reset and _is_frame(X) and not hasattr(estimator, "feature_names_in_"):
        X = _labelled(X, estimator.ratings_.items)
    if isinstance(X, Ratings):
        X = X.matrix if reset else _aligned(X, estimator.ratings_.items)
    require_source(estimator, X)
    reject_hidden(X=X)
    X = checked_rows(estimator, X, reset=reset, accept_sparse="csr", allow_nan=True)
    if not sparse.issparse(X):
        return _stored(X)
    if np.isnan(X.data).any():
        raise ValueError("X stores NaN; of a sparse X what is missing is not stored")
    X = sparse.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def labels_of(X: Any, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """The labels of users and items that X has, or their numbers."""
    if isinstance(X, Ratings):
        return X.users, X.items
    if _is_frame(X):
        return np.asarray(X.index), np.asarray(X.columns)
    return np.arange(shape[0]), np.arange(shape[1])


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "index")


def _stored(X: np.ndarray) -> Any:
    """The entries of a dense X that are not NaN."""
    rows, columns = np.nonzero(~np.isnan(X))
    indptr = np.searchsorted(rows, np.arange(X.shape[0] + 1))
    return sparse.csr_array((X[rows, columns], columns, indptr), shape=X.shape)


def _labelled(X: Any, items: np.ndarray) -> Any:
    """A data frame as Ratings, if its columns are labels of items."""
    labels = np.asarray(X.columns)
    if (positions(items, labels) < 0).all():
        return X
    dense = check_array(X, dtype=FLOATS, ensure_all_finite="allow-nan")
    return Ratings(_stored(dense), np.arange(len(dense)), labels)


def _aligned(ratings: Ratings, items: np.ndarray) -> Any:
    """The matrix of ratings with the columns of the fitted items."""
    at = positions(items, ratings.items)
    if (at < 0).any():
        warn(
            f"{int((at < 0).sum())} items were not fitted, and their ratings are left out",
            UserWarning,
        )
    entries = ratings.matrix.tocoo()
    column = at[entries.coords[1]]
    kept = column >= 0
    return sparse.csr_array(
        (entries.data[kept], (entries.coords[0][kept], column[kept])),
        shape=(len(ratings.users), len(items)),
    )
