"""Regression that outliers cannot pull far: Huber's loss with its scale learned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import islice
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.extmath import safe_sparse_dot

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.estimator import fitting
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.memory import require_memory
from panlearn.core.parameters import Bounds, NonNegative, Positive
from panlearn.core.progress import Iterations, Iterative
from panlearn.core.sources import ArrayRows, Rows
from panlearn.core.statistics import RootMoments, Sums
from panlearn.core.validation import read_rows
from panlearn.linear import inference
from panlearn.linear._base import LinearRegressor
from panlearn.linear._least_squares import EPS, from_moments, from_root, moments_of
from panlearn.linear._row_span import RowSpan, spanned
from panlearn.linear._targets import one_target

# A scale below this part of the spread of y is zero: the fit is exact for most rows.
EXACT = 1e-12
# The scale is lowered once the coefficients could gain no more than this part of it at each row.
LAG = 1e-3
# Up to so many rows of more columns are put into coordinates of what they span.
FEW = 2000


@dataclass(eq=False, repr=False)
class HuberRegressor(Iterative, LinearRegressor):
    r"""Linear regression with Huber's loss, quadratic near zero and linear for outliers.

    .. math::
        \min_{w, b, \sigma > 0} \; \sum_i s_i \left( \sigma
        + H_\epsilon\!\left(\frac{y_i - x_i^\top w - b}{\sigma}\right) \sigma \right)
        + \alpha \|w\|_2^2, \qquad
        H_\epsilon(z) = \begin{cases} z^2 & |z| \le \epsilon \\
        2 \epsilon |z| - \epsilon^2 & |z| > \epsilon \end{cases}

    Parameters
    ----------
    epsilon : float, default=1.35
        Residuals above epsilon times the scale are outliers; 1.35 has 95 % of the efficiency of
        least squares on Gaussian noise. At least 1.
    max_iter : int, default=100
        The most iterations.
    alpha : float, default=0.0001
        The strength of the penalty on w.
    warm_start : bool, default=False
        Whether to start from the last fit.
    fit_intercept : bool, default=True
        Whether to learn the intercept b, which is not penalised.
    tol : float, default=1e-05
        The end: the root of the decrease of the objective that the last step promised, in units
        of the scale at each row. It has no unit, unlike scikit-learn's bound on the gradient.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights w.
    intercept_ : float
        The intercept b.
    scale_ : float
        The scale :math:`\sigma`.
    outliers_ : ndarray of shape (n_samples,)
        Whether a row of X is an outlier; for an array in memory only.
    n_iter_ : int
        Iterations run.
    converged_ : bool
        Whether the tolerance was met.
    history_ : dict of list
        ``objective`` and ``change`` of each iteration.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Iteratively reweighted least squares on the inliers, with :math:`r / \sigma` as one more
    column: this is Newton's method, and once inliers and outliers are told apart its step lands
    on the minimum. Where it does not lower the objective, outliers join in with the weight
    :math:`\epsilon \sigma / |r|` and the step is shortened until it does. Both steps come from
    the same sums over the rows, one pass and :math:`O(n d^2)` each, so X may be an array, a sparse
    matrix, a stream that can be walked again or a Dask collection. Of a long array, a fit to every
    so many-th row gives the start. With a penalty, n dense rows of 2n columns or more are put
    into n coordinates of the space that they span, once, in :math:`O(n^2 d)`.

    If more than a part :math:`1 - 1 / \epsilon^2` of the rows can be fitted exactly, the scale
    ends at zero (1e-12 of the spread of y) and the fit is one of least absolute deviations.

    References
    ----------
    P. J. Huber (1981). Robust Statistics, section 7.8. Wiley. doi:10.1002/0471725250

    A. B. Owen (2007). A robust hybrid of lasso and ridge regression. Contemporary Mathematics
    443. doi:10.1090/conm/443/08555

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.linear import HuberRegressor
    >>> X = np.arange(10.0)[:, None]
    >>> y = 2 * X[:, 0] + np.tile([-0.1, 0.1], 5)
    >>> y[4] = 1000.0
    >>> model = HuberRegressor().fit(X, y)
    >>> model.coef_.round(1), model.outliers_[4]
    (array([2.]), np.True_)
    """

    learned = shapes(
        outliers_="(n_samples,)",
    )

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, sparse=True)

    _: KW_ONLY
    epsilon: Annotated[float, Bounds(1, closed_low=True)] = 1.35
    max_iter: Positive[int] = 100
    alpha: NonNegative[float] = 0.0001
    warm_start: bool = False
    fit_intercept: bool = True
    tol: NonNegative[float] = 1e-5

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix}, Batches or Dask collection
            The rows, of shape (n_samples, n_features).
        y : array-like of shape (n_samples,)
            The targets; with a stream they come in its batches.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        HuberRegressor
            The model itself.
        """
        rows = read_rows(self, X, y, sample_weight, targets="numbers", repeatable=True)
        rows = one_target(rows)
        # without a penalty there are many solutions, and those outside the span are as good
        span = spanned(rows, centred=self.fit_intercept, most=FEW) if self.alpha else None
        walked = rows if span is None else span.rows(rows)
        problem, point = self._start(walked, span)
        descent = problem.descend(point, walked)
        with Iterations(self, max_iter=self.max_iter, tol=self.tol, rows=rows) as loop:
            for _ in loop:
                point, objective, change = next(descent)
                loop.record(
                    change=change,
                    objective=objective,
                    attributes=partial(self._attributes, problem, point, rows.dtype),
                )
        self.__dict__.update(self._attributes(problem, point, rows.dtype))
        if isinstance(rows, ArrayRows):
            residual = rows.y - safe_sparse_dot(rows.X, self.coef_) - self.intercept_
            self.outliers_ = np.abs(residual) > self.scale_ * self.epsilon
        return self

    def summary(
        self, X: Any, y: Any, sample_weight: Any = None, confidence: float = 0.95
    ) -> inference.Summary:
        """Standard errors, tests and intervals of the coefficients, from the rows of the fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that the model was fitted to.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights; an integer weight is a repeated row.
        confidence : float, default=0.95
            Of the intervals.

        Returns
        -------
        Summary
            See `panlearn.linear.inference`.
        """
        self._require_fitted()
        if self.alpha:
            raise ValueError("standard errors are those of a fit without penalty: fit with alpha=0")
        return inference.huber(self, X, y, sample_weight, confidence)

    def _start(self, rows: Rows, span: RowSpan | None) -> tuple[_Problem, _Point]:
        """Centre the problem; start from the last fit, or a fit to some rows, or least squares."""
        d = rows.n_features
        require_memory((d, d), "the matrix of second moments", "use fewer features")
        some, share = _some(rows)
        moments = map_reduce(moments_of, some)
        centred = bool(self.fit_intercept)
        x_mean, y_mean = (moments.mean[:d], moments.mean[d]) if centred else (np.zeros(d), 0.0)
        second = moments.scatter if centred else moments.raw
        spread = np.sqrt(max(second[d, d], 0.0) / moments.weight)
        floor = EXACT * max(spread, EPS * abs(moments.mean[d])) or EPS
        problem = _Problem(self.epsilon, self.alpha, centred, x_mean, y_mean, floor, span)
        coef = np.zeros(d + centred)
        if self.warm_start and hasattr(self, "coef_"):
            last = (self.coef_, self.intercept_)
            coef[:d], intercept = last if span is None else span.inside(*last)
            if centred:
                coef[d] = intercept + x_mean @ coef[:d] - y_mean
            return problem, _Point(coef, max(self.scale_, floor))
        alpha = np.asarray(self.alpha * share)
        least_squares = from_moments(moments, d, alpha, fit_intercept=centred) or from_root(
            RootMoments.from_moments(moments), d, alpha, fit_intercept=centred
        )
        coef[:d] = least_squares.coef[:, 0]
        direction = np.append(-coef[:d], 1.0)
        spread = np.sqrt(max(direction @ second @ direction, 0.0) / moments.weight)
        point = _Point(coef, max(spread, floor))
        if some is not rows:
            smaller = replace(problem, alpha=self.alpha * share)
            for new, _, change in islice(smaller.descend(point, some), 30):
                point = new
                if change < 1e-3:
                    break
        return problem, point

    def _attributes(self, problem: _Problem, point: _Point, dtype: np.dtype) -> dict[str, Any]:
        """What the model has learned at a point, in the units of the user's rows."""
        d = len(problem.x_mean)
        coef, intercept = point.coef[:d], 0.0
        if self.fit_intercept:
            intercept = problem.y_mean + point.coef[d] - problem.x_mean @ coef
        if problem.span is not None:
            coef, intercept = problem.span.outside(coef, intercept)
        return {
            "coef_": coef.astype(dtype),
            "intercept_": float(intercept),
            "scale_": float(point.scale),
        }


