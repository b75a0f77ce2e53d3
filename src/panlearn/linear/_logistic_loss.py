r"""The log loss of an affine classifier, its gradient and its curvature, as mergeable sums.

With scores :math:`z_{ic} = w_c^\top x_i + b_c`, residuals :math:`r_{ic} = s_i (p_{ic} - [y_i = c])`
and :math:`p_i` the softmax of :math:`z_i` (two classes have one score, and p is its sigmoid), the
sums over a block of rows are

.. math::
    L = \sum_i -s_i \log p_{i y_i}, \qquad
    \frac{\partial L}{\partial w_c} = \sum_i r_{ic} x_i, \qquad
    \frac{\partial^2 L}{\partial w_a \, \partial w_c}
        = \sum_i s_i \, p_{ia} ([a = c] - p_{ic}) \, x_i x_i^\top .
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from panlearn.core.columns import FAST
from panlearn.core.jit import jit
from panlearn.core.short_rows import shifted, softmax
from panlearn.core.statistics import Sums

NO_WEIGHT = np.empty(0)


@dataclass(frozen=True)
class Loss(Sums):
    """Loss and gradient of some rows; the last column of the gradient is the intercept's."""

    loss: float
    gradient: np.ndarray  # (k, d + 1)

    @classmethod
    def of(
        cls,
        X: Any,
        y: np.ndarray,
        weight: np.ndarray | None,
        coef: np.ndarray,
        intercept: np.ndarray,
        centre: np.ndarray | None = None,
    ) -> Self:
        """Loss of rows X, or X - centre, with codes y at weights (k, d) and intercepts (k,)."""
        k, d = coef.shape
        if centre is not None:
            X = (X.toarray() if sparse.issparse(X) else X) - centre.astype(X.dtype)
        gradient = np.zeros((k, d + 1))
        if k == 1 and isinstance(X, np.ndarray) and X.flags.c_contiguous:
            # one read of X where two products would take two
            some = NO_WEIGHT if weight is None else weight
            return cls(binary_loss(X, y, some, coef[0], intercept[0], gradient[0]), gradient)
        residual = scores(X, coef, intercept)
        loss = residuals(residual, y, NO_WEIGHT if weight is None else weight)
        gradient[:, :d] = (X.T @ residual).T
        gradient[:, d] = residual.sum(0)
        return cls(loss, gradient)


@dataclass(frozen=True)
class LossAndCurvature(Sums):
    r"""Loss, gradient and Hessian, the last in coordinates that centre and scale each column.

    The Hessian is that of every `stride`-th row. The sum of squares of each column over the same
    rows tells how to scale it to all of them.
    """

    loss: float
    gradient: np.ndarray  # (k, d + 1)
    hessian: np.ndarray  # (k (d + 1), k (d + 1))
    squares: np.ndarray  # (d + 1,)

    @classmethod
    def of(
        cls,
        X: Any,
        y: np.ndarray,
        weight: np.ndarray | None,
        coef: np.ndarray,
        intercept: np.ndarray,
        mean: np.ndarray,
        scale: np.ndarray,
        stride: int,
        centre: np.ndarray | None = None,
    ) -> Self:
        """Loss as in `Loss.of`; curvature in ``(x - mean) / scale`` and a column of ones."""
        first = Loss.of(X, y, weight, coef, intercept, centre)
        if centre is not None:
            intercept = intercept - coef @ centre
        sample = standard(X[::stride], mean, scale)
        some = None if weight is None else weight[::stride]
        hessian = _hessian(sample, probabilities(X[::stride], coef, intercept), some)
        weights = np.ones(len(sample), X.dtype) if some is None else some
        squares = np.einsum("i,ij,ij->j", weights, sample, sample).astype(float)
        return cls(first.loss, first.gradient, hessian, squares)


def scores(X: Any, coef: np.ndarray, intercept: Any) -> np.ndarray:
    """Z = X W' + b as a new C-ordered array of shape (n, k)."""
    Z = np.ascontiguousarray(X @ coef.T)
    return shifted(Z, np.asarray(intercept, dtype=coef.dtype), out=Z)


def probabilities(X: Any, coef: np.ndarray, intercept: Any) -> np.ndarray:
    """The sigmoid or the softmax of the scores, of shape (n, k)."""
    return from_scores(scores(X, coef, intercept))


