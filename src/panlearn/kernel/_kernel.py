r"""What every kernel is, and the algebra that makes new ones: ``+``, ``*``, exp, scaling, columns.

A kernel is a value: a frozen dataclass whose fields are its parameters and the kernels it is made
of. A leaf gives three things: the matrix between two sets of rows, its diagonal and, if it has
parameters, the matrix together with the map from a weight W to the derivatives of
:math:`\sum_{ij} W_{ij} K_{ij}`. Derivatives so contracted cost a few matrix products, where a
stack of one matrix a parameter would cost memory; the algebra passes W down as the chain rule says.
As both sets of rows are free, a large matrix can be made, and pulled back, a tile at a time.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from panlearn.core.value import Value

Limits = tuple[float, float] | Literal["fixed"]
Pull = Callable[[np.ndarray], np.ndarray]
"""From W to the derivatives of sum_ij W_ij K_ij in the logs of the free parameters."""


@dataclass(frozen=True)
class Kernel(Value):
    """A function k(x, z) of two rows; abstract.

    ``positive`` names the fields that are positive parameters; the field ``<name>_bounds`` beside
    one says where a fit may move it, or "fixed". ``sparse_rows`` says whether `_gram` and `_diag`
    take CSR rows, ``indefinite`` whether it is known to be no inner product.
    """

    positive: ClassVar[tuple[str, ...]] = ()
    sparse_rows: ClassVar[bool] = False
    indefinite: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in self.positive:
            value = np.asarray(getattr(self, name), dtype=float)
            zero = name in self._may_be_zero()
            good = np.isfinite(value) & (value >= 0 if zero else value > 0)
            if value.ndim > 1 or not value.size or not good.all():
                raise ValueError(
                    f"{name} of {type(self).__name__} must be positive and finite; got {value}"
                )
            plain = float(value) if value.ndim == 0 else tuple(value.tolist())
            object.__setattr__(self, name, plain)
            limits = getattr(self, f"{name}_bounds")
            if limits != "fixed":
                low, high = map(float, limits)
                if not (0 <= low <= high and low < np.inf and high > 0):
                    raise ValueError(f"{name}_bounds must be 0 <= low <= high, or 'fixed'")
                object.__setattr__(self, f"{name}_bounds", (low, high))

    @classmethod
    def _may_be_zero(cls) -> tuple[str, ...]:
        return ()

    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        """Give the matrix of k(x, z) over the rows of X and of Z; without Z, of X with itself."""
        X = check_array(X, dtype=np.float64, input_name="X")
        if Z is not None:
            Z = check_array(Z, dtype=np.float64, input_name="Z")
            if X.shape[1] != Z.shape[1]:
                raise ValueError(f"X has {X.shape[1]} columns and Z has {Z.shape[1]}")
        return np.array(self._gram(X, Z))

    def diag(self, X: Any) -> np.ndarray:
        """Give k(x, x) for each row of X."""
        return self._diag(check_array(X, dtype=np.float64, input_name="X"))

    def gradient(self, X: Any, weight: Any) -> np.ndarray:
        """Differentiate the sum of weight_ij k(x_i, x_j) in each of `theta`."""
        X = check_array(X, dtype=np.float64, input_name="X")
        weight = check_array(weight, dtype=np.float64, input_name="weight")
        if weight.shape != (len(X), len(X)):
            raise ValueError(f"weight has shape {weight.shape} and X has {len(X)} rows")
        return self._pullback(X, None)[1](weight)

    @abstractmethod
    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray: ...

    @abstractmethod
    def _diag(self, X: np.ndarray) -> np.ndarray: ...

    def _pullback(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, Pull]:
        """K(X, Z) and its pull; as it stands here, of a kernel without parameters."""
        return self._gram(X, Z), lambda W: np.empty(0)

    # parameters

    def _free(self) -> list[str]:
        """Own parameters that a fit may move; one at zero has no logarithm and stays."""
        return [
            name
            for name in self.positive
            if getattr(self, f"{name}_bounds") != "fixed" and getattr(self, name) != 0
        ]

    def _parts(self) -> dict[str, Kernel]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Kernel)}

    @property
    def takes_sparse(self) -> bool:
        """Whether the kernel and all its parts take sparse rows."""
        return self.sparse_rows and all(part.takes_sparse for part in self._parts().values())

    @property
    def theta(self) -> np.ndarray:
        """Logarithms of the free parameters, in the order of `names`."""
        own = [np.log(np.atleast_1d(getattr(self, name))) for name in self._free()]
        return np.concatenate([*own, *(k.theta for k in self._parts().values()), np.empty(0)])

    @property
    def names(self) -> list[str]:
        """Names of the free parameters, one an entry of `theta`."""
        found = []
        for name in self._free():
            value, own = getattr(self, name), f"{type(self).__name__}.{name}"
            several = isinstance(value, tuple)
            found += [f"{own}[{i}]" for i in range(len(value))] if several else [own]
        return found + [name for k in self._parts().values() for name in k.names]

    @property
    def bounds(self) -> np.ndarray:
        """Logarithms of the bounds of the free parameters, of shape (n_parameters, 2)."""
        with np.errstate(divide="ignore"):  # a bound at zero is minus infinity
            own = [
                np.tile(np.log(getattr(self, f"{name}_bounds")), (np.size(getattr(self, name)), 1))
                for name in self._free()
            ]
        return np.concatenate([*own, *(k.bounds for k in self._parts().values()), np.empty((0, 2))])

    def with_theta(self, theta: Any) -> Self:
        """Give this kernel with other values of its free parameters."""
        theta = np.asarray(theta, dtype=float)
        changes: dict[str, Any] = {}
        for name in self._free():
            old = getattr(self, name)
            value, theta = np.exp(theta[: np.size(old)]), theta[np.size(old) :]
            changes[name] = tuple(value.tolist()) if isinstance(old, tuple) else float(value[0])
        for name, part in self._parts().items():
            count = len(part.theta)
            changes[name], theta = part.with_theta(theta[:count]), theta[count:]
        return replace(self, **changes)

    # algebra

    def __add__(self, other: Any) -> Kernel:
        other = _constant(other)
        return NotImplemented if other is None else Sum(self, other)

    def __radd__(self, other: Any) -> Kernel:
        other = _constant(other)
        return NotImplemented if other is None else Sum(other, self)

    def __mul__(self, other: Any) -> Kernel:
        other = _constant(other)
        return NotImplemented if other is None else Product(self, other)

    def __rmul__(self, other: Any) -> Kernel:
        other = _constant(other)
        return NotImplemented if other is None else Product(other, self)

    def exp(self) -> Kernel:
        """Give exp(k(x, z)); ``numpy.exp(kernel)`` comes here too."""
        return Exponential(self)

    def scaled(self, g: Callable[[np.ndarray], np.ndarray]) -> Kernel:
        """Give g(x) k(x, z) g(z); g takes rows and returns one number a row."""
        return Scaled(self, g)

    def on(self, columns: Iterable[int]) -> Kernel:
        """Give the kernel that looks at some columns only.

        ``k1.on([0, 1]) + k2.on([2])`` is the tensor sum of two kernels on pairs of points, and with
        ``*`` their tensor product.
        """
        return Columns(self, tuple(int(c) for c in columns))


def inner_products(X: Any, Z: Any) -> np.ndarray:
    """X Zᵀ of dense or of CSR rows, as a dense matrix."""
    product = X @ Z.T
    return product.toarray() if sparse.issparse(product) else product


def squared_norms(X: Any) -> np.ndarray:
    """‖x‖² of each row, dense or CSR."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def _constant(value: Any) -> Kernel | None:
    """A kernel as it is, a number as a constant kernel, anything else as None."""
    if isinstance(value, Kernel):
        return value
    number = isinstance(value, float | int | np.floating | np.integer)
    return Constant(float(value)) if number else None


