"""The lasso and the elastic net."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.estimator import fitting
from panlearn.core.learned import shapes
from panlearn.core.parameters import Fraction, NonNegative, Positive
from panlearn.core.progress import Iterations, Iterative
from panlearn.core.sources import Rows
from panlearn.core.threads import threads
from panlearn.core.validation import read_rows
from panlearn.linear import _least_squares, _nonnegative
from panlearn.linear._base import MultiTargetRegressor
from panlearn.linear._coordinate_descent import ElasticNetSolver, Penalty
from panlearn.linear._design import Problem, centre

REMEDY = "raise max_iter or alpha, scale the features, or accept a larger tol"


class _PenalisedRegressor(Iterative, MultiTargetRegressor):
    """A linear regressor that may select features; abstract."""

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, sparse=True)

    @property
    def sparse_coef_(self) -> sparse.csr_array:
        """The coefficients as a sparse matrix of shape (n_targets, n_features)."""
        return sparse.csr_array(np.atleast_2d(self.coef_))

    def _learn(self, X: Any, y: Any, sample_weight: Any, l1_ratio: float) -> Self:
        start = getattr(self, "coef_", None) if self.warm_start else None
        rows = read_rows(self, X, y, sample_weight, targets="numbers")
        if self.alpha == 0:
            return self._learn_unpenalised(rows)
        with threads() as run:
            problem = centre(rows, run, fit_intercept=self.fit_intercept)
            shape = problem.xy.shape
            starts = [None] * shape[0]
            if start is not None and np.atleast_2d(start).shape == shape:
                starts = list(np.atleast_2d(start))
            solvers = [ElasticNetSolver(problem, t, starts[t]) for t in range(shape[0])]
            self._iterate(solvers, problem, rows, l1_ratio)
        return self

    def _iterate(
        self, solvers: list[ElasticNetSolver], problem: Problem, rows: Rows, l1_ratio: float
    ) -> None:
        """Solve the targets side by side: an iteration is one for each that is not done yet."""

        def attributes() -> dict[str, Any]:
            coef = np.stack([s.coef for s in solvers]).astype(rows.dtype, copy=False)
            intercept = problem.y_mean - coef @ problem.x_mean
            gap = np.array([s.gap for s in solvers]) / problem.weight
            return _shaped(coef, intercept.astype(rows.dtype), gap, rows.y_ndim == 1)

        penalty = scaled_penalty(self.alpha, l1_ratio, problem.weight, self.positive)
        runs = [solver.run(penalty, self.tol) for solver in solvers]
        done = object()
        with Iterations(
            self, max_iter=self.max_iter, tol=self.tol, rows=rows, remedy=REMEDY
        ) as loop:
            for _ in loop:
                if all([next(run, done) is done for run in runs]):
                    loop.stop("rounding leaves no step that lowers the gap")
                    break
                loop.record(
                    change=max(s.gap / (s.yy or 1.0) for s in solvers),
                    objective=sum(s.objective for s in solvers) / problem.weight,
                    attributes=attributes,
                )
        for solver in solvers:
            solver.certify(penalty)
        self.__dict__.update(attributes())

    def _learn_unpenalised(self, rows: Rows) -> Self:
        """Least squares, which has a direct solution and no dual gap to wait for."""
        method = _nonnegative if self.positive else _least_squares
        solution = method.fit(rows, np.zeros(()), fit_intercept=self.fit_intercept)
        coef = np.ascontiguousarray(solution.coef.T.astype(rows.dtype, copy=False))
        intercept = solution.intercept.astype(rows.dtype, copy=False)
        gap = np.zeros(len(coef))
        self.__dict__.update(_shaped(coef, intercept, gap, rows.y_ndim == 1))
        self.n_iter_, self.converged_ = 1, True
        self.history_ = {"change": [0.0]}
        return self


def scaled_penalty(alpha: float, l1_ratio: float, weight: float, positive: bool) -> Penalty:
    """The penalty of the objective times the total weight."""
    strength = float(alpha) * weight
    return Penalty(strength * l1_ratio, strength * (1 - l1_ratio), positive)


def _shaped(
    coef: np.ndarray, intercept: np.ndarray, gap: np.ndarray, single: bool
) -> dict[str, Any]:
    """Fitted attributes, without the axis of targets where y had none."""
    if single:
        coef, intercept, gap = coef[0], intercept[0].item(), gap[0].item()
    return {"coef_": coef, "intercept_": intercept, "dual_gap_": gap}


@dataclass(eq=False, repr=False)
class Lasso(_PenalisedRegressor):
    r"""Least squares with an :math:`\ell_1` penalty, which sets coefficients to zero.

    .. math::
        \min_{w, b} \; \frac{1}{2 \sum_i s_i} \sum_i s_i \, (y_i - x_i^\top w - b)^2
        + \alpha \|w\|_1

    Parameters
    ----------
    alpha : float, default=1.0
        The strength of the penalty; with 0 it is ordinary least squares.
    fit_intercept : bool, default=True
        Whether to learn the intercept b, which is not penalised.
    max_iter : int, default=1000
        The most iterations.
    tol : float, default=1e-4
        Converged when the duality gap is at most tol times the mean square of y, centred if there
        is an intercept.
    warm_start : bool, default=False
        Whether `fit` starts from the coefficients of the last one.
    positive : bool, default=False
        Whether all coefficients must be at least zero.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        The weights w.
    intercept_ : float or ndarray of shape (n_targets,)
        The intercept b.
    dual_gap_ : float or ndarray of shape (n_targets,)
        The duality gap: the objective is at most this far above its minimum.
    n_iter_ : int
        Iterations until the last target was done.
    converged_ : bool
        Whether every gap reached the tolerance.
    history_ : dict of list
        For each iteration, ``change``, the last gap that was certified on all features, over the
        mean square of y, and ``objective``, summed over the targets.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    An iteration is a Newton step on the present support and an epoch of coordinate descent, both
    on the Gram matrix of a working set that grows until the duality gap on all features is small
    enough. It costs :math:`O(m^2)` for m features in the set, whatever the number of rows; the
    Gram matrix costs :math:`O(n m^2)` once, and each check of the gap one product with X. Each
    target is a problem of its own on one Gram matrix. X may be an array, a sparse matrix, which
    stays sparse, or, by its moments, a stream of batches (`panlearn.Batches`) or a Dask collection.

    References
    ----------
    R. Tibshirani (1996). Regression shrinkage and selection via the lasso. Journal of the Royal
    Statistical Society B 58(1). doi:10.1111/j.2517-6161.1996.tb02080.x

    R. Tibshirani, J. Bien, J. Friedman, T. Hastie, N. Simon, J. Taylor and R. J. Tibshirani (2012).
    Strong rules for discarding predictors in lasso-type problems. Journal of the Royal Statistical
    Society B 74(2). doi:10.1111/j.1467-9868.2011.01004.x

    M. Massias, A. Gramfort and J. Salmon (2018). Celer: a fast solver for the lasso with dual
    extrapolation. International Conference on Machine Learning. arXiv:1802.07481

    Examples
    --------
    >>> from panlearn.linear import Lasso
    >>> X = [[0.0, 1.0], [1.0, -1.0], [2.0, 0.0], [3.0, 0.0]]
    >>> model = Lasso(alpha=0.25).fit(X, [0.0, 2.0, 4.0, 6.0])
    >>> model.coef_.round(3), round(model.intercept_, 3)
    (array([1.8, 0. ]), 0.3)
    """

    learned = shapes(
        dual_gap_="() or (n_targets,)",
    )

    alpha: NonNegative[float] = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    max_iter: Positive[int] = 1000
    tol: NonNegative[float] = 1e-4
    warm_start: bool = False
    positive: bool = False

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix}, Batches or Dask collection
            The rows, of shape (n_samples, n_features); Fortran order is fastest.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The targets; with a stream they come in its batches.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        Lasso
            The model itself.
        """
        return self._learn(X, y, sample_weight, l1_ratio=1.0)