def from_scores(Z: np.ndarray) -> np.ndarray:
    """Sigmoid of one column, softmax of several, without overflow; Z is overwritten."""
    if Z.shape[1] == 1:
        small = np.exp(-np.abs(Z))
        return np.where(Z > 0, 1, small) / (1 + small)
    return softmax(Z)


def standard(X: Any, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(X - mean) / scale with a column of ones; dense, in the floats of X."""
    rows = np.empty((X.shape[0], X.shape[1] + 1), dtype=X.dtype)
    rows[:, :-1] = X.toarray() if sparse.issparse(X) else X
    rows[:, :-1] -= mean.astype(X.dtype, copy=False)
    rows[:, :-1] /= scale.astype(X.dtype, copy=False)
    rows[:, -1] = 1
    return rows


def _hessian(rows: np.ndarray, p: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """The sum of (diag p - p p') kron x x', by products of a matrix with itself."""

    def gram(h: np.ndarray) -> np.ndarray:
        scaled = rows * np.sqrt(h if weight is None else h * weight)[:, None]
        return scaled.T @ scaled  # BLAS computes one triangle

    k, d = p.shape[1], rows.shape[1]
    if k == 1:
        return gram(p[:, 0] * (1 - p[:, 0])).astype(float, copy=False)
    hessian = np.zeros((k, d, k, d))
    for a in range(k):
        for b in range(a):
            block = gram(p[:, a] * p[:, b])
            hessian[a, :, b] = hessian[b, :, a] = -block
            # p_a (1 - p_a) is the sum of p_a p_b over the other classes
            hessian[a, :, a] += block
            hessian[b, :, b] += block
    return hessian.reshape(k * d, k * d)


def rescale(
    matrix: np.ndarray, squares: np.ndarray, whole: np.ndarray, between: np.ndarray
) -> np.ndarray:
    """Scale the columns of X in a sampled curvature (k d, k d) to all rows.

    The factor turns the sum of squares of a column in the sample into its mean over all rows. All
    classes share it, so that a shift of all scores keeps its curvature of zero. A column that the
    sample lacks gets the curvature at the constant prediction, `between` the classes.
    """
    k, d = len(between), len(whole)
    factor = np.sqrt(np.divide(whole, squares, out=np.zeros(d), where=squares > 0))
    scaled = (factor[:, None, None] * factor) * matrix.reshape(k, d, k, d)
    for j in np.flatnonzero((squares <= 0) & (whole > 0)):
        scaled[:, j, :, j] = between * whole[j]
    return scaled.reshape(k * d, k * d)


@jit(fastmath=FAST)
def binary_loss(
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    coef: np.ndarray,
    intercept: float,
    gradient: np.ndarray,
) -> float:
    """Sum of log(1 + exp(-m)), m the margin; adds the gradient to `gradient` of d + 1 entries."""
    n, d = X.shape
    total = 0.0
    for i in range(n):
        z = np.float64(intercept)
        for j in range(d):
            z += X[i, j] * coef[j]
        small = np.exp(-abs(z))
        p = (1.0 if z > 0 else small) / (1.0 + small)
        loss = np.log1p(small) + max(z, 0.0) - y[i] * z
        residual = p - y[i]
        if len(weight):
            loss *= weight[i]
            residual *= weight[i]
        total += loss
        for j in range(d):
            gradient[j] += residual * X[i, j]
        gradient[d] += residual
    return total


@jit
def residuals(Z: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """Sum of the log losses of scores Z (n, k); Z becomes weight * (p - one-hot(y))."""
    n, k = Z.shape
    total = 0.0
    for i in range(n):
        s = weight[i] if len(weight) else 1.0
        if k == 1:
            z = np.float64(Z[i, 0])
            small = np.exp(-abs(z))
            total += s * (np.log1p(small) + max(z, 0.0) - y[i] * z)
            Z[i, 0] = s * ((1.0 if z > 0 else small) / (1.0 + small) - y[i])
            continue
        top = Z[i, 0]
        for c in range(1, k):
            top = max(top, Z[i, c])
        own = Z[i, y[i]] - top
        mass = 0.0
        for c in range(k):
            Z[i, c] = np.exp(Z[i, c] - top)
            mass += Z[i, c]
        total += s * (np.log(mass) - own)
        for c in range(k):
            Z[i, c] *= s / mass
        Z[i, y[i]] -= s
    return total
