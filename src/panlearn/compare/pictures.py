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

from panlearn.compare.decisions import unwrapped
from panlearn.compare.density_pictures import density_plots
from panlearn.compare.drawing import (
    GREY,
    LINES,
    Picture,
    Plot,
    legend_below,
    of_class,
    render,
    short,
)
from panlearn.compare.explaining import dependences
from panlearn.compare.leaderboard import BASELINE, Leaderboard
from panlearn.compare.score_pictures import cost_and_quality, fold_scores
from panlearn.compare.scoring import Row, learn
from panlearn.compare.timed import JobCrashedError, TimedWorker
from panlearn.core.errors import count
from panlearn.plot import CoefficientsDisplay

MOST_MODELS = 5
MOST_CLASSES = 6
MOST_COLUMNS = 20
MOST_CURVES, QUICK = 3, 5.0  # models whose learning is drawn; seconds of the others' comparison
SHARES = np.geomspace(0.2, 1.0, 4)  # of the rows that a model learns from
ENOUGH = 15.0  # seconds for the curve of the best; a slow one is that of fewer folds


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
    yield cost_and_quality(board)
    if board.table.task == "classification":
        yield from _classification(board, best)
    else:
        yield from _regression(board, best)
    if curve:
        yield _learning_curves(board, best, time_limit)
    if best.importance:
        yield _importance(board, best)
        yield from dependences(board, best)
    good = [row for row in board.rows if row.pipeline is not None and not row.failed]
    linear = [r for r in good if hasattr(unwrapped(r.pipeline)[-1], "coef_")]
    if linear:
        yield _coefficients(linear[0])


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
        curves = [(short(r.name), y == positive, s) for r, s in scored if s is not None]
        curves.sort(key=lambda curve: -roc_auc_score(curve[1], curve[2]))
        del curves[MOST_MODELS:]
        column = int(positive == classes[1])
        chances = [
            (short(r.name), y == positive, r.predictions["predict_proba"][:, column])
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
            lambda ax: _roc(ax, curves, of_class(positive)),
            height=5.2,
        )
    if chances:
        yield Plot(
            "Calibration",
            f"How often {who} came when it was given this probability.",
            f"Calibration curves of {', '.join(name for name, *_ in chances)} for {who}.",
            lambda ax: _calibration(ax, chances, of_class(positive)),
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
    legend_below(ax)


def _calibration(ax: Axes, curves: list[tuple[str, np.ndarray, Any]], about: str) -> None:
    for name, truth, chance in curves:
        CalibrationDisplay.from_predictions(
            truth, np.clip(chance, 0, 1), n_bins=8, strategy="quantile", name=name, ax=ax, ms=4
        )
    for reference in [line for line in ax.lines if line.get_color() == "k"]:
        reference.set_color(GREY)
    ax.set(xlabel=f"probability given{about}", ylabel="share that came true")
    legend_below(ax)


def _positive(label: Any) -> str:
    """The class that is called positive, if any, as a caption names it."""
    return "" if label is None else f"; positive is {str(label)!r}"


def _confusion(ax: Axes, truth: np.ndarray, predicted: np.ndarray) -> None:
    few = len(np.unique(truth)) <= 12
    ConfusionMatrixDisplay.from_predictions(
        truth, predicted, ax=ax, cmap="Blues", colorbar=not few, include_values=few
    )
    labels = [short(t.get_text()) for t in ax.get_xticklabels()]
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


def _learning_curves(board: Leaderboard, best: Row, time_limit: float | None) -> Plot:
    """Scores of the best and of what comes next against the rows that they learn from.

    What all rows of a fold give is known of the others from the comparison.
    """
    metric = next(m for m in board.metrics if m.name in best.scores)
    others = [r for r in board.rows if r not in (best, board.baseline) and metric.name in r.scores]
    folds = list(board.cv.split(board.table.X, board.table.y))
    most = max(1, int(ENOUGH / (best.fit_seconds * SHARES.sum() + 1e-9)))
    curves: dict[str, Any] = {}
    with TimedWorker(board.table.X, board.table.y) as worker:
        for row in [best, *[r for r in others if r.total_seconds < QUICK][: MOST_CURVES - 1]]:
            model = clone(row.compared or row.pipeline)
            some, shares = (folds[:most], SHARES) if row is best else (folds, SHARES[:-1])
            try:
                found = worker.run(learn, model, metric, some, shares, limit=time_limit)
            except (TimeoutError, JobCrashedError) as error:
                found = str(error)
            if row is not best and not isinstance(found, str):
                sizes, train, test = found
                whole = row.scores[metric.name][None]
                found = [*sizes, len(folds[0][0])], train, np.concatenate([test, whole])
            curves[row.name] = found

    def draw(ax: Axes) -> None:
        if isinstance(curves[best.name], str):
            raise RuntimeError(curves[best.name])
        drawn = {name: curve for name, curve in curves.items() if not isinstance(curve, str)}
        for colour, (name, (sizes, train, test)) in zip(LINES, drawn.items(), strict=False):
            mean, spread = test.mean(axis=1), test.std(axis=1)
            ax.plot(sizes, mean, "o-", ms=4, color=colour, label=short(name))
            if name == best.name:
                ax.fill_between(sizes, mean - spread, mean + spread, color=colour, alpha=0.18)
                seen = f"{short(name)}, on the rows that it learned from"
                ax.plot(sizes, train.mean(axis=1), "--", color=colour, lw=1.2, label=seen)
        ax.set(xlabel="rows to learn from", ylabel=f"{metric.name}{of_class(metric.positive)}")
        legend_below(ax)

    of_fewer = "" if most >= len(folds) else f"; of the best, {count(most, 'fold')}"
    return Plot(
        "Learning curves",
        "On rows held out: where a curve still gets better, more rows will help"
        f"{_positive(metric.positive)}{of_fewer}.",
        f"{metric.name} of {', '.join(curves)} against the number of training rows.",
        draw,
        height=5.2,
    )


def _importance(board: Leaderboard, row: Row) -> Plot:
    """Bars of how much worse the model gets without each column."""
    metric = next(m for m in board.metrics if m.name in row.scores)
    found = sorted(row.importance.items(), key=lambda item: item[1])[-MOST_COLUMNS:]
    change = "loss" if metric.sign > 0 else "rise"

    def draw(ax: Axes) -> None:
        ax.barh([short(name) for name, _ in found], [value for _, value in found], color=LINES[0])
        ax.set_xlabel(f"{change} of {metric.name}{of_class(metric.positive)}")

    top = ", ".join(f"{name} {value:.3f}" for name, value in found[::-1][:5])
    return Plot(
        "Importance of columns",
        f"{row.name}: the {change} of its {metric.name} on rows held out if a column is shuffled.",
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
