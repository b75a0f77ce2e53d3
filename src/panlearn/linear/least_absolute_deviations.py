"""Median and quantile regression by a linear programme."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from sklearn.utils.validation import _check_sample_weight, validate_data

from panlearn.core.estimator import fitting
from panlearn.core.parameters import Bounds, NonNegative
from panlearn.core.validation import FLOATS, reject_hidden
from panlearn.linear._base import LinearRegressor
from panlearn.linear._least_squares import EPS, Solution
from panlearn.linear._mergeable import set_coefficients


@dataclass(eq=False, repr=False)
class LeastAbsoluteDeviations(LinearRegressor):
    r"""Regression on the conditional median, or on any other quantile.

    .. math::
        \min_{w, b} \; \sum_i s_i \, \rho_q(y_i - x_i^\top w - b)
        + \alpha \sum_i s_i \, \|w\|_1, \qquad \rho_q(r) = \max(q \, r, (q - 1) \, r)

    At :math:`q = 1/2` the loss is half the sum of absolute deviations.

    Parameters
    ----------
    quantile : float, default=0.5
        The quantile q, in (0, 1).
    alpha : float, default=0.0
        The strength of the penalty on w, as in scikit-learn's ``QuantileRegressor``.
    fit_intercept : bool, default=True
        Whether to learn the intercept b, which is not penalised.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights w; where several minimise, those of a vertex of the set of minimisers.
    intercept_ : float
        The intercept b.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    HiGHS is given the dual, :math:`\max_a y^\top a` with :math:`X^\top a = 0`,
    :math:`1^\top a = 0` and :math:`s_i (q - 1) \le a_i \le s_i q`: bounded variables and only
    d + 1 rows, where the primal has n. The weights are the multipliers of its rows. For many rows
    a fit to some of them tells which rows are far from the fit; their :math:`a_i` are held at the
    bound that the sign of the residual names, the others are solved for, and rows that turn out to
    be on the other side are released until there are none, so the answer is exact. A check of all
    rows costs :math:`O(n d)`, and the programmes between are of :math:`O(\sqrt d \, n^{2/3})` rows.

    References
    ----------
    R. Koenker and G. Bassett (1978). Regression quantiles. Econometrica 46(1).
    doi:10.2307/1913643

    S. Portnoy and R. Koenker (1997). The Gaussian hare and the Laplacian tortoise: computability
    of squared-error versus absolute-error estimators. Statistical Science 12(4).
    doi:10.1214/ss/1030037960

    Examples
    --------
    >>> from panlearn.linear import LeastAbsoluteDeviations
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [1.0, 3.0, 5.0, 700.0, 9.0]
    >>> model = LeastAbsoluteDeviations().fit(X, y)
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([2.]), 1.0)
    """

    _: KW_ONLY
    quantile: Annotated[float, Bounds(0, 1)] = 0.5
    alpha: NonNegative[float] = 0.0
    fit_intercept: bool = True

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        LeastAbsoluteDeviations
            The model itself.
        """
        reject_hidden(X=X, y=y, sample_weight=sample_weight)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS, y_numeric=True)
        weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        kept = weight > 0
        # in units where columns and targets are of order one, as the solver's tolerances expect
        design, x_centre, x_scale = _standardise(X[kept], self.fit_intercept)
        target, y_centre, y_scale = _standardise(y[kept, None], self.fit_intercept)
        if self.fit_intercept:
            ones = np.ones((kept.sum(), 1))
            design = (sparse.hstack if sparse.issparse(design) else np.hstack)([design, ones])
        share = weight[kept] / weight.max()
        with np.errstate(over="ignore"):  # an infinite penalty keeps a weight at zero
            penalty = self.alpha * share.sum() / x_scale
        theta = _quantile_fit(design, target[:, 0], share, self.quantile, penalty)
        with np.errstate(over="ignore", invalid="ignore"):
            coef = theta[: X.shape[1]] * (y_scale / x_scale)
            intercept = y_centre + y_scale * theta[-1] - x_centre @ coef
        if not self.fit_intercept:
            intercept = np.zeros(1)
        solution = Solution(coef[:, None], intercept, None, None, None)
        set_coefficients(self, solution, X.dtype, single=True)
        return self


