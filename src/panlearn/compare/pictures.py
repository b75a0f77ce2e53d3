"""The plots of a report: what a person wants to see for the task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from sklearn.base import clone
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import (
    ConfusionMatrixDisplay,
    PredictionErrorDisplay,
    RocCurveDisplay,
    roc_auc_score,
)
from sklearn.model_selection import LearningCurveDisplay

from panlearn.compare.decisions import unwrapped
from panlearn.compare.density_pictures import density_plots
from panlearn.compare.drawing import GREY, LINES, Picture, Plot, render
from panlearn.compare.leaderboard import BASELINE, Leaderboard
from panlearn.compare.scoring import Row, learn
from panlearn.compare.timed import JobCrashedError, TimedWorker
from panlearn.plot import CoefficientsDisplay

MOST_MODELS = 5
MOST_CLASSES = 6
MOST_COLUMNS = 20


def pictures(board: Leaderboard, time_limit: float | None, curve: bool = True) -> list[Picture]:
    """Draw what a person wants to see for the task; a learning curve takes fits of its own."""
    return [render(plot) for plot in _plots(board, time_limit, curve)]


def _plots(board: Leaderboard, time_limit: float | None, curve: bool) -> Iterator[Plot]:
    best = board.best
    yield fold_scores(board)
    if best is None:
        return
    if board.table.task == "density":
        yield from density_plots(board)
        return
    if board.table.task == "classification":
        yield from _classification(board, best)
    else:
        yield from _regression(board, best)
    if curve:
        yield _learning_curve(board, best, time_limit)
    if best.importance:
        yield _importance(board, best)
    good = [row for row in board.rows if row.pipeline is not None and not row.failed]
    linear = [r for r in good if hasattr(unwrapped(r.pipeline)[-1], "coef_")]
    if linear:
        yield _coefficients(linear[0])


def fold_scores(board: Leaderboard) -> Plot:
    """Dots for the folds of each model, best first, and a bar for the mean."""
    metric = board.metrics[0]
    rows = [r for r in board.rows if not r.failed and metric.name in r.scores][:25]

    def draw(ax: Axes) -> None:
        for place, row in enumerate(reversed(rows)):
            colour = GREY if row.name == BASELINE else LINES[0]
            values = row.scores[metric.name]
            ax.plot(values, np.full(len(values), place), "o", color=colour, alpha=0.35, ms=6)
            ax.plot(row.mean(metric), place, "|", color=colour, ms=18, mew=2.5)
        ax.set_yticks(range(len(rows)), [_short(r.name) for r in reversed(rows)])
        ax.set_xlabel(f"{metric.name}{_about(metric.positive)}")

    means = ", ".join(f"{r.name} {r.mean(metric):.3f}" for r in rows[:8])
    return Plot(
        "Scores, fold by fold",
        f"Each dot is one fold, each bar the mean of {metric.name}{_about(metric.positive)}.",
        f"Dot plot of {metric.name} by model. Means: {means}.",
        draw,
        height=max(4.2, 0.32 * len(rows) + 1.0),
    )


def _classification(board: Leaderboard, best: Row) -> Iterator[Plot]:
    y = board.table.y
    classes = np.unique(y)
    good = [r for r in board.rows if not r.failed and r.name != BASELINE]
    curves: list[tuple[str, Any, Any]]
    chances: list[tuple[str, Any, Any]]
    probable = [r for r in good if "predict_proba" in r.predictions]
    positive = board.positive
    if len(classes) == 2:
        scored = [(r, _margin(r, positive == classes[1])) for r in good]
        curves = [(_short(r.name), y == positive, s) for r, s in scored if s is not None]
        curves.sort(key=lambda curve: -roc_auc_score(curve[1], curve[2]))
        del curves[MOST_MODELS:]
        column = int(positive == classes[1])
        chances = [
            (_short(r.name), y == positive, r.predictions["predict_proba"][:, column])
            for r in probable[:MOST_MODELS]
        ]
        who = f"the class {str(positive)!r}"
    else:
        shown = [
            (str(c), y == c, probable[0].predictions["predict_proba"][:, k])
            for k, c in enumerate(classes[:MOST_CLASSES])
            if probable
        ]
        curves = chances = shown
        who = f"each class against the rest, by {probable[0].name}" if probable else ""
    if curves:
        yield Plot(
            "ROC curve",
            f"True against false positives for {who}, on rows held out; the best areas first.",
            f"ROC curves of {', '.join(name for name, *_ in curves)} for {who}.",
            lambda ax: _roc(ax, curves, _about(positive)),
            height=5.2,
        )
    if chances:
        yield Plot(
            "Calibration",
            f"How often {who} came when it was given this probability.",
            f"Calibration curves of {', '.join(name for name, *_ in chances)} for {who}.",
            lambda ax: _calibration(ax, chances, _about(positive)),
            height=5.2,
        )
    right = np.mean(best.predictions["predict"] == y)
    yield Plot(
        "Confusion matrix",
        f"{best.name}, on rows held out{_positive(board.positive)}.",
        f"Confusion matrix of {best.name} over {len(classes)} classes: {right:.1%} are right.",
        lambda ax: _confusion(ax, y, best.predictions["predict"]),
    )


def _margin(row: Row, second: bool) -> np.ndarray | None:
    """Find a score that grows with the second class of two, or the first, if there is one."""
    sign = 1 if second else -1
    if "decision_function" in row.predictions and row.predictions["decision_function"].ndim == 1:
        return sign * row.predictions["decision_function"]
    if "predict_proba" in row.predictions:
        return row.predictions["predict_proba"][:, int(second)]
    return None


def _roc(ax: Axes, curves: list[tuple[str, np.ndarray, Any]], about: str) -> None:
    for k, (name, truth, score) in enumerate(curves):
        last = k == len(curves) - 1
        RocCurveDisplay.from_predictions(
            truth, score, name=name, ax=ax, plot_chance_level=last, chance_level_kw={"color": GREY}
        )
    ax.set(xlabel=f"false positive rate{about}", ylabel=f"true positive rate{about}")
    _legend_below(ax)


def _calibration(ax: Axes, curves: list[tuple[str, np.ndarray, Any]], about: str) -> None:
    for name, truth, chance in curves:
        CalibrationDisplay.from_predictions(
            truth, np.clip(chance, 0, 1), n_bins=8, strategy="quantile", name=name, ax=ax, ms=4
        )
    for reference in [line for line in ax.lines if line.get_color() == "k"]:
        reference.set_color(GREY)
    ax.set(xlabel=f"probability given{about}", ylabel="share that came true")
    _legend_below(ax)


def _about(positive: Any) -> str:
    """The class that is called positive, if any, as the label of an axis names it."""
    return "" if positive is None else f" of {_short(str(positive))}"


def _positive(label: Any) -> str:
    """The class that is called positive, if any, as a caption names it."""
    return "" if label is None else f"; positive is {str(label)!r}"


def _legend_below(ax: Axes) -> None:
    """Where it covers no curve."""
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.16), frameon=False)


def _confusion(ax: Axes, truth: np.ndarray, predicted: np.ndarray) -> None:
    few = len(np.unique(truth)) <= 12
    ConfusionMatrixDisplay.from_predictions(
        truth, predicted, ax=ax, cmap="Blues", colorbar=not few, include_values=few
    )
    labels = [_short(t.get_text()) for t in ax.get_xticklabels()]
    ax.set_xticklabels(labels, rotation=45 if max(map(len, labels)) > 5 else 0)
    ax.set_yticklabels(labels)
    ax.set(xlabel="predicted", ylabel="true")
    ax.grid(False)


def _regression(board: Leaderboard, best: Row) -> Iterator[Plot]:
    y, predicted = board.table.y, best.predictions["predict"]

    def draw(kind: str) -> Callable[[Axes], Any]:
        return lambda ax: PredictionErrorDisplay.from_predictions(
            y,
            predicted,
            kind=kind,
            subsample=min(len(y), 2000),
            random_state=0,
            ax=ax,
            scatter_kwargs={"alpha": 0.5, "s": 14, "color": LINES[0], "linewidths": 0},
            line_kwargs={"color": LINES[1]},
        )

    error = np.sqrt(np.mean((y - predicted) ** 2))
    yield Plot(
        "Predicted and actual",
        f"{best.name}, on rows held out.",
        f"Actual against predicted values of {best.name}; root mean squared error {error:.4g}.",
        draw("actual_vs_predicted"),
    )
    yield Plot(
        "Residuals",
        "Actual minus predicted: a pattern here is something that the model has missed.",
        f"Residuals against predicted values of {best.name}, mean {np.mean(y - predicted):.3g}.",
        draw("residual_vs_predicted"),
    )


def _learning_curve(board: Leaderboard, best: Row, time_limit: float | None) -> Plot:
    metric = board.metrics[0]
    try:
        with TimedWorker(board.table.X, board.table.y) as worker:
            model = clone(best.compared or best.pipeline)
            curve: Any = worker.run(learn, model, metric, board.cv, limit=time_limit)
    except (TimeoutError, JobCrashedError) as error:
        curve = str(error)

    def draw(ax: Axes) -> None:
        if isinstance(curve, str):
            raise RuntimeError(curve)
        sizes, train, test = curve
        LearningCurveDisplay(
            train_sizes=sizes, train_scores=train, test_scores=test, score_name=metric.name
        ).plot(ax=ax, fill_between_kw={"alpha": 0.18})
        ax.set_xlabel("rows to learn from")
        _legend_below(ax)

    return Plot(
        "Learning curve",
        f"{best.name}: if the curve for held-out rows still gets better, more rows will "
        f"help{_positive(metric.positive)}.",
        f"{metric.name} of {best.name} against the number of training rows.",
        draw,
    )


def _importance(board: Leaderboard, row: Row) -> Plot:
    """Bars of how much worse the model gets without each column."""
    metric = next(m for m in board.metrics if m.name in row.scores)
    found = sorted(row.importance.items(), key=lambda item: item[1])[-MOST_COLUMNS:]

    def draw(ax: Axes) -> None:
        ax.barh([_short(name) for name, _ in found], [value for _, value in found], color=LINES[0])
        ax.set_xlabel(f"{metric.name} lost{_about(metric.positive)}")

    top = ", ".join(f"{name} {value:.3f}" for name, value in found[::-1][:5])
    return Plot(
        "Importance of columns",
        f"{row.name}: what its {metric.name} loses on rows held out when a column is shuffled.",
        f"Bars of permutation importance of {row.name}. Largest: {top}.",
        draw,
        height=max(4.2, 0.28 * len(found) + 1.0),
    )


def _coefficients(row: Row) -> Plot:
    most = 20
    return Plot(
        "Coefficients",
        f"{row.name}, the best linear model: its {most} largest, for features on one scale.",
        f"Bars of the largest coefficients of {row.name} with the names of their features.",
        lambda ax: CoefficientsDisplay.from_estimator(
            unwrapped(row.pipeline), max_features=most, ax=ax
        ),
        height=5.2,
    )


def _short(name: str) -> str:
    return name if len(name) <= 32 else name[:31] + "…"
