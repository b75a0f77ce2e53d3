"""One saved model looked at from all sides: scores, calibration, groups, robustness, drift."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types
from sklearn.base import is_classifier

from panlearn.compare.drawing import GREY, LINES, Plot
from panlearn.compare.drift import drift
from panlearn.compare.metrics import metrics_for, offered, positive_class
from panlearn.compare.page import fact_list, note_list, number, page
from panlearn.compare.sections import Section, content
from panlearn.core.errors import DataError, count
from panlearn.evaluate.calibration import brier_split, calibration_error, reliability
from panlearn.evaluate.rates import rate_curve, rates
from panlearn.trust import attacks, fairness, generalization

MOST_GROUPS = 10  # values of a sensitive number beyond which it is cut at its quartiles
ATTACKED = 200  # rows
RADII = (0.05, 0.1, 0.2, 0.5)  # standard deviations of a column
BRIER = ("brier", "reliability", "resolution", "uncertainty")


@dataclass(frozen=True)
class Audit:
    """What was found of a model: sections, facts for the head of a page, and notes."""

    title: str
    facts: dict[str, str]
    sections: list[Section]
    notes: list[str]

    @property
    def summary(self) -> str:
        """The words of all sections."""
        return " ".join(section.words for section in self.sections)

    def page(self, command: str) -> str:
        """Write it as one HTML file."""
        parts = [
            (section.title.lower(), escape(section.title), content(section))
            for section in self.sections
        ]
        parts.append(("data", "Data", note_list(self.notes)))
        return page(self.title, self.summary, fact_list(self.facts), parts, command)


def audit(
    model: Any,
    X: pd.DataFrame,
    y: np.ndarray,
    *,
    sensitive: pd.DataFrame | None = None,
    reference: pd.DataFrame | None = None,
    positive: Any = None,
    title: str = "audit",
    random_state: int = 0,
) -> Audit:
    """Look at a fitted pipeline on rows whose targets are known.

    Parameters
    ----------
    model : Pipeline
        As `panlearn fit` makes it: a preparation of columns, then an estimator.
    X : data frame
        Rows in the columns of the model, see `conform`.
    y : array of shape (n,)
        Their targets.
    sensitive : data frame, optional
        Columns whose values, together, are the groups to compare.
    reference : data frame, optional
        Other rows in the columns of the model, such as those that it was fitted to, from which X
        may have drifted.
    positive : label, optional
        The class of two that rates are about; the last if None.
    title : str
        Of the page.
    random_state : int
        Seed of the bootstrap and of the attack.

    Returns
    -------
    Audit
    """
    notes: list[str] = []
    about = positive_class(model.classes_, positive) if is_classifier(model) else None
    sections = [_scores(model, X, y, about)]
    if about is not None:
        chance = _chance(model, X, about)
        if chance is not None:
            sections.append(_calibration(y == about, chance, str(about)))
    if sensitive is not None:
        groups, said = _groups(sensitive)
        notes += said
        sections.append(_fairness(model, X, y, groups, about, random_state, notes))
    if is_classifier(model):
        sections.append(_robustness(model, X, y, random_state))
    if reference is not None:
        here, there = (_answer(model, table, about) for table in (X, reference))
        sections.append(drift(X, reference, (here, there)))
    facts = {
        "model": type(model[-1]).__name__,
        "rows": f"{len(y):,}",
        "columns": str(X.shape[1]),
        **({} if about is None else {"positive class": str(about)}),
    }
    return Audit(title, facts, sections, notes)


def _chance(model: Any, X: pd.DataFrame, about: Any) -> np.ndarray | None:
    if not hasattr(model, "predict_proba"):
        return None
    return model.predict_proba(X)[:, list(model.classes_).index(about)]


def _scores(model: Any, X: pd.DataFrame, y: np.ndarray, about: Any) -> Section:
    """Metrics of the task, and for two classes the rates of the decisions by their names."""
    task = "classification" if is_classifier(model) else "regression"
    rows: list[tuple[Any, ...]] = []
    for metric in offered(model, metrics_for(task, y, (), about)):
        try:
            rows.append((metric.name, metric.sign * metric.measure(model, X, y)))
        except ValueError:  # such as an area where only one class is there
            rows.append((metric.name, np.nan))
    plots: list[Plot] = []
    if about is not None:
        found = rates(y == about, model.predict(X) == about)
        names = ("prevalence", "acceptance", "tpr", "fpr", "precision", "npv")
        rows += [(name, float(getattr(found, name))) for name in names]
        chance = _chance(model, X, about)
        if chance is not None and len(np.unique(y)) == 2:
            plots.append(_roc(y == about, chance, str(about)))
    first, value = rows[0]
    words = f"{first} {number(value)} on {count(len(y), 'row')}."
    return Section("Scores", words, ("score", "value"), rows, tuple(plots))


def _roc(truth: np.ndarray, chance: np.ndarray, about: str) -> Plot:
    curve = rate_curve(truth, chance)

    def draw(ax: Any) -> None:
        ax.plot(curve.rates.fpr, curve.rates.tpr, color=LINES[0])
        ax.plot([0, 1], [0, 1], color=GREY, ls="--")
        ax.set(xlabel=f"false positive rate of {about}", ylabel=f"true positive rate of {about}")

    return Plot("ROC curve", f"For the class {about!r}.", f"ROC curve for {about!r}.", draw)


def _calibration(truth: np.ndarray, chance: np.ndarray, about: str) -> Section:
    """How far probabilities are from frequencies, and the parts of the Brier score."""
    table = reliability(truth, chance, n_bins=10, strategy="quantile")
    error, split = calibration_error(truth, chance), brier_split(truth, chance, n_bins=10)
    sure = calibration_error(truth, chance, norm_order=2, debiased=True)
    rows = [
        ("calibration error", float(error)),
        ("root mean square, debiased", float(sure)),
        *((name, float(getattr(split, name))) for name in BRIER),
    ]

    def draw(ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=GREY, ls="--")
        ax.plot(table.predicted, table.observed, "o-", color=LINES[0], ms=4)
        ax.set(xlabel=f"probability given of {about}", ylabel="share that came true")

    plot = Plot("Calibration", f"For the class {about!r}.", f"Reliability of {about!r}.", draw)
    words = f"Probabilities of {about!r} are off by {number(error)} on average."
    return Section("Calibration", words, ("measure", "value"), rows, (plot,))


def _groups(sensitive: pd.DataFrame) -> tuple[pd.Series, list[str]]:
    """One name a row: the values of the columns, numbers of many values cut at their quartiles."""
    notes, parts = [], []
    for name in sensitive.columns:
        column: Any = sensitive[name]
        if types.is_numeric_dtype(column) and column.nunique() > MOST_GROUPS:
            notes.append(f"{name!r} is cut at its quartiles")
            column = pd.qcut(column, 4, duplicates="drop")
        if column.isna().any():
            notes.append(f"{count(int(column.isna().sum()), 'row')} without {name!r} are a group")
        parts.append(column.astype(object).map(str, na_action="ignore").fillna("missing"))
    groups = parts[0]
    for part in parts[1:]:
        groups = groups + ", " + part
    if groups.nunique() < 2:
        raise DataError(f"{', '.join(sensitive.columns)}: all rows are of one group")
    return groups, notes


def _fairness(
    model: Any,
    X: pd.DataFrame,
    y: np.ndarray,
    groups: pd.Series,
    about: Any,
    random_state: int,
    notes: list[str],
) -> Section:
    """Rates of each group with their gaps; of more classes, or of numbers, errors alone."""
    predicted = model.predict(X)
    if about is None:
        loss: Callable[..., Any] | None = None if is_classifier(model) else _absolute
        errors = generalization.group_errors(y, predicted, groups.to_numpy(), loss)
        rows: list[tuple[Any, ...]] = [
            (str(group), int(size), float(error))
            for group, size, error in zip(errors.groups, errors.counts, errors.errors, strict=True)
        ]
        words = f"The error is largest for {str(errors.worst_group)!r}: {number(errors.worst)}."
        return Section("Groups", words, ("group", "rows", "mean error"), rows)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = fairness.fairness_report(
            y == about, predicted == about, groups.to_numpy(), random_state=random_state
        )
    notes += [str(w.message) for w in caught]
    table, names = found.table, ("acceptance", "tpr", "fpr", "precision", "accuracy")
    sizes = groups.value_counts()
    rows = []
    for place, group in enumerate(table.groups):
        cells = []
        for name in names:
            low, high = found.intervals[name][place]
            value = float(np.asarray(getattr(table.rates, name))[place])
            cells.append(f"{value:.3f} [{low:.3f}, {high:.3f}]")
        rows.append((str(group), int(sizes[group]), *cells))
    for criterion, (gap, low, high) in found.gaps.items():
        rows.append((f"gap of {criterion}", "", f"{gap:.3f} [{low:.3f}, {high:.3f}]", *[""] * 4))
    widest, (gap, low, high) = max(found.gaps.items(), key=lambda item: item[1][0])
    words = f"Groups differ most in {widest}: {gap:.3f}, between {low:.3f} and {high:.3f}."
    return Section("Groups", words, ("group", "rows", *names), rows)


def _absolute(truth: Any, predicted: Any) -> Any:
    return np.abs(np.asarray(truth) - np.asarray(predicted))


def _robustness(model: Any, X: pd.DataFrame, y: np.ndarray, random_state: int) -> Section:
    """Accuracy when an adversary, or chance, moves the numbers of each row a little."""
    rng = np.random.default_rng(random_state)
    some = rng.permutation(len(y))[:ATTACKED]
    rows = np.asarray(model[:-1].transform(X.iloc[some]), dtype=float)
    labels, last = y[some], model[-1]
    free = np.array([name.startswith("number__") for name in model[0].get_feature_names_out()])
    base = float(np.mean(last.predict(rows) == labels))
    if not free.any():
        words = "No column is a number: there is nothing to move a little."
        return Section("Robustness", words, ("change", "accuracy"), [("none", base)])
    found: list[tuple[Any, ...]] = [("none", base, base)]
    standing = np.ones(len(rows), dtype=bool)
    spread = rows.std(axis=0)
    unit = np.where(free & (spread > 0), spread, 1.0)  # a scaler to 0 and 1 has units of its own
    for radius in RADII:
        noisy = rows + radius * unit * free * rng.choice([-1.0, 1.0], size=rows.shape)
        by_chance = float(np.mean(last.predict(noisy) == labels))
        room = np.where(free, radius * unit, 1e-12)
        box = (rows[standing] - room, rows[standing] + room)
        if standing.any():
            moved = attacks.pgd(
                last,
                rows[standing],
                labels[standing],
                float(radius * unit[free].max()),
                bounds=box,
                steps=10,
                random_state=random_state,
            )
            standing[np.flatnonzero(standing)[moved.success]] = False
        found.append((f"{radius:g} deviations", by_chance, float(standing.mean())))

    def draw(ax: Any) -> None:
        radii = [0, *RADII]
        ax.plot(radii, [row[1] for row in found], "o-", color=GREY, ms=4, label="by chance")
        ax.plot(radii, [row[2] for row in found], "o-", color=LINES[1], ms=4, label="at the worst")
        ax.set(xlabel="change of each number, in deviations", ylabel="accuracy")
        ax.legend()

    plot = Plot(
        "Accuracy under change",
        f"On {len(rows)} rows; categories and text stay as they are.",
        "Accuracy against the change of each number, by chance and at the worst.",
        draw,
    )
    words = (
        f"Moving each number by {RADII[1]:g} of its deviation takes the accuracy from {base:.3f} "
        f"to {found[2][2]:.3f} at the worst."
    )
    return Section("Robustness", words, ("change", "by chance", "at the worst"), found, (plot,))


def _answer(model: Any, table: pd.DataFrame, about: Any) -> pd.Series:
    chance = None if about is None else _chance(model, table, about)
    return pd.Series(model.predict(table) if chance is None else chance)
