r"""Kernels as values: they add, multiply and nest, and know their derivatives.

.. math:: k(x, z) = \langle \varphi(x), \varphi(z) \rangle

A kernel is called with rows, ``kernel(X, Z)``, and gives the matrix of its values; without Z it is
that of X with itself. ``kernel.diag(X)`` gives the diagonal alone. ``a + b``, ``a * b``, ``2 * a``,
``numpy.exp(a)`` and ``a.scaled(g)``, which is g(x) a(x, z) g(z), are kernels again, and
``a.on([0, 1]) + b.on([2])`` is the tensor sum of two kernels on different columns.
``kernel.theta`` holds the logarithms of the parameters that a fit may move, ``kernel.names`` their
names, ``kernel.bounds`` where they may go, and ``kernel.gradient(X, weight)`` the derivatives of a
weighted sum of the matrix. A parameter is kept where it is with ``<name>_bounds="fixed"``. Squared
distances come from one matrix product over centred rows.

A matrix of n by m values costs :math:`O(n m d)` for d columns.

References
----------
B. Schölkopf and A. J. Smola (2002). Learning with kernels. MIT Press.
doi:10.7551/mitpress/4175.001.0001

C. E. Rasmussen and C. K. I. Williams (2006). Gaussian processes for machine learning. MIT Press.
doi:10.7551/mitpress/3206.001.0001

Examples
--------
>>> import numpy as np
>>> from panlearn.kernel.kernels import RBF, Linear, White, is_valid
>>> kernel = 2 * RBF(length_scale=[1.0, 3.0]) + White(0.1)
>>> kernel([[0.0, 0.0], [1.0, 0.0]]).round(3)
array([[2.1  , 1.213],
       [1.213, 2.1  ]])
>>> kernel.names
['Constant.constant_value', 'RBF.length_scale[0]', 'RBF.length_scale[1]', 'White.noise_level']
>>> X = np.linspace(0, 3, 30)[:, None]
>>> is_valid(np.exp(Linear()), X), is_valid(lambda x, z: max(x[0], z[0]), X)
(True, False)
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.preprocessing import normalize

from panlearn.kernel._kernel import (
    Columns,
    Constant,
    Exponential,
    Kernel,
    Limits,
    Product,
    Pull,
    Scaled,
    Sum,
    inner_products,
    squared_norms,
)
from panlearn.kernel._stationary import Stationary, scales_of
from panlearn.kernel._validity import is_psd, is_valid

__all__ = [
    "RBF",
    "AllSubsets",
    "Columns",
    "Constant",
    "Cosine",
    "Exponential",
    "Laplacian",
    "Linear",
    "Matern",
    "Minimum",
    "Periodic",
    "Polynomial",
    "Product",
    "Scaled",
    "Sigmoid",
    "Sum",
    "White",
    "is_psd",
    "is_valid",
]

DEFAULT: Limits = (1e-5, 1e5)


@dataclass(frozen=True)
class Linear(Kernel):
    r"""The inner product, :math:`k(x, z) = x^\top z`."""

    sparse_rows: ClassVar[bool] = True

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        return inner_products(X, X if Z is None else Z)

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return squared_norms(X)


@dataclass(frozen=True)
class Polynomial(Kernel):
    r"""A power, :math:`k(x, z) = (\gamma \, x^\top z + c)^p` with p = `degree`, c = `coef0`."""

    positive: ClassVar[tuple[str, ...]] = ("gamma", "coef0")
    sparse_rows: ClassVar[bool] = True
    degree: int = 3
    gamma: float = 1.0
    coef0: float = 1.0
    _: KW_ONLY
    gamma_bounds: Limits = DEFAULT
    coef0_bounds: Limits = DEFAULT

    @classmethod
    def _may_be_zero(cls) -> tuple[str, ...]:
        return ("coef0",)

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        inner = inner_products(X, X if Z is None else Z)
        return (self.gamma * inner + self.coef0) ** self.degree

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return (self.gamma * squared_norms(X) + self.coef0) ** self.degree

    def _pullback(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, Pull]:
        inner = self.gamma * (X @ (X if Z is None else Z).T)
        slope = self.degree * (inner + self.coef0) ** (self.degree - 1)
        own = {"gamma": slope * inner, "coef0": slope * self.coef0}
        free = self._free()
        K = (inner + self.coef0) ** self.degree
        return K, lambda W: np.array([np.vdot(W, own[name]) for name in free])


@dataclass(frozen=True)
class Sigmoid(Kernel):
    r"""A layer of a network, :math:`k(x, z) = \tanh(\gamma \, x^\top z + c)` with c = `coef0`.

    It is no inner product for most rows and parameters. Its parameters are not moved by a fit.
    """

    sparse_rows: ClassVar[bool] = True
    indefinite: ClassVar[bool] = True
    gamma: float = 1.0
    coef0: float = 0.0

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        return np.tanh(self.gamma * inner_products(X, X if Z is None else Z) + self.coef0)

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return np.tanh(self.gamma * squared_norms(X) + self.coef0)


@dataclass(frozen=True)
class RBF(Stationary):
    r"""The Gaussian, :math:`k(x, z) = \exp(-\frac12 \sum_k (x_k - z_k)^2 / \ell_k^2)`.

    `length_scale` is one number, or one a column. With :math:`\gamma = 1 / (2 \ell^2)` it is
    :math:`\exp(-\gamma \|x - z\|^2)`.
    """

    positive: ClassVar[tuple[str, ...]] = ("length_scale",)
    length_scale: Any = 1.0
    length_scale_bounds: Limits = DEFAULT

    def _profile(self, r2: np.ndarray) -> np.ndarray:
        K = -0.5 * r2
        return np.exp(K, out=K)

    def _slope(self, r2: np.ndarray, K: np.ndarray) -> np.ndarray:
        return K


@dataclass(frozen=True)
class Matern(Stationary):
    r"""Matérn's, :math:`e^{-r}`, :math:`(1 + s) e^{-s}` or :math:`(1 + s + s^2/3) e^{-s}`.

    For nu = 0.5, 1.5 and 2.5, with :math:`s = \sqrt{2 \nu} \, r` and the distance
    :math:`r^2 = \sum_k (x_k - z_k)^2 / \ell_k^2`; draws from a Gaussian process with it can be
    differentiated no, one or two times. `length_scale` is one number, or one a column.
    """

    positive: ClassVar[tuple[str, ...]] = ("length_scale",)
    length_scale: Any = 1.0
    length_scale_bounds: Limits = DEFAULT
    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu must be 0.5, 1.5 or 2.5 (RBF is its limit); got {self.nu}")

    def _profile(self, r2: np.ndarray) -> np.ndarray:
        s = np.sqrt(2 * self.nu * r2)
        return {0.5: 1.0, 1.5: 1 + s, 2.5: 1 + s + s**2 / 3}[self.nu] * np.exp(-s)

    def _slope(self, r2: np.ndarray, K: np.ndarray) -> np.ndarray:
        s = np.sqrt(2 * self.nu * r2)
        if self.nu == 0.5:
            return np.divide(K, s, out=np.zeros_like(K), where=s > 0)
        return {1.5: 3.0, 2.5: 5 / 3 * (1 + s)}[self.nu] * np.exp(-s)


@dataclass(frozen=True)
class Laplacian(Kernel):
    r"""The Laplacian, :math:`k(x, z) = \exp(-\sum_k |x_k - z_k| / \ell_k)`.

    `length_scale` is one number, or one a column. The form in the Euclidean distance is
    ``Matern(nu=0.5)``.
    """

    positive: ClassVar[tuple[str, ...]] = ("length_scale",)
    length_scale: Any = 1.0
    length_scale_bounds: Limits = DEFAULT

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        scale = scales_of(self.length_scale, X.shape[1])
        A = X / scale
        return np.exp(-cdist(A, A if Z is None else Z / scale, "cityblock"))

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return np.ones(X.shape[0])

    def _pullback(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, Pull]:
        scale = scales_of(self.length_scale, X.shape[1])
        A, C = X / scale, (X if Z is None else Z) / scale
        K = self._gram(X, Z)
        several, free = isinstance(self.length_scale, tuple), bool(self._free())

        def pull(W: np.ndarray) -> np.ndarray:
            groups = [[k] for k in range(A.shape[1])] if several else [range(A.shape[1])]
            M = W * K
            distances = (cdist(A[:, g], C[:, g], "cityblock") for g in groups if free)
            return np.array([np.vdot(M, distance) for distance in distances])

        return K, pull


@dataclass(frozen=True)
class Periodic(Kernel):
    r"""A periodic one, :math:`\exp(-\frac{2}{\ell^2} \sum_k \sin^2(\pi (x_k - z_k) / p))`.

    `length_scale` is :math:`\ell` and `periodicity` is p. It is the product of the periodic kernels
    of the columns, so it is valid in any dimension.
    """

    positive: ClassVar[tuple[str, ...]] = ("length_scale", "periodicity")
    length_scale: float = 1.0
    periodicity: float = 1.0
    length_scale_bounds: Limits = DEFAULT
    periodicity_bounds: Limits = DEFAULT

    def _angles(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The angles a, and (cos a, sin a), whose inner products are Σ_k cos(a_k − b_k)."""
        angle = 2 * np.pi * X / self.periodicity
        return angle, np.hstack([np.cos(angle), np.sin(angle)])

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        A = self._angles(X)[1]
        B = A if Z is None else self._angles(Z)[1]
        return np.exp(np.minimum(A @ B.T - X.shape[1], 0) / self.length_scale**2)

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return np.ones(X.shape[0])

    def _pullback(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, Pull]:
        # about a centre: the derivative in the period multiplies by angles
        centre = X.mean(axis=0)
        angle, A = self._angles(X - centre)
        other, B = (angle, A) if Z is None else self._angles(Z - centre)
        lag = np.minimum(A @ B.T - X.shape[1], 0) / self.length_scale**2
        K = np.exp(lag)
        d, free = X.shape[1], self._free()

        def pull(W: np.ndarray) -> np.ndarray:
            # Σ_ij M_ij sin(a_i − b_j) (a_i − b_j), the sine of a difference multiplied out
            M = W * K
            MB, MA = M @ B, M.T @ A
            turn = np.vdot(angle, A[:, d:] * MB[:, :d] - A[:, :d] * MB[:, d:])
            turn += np.vdot(other, B[:, d:] * MA[:, :d] - B[:, :d] * MA[:, d:])
            own = {
                "length_scale": -2 * np.vdot(M, lag),
                "periodicity": turn / self.length_scale**2,
            }
            return np.array([own[name] for name in free])

        return K, pull


