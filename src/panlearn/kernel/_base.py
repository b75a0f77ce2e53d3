"""What kernel methods share: reading the rows, choosing the kernel, and the matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from panlearn.core.boundary import is_finite
from panlearn.core.capabilities import Capabilities
from panlearn.core.estimator import Estimator
from panlearn.core.learned import shapes
from panlearn.core.memory import require_memory
from panlearn.core.plain import known_rows
from panlearn.core.sources import ArrayRows
from panlearn.core.threads import in_parts, rows_together
from panlearn.core.validation import Targets, read_rows
from panlearn.kernel._adapter import as_kernel
from panlearn.kernel._kernel import Kernel
from panlearn.kernel.kernels import RBF, Cosine, Laplacian, Linear, Polynomial, Sigmoid

KernelName = Literal["linear", "poly", "polynomial", "rbf", "laplacian", "cosine", "sigmoid"]
KernelLike = KernelName | Callable
"""A name, a kernel of `panlearn.kernel.kernels` or of scikit-learn, or a function."""
KernelOrMatrix = KernelLike | Literal["precomputed"]
"""The same, or the word that says that X is the kernel matrix."""

FEW = 500  # rows whose matrices one thread makes sooner
BLOCK = 1 << 22
"""Entries of the part of a kernel matrix that is made at a time when only its product is wanted."""


class KernelMethod(Estimator):
    """A method that sees its rows through a kernel; abstract.

    A fitted one has ``kernel_``, a `Kernel`, and ``X_fit_``, the rows that it compares with. For
    ``kernel="precomputed"`` the one is None and the other has the positions of those rows in the
    matrix.
    """

    learned = shapes(
        X_fit_="(n_samples, n_features)",
    )

    capabilities = Capabilities(any_order=True, sparse=True)
    most_rows = FEW

    kernel: Any
    kernel_: Any
    X_fit_: Any

    def _read(
        self, X: Any, y: Any, weight: Any, targets: Targets, *, keep_sparse: bool = False
    ) -> tuple[Any, Any, Any]:
        """X, y and the weights as arrays, finite; X is sparse if it was and the kernel takes it."""
        rows = read_rows(self, X, y, weight, targets=targets)
        assert isinstance(rows, ArrayRows)  # no other source is declared
        X = rows.X
        if sparse.issparse(X) or not is_finite(X):
            assert_all_finite(X, input_name="X", estimator_name=type(self).__name__)
        if self._is_given and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' needs a square X, the kernel matrix; got shape {X.shape}"
            )
        if sparse.issparse(X):
            X = canonical(X) if keep_sparse and takes_sparse(self.kernel) else dense(X)
        return X, rows.y, rows.weight

    @property
    def _is_given(self) -> bool:
        """Whether X is the kernel matrix."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _rows(self, X: Any) -> Any:
        """What the kernel compares: the rows of X, or their positions in a matrix that is given."""
        return np.arange(len(X), dtype=X.dtype)[:, None] if self._is_given else X

    def _choose_kernel(self: Any, X: Any, matrix: Any, weight: np.ndarray | None = None) -> Kernel:
        """The kernel that the hyper-parameters kernel, gamma, degree and coef0 stand for."""
        if self._is_given:
            return Given(matrix)
        gamma = None if isinstance(self.gamma, str) and self.gamma == "auto" else self.gamma
        parameters = {"gamma": gamma, "degree": self.degree, "coef0": self.coef0}
        return choose_kernel(self.kernel, X, **parameters, weight=weight)

    def _keep(self, kernel: Kernel, X: Any, copy: bool = True) -> None:
        """Set the kernel and a copy of the rows: the caller's array stays the caller's."""
        self.kernel_, self.X_fit_ = None if self._is_given else kernel, X.copy() if copy else X

    def _new_rows(self, X: Any, fitted: Any) -> Any:
        """Rows given by the user, sparse if the fitted ones are."""
        self._require_fitted()
        X = known_rows(self, X, accept_sparse="csr")
        if sparse.issparse(fitted):
            return canonical(X) if sparse.issparse(X) else sparse.csr_array(X)
        return dense(X) if sparse.issparse(X) else X

    def _times(self, X: Any, coefficients: np.ndarray) -> np.ndarray:
        """K(X, X_fit_) times coefficients for rows given by the user, in float64."""
        X = self._new_rows(X, self.X_fit_)
        if self.kernel_ is None:
            return X[:, self.X_fit_[:, 0].astype(np.intp)].astype(np.float64) @ coefficients
        return times(self.kernel_, X, self.X_fit_, coefficients)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_given
        return tags


