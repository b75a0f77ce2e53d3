"""Cross-validate every estimator that applies to a table, beside a baseline that learns nothing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import KFold, StratifiedKFold

from panlearn.compare.decisions import tuned
from panlearn.compare.density import compare_density, density_table
from panlearn.compare.files import read_table
from panlearn.compare.leaderboard import BASELINE, Leaderboard, place, ranking
from panlearn.compare.metrics import (
    Metric,
    check_metrics,
    is_imbalanced,
    metrics_for,
    positive_class,
)
from panlearn.compare.models import families_left_out, field, find_estimator, first_try
from panlearn.compare.running import Progress, run_each, said_of_threads, silent
from panlearn.compare.scoring import Folds, reason, score
from panlearn.compare.table import Table, Task, as_table, prepare
from panlearn.core.errors import DataError


def compare(
    table: Any,
    target: Any = None,
    *,
    task: Task | Literal["density"] = "auto",
    models: Iterable[str | BaseEstimator] | None = None,
    metric: str | Iterable[str] | None = None,
    positive: Any = None,
    cv: int = 5,
    rows: int | None = None,
    time_limit: float | None = 60.0,
    random_state: int = 0,
    progress: Progress = silent,
) -> Leaderboard:
    """Cross-validate models on one table, on the same folds, beside a baseline.

    Parameters
    ----------
    table : data frame, array of shape (n, d), path or Table
        Numbers, strings, booleans, dates; missing values are fine. A path is that of a CSV, JSON
        lines or Parquet file; a `Table` is what `prepare` made of one.
    target : str or array of shape (n,), optional
        The column to predict, the last if None; or labels or numbers beside the table.
    task : {"auto", "classification", "regression", "density"}
        What to learn; ``"auto"`` looks at the target. Of a density every column of numbers is part,
        and there is no target.
    models : iterable of str or estimator, optional
        Names of the library's estimators, paths such as ``"sklearn.svm.SVC"``, or estimators. All
        of the library's that suit the task and the columns, if None.
    metric : str or iterable of str, optional
        Names of scikit-learn's scorers; the first ranks, all are shown. By default numbers are
        ranked by R² and classes by log loss, but two of which one is rarer than a quarter by the
        area under the ROC curve. Models that give no probabilities stand apart, after the others.
        If two classes are so far from even, or a metric of decisions is named first, each model
        decides at the threshold that is best for it within the rows that it learns from.
    positive : label, optional
        The class of two that curves and scores of one class are about; the last if None.
    cv : int
        Number of folds, shuffled, and stratified for classes.
    rows : int, optional
        Use a random sample of so many rows.
    time_limit : float, optional
        Seconds that one model may take, for all folds and the final fit together; then its process
        is killed and the row says so. A model that would take longer by what fits to a few of the
        rows take is not begun. Up to four models run at a time, and share the cores. None: no
        limit, and no process of its own.
    random_state : int
        Seed of the folds and of every model that takes one.
    progress : callable
        Called with the name of the model that starts next, how many are done, and how many there
        are.

    Returns
    -------
    Leaderboard
        Rows from best to worst; a model that fails or runs out of time is a row with its reason. It
        prints as a table, `Leaderboard.plot` draws it, `Leaderboard.frame` gives a data frame,
        `Leaderboard.importances` what each column is worth, and ``best_pipeline`` predicts.

    Examples
    --------
    >>> import panlearn
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.linear_model import RidgeClassifier
    >>> wine = load_wine(as_frame=True).frame
    >>> board = panlearn.compare(wine, "target", models=[RidgeClassifier()], time_limit=None)
    >>> [row.name for row in board.rows]
    ['RidgeClassifier', 'baseline']
    >>> bool(board.best.mean(board.metrics[0]) > 0.95)
    True
    >>> board.best_pipeline.predict(wine.drop(columns="target")[:2])
    array([0, 0])
    """
    data = as_prepared(table, target, task, rows, random_state)
    names = [metric] if isinstance(metric, str) else list(metric or ())
    if data.task == "density":
        if names or positive is not None:
            raise DataError("a density has no target: leave metric and positive out")
        return compare_density(
            data,
            models=models,
            cv=cv,
            time_limit=time_limit,
            random_state=random_state,
            progress=progress,
        )
    folds, notes = make_folds(data, cv, random_state)
    about = None
    if data.task == "classification":
        about = positive_class(np.unique(data.y), positive)
    elif positive is not None:
        raise DataError(f"positive={positive!r}: a quantity has no classes")
    metrics = metrics_for(data.task, data.y, names, about)
    check_metrics(metrics, data.task, data.y)
    if about is not None:
        notes.append(f"the positive class is {str(about)!r} (--positive overrides)")
    decide = tuned(data, metrics, named=bool(names), random_state=random_state)
    if decide.metric is not None:
        notes.append(
            f"each model decides at the threshold that is best for {decide.metric.name} within the "
            "rows that it learns from"
        )
    left_out: list[str] = []
    if models is None:
        models, left_out = field(data.task, data.X)
        notes += families_left_out()
    chosen = _choose(models, data.task, random_state)
    notes += said_of_threads(time_limit)
    found, interrupted = run_each(
        chosen,
        (data.X, data.y),
        score,
        (metrics, folds, time_limit),
        columns=data.X,
        time_limit=time_limit,
        progress=progress,
        finish=decide,
    )
    for row in found:
        if row.pipeline is not None and not row.failed:
            # what `panlearn predict` and `evaluate` ask a saved pipeline for
            row.pipeline.target_name_ = data.target
            row.pipeline.column_styles_ = data.styles
    metrics = ranking(metrics, found)
    if not names and data.task == "classification":
        notes.append(_ranked_by(metrics[0], data.y))
    found.sort(key=lambda row: place(row, metrics))
    return Leaderboard(
        found, data, metrics, folds, tuple(notes), interrupted, about, tuple(left_out)
    )


def _ranked_by(metric: Metric, y: np.ndarray) -> str:
    """What classes are ranked by if nobody asked for another, and why."""
    if metric.scorer == "neg_log_loss":
        return f"ranked by {metric.name}, which true probabilities make least (--metric overrides)"
    rare = metric.scorer == "roc_auc" and is_imbalanced(y)
    why = "a class is rare" if rare else "no model gives probabilities"
    return f"ranked by {metric.name}, for {why} (--metric overrides)"


def as_prepared(
    table: Any,
    target: Any = None,
    task: Task | Literal["density"] = "auto",
    rows: int | None = None,
    random_state: int = 0,
) -> Table:
    """Bring whatever `compare` is given into a table of features and a target.

    Parameters
    ----------
    table, target, task, rows, random_state
        As in `compare`.

    Returns
    -------
    Table
    """
    if isinstance(table, Table):
        return table
    if isinstance(table, str | os.PathLike):
        frame = read_table(os.fspath(table))
    else:
        frame = pd.DataFrame(table)
    if task == "density":
        if target is not None:
            raise DataError("a density has no target: leave target out")
        return density_table(frame, rows, random_state)
    if target is None or isinstance(target, str):
        if (
            target is None
            and not hasattr(table, "columns")
            and not isinstance(table, str | os.PathLike)
        ):
            raise DataError("an array has no column to predict by name: give the targets, too")
        return prepare(frame, target, task, rows, random_state)
    if rows is not None and rows < len(frame):
        name = getattr(target, "name", None) or "target"
        frame = frame.assign(**{str(name): np.asarray(target, dtype=object)})
        return prepare(frame, str(name), task, rows, random_state)
    return as_table(frame, target, task)


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
    models: Iterable[str | BaseEstimator], task: str, random_state: int
) -> dict[str, BaseEstimator | str]:
    """Collect the models by name, the baseline first; one that needs arguments is its error."""
    dummy = DummyClassifier(strategy="prior") if task == "classification" else DummyRegressor()
    chosen: dict[str, BaseEstimator | str] = {BASELINE: dummy}
    for model in models:
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
