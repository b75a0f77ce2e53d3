"""What is not one of our kernels becomes one: scikit-learn's objects, and plain functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import CompoundKernel
from sklearn.gaussian_process.kernels import Kernel as PeerKernel

from panlearn.kernel._kernel import Kernel, Pull


def as_kernel(kernel: Any, X: np.ndarray) -> Kernel:
    """Turn a kernel of ours, one of scikit-learn's, or a function into a `Kernel`.

    A function takes two sets of rows and returns their matrix, or takes two rows and returns a
    number: a trial on rows like those of X, in numbers that no product of two rows fits, tells
    which.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, PeerKernel):
        parts = [kernel, *kernel.get_params(deep=True).values()]
        if any(isinstance(part, CompoundKernel) for part in parts):
            raise ValueError(
                "scikit-learn's CompoundKernel is a list of kernels, one a class, and not a kernel "
                "of two rows; give one of them, or their sum or product"
            )
        return PeerAdapter(clone(kernel))
    if not callable(kernel):
        raise TypeError(f"kernel must be a kernel or a function; got a {type(kernel).__name__}")
    d = X.shape[1]
    few, more = np.resize(X, (d + 2, d)), np.resize(X, (d + 3, d))
    try:
        whole = np.shape(kernel(few, more)) == (d + 2, d + 3)
    except Exception:  # whatever a function of two rows makes of matrices
        whole = False
    return FunctionAdapter(kernel, whole)


@dataclass(frozen=True)
class FunctionAdapter(Kernel):
    """The kernel that a function computes, `whole` matrices or one number at a time."""

    function: Callable[[np.ndarray, np.ndarray], Any]
    whole: bool

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        Z = X if Z is None else Z
        try:
            if self.whole:
                K = np.asarray(self.function(X, Z), dtype=float)
            else:
                K = np.array([[self.function(x, z) for z in Z] for x in X], dtype=float)
        except Exception as error:
            raise ValueError(
                f"the function given as kernel, {self.function!r}, failed: {error}; it must take "
                "two matrices of rows and return the matrix of values, or two rows and return one"
            ) from error
        if K.shape != (len(X), len(Z)):
            raise ValueError(
                f"the function given as kernel returned shape {K.shape} for {len(X)} and {len(Z)} "
                "rows"
            )
        return K

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return np.array([self._gram(x[None], None)[0, 0] for x in X])


@dataclass(frozen=True)
class PeerAdapter(Kernel):
    """A kernel of ``sklearn.gaussian_process.kernels``."""

    kernel: Any

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        return self.kernel(X, Z)

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return self.kernel.diag(X)

    def _pullback(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, Pull]:
        # it differentiates a matrix of rows with themselves only: that of two sets is a part of one
        rows, part = X, (slice(None), slice(None))
        if Z is not None:
            rows, part = np.vstack([X, Z]), (slice(0, len(X)), slice(len(X), None))
        K, derivatives = self.kernel(rows, eval_gradient=True)
        return K[part], lambda W: np.einsum("ij,ijp->p", W, derivatives[part])

    @property
    def theta(self) -> np.ndarray:
        """Logarithms of its free parameters."""
        return np.asarray(self.kernel.theta, dtype=float)

    @property
    def names(self) -> list[str]:
        """Its own names of them."""
        return [
            h.name if h.n_elements == 1 else f"{h.name}[{i}]"
            for h in self.kernel.hyperparameters
            if not h.fixed
            for i in range(h.n_elements)
        ]

    @property
    def bounds(self) -> np.ndarray:
        """Logarithms of their bounds."""
        with np.errstate(divide="ignore"):  # a bound at zero is minus infinity
            return np.reshape(self.kernel.bounds, (-1, 2))

    def with_theta(self, theta: Any) -> Self:
        """Give a clone with other values of its free parameters."""
        return type(self)(self.kernel.clone_with_theta(np.asarray(theta, dtype=float)))
