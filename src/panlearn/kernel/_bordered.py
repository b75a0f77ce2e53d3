r"""The system of a least-squares machine with a bias.

.. math::
    \begin{pmatrix} 0 & 1^\top \\ 1 & H \end{pmatrix} \begin{pmatrix} b \\ a \end{pmatrix}
    = \begin{pmatrix} 0 \\ y \end{pmatrix}, \qquad H = K + \mathrm{diag}(r)

From :math:`H \eta = 1` and :math:`H \nu = y` the bias is :math:`b = 1^\top \nu / 1^\top \eta`, by
the Schur complement of H, and :math:`a = \nu - b \eta`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from panlearn.core import memory
from panlearn.core.interrupts import interruption
from panlearn.core.warning import warn
from panlearn.kernel._base import times
from panlearn.kernel._kernel import Kernel
from panlearn.kernel._solve import solve_psd
from panlearn.kernel._tiles import gram

Solver = Literal["auto", "cholesky", "cg"]
LARGE = 8000
"""Rows from which "auto" iterates: a factorisation would take some ten seconds and half a GB."""


class Solution(NamedTuple):
    """Coefficients a of shape (n, k), biases b of shape (k,), and the iterations it took."""

    dual: np.ndarray
    bias: np.ndarray
    n_iter: int


def solve_bordered(
    kernel: Kernel,
    X: Any,
    ridge: np.ndarray,
    Y: np.ndarray,
    *,
    solver: Solver,
    tol: float,
    max_iter: int,
) -> Solution:
    """Solve for every column of Y at once; `ridge` is the diagonal r."""
    sides = np.column_stack([np.ones(len(Y)), Y])
    if solver == "cholesky" or (solver == "auto" and len(Y) < LARGE):
        H = gram(kernel, X)
        H.flat[:: len(H) + 1] += ridge
        solution, n_iter = solve_psd(H, sides), 1
    else:
        product, diagonal = _operator(kernel, X, ridge)
        solution, n_iter = conjugate_gradients(product, diagonal, sides, tol, max_iter)
    eta, nu = solution[:, 0], solution[:, 1:]
    # a singular H may leave nothing of the ones: then the bias is the mean
    bias = nu.sum(axis=0) / eta.sum() if eta.sum() > 0 else Y.mean(axis=0)
    return Solution(nu - np.outer(eta, bias), bias, n_iter)


def _operator(
    kernel: Kernel, X: Any, ridge: np.ndarray
) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """P ↦ H P and the diagonal of H; K is kept if it takes less than half of what is free."""
    n = X.shape[0]
    diagonal = kernel._diag(X.astype(np.float64, copy=False))
    if 16 * n * n < memory.available():
        K = gram(kernel, X, copies=1)
        return lambda P: K @ P + ridge[:, None] * P, diagonal + ridge
    # between two sets of rows a kernel leaves out its noise, which belongs on the diagonal
    rows = X.astype(np.float64, copy=False)
    blocks = (rows[i : i + 64] for i in range(0, n, 64))
    across = np.concatenate([kernel._gram(block, block).diagonal() for block in blocks])
    extra = (diagonal - across + ridge)[:, None]
    return lambda P: times(kernel, rows, rows, P) + extra * P, diagonal + ridge


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray],
    diagonal: np.ndarray,
    B: np.ndarray,
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, int]:
    """Solve H X = B for each column, with the diagonal as preconditioner, to ‖r‖ ≤ tol ‖b‖."""
    X, R = np.zeros_like(B), B.copy()
    target = tol * np.linalg.norm(B, axis=0)
    Z = R / diagonal[:, None]
    P, rz = Z.copy(), np.einsum("ij,ij->j", R, Z)
    n_iter = 0
    with interruption() as asked:
        while (
            n_iter < max_iter and not asked.is_set() and np.any(np.linalg.norm(R, axis=0) > target)
        ):
            n_iter += 1
            Q = product(P)
            curvature = np.einsum("ij,ij->j", P, Q)
            step = np.divide(rz, curvature, out=np.zeros_like(rz), where=curvature > 0)
            X += step * P
            R -= step * Q
            Z = R / diagonal[:, None]
            rz, old = np.einsum("ij,ij->j", R, Z), rz
            P = Z + np.divide(rz, old, out=np.zeros_like(rz), where=old > 0) * P
    error = float(np.max(np.linalg.norm(R, axis=0) / np.maximum(np.linalg.norm(B, axis=0), 1e-300)))
    if error > tol:
        warn(
            f"conjugate gradients did not converge: at iteration {n_iter} the relative residual is "
            f"{error:.3g}, above tol={tol:.3g}; raise max_iter, lower C, or scale the features",
            ConvergenceWarning,
        )
    return X, max(n_iter, 1)
