"""The scores that a comparison shows, under the names that people read."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer
from sklearn.pipeline import Pipeline

from panlearn.core.errors import DataError, did_you_mean

NAMES = {
    "average_precision": "average precision",
    "balanced_accuracy": "balanced accuracy",
    "f1_macro": "macro F1",
    "neg_log_loss": "log loss",
    "neg_mean_absolute_error": "MAE",
    "neg_mean_squared_error": "MSE",
    "neg_root_mean_squared_error": "RMSE",
    "r2": "R²",
    "roc_auc": "ROC AUC",
    "roc_auc_ovr": "ROC AUC",
}
RARE = 0.5  # of an equal share: a class with less makes a table imbalanced


@dataclass(frozen=True)
class Metric:
    """A score as people read it, scikit-learn's scorer for it, and the class it is about."""

    name: str
    scorer: str
    sign: int = 1
    needs: tuple[str, ...] = ("predict",)
    positive: Any = None

    @property
    def measure(self) -> Any:
        """The scorer, of a fitted model, rows and targets; higher is better."""
        return scorer(self.scorer, self.positive)


def scorer(name: str, positive: Any = None) -> Any:
    """scikit-learn's scorer of a name, about the class that is called positive.

    Parameters
    ----------
    name : str
        Such as ``"neg_log_loss"`` or ``"f1"``.
    positive : label, default=None
        The class that precision, recall and the like are about.

    Returns
    -------
    callable
        Of a fitted model, rows and targets.
    """
    found: Any = get_scorer(name)
    if positive is None or not _asks_for_positive(found):
        return found
    return make_scorer(
        found._score_func,
        greater_is_better=found._sign > 0,
        response_method=found._response_method,
        **{**found._kwargs, "pos_label": positive},
    )


def _asks_for_positive(found: Any) -> bool:
    """Whether a score is about one class; an average over classes is not."""
    function = getattr(found, "_score_func", None)
    if function is None or "pos_label" not in inspect.signature(function).parameters:
        return False
    return found._kwargs.get("average", "binary") == "binary"


def is_imbalanced(y: np.ndarray) -> bool:
    """Whether a class has less than half of what it had if all came equally often."""
    counts = np.unique(y, return_counts=True)[1]
    return bool(counts.min() < RARE * len(y) / len(counts))


def metrics_for(
    task: str, y: np.ndarray, names: Iterable[str] = (), positive: Any = None
) -> tuple[Metric, ...]:
    """The metrics of a table, the one that ranks first: those named, or a choice by the target.

    Classes are ranked by log loss, a proper score: only true probabilities have the least, and no
    threshold is needed. If one of two is rare, most of that loss is about its share, which the
    baseline knows too; models are then ranked by how well they order the rows.
    """
    chosen = list(names)
    if not chosen and task == "regression":
        chosen = ["r2", "neg_root_mean_squared_error", "neg_mean_absolute_error"]
    elif not chosen:
        two = len(np.unique(y)) == 2
        chosen = ["neg_log_loss", "roc_auc" if two else "roc_auc_ovr"]
        if two and is_imbalanced(y):
            chosen.reverse()
        chosen += ["balanced_accuracy", "accuracy", "f1_macro"]
    return tuple(_metric(name, positive) for name in dict.fromkeys(chosen))


def _metric(name: str, positive: Any) -> Metric:
    known = get_scorer_names()
    if name not in known and f"neg_{name}" in known:
        name = f"neg_{name}"
    if name not in known:
        raise DataError(f"no metric {name!r}; {did_you_mean(name, known)}")
    found: Any = get_scorer(name)
    needs = getattr(found, "_response_method", "predict")
    sign = -1 if name.startswith("neg_") else 1
    return Metric(
        NAMES.get(name, name.removeprefix("neg_").replace("_", " ")),
        name,
        sign,
        (needs,) if isinstance(needs, str) else tuple(needs),
        positive if _asks_for_positive(found) else None,
    )


def check_metrics(metrics: tuple[Metric, ...], task: str, y: np.ndarray) -> None:
    """Refuse a metric that cannot score such a target, before models are fitted."""
    dummy = DummyClassifier(strategy="prior") if task == "classification" else DummyRegressor()
    rows = np.zeros((len(y), 1))
    dummy.fit(rows, y)
    for metric in metrics:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                metric.measure(dummy, rows, y)
        except Exception as error:
            kinds = f"{len(np.unique(y))} classes" if task == "classification" else "numbers"
            first = " ".join(str(error).split())[:120]
            raise DataError(
                f"the metric {metric.scorer!r} cannot score a target of {kinds} ({first})"
            ) from None


def positive_class(classes: np.ndarray, wanted: Any = None) -> Any:
    """The class of two that curves are about: the one that is named, or the last."""
    if wanted is None:
        return classes[-1] if len(classes) == 2 else None
    by_text = {str(c): c for c in classes.tolist()}
    if len(classes) != 2:
        raise DataError(f"positive={wanted!r}: there are {len(classes)} classes, and none is it")
    if str(wanted) not in by_text:
        raise DataError(f"no class {str(wanted)!r}; {did_you_mean(str(wanted), list(by_text))}")
    return by_text[str(wanted)]


def offered(pipeline: Pipeline, metrics: tuple[Metric, ...]) -> list[Metric]:
    """Pick the metrics for which the model has one of the methods that they need."""
    return [m for m in metrics if any(hasattr(pipeline, method) for method in m.needs)]
