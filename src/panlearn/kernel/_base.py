"""What kernel methods share: reading the rows, choosing the kernel, and the matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import validate_data

from panlearn.core.estimator import Estimator
from panlearn.core.sources import ArrayRows
from panlearn.core.validation import FLOATS, Targets, read_rows
from panlearn.kernel._adapter import as_kernel
from panlearn.kernel._kernel import Kernel
from panlearn.kernel.kernels import RBF, Cosine, Laplacian, Linear, Polynomial

KernelName = Literal["linear", "poly", "polynomial", "rbf", "laplacian", "cosine"]
KernelLike = KernelName | Callable
"""A name, a kernel of `panlearn.kernel.kernels` or of scikit-learn, or a function."""

BLOCK = 1 << 22
"""Entries of the part of a kernel matrix that is made at a time when only its product is wanted."""


class KernelMethod(Estimator):
    """A method that sees its rows through a kernel; abstract.

    A fitted one has ``kernel_``, a `Kernel`, and ``X_fit_``, the rows that it compares with.
    """

    kernel_: Kernel
    X_fit_: np.ndarray

    def _read(self, X: Any, y: Any, weight: Any, targets: Targets) -> tuple[Any, Any, Any]:
        """X, y and the weights as arrays, finite."""
        rows = read_rows(self, X, y, weight, targets=targets, accept_sparse=False)
        if not isinstance(rows, ArrayRows):
            raise ValueError(
                f"{type(self).__name__} compares every row with every other, so X must be one "
                "array, not a stream or a Dask collection"
            )
        assert_all_finite(rows.X, input_name="X", estimator_name=type(self).__name__)
        return rows.X, rows.y, rows.weight

    def _choose_kernel(self: Any, X: np.ndarray, weight: np.ndarray | None = None) -> Kernel:
        """The kernel that the hyper-parameters kernel, gamma, degree and coef0 stand for."""
        parameters = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return choose_kernel(self.kernel, X, **parameters, weight=weight)

    def _new_rows(self, X: Any) -> np.ndarray:
        self._require_fitted()
        return validate_data(self, X, reset=False, dtype=FLOATS)

    def _combine(self, X: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """K(X, X_fit_) times coefficients, a block of rows at a time, in the floats of X_fit_."""
        dtype = self.X_fit_.dtype
        return times(self.kernel_, X, self.X_fit_, coefficients).astype(dtype, copy=False)


def choose_kernel(
    kernel: KernelLike,
    X: np.ndarray,
    *,
    gamma: Any,
    degree: int,
    coef0: float,
    weight: np.ndarray | None = None,
) -> Kernel:
    """Give the kernel that a name stands for; what is no name is adapted.

    gamma is 1/d by default, and "scale" divides that by the variance of the entries of X.
    """
    if not isinstance(kernel, str):
        return as_kernel(kernel, X)
    if kernel in ("linear", "cosine"):
        return Linear() if kernel == "linear" else Cosine()
    if isinstance(gamma, str) or gamma is None:
        with np.errstate(over="ignore", invalid="ignore"):
            variance = 1.0 if gamma is None else _variance(X.astype(np.float64), weight)
        gamma = 1 / (X.shape[1] * (variance if variance > 0 else 1.0))
    if not 0 < gamma < np.inf:
        raise ValueError("gamma is beyond the floats for these rows: scale the features")
    if kernel == "rbf":
        return RBF(length_scale=1 / np.sqrt(2 * gamma))
    if kernel == "laplacian":
        return Laplacian(length_scale=1 / gamma)
    if coef0 < 0:
        raise ValueError(f"coef0 must not be negative for a polynomial kernel; got {coef0}")
    return Polynomial(degree=degree, gamma=gamma, coef0=coef0)


def _variance(X: np.ndarray, weight: np.ndarray | None) -> float:
    """The variance of all entries of X, a row counted as often as it weighs."""
    mean = np.average(X, axis=0, weights=weight).mean()
    return float(np.average((X - mean) ** 2, axis=0, weights=weight).mean())


def refuse_overflow(K: np.ndarray) -> np.ndarray:
    """Raise ValueError if a kernel matrix is not finite."""
    if not np.isfinite(K).all():
        raise ValueError(
            "the kernel gives infinite or NaN values on these rows: scale the features, for "
            "example with StandardScaler"
        )
    return K


def times(kernel: Kernel, X: np.ndarray, Z: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """K(X, Z) times coefficients, in blocks of rows so that K is never whole."""
    X, Z = X.astype(np.float64, copy=False), Z.astype(np.float64, copy=False)
    step = max(1, BLOCK // max(1, len(Z)))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        parts = [kernel._gram(X[i : i + step], Z) @ coefficients for i in range(0, len(X), step)]
    return np.concatenate(parts)
