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

from panlearn.compare.metrics import (
    Metric,
    check_metrics,
    is_imbalanced,
    metrics_for,
    positive_class,
)
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
from panlearn.evaluate.comparison import Comparison, corrected_t_test

BASELINE = "baseline"
CONFIDENCE = 0.95


@dataclass(frozen=True, repr=False)
class Leaderboard:
    """The outcome of a comparison: rows from best to worst, failures last.

    Attributes
    ----------
    rows : list of Row
        Ranked by the first metric; those that do not offer it come after. Each has the pipeline,
        fitted to all rows unless it failed, and the out-of-fold predictions.
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
    positive : label
        The class of two that curves and scores of one class are about.
    """

    rows: list[Row]
    table: Table
    metrics: tuple[Metric, ...]
    cv: Folds
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    positive: Any = None

    @property
    def best(self) -> Row | None:
        """The first row that is not the baseline, if any model succeeded."""
        return next((r for r in self.rows if not r.failed and r.name != BASELINE), None)

    @property
    def baseline(self) -> Row:
        """The row of the model that learns nothing from the features."""
        return next(r for r in self.rows if r.name == BASELINE)

    @property
    def best_pipeline(self) -> Pipeline | None:
        """The preparation of columns and the best model, fitted to all rows."""
        return None if self.best is None else self.best.pipeline

    def __repr__(self) -> str:
        shown = ["model", "ties", *(m.name for m in self.metrics), "fit_seconds", "error"]
        frame = self.frame()[shown]
        shown = shown if frame["error"].any() else shown[:-1]
        return frame[shown].to_string(float_format="{:.3f}".format) + f"\n{self.summary()}"

    def _repr_html_(self) -> str:
        return self.frame().to_html(float_format="{:.3f}".format)

    def plot(self, ax: Any = None) -> Any:
        """Draw the scores of each model, fold by fold, on matplotlib axes, and return these."""
        from panlearn.compare.pictures import fold_scores
        from panlearn.plot._axes import axes_or_new

        axes = axes_or_new(ax)
        fold_scores(self).draw(axes)
        return axes

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)

    def difference(self, first: Row, second: Row) -> Comparison | None:
        """How much better one row is than another in the first metric, and how sure that is.

        The test is the corrected one of `evaluate.comparison`, on the folds that both share; None
        where a row has no such score.
        """
        metric = self.metrics[0]
        if any(metric.name not in row.scores for row in (first, second)):
            return None
        test = len(self.table.y) // self.cv.n_splits
        one, other = (metric.sign * row.scores[metric.name] for row in (first, second))
        return corrected_t_test(one, other, len(self.table.y) - test, test, CONFIDENCE)

    def ties(self, row: Row) -> bool:
        """Whether a row cannot be told apart from the best by its scores on the folds."""
        if self.best is None or row is self.best:
            return False
        found = self.difference(self.best, row)
        return found is not None and found.p_value > 1 - CONFIDENCE

    def beats_baseline(self) -> bool:
        """Whether the best model is better than one that learns nothing, beyond chance."""
        found = None if self.best is None else self.difference(self.best, self.baseline)
        return found is not None and found.difference > 0 and found.p_value <= 1 - CONFIDENCE

    def summary(self) -> str:
        """A few words: the best model, its score, the baseline's, and what is as good."""
        metric, best = self.metrics[0], self.best
        if best is None:
            return "No model succeeded."
        floor = f"{self.baseline.mean(metric):.3f}"
        spread = f"{metric.name} {best.mean(metric):.3f} ± {best.std(metric):.3f}"
        found = self.difference(best, self.baseline)
        if found is not None and found.difference <= 0:
            return (
                f"Nothing beats the baseline, which scores {floor}; the best of the others, "
                f"{best.name}, has {spread}."
            )
        text = f"Best: {best.name}, {spread}; a baseline scores {floor}."
        if not self.beats_baseline():
            text = text[:-1] + ", and the folds cannot tell it from the best: that may be chance."
        tied = sum(self.ties(row) for row in self.rows if row.name != BASELINE)
        if tied:
            others = "another model" if tied == 1 else f"{tied} others"
            text += f" The folds cannot tell {others} from it."
        return text + self._caution(best)

    def _caution(self, best: Row) -> str:
        """Say so if the probabilities of the best are worse than those of the baseline."""
        loss = next((m for m in self.metrics if m.scorer == "neg_log_loss"), None)
        if loss is None or loss.name not in best.scores or loss is self.metrics[0]:
            return ""
        here, floor = best.mean(loss), self.baseline.mean(loss)
        if here <= floor:
            return ""
        return f" Its probabilities are off: a log loss of {here:.3f}, the baseline's {floor:.3f}."

    def frame(self) -> pd.DataFrame:
        """One line a model: whether it ties with the best, metrics, times, why it failed."""
        records = []
        for row in self.rows:
            record: dict[str, Any] = {"model": row.name, "ties": self.ties(row)}
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
    metric: str | Iterable[str] | None = None,
    positive: Any = None,
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
    metric : str or iterable of str, optional
        Names of scikit-learn's scorers; the first ranks, all are shown. By default numbers are
        ranked by R², classes by balanced accuracy; where a class is rarer than half of an equal
        share, two by the area under the ROC curve and more by log loss.
    positive : label, optional
        The class of two that curves and scores of one class are about; the last if None.
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
    names = [metric] if isinstance(metric, str) else list(metric or ())
    about = None
    if table.task == "classification":
        about = positive_class(np.unique(table.y), positive)
    elif positive is not None:
        raise DataError(f"positive={positive!r}: a quantity has no classes")
    metrics = metrics_for(table.task, table.y, names, about)
    check_metrics(metrics, table.task, table.y)
    if not names and table.task == "classification" and is_imbalanced(table.y):
        notes.append(f"ranked by {metrics[0].name}, for a class is rare (--metric overrides)")
    if about is not None:
        notes.append(f"the positive class is {str(about)!r} (--positive overrides)")
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
    rows.sort(key=lambda row: place(row, metrics))
    return Leaderboard(rows, table, metrics, folds, tuple(notes), interrupted, about)


def place(row: Row, metrics: tuple[Metric, ...]) -> tuple:
    """By the first metric; what does not offer it after, by the next that it has."""
    values = [-m.sign * row.mean(m) for m in metrics]
    return row.failed, *(place for v in values for place in (np.isnan(v), np.nan_to_num(v)))


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
