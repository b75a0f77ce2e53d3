"""An objective at the boundary to SciPy: checked once, counted, its last value remembered."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, OptimizeResult
from scipy.optimize._numdiff import approx_derivative
from scipy.sparse import issparse

from panlearn.optimize.projections import Projection, box

Vector = NDArray[np.floating]


class Problem:
    """An objective with its derivatives and its start, as `scipy.optimize.minimize` passes them.

    Parameters
    ----------
    fun : callable
        The objective, ``fun(x, *args) -> float``, or a pair with the gradient if `jac` is True.
    x0 : array-like of shape (n,)
        The start.
    args : tuple
        Further arguments of `fun`, `jac`, `hess` and `hessp`.
    jac : callable, bool, {'2-point', '3-point', 'cs'} or None
        The gradient; missing, it is a central finite difference.
    hess, hessp : callable or None
        The Hessian or its products with a vector; missing, a finite difference of the gradient.
    """

    def __init__(
        self,
        fun: Callable,
        x0: ArrayLike,
        args: tuple = (),
        jac: Any = None,
        hess: Any = None,
        hessp: Callable | None = None,
    ) -> None:
        self.fun, self.jac = unwrap_pair(fun, jac)
        self.hess, self.hessp = hess, hessp
        self.x0 = _check_start(x0)
        self.args = args if isinstance(args, tuple) else (args,)
        self.nfev = self.njev = self.nhev = 0
        self._last: tuple[Vector, Any] | None = None

    def value(self, x: Vector) -> float:
        """Evaluate the objective at x; asked twice for the same array, it is evaluated once."""
        answer = self._evaluate(x)
        return _scalar(answer[0] if self.jac is True else answer)

    def gradient(self, x: Vector, args: tuple | None = None) -> Vector:
        """Evaluate the gradient at x, by finite differences where none was given."""
        self.njev += 1
        rest = self.args if args is None else args
        if self.jac is True:
            answer = self._evaluate(x) if args is None else self._call(x, rest)
            gradient = answer[1]
        elif callable(self.jac):
            gradient = self.jac(x, *rest)
        else:
            gradient = approx_derivative(
                lambda z: _scalar(self._call(z, rest)),
                x,
                method=self.jac or "3-point",
                f0=self.value(x) if args is None else None,
            )
        gradient = np.array(gradient, dtype=x.dtype)  # a copy: the caller may reuse its buffer
        if gradient.shape != x.shape:
            raise ValueError(
                f"the gradient has shape {gradient.shape}, x has {x.shape}: "
                "return one derivative for each coordinate of x"
            )
        return gradient

    def hessian(self, x: Vector) -> Vector:
        """Evaluate the symmetrised Hessian at x, by finite differences where none was given."""
        self.nhev += 1
        hessian: Any
        if callable(self.hess):
            hessian = self.hess(x, *self.args)
        elif self.hessp is not None:
            hessian = [self.hessp(x, e, *self.args) for e in np.eye(x.size, dtype=x.dtype)]
        else:
            # A gradient that is itself a difference has noise near 1e-10: the cube root balances it.
            step = None if self._has_gradient else 5e-4
            hessian = approx_derivative(
                self.gradient, x, method=self.hess or "3-point", rel_step=step
            )
        dense = hessian.toarray() if issparse(hessian) else hessian
        hessian = np.atleast_2d(np.asarray(dense, dtype=x.dtype))
        if hessian.shape != (x.size, x.size):
            raise ValueError(f"the Hessian has shape {hessian.shape}, not {(x.size, x.size)}")
        return (hessian + hessian.T) / 2

    @property
    def hessian_noise(self) -> float:
        """The error of the Hessian's entries, relative to its largest eigenvalue."""
        if callable(self.hess) or self.hessp is not None:
            return float(self.x0.size * np.finfo(self.x0.dtype).eps)
        return 1e-8 if self._has_gradient else 1e-5

    @property
    def _has_gradient(self) -> bool:
        return self.jac is True or callable(self.jac)

    def _evaluate(self, x: Vector) -> Any:
        if self._last is None or self._last[0] is not x:
            self._last = (x, self._call(x, self.args))
        return self._last[1]

    def _call(self, x: Vector, args: tuple) -> Any:
        self.nfev += 1
        return self.fun(x, *args)


def unwrap_pair(fun: Callable, jac: Any) -> tuple[Callable, Any]:
    """Undo SciPy's wrapping of ``jac=True``: its cache is blind to every argument but x."""
    if jac is not None and getattr(jac, "__self__", None) is fun and hasattr(fun, "fun"):
        return fun.fun, True
    return fun, jac or None


def refuse(method: str, **given: Any) -> None:
    """Raise for what `scipy.optimize.minimize` passes on and a method cannot honour."""
    for name, value in given.items():
        if value is not None and np.size(value):
            raise ValueError(
                f"{method} takes no {name}: give gradient_descent a projection onto the feasible "
                "set, or use scipy.optimize.minimize(method='SLSQP')"
            )


def feasible(projection: Projection | None, bounds: Any) -> Projection | None:
    """Choose the feasible set's projection: the one given, or the box of SciPy's `bounds`."""
    if bounds is None:
        return projection
    if projection is not None:
        raise ValueError("both bounds and a projection were given; give the projection alone")
    if isinstance(bounds, Bounds):
        return box(bounds.lb, bounds.ub)
    pairs = [
        (-np.inf if low is None else low, np.inf if high is None else high) for low, high in bounds
    ]
    return box(*np.transpose(pairs))


def stops(callback: Callable | None) -> Callable[[Vector, float], bool]:
    """SciPy's callback protocol: called with x or an intermediate result, StopIteration stops."""
    if callback is None:
        return lambda x, value: False
    whole = set(signature(callback).parameters) == {"intermediate_result"}

    def call(x: Vector, value: float) -> bool:
        try:
            if whole:
                callback(intermediate_result=OptimizeResult(x=x.copy(), fun=value))
            else:
                callback(x.copy())
        except StopIteration:
            return True
        return False

    return call


def _check_start(x0: ArrayLike) -> Vector:
    x = np.atleast_1d(np.asarray(x0))
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"x0 has shape {x.shape}; it must be a vector with one entry or more")
    if x.dtype.kind not in "biuf":
        raise ValueError(f"x0 has dtype {x.dtype}; it must hold real numbers")
    x = np.array(x, dtype=np.float32 if x.dtype == np.float32 else np.float64)
    if not np.isfinite(x).all():
        raise ValueError("x0 contains NaN or infinity; start from finite numbers")
    return x


def _scalar(value: Any) -> float:
    if isinstance(value, float):  # as is np.float64: the common case, and the loop is hot
        return value
    if np.size(value) != 1:
        raise ValueError(f"the objective returned shape {np.shape(value)}; it must be one number")
    return float(np.asarray(value).reshape(()))
