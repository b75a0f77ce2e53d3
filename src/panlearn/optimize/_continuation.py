"""Continuation: solve an easy problem, then follow its solution to the hard one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult, minimize

from panlearn.optimize._first_order import gradient_descent
from panlearn.optimize._problem import Problem, stops, unwrap_pair


def continuation(
    fun: Callable,
    x0: ArrayLike,
    args: tuple = (),
    *,
    parameters: Iterable[float],
    method: str | Callable = gradient_descent,
    options: dict[str, Any] | None = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    callback: Callable | None = None,
    tol: float | None = None,
) -> OptimizeResult:
    r"""Minimise the last of a family of objectives, each from the minimiser of the one before.

    .. math:: x_j \in \arg\min_x f(x, t_j) \ \text{started at}\ x_{j-1}, \qquad j = 1, \ldots, m

    Parameters
    ----------
    fun : callable
        The family, ``fun(x, t, *args) -> float``.
    x0 : array-like of shape (n,)
        The start of the first, easiest problem.
    args : tuple
        Further arguments of `fun`, `jac`, `hess` and `hessp`.
    parameters : iterable of float
        The values of t, from easy to hard; the last one is the problem to solve.
    method : str or callable
        What solves each problem: any method of `scipy.optimize.minimize`.
    options : dict or None
        Options of that method.
    jac, hess, hessp : callable, bool, str or None
        Derivatives that take t after x (``hessp(x, p, t, *args)``), as the method asks for them.
    bounds, constraints, tol
        Handed to the method.
    callback : callable or None
        Called after each problem, by SciPy's protocol; StopIteration stops.

    Returns
    -------
    OptimizeResult
        The result of the last problem, with the total ``nit``, ``nfev`` and ``njev``; ``stages``,
        the result of each problem; ``path`` of shape (m + 1, n), the start and the minimisers; and
        ``fun_values`` and ``gradient_norms`` of shape (m,) at them, each of its own objective (NaN
        where the method gives no gradient).

    Notes
    -----
    A convex or much smoothed first problem leads into a basin that a direct start would miss;
    small changes of t keep the iterate in the basin as it deforms. Nothing promises that the basin
    of the last problem is the deepest. A problem that is not solved to its tolerance still starts
    the next; one that ends at a value which is not finite stops the run. It costs :math:`O(m)`
    minimisations for m problems, of which all but the first start near their end.

    References
    ----------
    Allgower, Georg (1990). Numerical continuation methods. doi:10.1007/978-3-642-61257-2

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.optimize import continuation
    >>> def rugged(x, t):
    ...     return float(x[0] ** 2 / 20 + t * (1 - np.cos(3 * x[0])))
    >>> direct = continuation(rugged, [4.5], parameters=[1.0], method="BFGS")
    >>> followed = continuation(rugged, [4.5], parameters=[0.0, 0.5, 1.0], method="BFGS")
    >>> round(direct.fun, 2), round(followed.fun, 2)
    (0.87, 0.0)
    """
    values = list(parameters)
    if not values:
        raise ValueError("parameters is empty; give the values of t from easy to hard")
    rest = args if isinstance(args, tuple) else (args,)
    x0 = Problem(fun, x0).x0
    fun, jac = unwrap_pair(fun, jac)
    stop = stops(callback)
    stages: list[OptimizeResult] = []
    path = [x0]
    stopped = False
    for t in values:
        stage = minimize(
            fun,
            path[-1],
            args=(t, *rest),
            method=method,
            jac=jac,
            hess=hess,
            hessp=hessp,
            bounds=bounds,
            constraints=constraints,
            tol=tol,
            options=options,
        )
        stages.append(stage)
        path.append(np.atleast_1d(stage.x))
        stopped = stop(path[-1], float(stage.fun))
        if stopped or not np.isfinite(stage.fun):
            break
    return _collect(stages, path, values, stopped)


def _collect(
    stages: list[OptimizeResult], path: list, values: list, stopped: bool
) -> OptimizeResult:
    """Return the last stage's result with the totals and the record of all stages."""
    last = stages[-1]
    result = OptimizeResult(last)
    for count in ("nit", "nfev", "njev", "nhev"):
        if any(count in stage for stage in stages):
            result[count] = sum(stage.get(count, 0) for stage in stages)
    if stopped:
        result.update(success=False, status=99, message="`callback` raised `StopIteration`.")
    elif len(stages) < len(values):
        result.update(
            success=False,
            message=f"Diverged at problem {len(stages)} of {len(values)}: {last.message}",
        )
    result.update(
        stages=stages,
        path=np.array(path),
        fun_values=np.array([float(stage.fun) for stage in stages]),
        gradient_norms=np.array(
            [np.linalg.norm(stage.jac) if "jac" in stage else np.nan for stage in stages]
        ),
    )
    return result
