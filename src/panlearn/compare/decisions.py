"""Where a model of two classes draws the line: the threshold that is best for a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import (
    FixedThresholdClassifier,
    StratifiedKFold,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import Pipeline

from panlearn.compare.metrics import Metric, is_imbalanced
from panlearn.compare.table import Table

MANY = 5000  # rows, of which one part in five is enough to choose a threshold by
FEWEST = 10  # rows of the rarer class, below which a threshold would be a guess
THRESHOLDS = 100  # that are tried, scikit-learn's own number: each is scored for every inner fold
SCORES = ("predict_proba", "decision_function")


@dataclass(frozen=True)
class Decide:
    """Makes the model of a pipeline choose its threshold for a metric, if there is one."""

    metric: Metric | None = None
    n_rows: int = 0
    random_state: int = 0

    def __call__(self, pipeline: Pipeline) -> Pipeline:
        """Wrap the model, which must give scores to choose between; a baseline gives one."""
        model = pipeline[-1]
        scores = any(hasattr(model, name) for name in SCORES)
        if self.metric is None or not scores or isinstance(model, DummyClassifier):
            return pipeline
        inner = StratifiedKFold(3, shuffle=True, random_state=self.random_state)
        chooser = TunedThresholdClassifierCV(
            model,
            scoring=self.metric.scorer if self.metric.positive is None else self.metric.measure,
            thresholds=THRESHOLDS,
            cv=0.2 if self.n_rows >= MANY else inner,
            random_state=self.random_state,
        )
        return Pipeline([pipeline.steps[0], ("model", chooser)])


def tuned(table: Table, metrics: tuple[Metric, ...], *, named: bool, random_state: int) -> Decide:
    """Decide for which metric thresholds are chosen: the first that needs decisions, if any.

    One half is the threshold of even classes. It is another for two classes of which one is rare,
    and for a metric that the user named first.
    """
    first = next((m for m in metrics if m.needs == ("predict",)), None)
    counts = np.unique(table.y, return_counts=True)[1]
    if table.task != "classification" or first is None or len(counts) != 2:
        return Decide()
    wanted = is_imbalanced(table.y) or (named and first is metrics[0])
    if not wanted or counts.min() < FEWEST:
        return Decide()
    return Decide(first, len(table.y), random_state)


def undecided(pipeline: Pipeline) -> Pipeline | None:
    """The pipeline without a choice of threshold, or None if it has none."""
    chooser: Any = pipeline[-1]
    if not isinstance(chooser, TunedThresholdClassifierCV):
        return None
    return Pipeline([pipeline.steps[0], ("model", chooser.estimator)])


def settled(pipeline: Pipeline) -> Pipeline:
    """The fitted pipeline with the threshold that its model chose, which can be saved."""
    chooser: Any = pipeline[-1]
    if not isinstance(chooser, TunedThresholdClassifierCV):
        return pipeline
    fixed = FixedThresholdClassifier(
        chooser.estimator,
        threshold=float(chooser.best_threshold_),
        pos_label=chooser._curve_scorer._get_pos_label(),
        response_method=chooser.response_method,
    )
    fixed.estimator_ = chooser.estimator_
    fixed.n_features_in_ = chooser.n_features_in_
    return Pipeline([pipeline.steps[0], ("model", fixed)])


def unwrapped(pipeline: Pipeline) -> Pipeline:
    """The pipeline with its model alone, which draws the line where it likes."""
    return Pipeline(
        [pipeline.steps[0], ("model", getattr(pipeline[-1], "estimator_", pipeline[-1]))]
    )
