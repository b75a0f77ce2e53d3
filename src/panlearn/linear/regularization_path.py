"""The lasso for a whole sequence of penalties."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_X_y

from panlearn.core.parameters import InvalidParameterError, NonNegative, Positive, allows, describe
from panlearn.core.sources import ArrayRows
from panlearn.core.threads import threads
from panlearn.core.validation import FLOATS
from panlearn.core.warning import warn
from panlearn.linear._coordinate_descent import ElasticNetSolver, Penalty
from panlearn.linear._design import Problem, centre
from panlearn.linear.lasso import REMEDY, scaled_penalty


def lasso_path(
    X: Any,
    y: Any,
    *,
    eps: float = 1e-3,
    alphas: Any = 100,
    coef_init: Any = None,
    positive: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-4,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Solve the lasso for a decreasing sequence of penalties, each from the one before.

    .. math::
        \min_w \; \frac{1}{2 n} \|y - X w\|_2^2 + \alpha \|w\|_1

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows. There is no intercept: centre X and y to have one.
    y : array-like of shape (n_samples,)
        The target.
    eps : float, default=1e-3
        The last alpha of a grid over the first.
    alphas : int or array-like, default=100
        The size of a geometric grid that begins where all coefficients are zero, or the values.
    coef_init : array-like of shape (n_features,), default=None
        Coefficients to start from.
    positive : bool, default=False
        Whether all coefficients must be at least zero.
    max_iter : int, default=1000
        The most iterations for one alpha.
    tol : float, default=1e-4
        Converged when the duality gap is at most tol times the mean square of y.

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        In decreasing order.
    coefs : ndarray of shape (n_features, n_alphas)
        The coefficients for each.
    dual_gaps : ndarray of shape (n_alphas,)
        The duality gap of each.

    Notes
    -----
    Solved as `Lasso` is; the Gram matrix of the working set is kept from one alpha to the next. A
    sweep costs :math:`O(m^2)` for m features in the working set, a check of the gap :math:`O(n d)`.

    References
    ----------
    J. Friedman, T. Hastie and R. Tibshirani (2010). Regularization paths for generalized linear
    models via coordinate descent. Journal of Statistical Software 33(1). doi:10.18637/jss.v033.i01

    Examples
    --------
    >>> from panlearn.linear import lasso_path
    >>> alphas, coefs, _ = lasso_path([[1.0, 0.0], [0.0, 1.0]], [4.0, 2.0], alphas=[2.0, 1.0, 0.0])
    >>> coefs.round(3)
    array([[0., 2., 4.],
           [0., 0., 2.]])
    """
    _check("tol", tol, NonNegative[float])
    _check("max_iter", max_iter, Positive[int])
    X, y = check_X_y(X, y, accept_sparse="csc", dtype=FLOATS, y_numeric=True)
    with threads() as run:
        problem = centre(ArrayRows(X, y.astype(X.dtype), None), run, fit_intercept=False)
        start = None if coef_init is None else np.asarray(coef_init, dtype=X.dtype)
        solver = ElasticNetSolver(problem, start=start)
        grid = _grid(alphas, eps, problem, positive)
        coefs = np.empty((X.shape[1], len(grid)), dtype=X.dtype, order="F")
        gaps = np.empty(len(grid))
        missed = []
        for i, alpha in enumerate(grid):
            penalty = scaled_penalty(alpha, 1.0, problem.weight, positive)
            for _ in islice(solver.run(penalty, tol), max_iter):
                pass
            solver.certify(penalty)
            coefs[:, i], gaps[i] = solver.coef, solver.gap / problem.weight
            if solver.gap > tol * solver.yy:
                missed.append(i)
    if missed:
        worst = max(missed, key=lambda i: gaps[i])
        warn(
            f"lasso_path did not converge for {len(missed)} of {len(grid)} alphas: within "
            f"max_iter={max_iter} iterations the gap at alpha={grid[worst]:.3g} is "
            f"{gaps[worst] * problem.weight / solver.yy:.3g} above tol={tol:.3g}; {REMEDY}",
            ConvergenceWarning,
        )
    return grid, coefs, gaps


def _grid(alphas: Any, eps: float, problem: Problem, positive: bool) -> np.ndarray:
    """The values given in decreasing order, or a geometric grid from where all is zero."""
    if np.ndim(alphas) > 0:
        grid = np.sort(np.asarray(alphas, dtype=float))[::-1]
        if grid.ndim != 1 or grid.size == 0 or not (np.isfinite(grid) & (grid >= 0)).all():
            raise InvalidParameterError(
                f"alphas must be an int or finite values of at least zero; got {alphas!r}"
            )
        return grid
    _check("alphas", alphas, Positive[int])
    _check("eps", eps, Positive[float])
    pull = Penalty(0.0, positive=positive).pull(problem.xy)
    first = max(float(pull.max()) / problem.weight, np.finfo(float).resolution)
    return np.geomspace(first, first * eps, alphas)


def _check(name: str, value: Any, annotation: Any) -> None:
    if not allows(annotation, value):
        raise InvalidParameterError(f"{name} must be {describe(annotation)}; got {value!r}")