def _standardise(X: Any, centred: bool) -> tuple[Any, np.ndarray, np.ndarray]:
    """Columns of order one, about zero if there is an intercept and X is dense."""
    X = X.astype(float)
    centre = np.zeros(X.shape[1])
    if sparse.issparse(X):
        scale = abs(X).max(axis=0).toarray().ravel()
    else:
        centre = X.mean(axis=0) if centred else centre
        X -= centre
        scale = np.abs(X).mean(axis=0)
    scale[scale <= EPS * np.abs(centre)] = 1.0
    return (X @ sparse.diags_array(1 / scale) if sparse.issparse(X) else X / scale), centre, scale


def _quantile_fit(*problem: Any) -> np.ndarray:
    """Solve the dual, by way of a smaller one if there are many rows.

    A problem is X, y, weight, quantile and penalty. The penalty bounds |X' a| for its columns; a
    further column, the intercept, is free of it.
    """
    X, y, weight, quantile, penalty = problem
    n, d = X.shape
    size = int(np.sqrt(d) * n ** (2 / 3))
    if 4 * size <= n:
        some = np.linspace(0, n - 1, size).astype(int)
        share = weight[some].sum() / weight.sum()
        first = _dual(X[some], y[some], weight[some], quantile, penalty * share)
        if first is not None and (theta := _refine(problem, y - X @ first, size)) is not None:
            return theta
    theta = _dual(*problem)
    if theta is None:
        raise ValueError("the linear programme was not solved: rescale X, or drop extreme rows")
    return theta


def _refine(problem: tuple[Any, ...], residual: np.ndarray, size: int) -> np.ndarray | None:
    """Hold the rows far from a fit at their bounds, and release those that prove it wrong."""
    X, y, weight, quantile, penalty = problem
    side = np.where(residual > 0, 1, -1)
    free = np.zeros(len(y), dtype=bool)
    while 4 * size <= len(y):
        free[np.argpartition(np.abs(residual), size)[:size]] = True
        held = weight * np.where(free, 0.0, np.where(side > 0, quantile, quantile - 1))
        theta = _dual(X[free], y[free], weight[free], quantile, penalty, X.T @ held)
        if theta is None:  # the held rows pull harder than the free ones can balance
            size *= 2
            continue
        wrong = ~free & (side * (y - X @ theta) < -1e-9)
        if not wrong.any():
            return theta
        free |= wrong
    return None


def _dual(
    X: Any,
    y: np.ndarray,
    weight: np.ndarray,
    quantile: float,
    penalty: np.ndarray,
    held: np.ndarray | float = 0.0,
) -> np.ndarray | None:
    """Maximise y' a over s (q - 1) <= a <= s q with |X' a + held| <= penalty; give multipliers.

    In terms of t in [0, 1] with a = s (q - 1 + t), and one slack for each penalised column.
    """
    rows = sparse.csc_array(X.T if sparse.issparse(X) else sparse.csr_array(X).T)
    rows = rows @ sparse.diags_array(weight)
    penalised = np.flatnonzero(penalty)
    slack = sparse.csc_array(sparse.eye_array(rows.shape[0]))[:, penalised]
    solution = linprog(
        np.append(-weight * y, np.zeros(len(penalised))),
        A_eq=sparse.hstack([rows, slack], format="csc"),
        b_eq=(1 - quantile) * rows.sum(axis=1) - held,
        bounds=np.vstack(
            [
                np.tile([0.0, 1.0], (len(y), 1)),
                np.column_stack([-penalty[penalised], penalty[penalised]]),
            ]
        ),
        method="highs-ds",
    )
    return -solution.eqlin.marginals if solution.status == 0 else None
