r"""Quadratic forms :math:`Q = Z^\top Z` of some columns, as a Gram matrix or by sparse columns.

A solver of

.. math:: \min_b \tfrac12 b^\top (Q + \lambda_2 I) b - c^\top b + \lambda_1 \|b\|_1

asks of one: products, the diagonal, the submatrix of a few columns, and an epoch of coordinate
descent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from panlearn.core.jit import jit

_CHEAP = 1 << 12  # multiplications that take no longer than to call for them
_LEAST, _MOST = 5, 100  # epochs from a wrong face, and multiplications that these may take
_BUDGET = 1 << 25


@jit
def _minimise_one(pull: float, curvature: float, l1: float, positive: bool) -> float:
    """The minimum of ½ curvature b² − pull b + l1 |b|, over b ≥ 0 if positive."""
    zero = pull * 0
    if curvature <= 0:
        return zero
    if pull > l1:
        return (pull - l1) / curvature
    if pull < -l1 and not positive:
        return (pull + l1) / curvature
    return zero


def _subtract_at_once(step: float, row: np.ndarray, gradient: np.ndarray) -> None:
    gradient -= step * row


@jit(instead=_subtract_at_once)
def _subtract(step: float, row: np.ndarray, gradient: np.ndarray) -> None:
    for i in range(gradient.size):
        gradient[i] -= step * row[i]


def _python_time(
    gram: np.ndarray,
    l1: float,
    l2: float,
    positive: bool,
    coef: np.ndarray,
    gradient: np.ndarray,
    epochs: int,
) -> float:
    """Microseconds of `descend` as it is written; of float32 NumPy would round more than Numba."""
    return epochs * coef.size * (3 + 1e-3 * coef.size) if gram.dtype == np.float64 else np.inf


@jit(plain=_python_time)
def descend(
    gram: np.ndarray,
    l1: float,
    l2: float,
    positive: bool,
    coef: np.ndarray,
    gradient: np.ndarray,
    epochs: int,
) -> None:
    """Epochs of coordinate descent in place till none moves; gradient = c − (gram + l2 I) coef."""
    moves = True
    while moves and epochs > 0:
        moves = False
        epochs -= 1
        for j in range(coef.size):
            curvature = gram[j, j] + l2
            new = _minimise_one(gradient[j] + curvature * coef[j], curvature, l1, positive)
            if new != coef[j]:
                moves = True
                step = new - coef[j]
                coef[j] = new
                _subtract(step, gram[j], gradient)
                gradient[j] -= step * l2


@jit
def descend_sparse(
    columns: tuple[np.ndarray, np.ndarray, np.ndarray],
    mean: np.ndarray,
    total: float,
    diagonal: np.ndarray,
    penalty: tuple[float, float, bool],
    coef: np.ndarray,
    gradient: np.ndarray,
    residual: np.ndarray,
) -> None:
    """One epoch on sparse columns x_j less their means; coef in place, gradient as at the start.

    What the epoch takes from the fit is residual, zero at the start, and a multiple of the vector
    of root weights, whose product with x_j is total mean_j.
    """
    data, indices, indptr = columns
    l1, l2, positive = penalty
    constant = total * 0
    for j in range(coef.size):
        pull = gradient[j] + constant * total * mean[j]
        for k in range(indptr[j], indptr[j + 1]):
            pull += data[k] * residual[indices[k]]
        curvature = diagonal[j] + l2
        new = _minimise_one(pull + curvature * coef[j], curvature, l1, positive)
        if new != coef[j]:
            step = new - coef[j]
            coef[j] = new
            constant += step * mean[j]
            for k in range(indptr[j], indptr[j + 1]):
                residual[indices[k]] -= step * data[k]


class GramQuadratic:
    """Q as a matrix."""

    def __init__(self, matrix: np.ndarray, multiply: Callable = np.matmul) -> None:
        self.matrix, self._multiply = matrix, multiply
        self.diagonal = matrix.diagonal()

    def product(self, v: np.ndarray) -> np.ndarray:
        """Q v."""
        return self._multiply(self.matrix, v)

    def face(self, active: np.ndarray) -> np.ndarray:
        """The submatrix of some columns, a copy."""
        return np.asfortranarray(self.matrix[np.ix_(active, active)])

    def products_per_factor(self, size: int) -> int:
        """How many products take the time of a factorisation: measured."""
        return size // 20

    def epochs_at_once(self, size: int) -> int:
        """How many epochs over so many coefficients cost no more than to call for one."""
        return 1 + _CHEAP // size**2

    def epochs_for(self, size: int) -> int:
        """How many epochs over so many coefficients are worth it where a face was wrong."""
        return int(np.clip(_BUDGET // size**2, _LEAST, _MOST))

    def descend(
        self,
        l1: float,
        l2: float,
        positive: bool,
        coef: np.ndarray,
        gradient: np.ndarray,
        epochs: int = 1,
    ) -> None:
        """Epochs of coordinate descent in place."""
        descend(self.matrix, l1, l2, positive, coef, gradient, epochs)


class SparseQuadratic:
    r"""Q of sparse columns X less their means, :math:`Q = X^\top X - w \bar x \bar x^\top`."""

    def __init__(self, columns: Any, mean: np.ndarray, total: float) -> None:
        self._columns, self._mean = columns, mean
        self._total = columns.dtype.type(total)
        squares = columns.power(2).sum(axis=0)
        self.diagonal = np.maximum(squares - self._total * mean**2, 0).astype(columns.dtype)

    def product(self, v: np.ndarray) -> np.ndarray:
        """Q v."""
        return self._columns.T @ (self._columns @ v) - self._total * self._mean * (self._mean @ v)

    def face(self, active: np.ndarray) -> np.ndarray:
        """The submatrix of some columns, a copy."""
        part, mean = self._columns[:, active], self._mean[active]
        return np.asfortranarray((part.T @ part).toarray() - self._total * np.outer(mean, mean))

    def products_per_factor(self, size: int) -> int:
        """A factorisation would be dense: as many products as could be of use."""
        return size

    def epochs_at_once(self, size: int) -> int:
        """One: each walks all rows."""
        return 1

    def epochs_for(self, size: int) -> int:
        """How many are worth it where a face was wrong."""
        return _LEAST

    def descend(
        self,
        l1: float,
        l2: float,
        positive: bool,
        coef: np.ndarray,
        gradient: np.ndarray,
        epochs: int = 1,
    ) -> None:
        """Epochs of coordinate descent in place."""
        X, penalty, centring = self._columns, (l1, l2, positive), (self._mean, self._total)
        columns = (X.data, X.indices, X.indptr)
        for _ in range(epochs):
            before, residual = coef.copy(), np.zeros(X.shape[0], dtype=X.dtype)
            descend_sparse(columns, *centring, self.diagonal, penalty, coef, gradient, residual)
            change = coef - before
            gradient -= self.product(change) + l2 * change


Quadratic = GramQuadratic | SparseQuadratic
