"""Newton's method, damped by a backtracking line search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.optimize import OptimizeResult

from panlearn.optimize._loop import Point, iterate
from panlearn.optimize._problem import Problem, Vector, refuse

_SUFFICIENT = 1e-4  # Armijo's fraction of the decrease that the slope promises
_HALVINGS = 50


def newton(
    fun: Callable,
    x0: ArrayLike,
    args: tuple = (),
    *,
    jac: Any = None,
    hess: Any = None,
    hessp: Callable | None = None,
    bounds: Any = None,
    constraints: Any = (),
    callback: Callable | None = None,
    tol: float = 1e-8,
    maxiter: int = 100,
    keep_path: bool = True,
) -> OptimizeResult:
    r"""Minimise a smooth function by damped Newton steps.

    .. math:: x_{k+1} = x_k - t_k \, B_k^{-1} \nabla f(x_k), \qquad B_k \approx \nabla^2 f(x_k)

    Parameters
    ----------
    fun, x0, args, jac, callback, tol, maxiter, keep_path
        As in `gradient_descent`, with the same result.
    hess : callable, {'2-point', '3-point', 'cs'} or None
        The Hessian ``hess(x, *args)``, dense or sparse; missing, a difference of the gradient.
    hessp : callable or None
        The product ``hessp(x, p, *args)``, from which the Hessian is built, if `hess` is missing.
    bounds, constraints
        Refused.

    Notes
    -----
    :math:`B_k` is the Hessian where Cholesky's factorisation finds it positive definite, beyond
    the noise of its entries; elsewhere its eigenvalues are replaced by their magnitudes (at least
    that noise, or 1e-8 of the largest), so that the step leads down and away from a saddle. The
    step is halved from :math:`t_k = 1` until Armijo's condition holds up to the rounding of f. Near a minimum with a
    positive definite Hessian no step is halved and the error is squared at each iteration; the
    cost of one is :math:`O(n^3)`. Status 3 says that no step lowers the objective.

    References
    ----------
    Nocedal, Wright (2006). Numerical optimization, chapter 3. doi:10.1007/978-0-387-40065-5

    Dauphin et al. (2014). Identifying and attacking the saddle point problem in high-dimensional
    non-convex optimization. NeurIPS. arXiv:1406.2572

    Examples
    --------
    >>> from scipy.optimize import minimize, rosen, rosen_der, rosen_hess
    >>> from panlearn.optimize import newton
    >>> result = minimize(rosen, [-1.2, 1.0], jac=rosen_der, hess=rosen_hess, method=newton)
    >>> result.x, result.nit
    (array([1., 1.]), 21)
    """
    refuse("newton", bounds=bounds, constraints=constraints)
    problem = Problem(fun, x0, args, jac, hess, hessp)

    def advance(k: int, here: Point) -> Vector | None:
        hessian = problem.hessian(here.x)
        if not np.isfinite(hessian).all():
            return None
        return _backtrack(
            problem, here, _descent_direction(hessian, here.gradient, problem.hessian_noise)
        )

    return iterate(
        problem,
        advance,
        callback=callback,
        tol=tol,
        maxiter=maxiter,
        keep_path=keep_path,
        remedy="check the derivatives, rescale the variables or raise tol",
    )


def _descent_direction(hessian: Vector, gradient: Vector, noise: float) -> Vector:
    """Solve B d = -g with B the Hessian, its eigenvalues made positive where they are not."""
    try:
        factor = cho_factor(hessian, check_finite=False)
        pivots = np.diag(factor[0]) ** 2
        if pivots.min() > noise * pivots.max():
            return -cho_solve(factor, gradient, check_finite=False)
    except LinAlgError:
        pass
    eigenvalues, vectors = eigh(hessian, check_finite=False)
    magnitudes = np.abs(eigenvalues)
    least = max(noise, 1e-8) * (magnitudes.max() or 1.0)
    return -vectors @ ((vectors.T @ gradient) / np.maximum(magnitudes, least))


def _backtrack(problem: Problem, here: Point, direction: Vector) -> Vector | None:
    """Find the first x + 2^-j d with f(x + t d) <= f(x) + c t <g, d>, up to the rounding of f."""
    slope = here.gradient @ direction
    rounding = 4 * np.finfo(here.x.dtype).eps * abs(here.value)
    t = 1.0
    for _ in range(_HALVINGS):
        x = here.x + here.x.dtype.type(t) * direction
        if problem.value(x) <= here.value + _SUFFICIENT * t * slope + rounding:
            return None if np.array_equal(x, here.x) else x
        t /= 2
    return None
