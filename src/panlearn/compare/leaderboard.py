"""The outcome of a comparison: rows from best to worst, and what can be said of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from panlearn.compare.metrics import Metric
from panlearn.compare.scoring import Folds, Row
from panlearn.compare.table import Table
from panlearn.evaluate.comparison import Comparison, corrected_t_test

BASELINE = "baseline"
CONFIDENCE = 0.95


@dataclass(frozen=True, repr=False)
class Leaderboard:
    """The outcome of a comparison: rows from best to worst, failures last.

    Attributes
    ----------
    rows : list of Row
        Ranked by the first metric; those that do not offer it stand apart, after the others, by
        the first that they do. Each has the pipeline, fitted to all rows unless it failed, and the
        out-of-fold predictions.
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
    left_out : tuple of str
        The models that were not compared though none was named, and why.
    """

    rows: list[Row]
    table: Table
    metrics: tuple[Metric, ...]
    cv: Folds
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    positive: Any = None
    left_out: tuple[str, ...] = ()

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
        from panlearn.compare.score_pictures import fold_scores
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
        """Whether a row cannot be told apart from the best by its scores on the folds.

        What is worse than the baseline, which the best beats, is no tie however much its folds
        differ: a loss that is now large and now huge hides any difference from a test of means.
        """
        if self.best is None or row is self.best:
            return False
        behind = self.difference(self.baseline, row)
        if behind is not None and behind.difference > 0 and self.beats_baseline():
            return False
        found = self.difference(self.best, row)
        return found is not None and found.p_value > 1 - CONFIDENCE

    def apart(self) -> list[Row]:
        """The rows without the score that ranks, such as models that give no probabilities."""
        name = self.metrics[0].name
        return [row for row in self.rows if not row.failed and name not in row.scores]

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
        return text + self._caution(best) + self._said_of_those_apart(best)

    def _said_of_those_apart(self, best: Row) -> str:
        """Compare the first of those without the score that ranks with the best by what both have.

        A model without probabilities is not worse than all that have some, as its place could say.
        """
        rows = self.apart()
        if not rows:
            return ""
        first, lone = rows[0], len(rows) == 1
        who = "1 model has" if lone else f"{len(rows)} models have"
        text = f" {who} no {self.metrics[0].name} and stand{'s' * lone} apart"
        both = [m for m in self.metrics if m.name in first.scores and m.name in best.scores]
        if both:
            here, there = first.mean(both[0]), best.mean(both[0])
            text += f": {first.name} has {both[0].name} {here:.3f}, {best.name} {there:.3f}"
        return text + "."

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

    def importances(self) -> pd.DataFrame:
        """What each column is worth to each model, a column a model, the best model first.

        An entry is how much worse the first metric that a model offers gets on rows held out when
        the entries of one column are shuffled; what matters most to the best model is on top.
        """
        found = {row.name: row.importance for row in self.rows if row.importance}
        frame = pd.DataFrame(found, index=list(self.table.X.columns))
        return frame if frame.empty else frame.sort_values(frame.columns[0], ascending=False)


def ranking(metrics: tuple[Metric, ...], rows: list[Row]) -> tuple[Metric, ...]:
    """The metrics from the first on that a model has, if any; those that none has go last."""
    models = [row for row in rows if not row.failed and row.name != BASELINE]
    had = [m for m in metrics if any(m.name in row.scores for row in models)]
    return (*had, *(m for m in metrics if m not in had)) if had else metrics


def place(row: Row, metrics: tuple[Metric, ...]) -> tuple:
    """By the first metric; what does not offer it after, by the next that it has."""
    values = [-m.sign * row.mean(m) for m in metrics]
    return row.failed, *(place for v in values for place in (np.isnan(v), np.nan_to_num(v)))