@dataclass(frozen=True)
class Cosine(Kernel):
    r"""The cosine of the angle, :math:`k(x, z) = x^\top z / (\|x\| \|z\|)`, or 0 at the origin."""

    sparse_rows: ClassVar[bool] = True

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        A = _unit(X)
        return inner_products(A, A if Z is None else _unit(Z))

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return (squared_norms(_unit(X)) > 0).astype(float)


@dataclass(frozen=True)
class Minimum(Kernel):
    r"""The overlap, :math:`k(x, z) = \sum_k \min(x_k, z_k)`, valid on non-negative numbers."""

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        Z = X if Z is None else Z
        K = np.zeros((len(X), len(Z)))
        for x, z in zip(X.T, Z.T, strict=True):
            K += np.minimum.outer(x, z)
        return K

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return X.sum(axis=1)


@dataclass(frozen=True)
class AllSubsets(Kernel):
    r"""All products of distinct columns, :math:`k(x, z) = \prod_k (1 + x_k z_k)`."""

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        Z = X if Z is None else Z
        K = np.ones((len(X), len(Z)))
        for x, z in zip(X.T, Z.T, strict=True):
            K *= 1 + np.multiply.outer(x, z)
        return K

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return np.prod(1 + X**2, axis=1)


@dataclass(frozen=True)
class White(Kernel):
    r"""Noise, :math:`k(x_i, x_j) = \sigma^2 \delta_{ij}` with σ² = `noise_level`.

    It stands on the diagonal of the matrix of rows with themselves, and is zero between two sets
    of rows, even where they hold equal rows.
    """

    positive: ClassVar[tuple[str, ...]] = ("noise_level",)
    sparse_rows: ClassVar[bool] = True
    noise_level: float = 1.0
    noise_level_bounds: Limits = DEFAULT

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        n = X.shape[0]
        return self.noise_level * np.eye(n) if Z is None else np.zeros((n, Z.shape[0]))

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return np.full(X.shape[0], self.noise_level)

    def _pullback(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, Pull]:
        free, level = bool(self._free()), self.noise_level if Z is None else 0.0
        return self._gram(X, Z), lambda W: np.array([level * np.trace(W)] if free else [])


def _unit(X: Any) -> Any:
    if sparse.issparse(X):
        return normalize(X)
    X = X / np.maximum(np.abs(X).max(axis=1, keepdims=True), np.finfo(float).tiny)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms == 0, 1, norms)
