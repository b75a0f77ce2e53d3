"""Gradient descent and its adaptive relatives: one descent, four update rules."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import norm
from scipy.optimize import OptimizeResult

from panlearn.optimize._loop import Point, gradient_norm, iterate
from panlearn.optimize._problem import Problem, Vector, feasible, refuse
from panlearn.optimize.projections import Projection
from panlearn.optimize.rules import AdaGrad, Adam, Gradient, RMSProp, Rule
from panlearn.optimize.schedules import Schedule

Step = float | Callable[[int], float]


def gradient_descent(
    fun: Callable,
    x0: ArrayLike,
    args: tuple = (),
    *,
    step: Step = 0.01,
    momentum: float | Callable[[int], float] = 0.0,
    nesterov: bool = False,
    normalize: bool = False,
    **options: Any,
) -> OptimizeResult:
    r"""Minimise a function by steps against its gradient, with or without momentum.

    .. math::

        v_k = \beta v_{k-1} + \nabla f(x_k), \qquad
        x_{k+1} = P\bigl(x_k - \eta \, s(k) \, v_k\bigr)

    Parameters
    ----------
    fun : callable
        The objective, ``fun(x, *args) -> float``.
    x0 : array-like of shape (n,)
        The start; float32 stays float32.
    args : tuple
        Further arguments of `fun` and `jac`.
    step : float or callable
        The learning rate :math:`\eta`, or a function of k that gives it.
    momentum : float or callable
        The memory :math:`\beta` of the velocity, in [0, 1], or a function of k that gives it.
    nesterov : bool
        Take the gradient where the momentum will carry the iterate.
    normalize : bool
        Divide the gradient by its length, so that every step without momentum has length
        :math:`\eta \, s(k)`.
    **options
        What every first-order method here takes:

        - ``jac``: the gradient ``jac(x, *args)``; or True, if `fun` returns it beside the value;
          or a name of SciPy's finite differences. Missing, it is a central difference.
        - ``bounds``: a `scipy.optimize.Bounds` or pairs (low, high): a projection onto the box.
        - ``projection``: a function that projects onto the feasible set P, such as
          ``projections.l1_ball(1.0)``.
        - ``schedule``: a function of k that scales the step, such as
          ``schedules.inverse_time(0.1)``.
        - ``callback``: called after each iteration with ``x``, or with an
          ``intermediate_result``, if its one parameter has that name; StopIteration stops.
        - ``tol`` (1e-6), ``maxiter`` (1000): stop at this gradient norm, or after so many steps.
        - ``keep_path`` (True): record every iterate; turn it off where memory is short.

        ``hess`` and ``hessp`` are not used; ``constraints`` are refused.

    Returns
    -------
    OptimizeResult
        ``x``, ``fun``, ``jac``, ``nit``, ``nfev``, ``njev``, ``success``, ``status`` (0 converged,
        1 iterations exhausted, 2 diverged, 99 stopped by the callback), ``message``, and the
        record of the run, start included: ``fun_values`` and ``gradient_norms`` of shape
        (nit + 1,), ``path`` of shape (nit + 1, n). Under a projection the norm recorded is that of
        :math:`x - P(x - \nabla f(x))`, which vanishes at a constrained optimum. A run that meets a
        value which is not finite ends as diverged and gives back its best iterate.

    Notes
    -----
    Also a method of `scipy.optimize.minimize`. On an objective with an L-Lipschitz gradient, plain
    descent needs :math:`\eta < 2/L`; at 1/L the gap of a convex objective falls as 1/k, that of an
    m-strongly convex one as :math:`(1 - m/L)^k`, and ``nesterov=True`` with
    ``momentum=lambda k: (k - 1) / (k + 2)`` brings 1/k down to 1/k². The velocity is
    ``torch.optim.SGD``'s: at a constant step it is the heavy ball
    :math:`x_{k+1} = x_k - \eta \nabla f(x_k) + \beta (x_k - x_{k-1})`. An iteration costs one
    value, one gradient and :math:`O(d)` for d variables.

    References
    ----------
    Polyak (1964). Some methods of speeding up the convergence of iteration methods.
    doi:10.1016/0041-5553(64)90137-5

    Nesterov (1983). A method for solving the convex programming problem with convergence rate
    O(1/k²). Soviet Mathematics Doklady 27.

    Examples
    --------
    >>> from scipy.optimize import minimize
    >>> from panlearn.optimize import gradient_descent
    >>> result = minimize(lambda x: x[0] ** 2 + 10 * x[1] ** 2, [3.0, 1.0],
    ...                   jac=lambda x: [2 * x[0], 20 * x[1]],
    ...                   method=gradient_descent, options={"step": 0.05})
    >>> result.message
    'Converged at iteration 149: gradient norm 9.13e-07 <= tol=1e-06.'
    >>> result.path.shape
    (150, 2)
    """
    rule = Gradient(momentum, nesterov, normalize)
    return _descend("gradient_descent", fun, x0, args, rule, step, **options)


def adagrad(
    fun: Callable,
    x0: ArrayLike,
    args: tuple = (),
    *,
    step: Step = 0.01,
    epsilon: float = 1e-10,
    **options: Any,
) -> OptimizeResult:
    r"""Minimise by gradient steps that shrink with each coordinate's own past gradients.

    .. math::

        x_{k+1} = P\Bigl(x_k - \eta \, s(k) \,
        \frac{g_k}{\sqrt{\textstyle\sum_{i \le k} g_i^2} + \epsilon}\Bigr)

    Parameters
    ----------
    fun, x0, args, step
        As in `gradient_descent`, with the same result.
    epsilon : float
        Keeps the division from zero; above zero.
    **options
        As in `gradient_descent`.

    Notes
    -----
    Every operation is coordinate by coordinate, so that (but for epsilon) the run does not depend
    on the scale of the objective along each axis. The steps are those of
    ``torch.optim.Adagrad``. An iteration costs one value, one gradient and :math:`O(d)` for d
    variables.

    References
    ----------
    Duchi, Hazan, Singer (2011). Adaptive subgradient methods for online learning and stochastic
    optimization. JMLR 12.

    Examples
    --------
    >>> from panlearn.optimize import adagrad
    >>> adagrad(lambda x: x @ x, [1.0, -2.0], step=1.0).x.round(5) + 0.0
    array([0., 0.])
    """
    return _descend("adagrad", fun, x0, args, AdaGrad(epsilon), step, **options)


def rmsprop(
    fun: Callable,
    x0: ArrayLike,
    args: tuple = (),
    *,
    step: Step = 0.01,
    beta: float = 0.99,
    epsilon: float = 1e-8,
    **options: Any,
) -> OptimizeResult:
    r"""Minimise by gradient steps scaled by a moving average of squared gradients.

    .. math::

        s_k = \beta s_{k-1} + (1 - \beta) g_k^2, \qquad
        x_{k+1} = P\Bigl(x_k - \eta \, s(k) \, \frac{g_k}{\sqrt{s_k} + \epsilon}\Bigr)

    Parameters
    ----------
    fun, x0, args, step
        As in `gradient_descent`, with the same result.
    beta : float
        The memory of the average, in [0, 1).
    epsilon : float
        Keeps the division from zero; above zero.
    **options
        As in `gradient_descent`.

    Notes
    -----
    With a constant step the iterates end in a ring about the minimum whose width is that step;
    give a decaying ``schedule`` to settle. The steps are those of ``torch.optim.RMSprop``, whose
    ``alpha`` is our `beta`. An iteration costs one value, one gradient and :math:`O(d)` for d
    variables.

    References
    ----------
    Tieleman, Hinton (2012). Lecture 6.5: RMSProp. Neural Networks for Machine Learning.

    Examples
    --------
    >>> from panlearn.optimize import rmsprop, schedules
    >>> result = rmsprop(lambda x: x @ x, [1.0, -2.0], step=0.1, tol=1e-3,
    ...                  schedule=schedules.inverse_sqrt(0.1))
    >>> result.success
    True
    """
    return _descend("rmsprop", fun, x0, args, RMSProp(beta, epsilon), step, **options)


def adam(
    fun: Callable,
    x0: ArrayLike,
    args: tuple = (),
    *,
    step: Step = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    **options: Any,
) -> OptimizeResult:
    r"""Minimise by steps along the mean gradient, in units of its root mean square.

    .. math::

        m_k = \beta_1 m_{k-1} + (1 - \beta_1) g_k, \quad
        v_k = \beta_2 v_{k-1} + (1 - \beta_2) g_k^2, \\
        x_{k+1} = P\Bigl(x_k - \eta \, s(k) \,
        \frac{m_k / (1 - \beta_1^{k+1})}{\sqrt{v_k / (1 - \beta_2^{k+1})} + \epsilon}\Bigr)

    Parameters
    ----------
    fun, x0, args, step
        As in `gradient_descent`, with the same result.
    beta1, beta2 : float
        The memories of the mean and of the mean square, in [0, 1).
    epsilon : float
        Keeps the division from zero; above zero.
    **options
        As in `gradient_descent`.

    Notes
    -----
    The powers remove the bias of averages that start at zero, so that the first step has length
    :math:`\eta` along every coordinate. The steps are those of ``torch.optim.Adam``. An iteration
    costs one value, one gradient and :math:`O(d)` for d variables.

    References
    ----------
    Kingma, Ba (2015). Adam: a method for stochastic optimization. ICLR. arXiv:1412.6980

    Examples
    --------
    >>> from panlearn.optimize import adam
    >>> result = adam(lambda x: x @ x, [1.0, -2.0], step=0.1)
    >>> result.success
    True
    >>> result.path[1]
    array([ 0.9, -1.9])
    """
    return _descend("adam", fun, x0, args, Adam(beta1, beta2, epsilon), step, **options)


def _descend(
    name: str,
    fun: Callable,
    x0: ArrayLike,
    args: tuple,
    rule: Rule,
    step: Step,
    *,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    callback: Callable | None = None,
    projection: Projection | None = None,
    schedule: Schedule | None = None,
    tol: float = 1e-6,
    maxiter: int = 1000,
    keep_path: bool = True,
) -> OptimizeResult:
    """Run x <- P(x - step(k) d_k) with the rule's direction d_k."""
    refuse(name, constraints=constraints)
    problem = Problem(fun, x0, args, jac)
    project = feasible(projection, bounds)
    problem.x0 = apply_projection(project, problem.x0)
    step_at = scheduled(step, schedule)
    memory = rule.init(problem.x0)

    def advance(k: int, here: Point) -> Vector:
        nonlocal memory
        direction, memory = rule.update(k, here.gradient, memory)
        return apply_projection(project, here.x - step_at(k) * direction)

    return iterate(
        problem,
        advance,
        callback=callback,
        tol=tol,
        maxiter=maxiter,
        keep_path=keep_path,
        residual=stationarity(project),
        remedy="take a smaller step or a schedule that decays",
    )


def scheduled(step: Step, schedule: Schedule | None) -> Callable[[int], float]:
    """Return the step at each iteration, eta s(k), refused where it is negative or not finite."""
    if not callable(step) and not (isinstance(step, Real) and 0 < step < np.inf):
        raise ValueError(f"step={step!r} must be a finite number above zero, or a function of k")

    def at(k: int) -> float:
        eta = float(step(k) if callable(step) else step) * float(schedule(k) if schedule else 1)
        if not 0 <= eta < np.inf:
            raise ValueError(f"the step at iteration {k} is {eta}; a schedule must not be negative")
        return eta

    return at


def stationarity(project: Projection | None) -> Callable[[Vector, Vector], float]:
    """Return the residual ||g||, or ||x - P(x - g)|| under a projection: zero at an optimum."""
    if project is None:
        return gradient_norm
    return lambda x, gradient: float(norm(x - project(x - gradient), check_finite=False))


def apply_projection(project: Projection | None, x: Vector) -> Vector:
    """P(x), of the shape and type of x."""
    if project is None:
        return x
    projected = np.asarray(project(x), dtype=x.dtype)
    if projected.shape != x.shape:
        raise ValueError(f"the projection maps shape {x.shape} to {projected.shape}")
    return projected
