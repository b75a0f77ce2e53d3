"""Ratings with the labels of their users and items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from panlearn.core.labels import missing
from panlearn.core.value import Value


@dataclass(frozen=True, eq=False)
class Ratings(Value):
    r"""Ratings :math:`r_{ui}` of items by users, both under any labels.

    Parameters
    ----------
    matrix : sparse matrix of shape (n_users, n_items)
        The ratings: users in rows, items in columns. What is stored was observed, zeros too.
    users : ndarray of shape (n_users,)
        The label of each row.
    items : ndarray of shape (n_items,)
        The label of each column.

    Notes
    -----
    `from_table` makes one of three columns; `latent.MatrixFactorization` takes it in the place of
    a matrix and answers in its labels. A table of m lines is sorted, :math:`O(m \log m)`.

    References
    ----------
    Y. Koren, R. Bell and C. Volinsky (2009). Matrix factorization techniques for recommender
    systems. Computer 42(8). doi:10.1109/MC.2009.263

    Examples
    --------
    >>> from panlearn.latent import Ratings
    >>> ratings = Ratings.from_table(["ann", "bob", "ann"], ["tea", "tea", "rye"], [5, 3, 1])
    >>> ratings.matrix.toarray()
    array([[1., 5.],
           [0., 3.]])
    >>> ratings.users.tolist(), ratings.items.tolist()
    (['ann', 'bob'], ['rye', 'tea'])
    """

    matrix: Any
    users: np.ndarray
    items: np.ndarray

    def __post_init__(self) -> None:
        if not sparse.issparse(self.matrix) or self.matrix.format != "csr":
            raise ValueError("matrix must be a sparse matrix in CSR format; use matrix.tocsr()")
        for labels, size, name in zip(
            (self.users, self.items), self.matrix.shape, ("users", "items"), strict=True
        ):
            if not isinstance(labels, np.ndarray) or labels.shape != (size,):
                raise ValueError(f"{name} must be an array of {size} labels, one a line of matrix")
            if len(set(labels.tolist())) < size:
                raise ValueError(f"{name} must be distinct, for they name the lines of matrix")

    @classmethod
    def from_table(
        cls,
        users: Any,
        items: Any,
        ratings: Any = None,
        *,
        repeated: Literal["sum", "mean", "last"] | None = None,
    ) -> Self:
        """Gather ratings that stand one a line.

        Parameters
        ----------
        users, items : array-like of shape (n_ratings,)
            Who rated what: labels of any kind, such as columns of a data frame.
        ratings : array-like of shape (n_ratings,), default=None
            The ratings; None is 1 for each, that it happened.
        repeated : {"sum", "mean", "last"} or None, default=None
            What to make of a pair that comes more than once; None refuses it.

        Returns
        -------
        Ratings
        """
        rows, row_labels = _numbered(users, "users")
        columns, column_labels = _numbered(items, "items")
        values = np.ones(len(rows)) if ratings is None else np.asarray(ratings)
        values = values if values.dtype == np.float32 else values.astype(float)
        if not values.shape == rows.shape == columns.shape or not len(rows):
            raise ValueError(
                "users, items and ratings must be columns of one length, and not empty; got "
                f"{len(rows)}, {len(columns)} and {values.shape}"
            )
        if not np.isfinite(values).all():
            raise ValueError("ratings holds NaN or infinity; leave such lines out")
        shape = len(row_labels), len(column_labels)
        pair = rows * shape[1] + columns
        order = np.argsort(pair, kind="stable")
        first = np.flatnonzero(np.r_[True, np.diff(pair[order]) > 0])
        count = np.diff(np.r_[first, len(order)])
        if repeated is None and len(first) < len(order):
            raise ValueError(
                f"{len(order) - len(first)} lines repeat a user and an item; say what to make of "
                "them: repeated='sum', 'mean' or 'last'"
            )
        if repeated == "last":
            data = values[order[first + count - 1]]
        else:
            data = np.add.reduceat(values[order], first)
            data = data / count.astype(data.dtype) if repeated == "mean" else data
        at = order[first]
        matrix = sparse.csr_array((data, (rows[at], columns[at])), shape=shape)
        return cls(matrix, row_labels, column_labels)


def _numbered(labels: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The number of each label, and the labels by number."""
    array = _one_kind(labels)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one column of labels; got shape {array.shape}")
    if missing(array).any():
        raise ValueError(f"{name} has labels that are missing, NaN or None; leave such lines out")
    if array.dtype.kind != "O":
        found, numbers = np.unique(array, return_inverse=True)
        return numbers, found
    distinct = {label: i for i, label in enumerate(dict.fromkeys(array.tolist()))}
    names = np.empty(len(distinct), dtype=object)
    names[:] = list(distinct)
    return np.array([distinct[label] for label in array.tolist()], dtype=np.int64), names


def _one_kind(labels: Any) -> np.ndarray:
    """Labels as an array: of objects, if they are of several kinds, so that each stays itself."""
    array = np.asarray(labels, dtype=object if isinstance(labels, list | tuple) else None)
    if array.dtype.kind == "O" and len({type(label) for label in array.ravel()}) == 1:
        plain = np.asarray(array.tolist())
        return plain if plain.shape == array.shape else array
    return array


def positions(labels: np.ndarray, wanted: Any) -> np.ndarray:
    """Where each wanted label stands among `labels`; -1 if it does not."""
    place = {label: i for i, label in enumerate(labels.tolist())}
    asked: Sequence[Any] = np.atleast_1d(_one_kind(wanted)).ravel().tolist()
    return np.array([place.get(label, -1) for label in asked], dtype=np.int64)