class _Point(NamedTuple):
    """Coefficients of the centred rows, the intercept last if there is one, and the scale."""

    coef: np.ndarray
    scale: float


@dataclass(frozen=True)
class _HuberSums(Sums):
    """Second moments of rows (x, 1, r) at a point, for inliers and, reweighted, for outliers."""

    weight: float
    outlying: float
    inside: np.ndarray
    outside: np.ndarray


@dataclass(frozen=True)
class _Problem:
    """The objective in centred rows, and its two steps."""

    epsilon: float
    alpha: float
    intercept: bool
    x_mean: np.ndarray
    y_mean: float
    floor: float  # least scale
    span: RowSpan | None  # whose coordinates the rows are in

    def at(self, point: _Point) -> Any:
        """Return the summary of a block at a point; a plain partial, which Dask can send."""
        return _Summary(self, point)

    def descend(self, point: _Point, rows: Rows) -> Iterator[tuple[_Point, float, float]]:
        """Yield point, objective and relative change of each iteration, without end."""
        sums = map_reduce(self.at(point), rows)
        while True:
            objective = self.objective(sums, point)
            for new, promised in self.candidates(sums, point):
                after = map_reduce(self.at(new), rows)
                gained = objective - self.objective(after, new)
                if gained >= 0.1 * promised - 8 * EPS * objective:
                    point, sums, objective = new, after, objective - gained
                    break
            else:  # no step lowers the objective: it is at its least, to rounding
                promised = 0.0
            exact = point.scale <= 1.01 * self.floor
            unit = objective if exact else sums.weight * point.scale
            yield point, objective, np.sqrt(promised / unit)

    def objective(self, sums: _HuberSums, point: _Point) -> float:
        """N sigma + sum_in s r^2 / sigma + sum_out s (2 eps |r| - eps^2 sigma) + alpha |w|^2."""
        inside, outside = sums.inside[-1, -1], 2 * sums.outside[-1, -1]
        kept = sums.weight - self.epsilon**2 * sums.outlying
        penalised = point.coef[: len(self.x_mean)]
        penalty = self.alpha * penalised @ penalised
        return float(kept * point.scale + (inside + outside) / point.scale + penalty)

    def candidates(self, sums: _HuberSums, point: _Point) -> Iterator[tuple[_Point, float]]:
        """Points to try, boldest first, each with the decrease that its parabola promises."""
        scale = point.scale
        ridge = np.append(np.full(len(self.x_mean), self.alpha), [0.0] * self.intercept)
        pull = sums.inside[:-1, -1] + sums.outside[:-1, -1]
        kept = sums.weight - self.epsilon**2 * sums.outlying
        with np.errstate(over="ignore", invalid="ignore"):
            gradient = np.append(
                2 * ridge * point.coef - 2 / scale * pull, kept - sums.inside[-1, -1] / scale**2
            )
            newton = 2 / scale * sums.inside
            newton[-1] /= scale  # the last column is r / sigma
            newton[:, -1] /= scale
        if not (np.isfinite(newton).all() and np.isfinite(gradient).all()):
            raise ValueError(
                "the fit overflows float64: bring X, y and sample_weight to similar scales"
            )
        newton[np.diag_indices(len(ridge))] += 2 * ridge
        reweighted = newton.copy()
        reweighted[:-1, :-1] += 2 / scale * sums.outside[:-1, :-1]
        # The scale falls only while the coefficients keep up with it: where all residuals look
        # like outliers, steps are tiny.
        lag = gradient[:-1] @ _solve(reweighted[:-1, :-1], gradient[:-1])
        least = max(scale if lag > LAG * sums.weight * scale else 0.1 * scale, self.floor)

        step = -_solve(newton, gradient)
        if least <= scale + step[-1] <= 10 * scale:
            yield self._moved(point, step, gradient, newton)
        elif least < scale:
            step *= (least - scale if step[-1] < 0 else 9 * scale) / step[-1]
            yield self._moved(point, step, gradient, newton)
        step = -_solve(reweighted, gradient)
        within = np.clip(scale + step[-1], least, 10 * scale) - scale
        if within != step[-1]:
            rest = gradient[:-1] + reweighted[:-1, -1] * within
            step = np.append(-_solve(reweighted[:-1, :-1], rest), within)
        for length in 0.25 ** np.arange(12):
            yield self._moved(point, length * step, gradient, reweighted)

    def _moved(
        self, point: _Point, step: np.ndarray, gradient: np.ndarray, hessian: np.ndarray
    ) -> tuple[_Point, float]:
        promised = -gradient @ step - step @ hessian @ step / 2
        return _Point(point.coef + step[:-1], point.scale + step[-1]), max(float(promised), 0.0)


