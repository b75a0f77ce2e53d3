"""Rows of a kernel matrix, a few at a time: the matrix itself need never be whole."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np

from panlearn.core.jit import jit
from panlearn.kernel._base import refuse_overflow
from panlearn.kernel._kernel import Kernel, inner_products, squared_norms
from panlearn.kernel._stationary import Stationary

PART = 1 << 15
"""Entries that are computed in one go."""


class Rows(Protocol):
    """A symmetric matrix that gives any of its rows, in its first columns."""

    diagonal: np.ndarray

    def __call__(self, rows: np.ndarray, start: int, stop: int) -> np.ndarray:
        """The entries at `rows` in the columns from `start` to `stop`."""

    def taken(self, order: np.ndarray) -> Self:
        """The matrix of these rows and columns, in their order."""

    def rounded(self, dtype: Any) -> Self:
        """The matrix with entries that are good to the precision of `dtype`."""


def rows_of(kernel: Kernel, X: np.ndarray) -> Rows:
    """K(X, X) of a kernel."""
    if isinstance(kernel, Stationary):
        A, _ = kernel._rescaled(X, None)
        squares = squared_norms(A)
        return StationaryRows(kernel, A, squares, kernel._diag(X), np.float64)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return KernelRows(kernel, X, refuse_overflow(kernel._diag(X)))


class KernelRows:
    """K(X, X) of any kernel."""

    def __init__(self, kernel: Kernel, X: np.ndarray, diagonal: np.ndarray) -> None:
        self._kernel, self._X, self.diagonal = kernel, X, diagonal

    def __call__(self, rows: np.ndarray, start: int, stop: int) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return refuse_overflow(self._kernel._gram(self._X[rows], self._X[start:stop]))

    def taken(self, order: np.ndarray) -> Self:
        return type(self)(self._kernel, self._X[order], self.diagonal[order])

    def rounded(self, dtype: Any) -> Self:
        return self


class StationaryRows:
    r"""K(X, X) of a kernel of the distance :math:`r^2 = \|a\|^2 + \|b\|^2 - 2 a^\top b`.

    Rescaled rows and their squares are made once; the profile is computed in `dtype`, since an
    exponential in float32 costs a quarter of one in float64.
    """

    def __init__(
        self,
        kernel: Stationary,
        A: np.ndarray,
        squares: np.ndarray,
        diagonal: np.ndarray,
        dtype: Any,
    ) -> None:
        self._kernel, self._A, self._squares = kernel, A, squares
        self.diagonal, self._dtype = diagonal, dtype

    def __call__(self, rows: np.ndarray, start: int, stop: int) -> np.ndarray:
        A, squares = self._A[rows], self._squares[rows]
        K = np.empty((len(rows), stop - start), dtype=self._dtype)
        step = max(1, PART // len(rows))
        for i in range(start, stop, step):  # parts that stay in the processor's memory
            here = slice(i, min(i + step, stop))
            inner = inner_products(A, self._A[here])
            r2 = np.empty(inner.shape, dtype=self._dtype)
            _distances(inner, squares, self._squares[here], r2)
            with np.errstate(under="ignore"):
                K[:, i - start : here.stop - start] = self._kernel._profile(r2)
        return K

    def taken(self, order: np.ndarray) -> Self:
        parts = (self._A[order], self._squares[order], self.diagonal[order])
        return type(self)(self._kernel, *parts, self._dtype)

    def rounded(self, dtype: Any) -> Self:
        return type(self)(self._kernel, self._A, self._squares, self.diagonal, dtype)


def _distances_at_once(
    inner: np.ndarray, left: np.ndarray, right: np.ndarray, out: np.ndarray
) -> None:
    out[:] = np.maximum(left[:, None] + right - 2 * inner, 0.0)


@jit(plain=lambda inner, *rest: 10 + 0.005 * inner.size, instead=_distances_at_once)
def _distances(inner: np.ndarray, left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
    """‖a‖² + ‖b‖² − 2aᵀb, not below zero."""
    for i in range(inner.shape[0]):
        for j in range(inner.shape[1]):
            out[i, j] = max(left[i] + right[j] - 2 * inner[i, j], 0.0)


class GivenRows:
    """A matrix that the user computed; the rows are positions in it."""

    def __init__(self, K: np.ndarray, order: np.ndarray) -> None:
        self._K, self._order = K, order
        self.diagonal = K[order, order].astype(np.float64)

    def __call__(self, rows: np.ndarray, start: int, stop: int) -> np.ndarray:
        return self._K[np.ix_(self._order[rows], self._order[start:stop])]

    def taken(self, order: np.ndarray) -> Self:
        return type(self)(self._K, self._order[order])

    def rounded(self, dtype: Any) -> Self:
        return self