@dataclass(frozen=True)
class Given(Kernel):
    """A kernel matrix that the user computed; rows are positions in it."""

    matrix: np.ndarray

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        rows, columns = (A[:, 0].astype(np.intp) for A in (X, X if Z is None else Z))
        return self.matrix[np.ix_(rows, columns)].astype(np.float64)

    def _diag(self, X: np.ndarray) -> np.ndarray:
        at = X[:, 0].astype(np.intp)
        return self.matrix[at, at].astype(np.float64)


def takes_sparse(kernel: Any) -> bool:
    """Whether a kernel, or what its name stands for, takes sparse rows."""
    if isinstance(kernel, str):
        return kernel in ("linear", "poly", "polynomial", "rbf", "cosine", "sigmoid")
    return isinstance(kernel, Kernel) and kernel.takes_sparse


def dense(X: Any) -> np.ndarray:
    """A sparse matrix as an array, after saying whether it fits."""
    require_memory(X.shape, "X as a dense array", "use a kernel that takes sparse rows")
    return X.toarray()


def canonical(X: Any) -> Any:
    """Add up entries that a sparse matrix stores twice; not in place, it is the user's."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def choose_kernel(
    kernel: KernelLike,
    X: Any,
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
            variance = 1.0 if gamma is None else _variance(X.astype(np.float64, copy=False), weight)
        gamma = 1 / (X.shape[1] * (variance if variance > 0 else 1.0))
    if not 0 < gamma < np.inf:
        raise ValueError("gamma is beyond the floats for these rows: scale the features")
    if kernel == "rbf":
        return RBF(length_scale=1 / np.sqrt(2 * gamma))
    if kernel == "laplacian":
        return Laplacian(length_scale=1 / gamma)
    if kernel == "sigmoid":
        return Sigmoid(gamma=gamma, coef0=coef0)
    if coef0 < 0:
        raise ValueError(f"coef0 must not be negative for a polynomial kernel; got {coef0}")
    return Polynomial(degree=degree, gamma=gamma, coef0=coef0)


def _variance(X: Any, weight: np.ndarray | None) -> float:
    """The variance of all entries of X, a row counted as often as it weighs."""
    if sparse.issparse(X):
        sums = [np.asarray(A.sum(axis=1)).ravel() / X.shape[1] for A in (X, X.multiply(X))]
        mean, square = (float(np.average(rows, weights=weight)) for rows in sums)
        return square - mean**2
    mean = _average(X, weight).mean()
    return float(_average((X - mean) ** 2, weight).mean())


def _average(X: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """What np.average gives for checked weights."""
    return X.mean(axis=0) if weight is None else (X * weight[:, None]).sum(axis=0) / weight.sum()


def refuse_overflow(K: np.ndarray) -> np.ndarray:
    """Raise ValueError if a kernel matrix is not finite."""
    if not np.isfinite(K).all():
        raise ValueError(
            "the kernel gives infinite or NaN values on these rows: scale the features, for "
            "example with StandardScaler"
        )
    return K


def times(kernel: Kernel, X: Any, Z: Any, coefficients: np.ndarray) -> np.ndarray:
    """K(X, Z) times coefficients, in blocks of rows so that K is never whole.

    The bits are the same whether X is Z or equal to it: for the product of an array with itself
    BLAS has another routine, so X is then a copy.
    """
    if not Z.shape[0]:  # no row has a coefficient
        return np.zeros((X.shape[0], *coefficients.shape[1:]))
    same = not sparse.issparse(X) and np.may_share_memory(X, Z)
    X, Z = X.astype(np.float64, copy=same), Z.astype(np.float64, copy=False)
    step = rows_together(Z.shape[0])
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        parts = in_parts(lambda i: kernel._gram(X[i], Z) @ coefficients, X.shape[0], step)
    return np.concatenate(parts)


def rounded(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Predictions in the floats of the training rows; what is beyond those is infinite."""
    with np.errstate(over="ignore"):
        return values.astype(dtype, copy=False)
