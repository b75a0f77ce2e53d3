"""Stochastic gradient descent over the rows of a finite sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import OptimizeResult

from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.optimize._first_order import Step, apply_projection, scheduled, stationarity
from panlearn.optimize._loop import Point, iterate
from panlearn.optimize._problem import Problem, Vector, feasible, refuse
from panlearn.optimize.projections import Projection
from panlearn.optimize.rules import Gradient, Rule
from panlearn.optimize.schedules import Schedule


def stochastic_gradient_descent(
    fun: Callable,
    x0: ArrayLike,
    args: tuple = (),
    *,
    n_samples: int,
    batch_size: int = 1,
    epochs: int = 10,
    replace: bool = False,
    average: bool = False,
    random_state: RandomState = None,
    step: Step = 0.01,
    schedule: Schedule | None = None,
    rule: Rule | None = None,
    projection: Projection | None = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    callback: Callable | None = None,
    tol: float = 1e-6,
    keep_path: bool = True,
) -> OptimizeResult:
    r"""Minimise a mean over rows by steps along the gradient of a few rows at a time.

    .. math::

        f(x) = \frac1n \sum_{i=1}^n f_i(x), \qquad
        x_{k+1} = P\Bigl(x_k - \frac{\eta \, s(k)}{|B_k|} \sum_{i \in B_k} \nabla f_i(x_k)\Bigr)

    Parameters
    ----------
    fun : callable
        The mean over some rows, ``fun(x, rows, *args) -> float``, where `rows` is an index: an
        array of integers, or ``slice(None)`` for all.
    x0 : array-like of shape (n,)
        The start.
    args : tuple
        Further arguments of `fun` and `jac`.
    n_samples : int
        The number of rows of the sum.
    batch_size : int
        The rows of a step; the last batch of an epoch has what is left.
    epochs : int
        The passes over the rows.
    replace : bool
        Draw each batch from all rows, rather than deal out a fresh permutation each epoch.
    average : bool
        Give back and record the running mean of the iterates (Polyak and Ruppert) in their place.
    random_state : int, Generator, RandomState or None
        Source of the batches.
    step, schedule : float or callable, callable or None
        The learning rate and its schedule, as in `gradient_descent`; k counts the batches.
    rule : Rule or None
        The update rule, such as ``rules.Adam()``; None is the plain gradient.
    projection, jac, bounds, callback, tol, keep_path
        As in `gradient_descent`, except that `jac` takes `rows` too and an iteration of the
        record, of the callback and of the tolerance is one epoch.
    hess, hessp, constraints
        The first two are not used, the last are refused.

    Returns
    -------
    OptimizeResult
        As from `gradient_descent`, with the full objective and its gradient after each epoch.

    Notes
    -----
    A minibatch gradient has the full gradient as its mean. At a constant step the iterates end in a
    cloud about the minimum whose width grows with the step; ``schedules.inverse_time`` (strongly
    convex f), ``schedules.inverse_sqrt`` (convex f) or `average` make them settle. An epoch of n
    rows costs :math:`O(n)` gradients of a row for its steps, and as many values for the record.

    References
    ----------
    Robbins, Monro (1951). A stochastic approximation method. doi:10.1214/aoms/1177729586

    Polyak, Juditsky (1992). Acceleration of stochastic approximation by averaging.
    doi:10.1137/0330046

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.optimize import schedules, stochastic_gradient_descent
    >>> data = np.array([1.0, 2.0, 6.0])
    >>> result = stochastic_gradient_descent(
    ...     lambda x, rows: ((x - data[rows]) ** 2).mean() / 2, [0.0],
    ...     jac=lambda x, rows: x - data[rows].mean(),
    ...     n_samples=3, random_state=0, step=1.0, schedule=schedules.inverse_time())
    >>> result.x
    array([3.])
    """
    refuse("stochastic_gradient_descent", constraints=constraints)
    for name, count in {"n_samples": n_samples, "batch_size": batch_size}.items():
        if count != int(count) or count < 1:
            raise ValueError(f"{name}={count!r} must be an integer, one or more")
    rest = args if isinstance(args, tuple) else (args,)
    problem = Problem(fun, x0, (slice(None), *rest), jac)
    project = feasible(projection, bounds)
    problem.x0 = apply_projection(project, problem.x0)
    source = generator(random_state)
    step_at = scheduled(step, schedule)
    rule = Gradient() if rule is None else rule
    x, mean, memory, steps = problem.x0, problem.x0, rule.init(problem.x0), 0

    def epoch(_: int, here: Point) -> Vector:
        nonlocal x, mean, memory, steps
        for rows in _batches(n_samples, batch_size, replace, source):
            direction, memory = rule.update(steps, problem.gradient(x, (rows, *rest)), memory)
            x = apply_projection(project, x - step_at(steps) * direction)
            steps += 1
            mean = mean + (x - mean) / steps
        return mean if average else x

    return iterate(
        problem,
        epoch,
        callback=callback,
        tol=tol,
        maxiter=epochs,
        keep_path=keep_path,
        residual=stationarity(project),
        budget="epochs",
        remedy="take a smaller step or a schedule that decays",
    )


def _batches(
    n: int, size: int, replace: bool, source: np.random.Generator
) -> Iterator[NDArray[np.integer]]:
    """Yield the rows of each step of one epoch."""
    order = None if replace else source.permutation(n)
    for start in range(0, n, size):
        count = min(size, n - start)
        yield source.integers(n, size=count) if order is None else order[start : start + count]
