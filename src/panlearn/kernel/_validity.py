"""Is this a kernel? A look at the eigenvalues of its matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils import check_array

from panlearn.kernel._adapter import as_kernel


def is_psd(matrix: Any, tol: float = 1e-10) -> bool:
    r"""Whether a matrix is symmetric and :math:`q^\top A q \ge 0` for every q.

    Asked of the eigenvalues: the least may be below zero by `tol` times the largest in size.
    """
    A = check_array(matrix, dtype=np.float64, input_name="matrix")
    if A.shape[0] != A.shape[1] or np.abs(A - A.T).max() > tol * np.abs(A).max():
        return False
    values = linalg.eigvalsh(A)
    return bool(values[0] >= -tol * np.abs(values).max())


def is_valid(kernel: Any, X: Any, tol: float = 1e-10) -> bool:
    r"""Whether the matrix of a kernel over the rows of X is symmetric and :math:`K \succeq 0`.

    The kernel is one of these, one of scikit-learn's or a function. True is no proof that it is
    valid on other rows; False is a proof that it is not valid. `tol` is as for `is_psd`.
    """
    X = check_array(X, dtype=np.float64)
    return is_psd(as_kernel(kernel, X)(X), tol)