@dataclass(frozen=True)
class _Summary:
    """The sums of a block at a point."""

    problem: _Problem
    point: _Point

    def __call__(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> _HuberSums:
        problem, (coef, scale) = self.problem, self.point
        d = X.shape[1]
        rows = np.empty((X.shape[0], len(coef) + 1))
        if sparse.issparse(X):
            X = X.toarray()
        np.subtract(X, problem.x_mean, out=rows[:, :d])
        rows[:, d:-1] = 1.0
        rows[:, -1] = y - problem.y_mean
        rows[:, -1] = rows @ np.append(-coef, 1.0)
        distance = np.abs(rows[:, -1])
        is_outlier = distance > problem.epsilon * scale
        outliers, distance = rows[is_outlier], distance[is_outlier]
        rows[is_outlier] = 0.0
        share = np.ones(len(distance)) if weight is None else weight[is_outlier].astype(float)
        if weight is not None:
            rows *= np.sqrt(weight.astype(float, copy=False))[:, None]
        outliers *= np.sqrt(share * problem.epsilon * scale / distance)[:, None]
        return _HuberSums(
            float(len(rows) if weight is None else weight.sum(dtype=float)),
            float(share.sum()),
            rows.T @ rows,
            outliers.T @ outliers,
        )


def _some(rows: Rows) -> tuple[Rows, float]:
    """Every so many-th row and its share, if there are many in memory; else all rows."""
    if isinstance(rows, ArrayRows):
        n, d = rows.X.shape
        step = n // max(n // 20, 20 * (d + 1), 2000)
        weight = rows.weight if rows.weight is None or step < 5 else rows.weight[::step]
        if step >= 5 and (weight is None or weight.any()):
            y: Any = rows.y
            return ArrayRows(rows.X[::step], y[::step], weight), 1 / step
    return rows, 1.0


def _solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve a symmetric system in units of its diagonal; of least norm if it is singular."""
    diagonal = np.diag(matrix)
    units = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = matrix * units[:, None] * units
    try:
        factor = linalg.cho_factor(scaled, check_finite=False)
        return units * linalg.cho_solve(factor, units * right, check_finite=False)
    except linalg.LinAlgError:
        least: Any = linalg.lstsq(scaled, units * right, cond=1e-12, check_finite=False)
        return units * least[0]
