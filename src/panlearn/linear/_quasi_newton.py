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

import functools
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from scipy import linalg

from panlearn.core.jit import jit

MEMORY = 30
# Steps that shrink the decrement less than this make the model worth renewing.
SLOW = 0.3
ARMIJO = 1e-4
# Steps without progress, where all that is left to gain is below rounding, that end the walk.
STALLS = 5
# Sweeps of coordinate descent before a linear solve, and how often the two take turns.
SWEEPS, ROUNDS = 20, 50


class Loop(Protocol):
    """What counts and stops the steps; `panlearn.core.progress.Iterations` is one."""

    converged: bool

    def __iter__(self) -> Iterator[int]: ...

    def record(
        self, *, change: float, objective: float, attributes: Callable[[], dict[str, Any]]
    ) -> None:
        """Note a step, and how to describe the model as of now."""
        ...


class Steps:
    """The loop of a problem within a problem."""

    def __init__(self, max_iter: int, tol: float) -> None:
        self.converged, self._max_iter, self._tol = False, max_iter, tol

    def __iter__(self) -> Iterator[int]:
        for iteration in range(self._max_iter):
            yield iteration
            if self.converged:
                return

    def record(self, *, change: float, **_: Any) -> None:
        """Compare the change with the tolerance."""
        self.converged = change <= self._tol


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
        """Coordinate descent finds the support, a linear solve goes to the minimum on it."""
        point, slope, reference = x.copy(), gradient.copy(), 0.0
        for _ in range(ROUNDS):
            reference, done = lasso_sweeps(
                self._curvature, slope, point, self._penalty, reference, SWEEPS
            )
            if done:
                break
            move = self._along_support(point, slope)
            point += move
            slope += self._curvature @ move
        return point - x

    def _along_support(self, point: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """The way to the minimum for these signs, up to where the first sign would change."""
        free = np.flatnonzero((point != 0) | (self._penalty == 0))
        sign = np.sign(point[free])
        factor = _cholesky(self._curvature[np.ix_(free, free)])
        way = -linalg.cho_solve(factor, slope[free] + self._penalty[free] * sign)
        crosses = (way * sign < -np.abs(point[free])) & (self._penalty[free] > 0)
        reach = np.full(len(free), np.inf)
        reach[crosses] = np.abs(point[free][crosses] / way[crosses])
        move = np.zeros_like(point)
        move[free] = min(1.0, reach.min(initial=np.inf)) * way
        if crosses.any():
            first = free[reach.argmin()]
            move[first] = -point[first]
        return move

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

    def attributes(self, x: np.ndarray) -> dict[str, Any]:
        """Say what x means for an estimator."""
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
    least, stalled = np.inf, 0
    for _ in loop:
        step = model.step(x, gradient)
        decrease = -(gradient @ step + norm(x + step) - norm(x))
        decrement = np.sqrt(max(decrease, 0.0))
        here = functools.partial(problem.attributes, x)
        loop.record(change=decrement, objective=value, attributes=here)
        stalled = stalled + 1 if decrement > 0.5 * least else 0
        least = min(least, decrement)
        # rounding may keep the gradient from getting any smaller
        lost = stalled >= STALLS and decrease <= problem.epsilon * abs(value)
        if loop.converged or lost:
            x = x + step  # costs nothing, and is closer than the last point evaluated
            loop.converged = True
            continue  # the loop closes this iteration, and ends
        curved, size = decrement > SLOW * before and age >= problem.patience, 1.0
        while True:
            trial = x + size * step
            smooth, slope, fresh = problem.evaluate(trial, curved)
            rise = smooth + norm(trial) - value
            if rise <= -ARMIJO * size * decrease + problem.epsilon * abs(value):
                break
            if size < 1e-10:  # a step of any length is lost in rounding: as good as it gets
                loop.converged = True
                break
            ratio = 0.5 * size * decrease / (rise + size * decrease)
            size *= float(np.clip(ratio, 0.1, 0.5)) if np.isfinite(ratio) else 0.1
            curved = False
        if loop.converged:
            step = size * step
            continue
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


@jit
def lasso_sweeps(
    B: np.ndarray,
    slope: np.ndarray,
    point: np.ndarray,
    penalty: np.ndarray,
    reference: float,
    sweeps: int,
) -> tuple[float, bool]:
    """Coordinate descent on a quadratic with Hessian B plus sum penalty |x|, in place.

    Sweeps over all coordinates, then over those that are not zero until these rest. Returns what
    the first sweep of all moved, squared in the norm of B, and whether a last one moved next to
    nothing beside it.
    """
    p = len(point)
    moving = np.ones(p, np.bool_)
    everything = True
    for _ in range(sweeps):
        moved = 0.0
        for j in range(p):
            if not (everything or moving[j]):
                continue
            target = point[j] - slope[j] / B[j, j]
            new = np.sign(target) * max(abs(target) - penalty[j] / B[j, j], 0.0)
            delta = new - point[j]
            moving[j] = new != 0.0
            if delta != 0.0:
                point[j] = new
                moved += delta * delta * B[j, j]
                for i in range(p):
                    slope[i] += delta * B[j, i]
        if reference == 0.0:
            reference = moved
        small = moved <= 1e-8 * reference
        if small and everything:
            return reference, True
        everything = small
    return reference, False
