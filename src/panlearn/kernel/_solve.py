"""Symmetric positive systems: Cholesky, and what to do when it breaks down."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from panlearn.core.warning import warn


def solve_psd(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Solve A X = B for a positive semi-definite A, which is overwritten by its factor.

    If A is not positive definite to rounding, give the solution of least norm, and say so.
    """
    size = float(np.abs(A).max())
    diagonal = A.diagonal().copy()
    factor, info = linalg.lapack.dpotrf(A.T, lower=1, overwrite_a=1, clean=0)
    if info == 0 and np.square(factor.diagonal()).min() > len(A) * np.finfo(float).eps * size:
        return linalg.cho_solve((factor, True), B, check_finite=False)
    # Cholesky wrote on one triangle; the other and the diagonal still hold A
    upper = np.triu(factor, 1)
    return _least_norm(upper + upper.T + np.diag(diagonal), B)


def _least_norm(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    warn(
        "the kernel matrix is not positive definite to rounding: took the solution of least norm; "
        "raise the regularisation, drop repeated rows, or see whether the kernel is valid",
        linalg.LinAlgWarning,
    )
    values, vectors = linalg.eigh(A, check_finite=False)
    keep = np.abs(values) > len(A) * np.finfo(float).eps * np.abs(values).max()
    return vectors[:, keep] @ ((vectors[:, keep].T @ B).T / values[keep]).T
