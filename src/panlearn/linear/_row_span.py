r"""Few rows of many columns in coordinates of the space that they span.

Coefficients under an :math:`\ell_2` penalty have no part at right angles to the rows: it would
change no score and add to the penalty. With

.. math::
    X - \mathbf{1} \mu^\top = Z Q, \qquad Q Q^\top = I

n coordinates in place of d columns, :math:`w = Q^\top v`, leave every score and norm as it is.

References
----------
T. Hastie and R. Tibshirani (2004). Efficient quadratic regularization for expression arrays.
Biostatistics 5(3). doi:10.1093/biostatistics/kxh010
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import get_lapack_funcs

from panlearn.core.columns import Columns
from panlearn.core.map_reduce import map_reduce
from panlearn.core.memory import SMALL, available
from panlearn.core.sources import ArrayRows, Rows
from panlearn.core.threads import one_blas_thread


def spanned(rows: Rows, *, centred: bool, most: int) -> RowSpan | None:
    """The span of rows in memory, if these are few beside their columns and a copy may be made.

    Parameters
    ----------
    rows : Rows
        The rows.
    centred : bool
        Whether there is an intercept, so that deviations from the mean may stand for the rows.
    most : int
        The most rows for which it is worth it.

    Returns
    -------
    RowSpan or None
        Their coordinates, or None if the columns are to be kept.
    """
    if not isinstance(rows, ArrayRows) or sparse.issparse(rows.X):
        return None
    n, d = rows.X.shape
    if 2 * n > d or n > most or not (rows.X.nbytes <= SMALL or 2 * rows.X.nbytes < available()):
        return None
    mean = map_reduce(columns_of, rows, require_finite=True).mean
    return RowSpan.of(rows.X, mean if centred else np.zeros(d))


def columns_of(X: Any, y: Any, weight: Any) -> Columns:
    """The moments of each column of a block."""
    return Columns.of(X, weight)


@dataclass(frozen=True)
class RowSpan:
    """Coordinates Z (n, n) of rows beside a centre (d,); the basis Q is a mix (n, n) of a frame."""

    coordinates: np.ndarray
    mix: np.ndarray
    frame: np.ndarray  # (n, d)
    centre: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, mean: np.ndarray) -> Self:
        r"""Span of the rows, of which there are no more than columns, or of their deviations.

        A factor of the products of the rows, :math:`X X^\top = Z Z^\top`, is found with the least
        work, and the rows themselves are the frame; but the basis is as far from orthonormal as
        rounding times the condition of the products. Where that may matter, reflections find it.
        """
        products = X @ X.T
        with one_blas_thread():  # of small matrices two wait for one another
            spread = linalg.eigvalsh(products, check_finite=False)
            if 0 < spread[-1] <= spread[0] * np.finfo(X.dtype).eps ** -0.25:
                Z = linalg.cholesky(products, lower=True, check_finite=False)
                inverse, _ = get_lapack_funcs("trtri", (Z,))(Z, lower=True)
                return cls(Z, inverse, X, np.zeros(X.shape[1]))
        Q, R = linalg.qr((X - mean.astype(X.dtype)).T, mode="economic", check_finite=False)
        return cls(np.ascontiguousarray(R.T), np.eye(len(X), dtype=X.dtype), Q.T, mean)

    def rows(self, rows: Rows) -> ArrayRows:
        """The rows with coordinates in the place of columns."""
        assert isinstance(rows, ArrayRows)  # no others are spanned
        return replace(rows, X=self.coordinates)

    def inside(self, coef: np.ndarray, intercept: Any) -> tuple[np.ndarray, Any]:
        """Weights of the coordinates, and intercepts, for those of the columns."""
        return coef @ self.frame.T @ self.mix.T, intercept + coef @ self.centre

    def outside(self, weights: np.ndarray, intercept: Any) -> tuple[np.ndarray, Any]:
        """Coefficients of the columns, and intercepts, for weights of the coordinates."""
        coef = weights @ self.mix @ self.frame
        return coef, intercept - coef @ self.centre
