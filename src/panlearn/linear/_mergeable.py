"""Fit, and fit some more, for least squares: read the rows, solve, and set what was learned."""

from __future__ import annotations

from typing import Any

import numpy as np

from panlearn.core.map_reduce import map_reduce
from panlearn.core.sources import Rows
from panlearn.core.statistics import Moments, RootMoments
from panlearn.core.validation import read_rows
from panlearn.linear import _least_squares, _nonnegative
from panlearn.linear._least_squares import Solution


def learn(model: Any, X: Any, y: Any, sample_weight: Any, penalty: Any = 0.0) -> Solution:
    """Fit from nothing."""
    rows = read_rows(model, X, y, sample_weight, targets="numbers")
    alpha = _penalties(penalty)
    method = _nonnegative if model.positive else _least_squares
    solution = method.fit(rows, alpha, fit_intercept=model.fit_intercept)
    return _learned(model, rows, solution)


def learn_more(model: Any, X: Any, y: Any, sample_weight: Any, penalty: Any = 0.0) -> Solution:
    """Fit from what the model has seen and the new rows."""
    first = not model.__sklearn_is_fitted__()
    if not first and not hasattr(model, "statistic_"):
        raise ValueError(
            f"this {type(model).__name__} kept no statistics to go on from: it was fitted on a "
            "wide X, or with noise_covariance; start a new model with partial_fit"
        )
    rows = read_rows(model, X, y, sample_weight, targets="numbers", reset=first)
    alpha = _penalties(penalty)
    seen = getattr(model, "statistic_", 0)
    if isinstance(seen, Moments):
        seen = RootMoments.from_moments(seen)
    total = seen + map_reduce(_least_squares.root_of, rows)
    method = _nonnegative if model.positive else _least_squares
    solution = method.from_root(total, rows.n_features, alpha, fit_intercept=model.fit_intercept)
    return _learned(model, rows, solution)


def _penalties(penalty: Any) -> np.ndarray:
    try:
        alpha = np.asarray(penalty, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"alpha must be a number or an array of them; got {penalty!r}") from error
    if alpha.ndim > 1 or (alpha < 0).any() or not np.isfinite(alpha).all():
        raise ValueError(
            f"alpha must be finite and not negative, one number or one a target; got {penalty!r}"
        )
    return alpha


def _learned(model: Any, rows: Rows, solution: Solution) -> Solution:
    set_coefficients(model, solution, rows.dtype, single=rows.y_ndim == 1)
    if solution.statistic is not None:
        model.statistic_ = solution.statistic
    return solution


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
