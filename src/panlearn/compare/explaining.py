"""Why the best model says what it says: the shape of its answers, and where it is most wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from pandas.api import types

from panlearn.compare.drawing import LINES, Plot, legend_below, of_class, short
from panlearn.compare.leaderboard import Leaderboard
from panlearn.compare.scoring import Row
from panlearn.compare.sections import Section

MOST_COLUMNS = 3  # whose part in the answers is drawn
MOST_VALUES, MOST_CATEGORIES = 20, 8  # of a column
MOST_ROWS = 200  # that the answers are a mean over
MOST_LINES = 6
MOST_WRONG, BESIDE = 10, 4  # rows, and columns beside each


def dependences(board: Leaderboard, row: Row) -> Iterator[Plot]:
    """The mean answer of a model as one column takes each of its values, the most important first.

    References
    ----------
    Friedman (2001). Greedy function approximation: a gradient boosting machine.
    doi:10.1214/aos/1013203451
    """
    for name in _most_important(row, MOST_COLUMNS):
        if not (types.is_numeric_dtype(board.table.X[name]) or _is_short(board.table.X[name])):
            continue
        yield _dependence(board, row, name)


def partial_dependence(
    answer: Callable[[pd.DataFrame], np.ndarray], X: pd.DataFrame, name: str, values: Any
) -> np.ndarray:
    """The answer for every row as it would be if the column had each value: values by rows."""
    return np.stack([answer(X.assign(**{name: value})) for value in values])


def _dependence(board: Leaderboard, row: Row, name: str) -> Plot:
    X = board.table.X
    some = X.sample(min(len(X), MOST_ROWS), random_state=0)
    numeric = types.is_numeric_dtype(X[name])
    if numeric:
        values = np.unique(X[name].dropna().quantile(np.linspace(0.02, 0.98, MOST_VALUES)))
    else:
        values = X[name].value_counts().index[:MOST_CATEGORIES].to_numpy()
    answer, what, lines = _answers(board, row)
    dated = _dated(board, name)

    @cache  # for both themes
    def answers() -> np.ndarray:
        return partial_dependence(answer, some, name, values)

    def draw(ax: Axes) -> None:
        found = answers()
        where: Any = pd.to_datetime(values, unit="D") if numeric and dated else values
        places: Any = where if numeric else np.arange(len(values))
        if found.ndim == 2:
            ax.plot(places, found[:, :30], color=LINES[0], alpha=0.25, lw=0.8)
            found = found[:, :, None]
        for k, mean in enumerate(found.mean(axis=1).T):
            ax.plot(places, mean, "o-", ms=4, color=LINES[k % len(LINES)], label=lines[k], lw=2.2)
        if not numeric:
            ax.set_xticks(places, [short(str(v)) for v in values], rotation=30, ha="right")
        elif dated:
            ax.tick_params(axis="x", rotation=30)
        ax.set(xlabel=short(name), ylabel=what)
        if len(lines) > 1:
            legend_below(ax)

    return Plot(
        f"What {name} does",
        f"{row.name}: its mean answer if {name} had this value in every row, the others as they "
        "are (partial dependence); faint lines are single rows.",
        f"Partial dependence of {what} on {name} by {row.name}.",
        draw,
    )


def _answers(board: Leaderboard, row: Row) -> tuple[Callable[[Any], np.ndarray], str, list[str]]:
    """What a model answers as numbers, in words, and the name of each column of it."""
    model: Any = row.pipeline
    if board.table.task == "regression":
        return model.predict, board.table.target, [""]
    classes = list(model.classes_)
    method = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    what = "probability" if method == "predict_proba" else "decision value"
    if not hasattr(model, method):
        return lambda X: np.stack([model.predict(X) == c for c in classes], 1), "share", classes
    ask = getattr(model, method)
    if len(classes) > 2:
        return lambda X: ask(X)[:, :MOST_LINES], what, [short(str(c)) for c in classes[:MOST_LINES]]
    second = classes[1] == board.positive

    def of_positive(X: Any) -> np.ndarray:
        found = ask(X)
        if found.ndim == 2:
            return found[:, int(second)]
        return found if second else -found

    return of_positive, what + of_class(board.positive), [""]


def most_wrong(board: Leaderboard, row: Row) -> Section:
    """The rows held out that a model is most wrong about, beside what matters most to it."""
    y, said = board.table.y, row.predictions["predict"]
    if board.table.task == "regression":
        error, word = np.abs(y - said), "off by"
    elif "predict_proba" in row.predictions:
        chance = row.predictions["predict_proba"]
        truth = np.searchsorted(np.unique(y), y)
        error, word = 1 - chance[np.arange(len(y)), truth], "chance of the truth"
    else:
        error, word = (said != y).astype(float), ""
    worst = np.argsort(-error, kind="stable")[:MOST_WRONG]
    order = [k for k in worst if error[k] > 0]
    columns = _most_important(row, BESIDE) or list(board.table.X.columns[:BESIDE])
    shown = board.table.X.iloc[order]
    rows = []
    for k, (_, values) in zip(order, shown.iterrows(), strict=True):
        size = [float(error[k] if word == "off by" else 1 - error[k])] if word else []
        beside = [_cell(values[name], _dated(board, name)) for name in columns]
        rows.append((int(board.table.row_number(k)), _cell(y[k]), _cell(said[k]), *size, *beside))
    return Section(
        "Rows that it gets most wrong",
        f"{row.name} on rows held out. Look here for wrong labels, for rows unlike the others, and "
        "for a column that is not in the table."
        if rows
        else f"{row.name} is right about every row held out.",
        ("row", "true", "predicted", *([word] if word else []), *columns),
        rows,
    )


def _most_important(row: Row, most: int) -> list[str]:
    found = sorted(row.importance.items(), key=lambda item: -item[1])[:most]
    return [name for name, value in found if value > 0]


def _is_short(column: pd.Series) -> bool:
    return column.nunique() <= 50


def _dated(board: Leaderboard, name: str) -> bool:
    """Whether the numbers of a column are days since 1970."""
    return board.table.styles.get(name, "").startswith("date")


def _cell(value: Any, dated: bool = False) -> Any:
    """A value of the data as people read it."""
    if isinstance(value, float | np.floating):
        if np.isnan(value):
            return float("nan")
        return str(pd.to_datetime(value, unit="D").date()) if dated else f"{value:.6g}"
    return short(str(value))
