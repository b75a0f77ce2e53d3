"""What kernels of a scaled Euclidean distance share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from panlearn.kernel._kernel import Kernel, Pull, inner_products, squared_norms

HUGE = 1e300
"""Squared norms whose sums, and their doubles, are floats."""


class Stationary(Kernel):
    """A kernel of the scaled distance r² = Σ_k (x_k − z_k)²/ℓ_k²; abstract."""

    sparse_rows: ClassVar[bool] = True
    length_scale: Any

    def _rescaled(self, X: Any, Z: Any) -> tuple[Any, Any]:
        """Rows over length scales; dense ones about a centre, so that an offset costs no digits."""
        scale = scales_of(self.length_scale, X.shape[1])
        if sparse.issparse(X):
            A = X.multiply(1 / scale).tocsr()
            return A, (A if Z is None else Z.multiply(1 / scale).tocsr())
        centre = _centre(X if Z is None else Z)
        A = (X - centre) / scale
        return A, (A if Z is None else (Z - centre) / scale)

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        return self._profile(_squared_distances(*self._rescaled(X, Z), itself=Z is None))

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return np.ones(X.shape[0])

    def _pullback(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, Pull]:
        A, B = self._rescaled(X, Z)
        r2 = _squared_distances(A, B, itself=Z is None)
        K = self._profile(r2)
        free, several = bool(self._free()), isinstance(self.length_scale, tuple)

        def pull(W: np.ndarray) -> np.ndarray:
            # ∂k/∂log ℓ_k = s(r) (a_k − b_k)², and
            # Σ_ij M_ij (a_ik − b_jk)² = Σ_i (M1)_i a_ik² + Σ_j (Mᵀ1)_j b_jk² − 2 Σ_i a_ik (Mb)_ik
            if not free:
                return np.empty(0)
            M = W * self._slope(r2, K)
            if not several:
                return np.array([np.vdot(M, r2)])
            own = M.sum(axis=1) @ A**2 + M.sum(axis=0) @ B**2
            return own - 2 * np.einsum("ik,ik->k", A, M @ B)

        return K, pull

    @abstractmethod
    def _profile(self, r2: np.ndarray) -> np.ndarray:
        """The kernel as a function of r²."""

    @abstractmethod
    def _slope(self, r2: np.ndarray, K: np.ndarray) -> np.ndarray:
        """Minus twice the derivative of the kernel in r²."""


def _centre(X: np.ndarray) -> np.ndarray:
    """The median of a few rows: a row far out does not take the digits of the others."""
    few = np.sort(X[:: max(1, len(X) // 8)], axis=0)
    return 0.5 * few[(len(few) - 1) // 2] + 0.5 * few[len(few) // 2]


def scales_of(length_scale: Any, n_features: int) -> np.ndarray:
    if isinstance(length_scale, tuple) and len(length_scale) != n_features:
        raise ValueError(
            f"length_scale has {len(length_scale)} values and X has {n_features} columns"
        )
    return np.asarray(length_scale)


def _squared_distances(A: Any, B: Any, *, itself: bool) -> np.ndarray:
    """‖a‖² + ‖b‖² − 2aᵀb, by one matrix product; by differences where the squares overflow."""
    squares = squared_norms(A)
    others = squares if itself else squared_norms(B)
    if not squares.max(initial=0) + others.max(initial=0) < HUGE:
        return cdist(_dense(A), _dense(B), "sqeuclidean")
    D = inner_products(A, B)
    D *= -2
    D += squares[:, None]
    D += others
    np.maximum(D, 0, out=D)
    if itself:
        np.fill_diagonal(D, 0)
    return D


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else X