@dataclass(frozen=True)
class Constant(Kernel):
    r"""A constant, :math:`k(x, z) = c` with c = `constant_value`."""

    positive: ClassVar[tuple[str, ...]] = ("constant_value",)
    sparse_rows: ClassVar[bool] = True
    constant_value: float = 1.0
    constant_value_bounds: Limits = (1e-5, 1e5)

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        # not filled: a product with it then costs one pass
        shape = (X.shape[0], (X if Z is None else Z).shape[0])
        return np.broadcast_to(self.constant_value, shape)

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return np.full(X.shape[0], self.constant_value)

    def _pullback(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, Pull]:
        free = bool(self._free())
        c = self.constant_value
        return self._gram(X, Z), lambda W: np.array([c * W.sum()] if free else [])


@dataclass(frozen=True)
class Sum(Kernel):
    r"""A sum, :math:`k(x, z) = a(x, z) + b(x, z)` of the kernels `left` and `right`."""

    sparse_rows: ClassVar[bool] = True
    left: Kernel
    right: Kernel

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        return self.left._gram(X, Z) + self.right._gram(X, Z)

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return self.left._diag(X) + self.right._diag(X)

    def _pullback(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, Pull]:
        (A, pull_a), (B, pull_b) = self.left._pullback(X, Z), self.right._pullback(X, Z)
        return A + B, lambda W: np.concatenate([pull_a(W), pull_b(W)])


