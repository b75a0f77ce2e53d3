"""One model's part of a comparison: what runs in the child process, and the row it gives."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold, cross_validate, learning_curve
from sklearn.pipeline import Pipeline

from panlearn.compare.decisions import settled, undecided
from panlearn.compare.forecast import too_slow
from panlearn.compare.importance import importance
from panlearn.compare.metrics import Metric, offered

Folds: TypeAlias = KFold | StratifiedKFold
RAISE: Any = "raise"  # scikit-learn's default, NaN, hides the type from checkers


@dataclass(frozen=True)
class Row:
    """One model's result: a value of each metric for each fold, or the reason why there is none.

    ``pipeline`` is fitted to all rows; ``compared`` is what was cross-validated, if that is another
    one, because it chose its threshold anew in every fold.
    """

    name: str
    pipeline: Pipeline | None
    scores: dict[str, np.ndarray] = field(default_factory=dict)
    fit_seconds: float = np.nan
    predict_seconds: float = np.nan
    total_seconds: float = np.nan
    predictions: dict[str, np.ndarray] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    error: str = ""
    importance: dict[str, float] = field(default_factory=dict)
    compared: Pipeline | None = None

    @property
    def failed(self) -> bool:
        """Whether the model gave no scores."""
        return bool(self.error)

    @property
    def begun(self) -> bool:
        """Whether the model was tried: some are not, for want of time or by Ctrl-C."""
        return not self.error.startswith("not ")

    def mean(self, metric: Metric) -> float:
        """Mean over the folds, NaN where the model does not offer the metric."""
        return float(np.mean(self.scores[metric.name])) if metric.name in self.scores else np.nan

    def std(self, metric: Metric) -> float:
        """Spread over the folds: their standard deviation."""
        return float(np.std(self.scores[metric.name])) if metric.name in self.scores else np.nan


def reason(error: BaseException) -> str:
    """Put an exception in one line."""
    text = " ".join(str(error).split())
    text = text if len(text) <= 200 else text[:199] + "…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def score(
    X: pd.DataFrame,
    y: np.ndarray,
    name: str,
    pipeline: Pipeline,
    metrics: tuple[Metric, ...],
    folds: Folds,
    limit: float | None = None,
) -> Row:
    """Cross-validate one pipeline, then fit it to all rows; runs in the child process."""
    start = perf_counter()
    measured = offered(pipeline, metrics)
    if not measured:
        return Row(name, pipeline, error="it has no predict")
    if slow := too_slow(X, y, pipeline, folds.n_splits, limit):
        return Row(name, pipeline, error=slow)
    compared = clone(pipeline)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = cross_validate(
                pipeline,
                X,
                y,
                cv=folds,
                scoring={m.scorer: m.measure for m in measured},
                return_estimator=True,
                return_indices=True,
                error_score=RAISE,
            )
            predictions, seconds = _out_of_fold(result, X, len(y))
            pipeline.fit(X, y)
            first, held_out = result["estimator"][0], result["indices"]["test"][0]
            spent = perf_counter() - start
            worth = importance(first, X.iloc[held_out], y[held_out], measured[0], spent)
        except Exception as error:
            plain = undecided(pipeline)
            if plain is not None and "constant predictions" in str(error):
                return score(X, y, name, plain, metrics, folds)  # there is no threshold to choose
            return Row(name, pipeline, error=reason(error), warnings=distinct(caught))
    return Row(
        name,
        settled(pipeline),
        scores={m.name: m.sign * result[f"test_{m.scorer}"] for m in measured},
        # The median, because the first fold may compile or load something.
        fit_seconds=float(np.median(result["fit_time"])),
        predict_seconds=seconds,
        total_seconds=perf_counter() - start,
        predictions=predictions,
        warnings=distinct(caught),
        importance=worth,
        compared=compared,
    )


def learn(
    X: pd.DataFrame,
    y: np.ndarray,
    pipeline: Pipeline,
    metric: Metric,
    folds: list[tuple[np.ndarray, np.ndarray]],
    shares: np.ndarray,
) -> Any:
    """Score fits to growing parts of the rows, in the child process; a failure is its reason."""
    try:
        sizes, train, test = learning_curve(
            pipeline,
            X,
            y,
            cv=folds,
            scoring=metric.measure,
            train_sizes=shares,
            shuffle=True,
            random_state=0,
            error_score=RAISE,
        )[:3]
        return sizes, metric.sign * train, metric.sign * test
    except Exception as error:
        return reason(error)


def _out_of_fold(result: dict[str, Any], X: pd.DataFrame, n: int) -> tuple[dict[str, Any], float]:
    """Gather what each fold's model says of rows that it has not seen, and the time of predict."""
    gathered: dict[str, np.ndarray] = {}
    seconds = []
    for model, held_out in zip(result["estimator"], result["indices"]["test"], strict=True):
        part = X.iloc[held_out]
        for method in ("predict", "predict_proba", "decision_function"):
            if not hasattr(model, method):
                continue
            start = perf_counter()
            values = getattr(model, method)(part)
            if method == "predict":
                seconds.append(perf_counter() - start)
            empty = np.empty((n, *values.shape[1:]), dtype=values.dtype)
            gathered.setdefault(method, empty)[held_out] = values
    return gathered, float(np.median(seconds))


def distinct(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """Each different warning once, with how often it came; other numbers are no difference."""
    texts = [reason(w.message) for w in caught if isinstance(w.message, Warning)]
    kinds: dict[str, list[str]] = {}
    for text in texts:
        kinds.setdefault(re.sub(r"[\d.]+", "#", text), []).append(text)
    return tuple(t[0] if len(t) == 1 else f"{t[0]} ({len(t)} times)" for t in kinds.values())
