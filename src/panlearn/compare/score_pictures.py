"""Pictures of the scores of a comparison: fold by fold, and against what a fit costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from panlearn.compare.drawing import GREY, LINES, Plot, legend_below, of_class, short
from panlearn.compare.leaderboard import BASELINE, Leaderboard
from panlearn.compare.scoring import Row

MOST_ROWS = 25


def fold_scores(board: Leaderboard) -> Plot:
    """Dots for the folds of each model, best first, and a bar for the mean."""
    metric = board.metrics[0]
    rows = _scored(board)[:MOST_ROWS]
    low, high = _window(board)

    def draw(ax: Axes) -> None:
        for place, row in enumerate(reversed(rows)):
            colour = GREY if row.name == BASELINE else LINES[0]
            values, mean = row.scores[metric.name], row.mean(metric)
            inside = values[(values >= low) & (values <= high)]
            ax.plot(inside, np.full(len(inside), place), "o", color=colour, alpha=0.5, ms=6)
            if low <= mean <= high:
                ax.plot(mean, place, "|", color=colour, ms=18, mew=2.5)
            else:
                edge, way = (low, "←") if mean < low else (high, "→")
                side = "left" if mean < low else "right"
                ax.text(edge, place, f"{way} {mean:.3g}", ha=side, va="center", fontsize=8)
        if any(row.mean(metric) > high for row in rows):
            ax.set_xlim(right=high)
        if any(row.mean(metric) < low for row in rows):
            ax.set_xlim(left=low)
        ax.set_ylim(-0.6, len(rows) - 0.4)
        ax.set_yticks(range(len(rows)), [short(r.name) for r in reversed(rows)])
        ax.set_xlabel(f"{metric.name}{of_class(metric.positive)}")

    means = ", ".join(f"{r.name} {r.mean(metric):.3f}" for r in rows[:8])
    far = "" if all(low <= r.mean(metric) <= high for r in rows) else "; an arrow: far outside"
    return Plot(
        "Scores, fold by fold",
        f"Each dot is a fold, each bar the mean of {metric.name}{of_class(metric.positive)}{far}.",
        f"Dot plot of {metric.name} by model. Means: {means}.",
        draw,
        height=max(4.2, 0.32 * len(rows) + 1.0),
    )


def cost_and_quality(board: Leaderboard) -> Plot:
    """Each model's score against the time of a fit; those that none beats in both are named."""
    metric = board.metrics[0]
    rows = [row for row in _scored(board) if row.name != BASELINE]
    front = _front(rows, [metric.sign * row.mean(metric) for row in rows])
    low, high = _window(board)

    def draw(ax: Axes) -> None:
        for row in rows:
            k = front.index(row) if row in front else None
            style: Any = {"color": GREY, "alpha": 0.7, "ms": 6}
            if k is not None:
                style = {"color": LINES[k % len(LINES)], "label": short(row.name), "ms": 9}
            shown = np.clip(row.mean(metric), low, high)
            marker = "o" if shown == row.mean(metric) else "x"
            ax.plot(row.fit_seconds, shown, marker, **style)
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set(xlabel="seconds of a fit", ylabel=f"{metric.name}{of_class(metric.positive)}")
        legend_below(ax)

    named = ", ".join(f"{r.name} {r.fit_seconds:.2g} s {r.mean(metric):.3f}" for r in front)
    better = "higher" if metric.sign > 0 else "lower"
    far = "" if all(low <= r.mean(metric) <= high for r in rows) else "; a cross: far outside"
    return Plot(
        "Cost and quality",
        f"Coloured: no other model is both quicker and better ({better}); grey: one is{far}.",
        f"{metric.name} against seconds of a fit. Not beaten in both: {named}.",
        draw,
        height=5.2,
    )


def _scored(board: Leaderboard) -> list[Row]:
    return [r for r in board.rows if not r.failed and board.metrics[0].name in r.scores]


def _front(rows: list[Row], values: list[float]) -> list[Row]:
    """The rows that no other beats in both value and time, quickest first, at most the colours."""
    found: list[Row] = []
    most = -np.inf
    for value, row in sorted(zip(values, rows, strict=True), key=lambda pair: pair[1].fit_seconds):
        if value > most:
            most = value
            found.append(row)
    return found[-len(LINES) :]


def _window(board: Leaderboard) -> tuple[float, float]:
    """The span worth showing: from the best to as far beyond the baseline as that is from it.

    One model that is lost would otherwise press all others into one line.
    """
    metric, best = board.metrics[0], board.best
    floor = board.baseline.mean(metric)
    if best is None or np.isnan(floor):
        return -np.inf, np.inf
    reach = max(
        abs(best.mean(metric) - floor), 3 * best.std(metric), 3 * board.baseline.std(metric)
    )
    return (floor - reach, np.inf) if metric.sign > 0 else (-np.inf, floor + reach)
