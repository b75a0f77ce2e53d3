"""The parameters of a kernel at which a marginal likelihood is highest."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.progress import Iterations
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows
from panlearn.core.warning import warn
from panlearn.kernel._kernel import Kernel

Evidence = Callable[[Kernel], tuple[float, np.ndarray]]
"""The log marginal likelihood under a kernel, and its gradient in the kernel's theta."""


FAR = np.log(1e5)


def maximise_evidence(
    estimator: Any,
    kernel: Kernel,
    evidence: Evidence,
    *,
    rows: ArrayRows,
    attributes: Callable[[Kernel], dict[str, Any]],
) -> dict[str, Any]:
    """The fitted attributes at the end of an ascent by L-BFGS-B.

    It starts from θ, or from the best end of ascents from θ and from random starts, and the
    estimator gets its record. `attributes` makes those of a kernel.
    """
    remedy = "raise max_iter, scale the data, or give other starting values"
    loop = Iterations(
        estimator, max_iter=estimator.max_iter, tol=estimator.tol, rows=rows, remedy=remedy
    )
    if estimator.optimizer is None or not len(kernel.theta):
        found = attributes(kernel)
        with loop:
            for _ in loop:
                value = found["log_marginal_likelihood_value_"]
                loop.record(log_marginal_likelihood=value, change=0.0, attributes=lambda: found)
        return found
    kernel = _within_bounds(kernel)
    problem = _Problem(kernel, evidence, {"maxiter": estimator.max_iter, "ftol": estimator.tol})
    best = problem.start(estimator.n_restarts_optimizer, generator(estimator.random_state))
    last = problem.objective(best)[0]
    with loop:
        steps = iter(loop)
        next(steps)

        def record(intermediate_result: OptimizeResult) -> None:
            nonlocal best, last
            best, value = intermediate_result.x.copy(), intermediate_result.fun
            loop.record(
                log_marginal_likelihood=-value,
                change=(last - value) / max(abs(last), abs(value), 1.0),
                attributes=functools.partial(attributes, kernel.with_theta(best)),
            )
            last = value
            next(steps)  # at the end of the loop this raises StopIteration, and SciPy returns

        run = problem.ascend(best, record)
        if loop.n_iter == 0:  # no way up from here
            loop.record(log_marginal_likelihood=-last, change=0.0)
        elif not loop.converged and run.status == 2:
            loop.stop("the line search found nothing higher")
    fitted = kernel.with_theta(best)
    _warn_at_bounds(fitted)
    return attributes(fitted)


class _Problem:
    """Minus the evidence as a function of θ, within the bounds of a kernel."""

    def __init__(self, kernel: Kernel, evidence: Evidence, options: dict[str, Any]) -> None:
        self._kernel, self._evidence, self._bounds = kernel, evidence, kernel.bounds
        # by the gain alone: a norm of the gradient has another meaning for every number of rows
        self._options = {**options, "gtol": 0.0}
        # the last and the highest, where a line search in vain returns to
        self._known: list[tuple[np.ndarray, tuple[float, np.ndarray]]] = []

    def objective(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        for place, found in self._known:
            if np.array_equal(place, theta):
                return found
        try:
            value, gradient = self._evidence(self._kernel.with_theta(theta))
        except ValueError:
            if not self._known:  # what fails at the start is for the user to see
                raise
            return np.inf, np.zeros_like(theta)  # not positive definite there: no likelihood
        last = theta.copy(), (-value, -gradient)
        self._known = [last, min([*self._known, last], key=lambda known: known[1][0])]
        return last[1]

    def ascend(self, theta: np.ndarray, callback: Any = None) -> OptimizeResult:
        return minimize(
            self.objective,
            theta,
            jac=True,
            method="L-BFGS-B",
            bounds=self._bounds,
            options=self._options,
            callback=callback,
        )

    def start(self, n_restarts: int, rng: np.random.Generator) -> np.ndarray:
        """θ, or the best end of ascents from it and from others, log-uniform within the bounds.

        Where a bound is infinite or zero, within a factor of 1e5 of θ.
        """
        theta = self._kernel.theta
        if not n_restarts:
            return theta
        low, high = self._bounds.T
        low = np.where(np.isfinite(low), low, np.minimum(theta, high) - FAR)
        high = np.where(np.isfinite(high), high, np.maximum(theta, low) + FAR)
        others = rng.uniform(low, high, size=(n_restarts, len(low)))
        runs = [self.ascend(start) for start in (theta, *others)]
        return min(runs, key=lambda run: run.fun).x


def _within_bounds(kernel: Kernel) -> Kernel:
    """The kernel with each free parameter moved to the bound that it is beyond, if it is."""
    theta, (low, high) = kernel.theta, kernel.bounds.T
    start = np.clip(theta, low, high)
    outside = ~np.isclose(theta, start, rtol=1e-12, atol=1e-12)
    for i in np.flatnonzero(outside):
        side = "below its lower" if theta[i] < low[i] else "above its upper"
        warn(
            f"{kernel.names[i]} = {np.exp(theta[i]):.3g} is {side} bound {np.exp(start[i]):.3g}: "
            "the ascent starts from the bound; give a value within the bounds, or widen them",
            UserWarning,
        )
    return kernel.with_theta(start) if outside.any() else kernel


def _warn_at_bounds(kernel: Kernel) -> None:
    for name, theta, (low, high) in zip(kernel.names, kernel.theta, kernel.bounds, strict=True):
        side = "lower" if np.isclose(theta, low) else "upper" if np.isclose(theta, high) else ""
        if side and low < high:
            warn(
                f"{name} = {np.exp(theta):.3g} is at its {side} bound: widen its bounds, or leave "
                "that part of the kernel out",
                ConvergenceWarning,
            )
