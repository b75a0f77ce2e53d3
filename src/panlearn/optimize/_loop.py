"""The one loop of every optimiser: evaluate, record, decide whether to stop, advance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from scipy.linalg import norm
from scipy.optimize import OptimizeResult

from panlearn.optimize._problem import Problem, Vector, stops

CONVERGED, EXHAUSTED, DIVERGED, STALLED, STOPPED = 0, 1, 2, 3, 99


@dataclass(frozen=True)
class Point:
    """An iterate with its value, gradient and residual (zero where it is stationary)."""

    x: Vector
    value: float
    gradient: Vector
    residual: float

    @property
    def finite(self) -> bool:
        """Whether the value and the gradient are numbers."""
        return isfinite(self.value) and isfinite(self.residual)


def gradient_norm(x: Vector, gradient: Vector) -> float:
    """Measure the residual of an unconstrained problem, without overflow on the way."""
    return float(norm(gradient, check_finite=False))


def iterate(
    problem: Problem,
    advance: Callable[[int, Point], Vector | None],
    *,
    callback: Callable | None,
    tol: float,
    maxiter: int,
    keep_path: bool,
    residual: Callable[[Vector, Vector], float] = gradient_norm,
    budget: str = "maxiter",
    remedy: str,
) -> OptimizeResult:
    """Repeat ``x = advance(k, point)`` until the residual is at most `tol`; None is a stall."""
    if not tol >= 0:
        raise ValueError(f"tol={tol!r} must be zero or more")
    if isinstance(maxiter, bool) or maxiter != int(maxiter) or maxiter < 0:
        raise ValueError(f"{budget}={maxiter!r} must be an integer, zero or more")
    stop = stops(callback)
    values, residuals, path = [], [], []
    x: Vector | None = problem.x0
    best = None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # reported as divergence
        for k in range(int(maxiter) + 1):
            here = _evaluate(problem, x, residual)
            values.append(here.value)
            residuals.append(here.residual)
            if keep_path:
                path.append(here.x)
            if not here.finite:
                status = DIVERGED
                break
            if best is None or here.value < best.value:
                best = here
            if k > 0 and stop(here.x, here.value):
                status = STOPPED
                break
            if here.residual <= tol:
                status = CONVERGED
                break
            if k == maxiter:
                status = EXHAUSTED
                break
            x = advance(k, here)
            if x is None:
                status = STALLED
                break
    final = (best or here) if status == DIVERGED else here
    return OptimizeResult(
        x=final.x,
        fun=final.value,
        jac=final.gradient,
        nit=len(values) - 1,
        nfev=problem.nfev,
        njev=problem.njev,
        nhev=problem.nhev,
        success=status == CONVERGED,
        status=status,
        message=_message(status, here, len(values) - 1, tol, f"{budget}={maxiter}", remedy),
        fun_values=np.array(values),
        gradient_norms=np.array(residuals),
        path=np.array(path).reshape(-1, problem.x0.size),
    )


def _evaluate(problem: Problem, x: Any, residual: Callable[[Vector, Vector], float]) -> Point:
    value = problem.value(x)
    if not isfinite(value):
        return Point(x, value, np.full_like(x, np.nan), np.nan)
    gradient = problem.gradient(x)
    return Point(x, value, gradient, residual(x, gradient))


def _message(status: int, here: Point, k: int, tol: float, budget: str, remedy: str) -> str:
    size = f"gradient norm {here.residual:.3g}"
    if status == DIVERGED and k == 0:
        return (
            f"Diverged at iteration 0: the objective is {here.value} with {size} at x0; "
            "start where both are finite."
        )
    return {
        CONVERGED: f"Converged at iteration {k}: {size} <= tol={tol:g}.",
        EXHAUSTED: f"{budget} reached: {size} > tol={tol:g}; raise it, or {remedy}.",
        DIVERGED: (
            f"Diverged at iteration {k}: the objective is {here.value} with {size}; "
            f"{remedy}. x is the best iterate before."
        ),
        STALLED: f"Stalled at iteration {k}: no step lowers the objective, {size}; {remedy}.",
        STOPPED: "`callback` raised `StopIteration`.",
    }[status]
