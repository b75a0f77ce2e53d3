"""Cross-validate every estimator that applies to a table, beside a baseline that learns nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from panlearn.compare.metrics import Metric, metrics_for, offered
from panlearn.compare.models import (
    BY_NAME,
    estimators,
    families_left_out,
    find_estimator,
    first_try,
)
from panlearn.compare.preparation import preprocessor
from panlearn.compare.scoring import Folds, Row, reason, score
from panlearn.compare.table import Table, Task, as_table
from panlearn.compare.timed import JobCrashedError, TimedWorker
from panlearn.core.errors import DataError

BASELINE = "baseline"


@dataclass(frozen=True)
class Leaderboard:
    """The outcome of a comparison: rows from best to worst, failures last.

    Attributes
    ----------
    rows : list of Row
        Ranked by the first metric. Each has the pipeline, fitted to all rows unless it failed, and
        the out-of-fold predictions.
    table : Table
        The data as the models saw them, and what was done to get there.
    metrics : tuple of Metric
        The first one ranks.
    cv : cross-validator
        The folds, the same for every model.
    notes : tuple of str
        Where the comparison differs from what was asked, such as fewer folds.
    interrupted : bool
        Whether Ctrl-C ended the comparison early.
    """

    rows: list[Row]
    table: Table
    metrics: tuple[Metric, ...]
    cv: Folds
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def best(self) -> Row | None:
        """The first row that is not the baseline, if any model succeeded."""
        return next((r for r in self.rows if not r.failed and r.name != BASELINE), None)

    @property
    def baseline(self) -> Row:
        """The row of the model that learns nothing from the features."""
        return next(r for r in self.rows if r.name == BASELINE)

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)

    def scorers(self, row: Row) -> list[str]:
        """scikit-learn's names of the metrics that a row's model offers."""
        return [m.scorer for m in offered(row.pipeline, self.metrics)] if row.pipeline else []

    def summary(self) -> str:
        """One sentence: the best model, its score, and the baseline's."""
        metric, best = self.metrics[0], self.best
        if best is None:
            return "No model succeeded."
        floor = self.baseline.mean(metric)
        spread = f"{best.mean(metric):.3f} ± {best.std(metric):.3f}"
        return f"Best: {best.name}, {metric.name} {spread}; a baseline scores {floor:.3f}."

    def frame(self) -> pd.DataFrame:
        """One line a model: mean and spread of each metric, times, and the reason of a failure."""
        records = []
        for row in self.rows:
            record: dict[str, Any] = {"model": row.name}
            for metric in self.metrics:
                record[metric.name] = row.mean(metric)
                record[f"{metric.name} std"] = row.std(metric)
            record |= {"fit_seconds": row.fit_seconds, "predict_seconds": row.predict_seconds}
            records.append(record | {"error": row.error, "warnings": "; ".join(row.warnings)})
        return pd.DataFrame(records, index=pd.RangeIndex(1, len(records) + 1, name="rank"))


