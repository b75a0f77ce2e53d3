r"""Minimise a smooth convex sum plus a weighted :math:`\ell_1` norm in few looks at the sum.

Each look is a pass over all rows, so a step is made as good as what is known allows: the model

.. math::
    m(s) = g^\top s + \tfrac12 s^\top B s + \sum_j \lambda_j (|x_j + s_j| - |x_j|)

starts from a curvature B that is computed now and then, and BFGS updates bring it up to date after
every pass. Without a penalty its minimiser is a linear solve, with one it is found by coordinate
descent on the model, which needs no rows.

References
----------
J. Nocedal and S. J. Wright (2006). Numerical Optimization, chapters 6 and 7. Springer.
doi:10.1007/978-0-387-40065-5

J. D. Lee, Y. Sun and M. A. Saunders (2014). Proximal Newton-type methods for minimizing composite
functions. SIAM J. Optim. 24(3). doi:10.1137/130921428
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numba import njit
from scipy import linalg

MEMORY = 30
# Steps that shrink the decrement less than this make the model worth renewing.
SLOW = 0.3
ARMIJO = 1e-4


class Loop(Protocol):
    """What counts and stops the steps; `panlearn.core.progress.Iterations` is one."""

    converged: bool

    def __iter__(self) -> Iterator[int]: ...

    def record(self, *, change: float, objective: float) -> None:
        """Note a step."""
        ...


class Model(Protocol):
    """A quadratic model of the smooth part around the current point."""

    def step(self, x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Minimise the model with the penalty."""
        ...

    def learn(self, step: np.ndarray, change: np.ndarray) -> None:
        """Take in how the gradient changed along a step."""
        ...