@dataclass(frozen=True)
class Product(Kernel):
    r"""A product, :math:`k(x, z) = a(x, z) \, b(x, z)` of the kernels `left` and `right`."""

    sparse_rows: ClassVar[bool] = True
    left: Kernel
    right: Kernel

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        return self.left._gram(X, Z) * self.right._gram(X, Z)

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return self.left._diag(X) * self.right._diag(X)

    def _pullback(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, Pull]:
        (A, pull_a), (B, pull_b) = self.left._pullback(X, Z), self.right._pullback(X, Z)
        return A * B, lambda W: np.concatenate([pull_a(W * B), pull_b(W * A)])


@dataclass(frozen=True)
class Exponential(Kernel):
    r"""An exponential, :math:`k(x, z) = e^{a(x, z)}` of the kernel `kernel`."""

    sparse_rows: ClassVar[bool] = True
    kernel: Kernel

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        return np.exp(self.kernel._gram(X, Z))

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return np.exp(self.kernel._diag(X))

    def _pullback(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, Pull]:
        A, pull = self.kernel._pullback(X, Z)
        K = np.exp(A)
        return K, lambda W: pull(W * K)


@dataclass(frozen=True)
class Scaled(Kernel):
    r"""A scaling, :math:`k(x, z) = g(x) \, a(x, z) \, g(z)` of `kernel` by the function `g`."""

    kernel: Kernel
    g: Callable[[np.ndarray], np.ndarray]

    def _factors(self, X: np.ndarray) -> np.ndarray:
        factors = np.asarray(self.g(X), dtype=float)
        if factors.shape != (len(X),):
            raise ValueError(f"g gave shape {factors.shape} for {len(X)} rows; one number a row")
        return factors

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        g = self._factors(X)
        right = g if Z is None else self._factors(Z)
        return g[:, None] * self.kernel._gram(X, Z) * right

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return self._factors(X) ** 2 * self.kernel._diag(X)

    def _pullback(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, Pull]:
        A, pull = self.kernel._pullback(X, Z)
        g = self._factors(X)[:, None] * self._factors(X if Z is None else Z)
        return g * A, lambda W: pull(g * W)


@dataclass(frozen=True)
class Columns(Kernel):
    r"""A view, :math:`k(x, z) = a(x_S, z_S)` of the `columns` S by the kernel `kernel`."""

    kernel: Kernel
    columns: tuple[int, ...]

    def _view(self, X: np.ndarray) -> np.ndarray:
        if (
            not self.columns
            or not -X.shape[1] <= min(self.columns) <= max(self.columns) < X.shape[1]
        ):
            raise ValueError(f"the kernel looks at columns {self.columns} of {X.shape[1]}")
        return X[:, list(self.columns)]

    def _gram(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        return self.kernel._gram(self._view(X), None if Z is None else self._view(Z))

    def _diag(self, X: np.ndarray) -> np.ndarray:
        return self.kernel._diag(self._view(X))

    def _pullback(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, Pull]:
        return self.kernel._pullback(self._view(X), None if Z is None else self._view(Z))