def compare(
    X: Any,
    y: Any,
    *,
    task: Task = "auto",
    models: Iterable[str | BaseEstimator] | None = None,
    cv: int = 5,
    time_limit: float | None = 60.0,
    random_state: int = 0,
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> Leaderboard:
    """Cross-validate models on one table, on the same folds, beside a baseline.

    Parameters
    ----------
    X : array or data frame of shape (n, d)
        Numbers, strings, booleans, dates; missing values are fine.
    y : array of shape (n,)
        Labels or numbers.
    task : {"auto", "classification", "regression"}
        What to learn; ``"auto"`` looks at y.
    models : iterable of str or estimator, optional
        Names of the library's estimators, paths such as ``"sklearn.svm.SVC"``, or estimators. All
        of the library's that suit the task, if None.
    cv : int
        Number of folds, shuffled, and stratified for classes.
    time_limit : float, optional
        Seconds that one model may take, for all folds and the final fit together; then its process
        is killed and the row says so. None: no limit, and no process of its own.
    random_state : int
        Seed of the folds and of every model that takes one.
    progress : callable
        Called with the name of the model that starts next, how many are done, and how many there
        are.

    Returns
    -------
    Leaderboard
        Rows from best to worst; a model that fails or runs out of time is a row with its reason.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from panlearn.compare import compare
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> board = compare(X, y, models=[RidgeClassifier()], time_limit=None)
    >>> [row.name for row in board.rows]
    ['RidgeClassifier', 'baseline']
    >>> bool(board.best.mean(board.metrics[0]) > 0.95)
    True
    """
    table = as_table(X, y, task)
    folds, notes = make_folds(table, cv, random_state)
    metrics = metrics_for(table.task, len(np.unique(table.y)))
    chosen = _choose(models, table.task, random_state)
    notes += families_left_out() if models is None else []
    rows: list[Row] = []
    interrupted = False
    with TimedWorker(table.X, table.y) as worker:
        for done, (name, model) in enumerate(chosen.items()):
            progress(name, done, len(chosen))
            if isinstance(model, str):
                rows.append(Row(name, None, error=model))
                continue
            pipeline = Pipeline([("prepare", preprocessor(table.X, model)), ("model", model)])
            if interrupted:
                rows.append(Row(name, pipeline, error="not run: interrupted"))
                continue
            try:
                rows.append(worker.run(score, name, pipeline, metrics, folds, limit=time_limit))
            except (TimeoutError, JobCrashedError) as error:
                rows.append(Row(name, pipeline, error=str(error)))
            except KeyboardInterrupt:
                interrupted = True
                rows.append(Row(name, pipeline, error="interrupted"))
            except Exception as error:
                rows.append(Row(name, pipeline, error=reason(error)))
    rank = metrics[0]
    rows.sort(key=lambda r: (r.failed, -rank.sign * r.mean(rank)))
    return Leaderboard(rows, table, metrics, folds, tuple(notes), interrupted)


def make_folds(table: Table, cv: int, random_state: int) -> tuple[Folds, list[str]]:
    """Shuffled folds, fewer than asked where the rows do not suffice, and a note if so."""
    if table.task == "classification":
        counts = Counter(table.y.tolist())
        rare, least = min(counts.items(), key=lambda item: item[1])
        what, splitter = f"the class {rare!r} has", StratifiedKFold
    else:
        # R squared needs two rows in each fold.
        what, least, splitter = "the table has", len(table.y) // 2, KFold
    if least < 2:
        rows = "1 row" if table.task == "classification" else f"{len(table.y)} rows"
        raise DataError(f"{what} only {rows}, too few to cross-validate: add rows or merge classes")
    notes = [] if least >= cv else [f"{least} folds instead of {cv}: {what} too few rows for more"]
    return splitter(min(cv, least), shuffle=True, random_state=random_state), notes


def _choose(
    models: Iterable[str | BaseEstimator] | None, task: str, random_state: int
) -> dict[str, BaseEstimator | str]:
    """Collect the models by name, the baseline first; one that needs arguments is its error."""
    dummy = DummyClassifier(strategy="prior") if task == "classification" else DummyRegressor()
    chosen: dict[str, BaseEstimator | str] = {BASELINE: dummy}
    for model in _all(task) if models is None else models:
        name = type(model).__name__
        if isinstance(model, str):
            cls = find_estimator(model, task)
            name = cls.__name__ + (" (sklearn)" if model.startswith("sklearn.") else "")
            try:
                model = first_try(cls, random_state)
            except TypeError as error:
                model = reason(error)
        count = sum(key.partition(" #")[0] == name for key in chosen)
        chosen[f"{name} #{count + 1}" if count else name] = model
    return chosen


def _all(task: str) -> list[str]:
    return [name for name in estimators(task) if name not in BY_NAME]
