"""Least squares as a sum and a solve: what linear and ridge regression share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.map_reduce import map_reduce
from panlearn.core.mergeable import Mergeable
from panlearn.core.sources import Rows
from panlearn.core.statistics import Moments, RootMoments
from panlearn.core.validation import read_rows
from panlearn.linear import _least_squares, _nonnegative
from panlearn.linear._base import MultiTargetRegressor
from panlearn.linear._least_squares import Solution


class LeastSquares(Mergeable, MultiTargetRegressor):
    """A regressor of least squares, penalised or not; abstract."""

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, partial_fit="exact", sparse=True)

    fit_intercept: bool
    positive: bool
    _kept_none_if = "it was fitted on a wide X, or with noise_covariance"

    @abstractmethod
    def _penalty(self) -> Any:
        """The factor of the squared coefficients: one, or one a target."""

    @abstractmethod
    def _set_fitted(self, solution: Solution, dtype: np.dtype, *, single: bool) -> None:
        """Set what was learned, in the floats of X; `single` if y had no axis of targets."""

    def _read_training(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        return read_rows(self, X, y, sample_weight, targets="numbers", reset=reset)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Solve by the cheapest way that keeps the digits, which may keep no statistic."""
        rows = self._read_training(X, y, sample_weight, reset=True)
        solve = _nonnegative.fit if self.positive else _least_squares.fit
        solution = solve(rows, penalties(self._penalty()), fit_intercept=self.fit_intercept)
        if solution.statistic is not None:
            self.statistic_ = solution.statistic
        self._set_fitted(solution, rows.dtype, single=rows.y_ndim == 1)
        return self

    def _read_more(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Any]:
        rows, seen = super()._read_more(X, y, sample_weight)
        return rows, RootMoments.from_moments(seen) if isinstance(seen, Moments) else seen

    def _summarise(self, rows: Rows) -> RootMoments:
        return map_reduce(_least_squares.root_of, rows)

    def _solve(self, statistic: RootMoments, rows: Rows) -> None:
        solve = _nonnegative.from_root if self.positive else _least_squares.from_root
        solution = solve(
            statistic,
            rows.n_features,
            penalties(self._penalty()),
            fit_intercept=self.fit_intercept,
        )
        self._set_fitted(solution, rows.dtype, single=rows.y_ndim == 1)


def penalties(penalty: Any) -> np.ndarray:
    """What a user gave for the penalty, as an array of numbers that it may hold."""
    try:
        alpha = np.asarray(penalty, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"alpha must be a number or an array of them; got {penalty!r}") from error
    if alpha.ndim > 1 or (alpha < 0).any() or not np.isfinite(alpha).all():
        raise ValueError(
            f"alpha must be finite and not negative, one number or one a target; got {penalty!r}"
        )
    return alpha


def set_coefficients(model: Any, solution: Solution, dtype: Any, *, single: bool) -> None:
    """Set what was learned, in the floats of X, without the axis of targets where y had none."""
    with np.errstate(over="ignore"):
        coef = solution.coef.T.astype(dtype, copy=False)
        intercept = solution.intercept.astype(dtype, copy=False)
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ValueError(
            f"the coefficients are beyond {coef.dtype}: the columns of X are too small or too "
            "large against y; rescale them, for example with sklearn.preprocessing.StandardScaler"
        )
    model.coef_ = np.ascontiguousarray(coef[0] if single else coef)
    model.intercept_ = intercept[0].item() if single else intercept
    if not model.fit_intercept:
        model.intercept_ = 0.0