class SmoothModel:
    """No penalty: the inverse of B, as a Cholesky factor (or a diagonal) and BFGS pairs."""

    def __init__(self, curvature: np.ndarray) -> None:
        self._pairs: list[tuple[np.ndarray, np.ndarray, float]] = []
        self._diagonal = curvature if curvature.ndim == 1 else None
        self._factor = None if curvature.ndim == 1 else _cholesky(curvature)

    def step(self, x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Minus B^-1 g, by the two-loop recursion."""
        q, along = gradient.copy(), []
        for s, y, sy in reversed(self._pairs):
            along.append(s @ q / sy)
            q -= along[-1] * y
        if self._factor is None:
            q = q / self._diagonal
        else:
            q = linalg.cho_solve(self._factor, q, check_finite=False)
        for (s, y, sy), a in zip(self._pairs, reversed(along), strict=True):
            q += (a - y @ q / sy) * s
        return -q

    def learn(self, step: np.ndarray, change: np.ndarray) -> None:
        """Keep the pair if the curvature along it can be told from rounding."""
        if (sy := step @ change) > 1e-12 * linalg.norm(step) * linalg.norm(change):
            self._pairs = [*self._pairs[1 - MEMORY :], (step, change, sy)]


class LassoModel:
    """With a penalty: B itself, whose rows coordinate descent walks."""

    def __init__(self, curvature: np.ndarray, penalty: np.ndarray) -> None:
        self._curvature, self._penalty = _regular(curvature), penalty

    def step(self, x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Coordinate descent on the model."""
        return lasso_step(self._curvature, gradient, x, self._penalty, 1e-6, 100)

    def learn(self, step: np.ndarray, change: np.ndarray) -> None:
        """BFGS: B + y y' / s'y - B s s' B / s'B s."""
        if (sy := step @ change) > 1e-12 * linalg.norm(step) * linalg.norm(change):
            bent = self._curvature @ step
            self._curvature += np.outer(change / sy, change)
            self._curvature -= np.outer(bent / (step @ bent), bent)


class Problem(Protocol):
    """A smooth convex function and the weights of an l1 norm."""

    penalty: np.ndarray
    """Weights of the absolute values."""
    epsilon: float
    """Relative rounding of a value."""

    @property
    def patience(self) -> float:
        """How many steps a computed curvature has to serve: its cost in passes."""
        ...

    def evaluate(
        self, x: np.ndarray, curved: bool = False
    ) -> tuple[float, np.ndarray, np.ndarray | None]:
        """Value and gradient of the smooth part, and its Hessian if asked."""
        ...

    def model(self, curvature: np.ndarray) -> Model:
        """Make a model from a curvature."""
        ...


def minimise(
    problem: Problem, x: np.ndarray, curvature: np.ndarray | None, loop: Loop
) -> tuple[np.ndarray, np.ndarray]:
    r"""Walk from x to the minimum.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    x : ndarray
        The start.
    curvature : ndarray or None
        A first curvature; None to compute one at the start.
    loop : Loop
        Records the decrement, the square root of the decrease that the model promises to first
        order. It is the distance to the minimum in the norm of the Hessian, and the walk ends when
        it does not exceed the tolerance.

    Returns
    -------
    x, step : ndarray
        The minimiser and the last step, which is not small where there is no minimum.
    """

    def norm(x: np.ndarray) -> float:
        return float(np.sum(problem.penalty * np.abs(x)))

    smooth, gradient, fresh = problem.evaluate(x, curvature is None)
    first = curvature if fresh is None else fresh
    assert first is not None  # evaluate was asked for one
    model = problem.model(first)
    value, before, age, step = smooth + norm(x), np.inf, 0, x
    for _ in loop:
        step = model.step(x, gradient)
        decrease = -(gradient @ step + norm(x + step) - norm(x))
        decrement = np.sqrt(max(decrease, 0.0))
        loop.record(change=decrement, objective=value)
        if loop.converged:
            x = x + step  # costs nothing, and is closer than the last point evaluated
            break
        curved, size = decrement > SLOW * before and age >= problem.patience, 1.0
        while True:
            trial = x + size * step
            smooth, slope, fresh = problem.evaluate(trial, curved)
            rise = smooth + norm(trial) - value
            if rise <= -ARMIJO * size * decrease + problem.epsilon * abs(value):
                break
            if size < 1e-10:  # a step of any length is lost in rounding: as good as it gets
                loop.converged = True
                return x, size * step
            ratio = 0.5 * size * decrease / (rise + size * decrease)
            size *= float(np.clip(ratio, 0.1, 0.5)) if np.isfinite(ratio) else 0.1
            curved = False
        if fresh is not None:
            model, age = problem.model(fresh), 0
        else:
            model.learn(trial - x, slope - gradient)
            age += 1
        before = decrement
        x, gradient, value = trial, slope, value + rise
    return x, step


def _regular(curvature: np.ndarray) -> np.ndarray:
    """Add what makes a semidefinite matrix definite and changes no step that matters."""
    diagonal = np.diag(curvature)
    floor = np.where(diagonal > 0, 1e-12 * diagonal, 1.0)
    return curvature + np.diag(floor)


def _cholesky(curvature: np.ndarray) -> tuple[np.ndarray, bool]:
    """Factor B, with a growing multiple of its diagonal if rounding made it indefinite."""
    regular = _regular(curvature)
    for ridge in (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2):
        try:
            shifted = regular + ridge * np.diag(np.diag(regular))
            return linalg.cho_factor(shifted, lower=True, check_finite=False)
        except linalg.LinAlgError:
            continue
    return np.diag(np.sqrt(np.abs(np.diag(regular)))), True


@njit(cache=True, nogil=True)
def lasso_step(
    B: np.ndarray,
    gradient: np.ndarray,
    x: np.ndarray,
    penalty: np.ndarray,
    tol: float,
    max_sweeps: int,
) -> np.ndarray:
    """Coordinate descent on g's + s'Bs/2 + sum penalty |x + s|: sweeps all, then the moving."""
    p = len(x)
    step, slope = np.zeros(p), gradient.copy()
    moving = np.ones(p, np.bool_)
    everything, first = True, 0.0
    for _ in range(max_sweeps):
        moved = 0.0
        for j in range(p):
            if not (everything or moving[j]):
                continue
            now = x[j] + step[j]
            target = now - slope[j] / B[j, j]
            threshold = penalty[j] / B[j, j]
            new = np.sign(target) * max(abs(target) - threshold, 0.0)
            delta = new - now
            moving[j] = new != 0.0
            if delta != 0.0:
                step[j] += delta
                moved += delta * delta * B[j, j]
                for i in range(p):
                    slope[i] += delta * B[j, i]
        if first == 0.0:
            first = moved
        small = moved <= tol * first
        if small and everything:
            break
        everything = small
    return step