@dataclass(eq=False, repr=False)
class ElasticNet(_PenalisedRegressor):
    r"""Least squares with a mixture of :math:`\ell_1` and :math:`\ell_2` penalties.

    .. math::
        \min_{w, b} \; \frac{1}{2 \sum_i s_i} \sum_i s_i \, (y_i - x_i^\top w - b)^2
        + \alpha \rho \|w\|_1 + \tfrac12 \alpha (1 - \rho) \|w\|_2^2

    Parameters
    ----------
    alpha : float, default=1.0
        The strength of the penalty; with 0 it is ordinary least squares.
    l1_ratio : float, default=0.5
        The share :math:`\rho` of the :math:`\ell_1` penalty, from 0 to 1, the lasso.
    fit_intercept : bool, default=True
        Whether to learn the intercept b, which is not penalised.
    max_iter : int, default=1000
        The most iterations.
    tol : float, default=1e-4
        Converged when the duality gap is at most tol times the mean square of y, centred if there
        is an intercept.
    warm_start : bool, default=False
        Whether `fit` starts from the coefficients of the last one.
    positive : bool, default=False
        Whether all coefficients must be at least zero.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        The weights w.
    intercept_ : float or ndarray of shape (n_targets,)
        The intercept b.
    dual_gap_ : float or ndarray of shape (n_targets,)
        The duality gap: the objective is at most this far above its minimum.
    n_iter_ : int
        Iterations until the last target was done.
    converged_ : bool
        Whether every gap reached the tolerance.
    history_ : dict of list
        For each iteration, ``change``, the last gap that was certified on all features, over the
        mean square of y, and ``objective``, summed over the targets.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Solved as `Lasso` is, of which it is the case with rows :math:`\sqrt{\alpha (1 - \rho) \sum_i
    s_i} \, I` and targets of zero below the others: equal columns get equal coefficients.
    Where :math:`\rho` is 0 use `Ridge`, which is solved directly. A sweep costs :math:`O(m^2)` for
    m features in the working set, whose Gram matrix costs :math:`O(n m^2)` once.

    References
    ----------
    H. Zou and T. Hastie (2005). Regularization and variable selection via the elastic net. Journal
    of the Royal Statistical Society B 67(2). doi:10.1111/j.1467-9868.2005.00503.x

    Examples
    --------
    >>> from panlearn.linear import ElasticNet
    >>> X = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    >>> ElasticNet(alpha=0.25, tol=1e-9).fit(X, [0.0, 2.0, 4.0, 6.0]).coef_.round(3)
    array([0.905, 0.905])
    """

    learned = shapes(
        dual_gap_="() or (n_targets,)",
    )

    alpha: NonNegative[float] = 1.0
    _: KW_ONLY
    l1_ratio: Fraction[float] = 0.5
    fit_intercept: bool = True
    max_iter: Positive[int] = 1000
    tol: NonNegative[float] = 1e-4
    warm_start: bool = False
    positive: bool = False

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix}, Batches or Dask collection
            The rows, of shape (n_samples, n_features); Fortran order is fastest.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The targets; with a stream they come in its batches.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        ElasticNet
            The model itself.
        """
        return self._learn(X, y, sample_weight, l1_ratio=self.l1_ratio)
