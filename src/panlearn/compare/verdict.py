"""The answer of a comparison in a few sentences: which model, how sure, why, at what cost."""

from __future__ import annotations

from panlearn.compare.leaderboard import BASELINE, Leaderboard
from panlearn.compare.metrics import Metric
from panlearn.compare.page import duration, number
from panlearn.compare.scoring import Row
from panlearn.core.errors import count, listed

MOST_NAMED = 5
QUICKER = 2.0  # times: less is not worth a word


def verdict(board: Leaderboard) -> dict[str, str]:
    """Answer the questions that one asks of a comparison, each in a sentence or two.

    Parameters
    ----------
    board : Leaderboard

    Returns
    -------
    dict
        Questions and answers, none if no model succeeded.
    """
    best, metric = board.best, board.metrics[0]
    if best is None or board.table.task == "density":
        return {}
    answers = {"Which model?": f"{best.name}: {metric.name} {number(best.mean(metric))}."}
    tied = [row for row in board.rows if row.name != BASELINE and board.ties(row)]
    answers["How sure?"] = f"{_against_baseline(board)} {_ties([row.name for row in tied])}".strip()
    if best.importance:
        top = sorted(best.importance.items(), key=lambda item: -item[1])[:MOST_NAMED]
        names = [name for name, value in top if value > 0]
        answers["Why?"] = (
            f"It draws most on {listed(names)}." if names else "It draws on no column by itself."
        )
    quick = min([best, *_near(best, tied, metric)], key=lambda row: row.fit_seconds)
    if QUICKER * quick.fit_seconds < best.fit_seconds:
        answers["At what cost?"] = (
            f"{quick.name} comes within a standard error of it, and is fitted in "
            f"{duration(quick.fit_seconds)} instead of {duration(best.fit_seconds)}."
        )
    return answers


def _near(best: Row, tied: list[Row], metric: Metric) -> list[Row]:
    """Those that may stand in for the best: not only no worse for certain, but no worse by much.

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984). Classification and regression trees, section 3.4.3:
    the one-standard-error rule. doi:10.1201/9781315139470
    """
    error = best.std(metric) / len(best.scores[metric.name]) ** 0.5
    return [r for r in tied if metric.sign * (best.mean(metric) - r.mean(metric)) <= error]


def _against_baseline(board: Leaderboard) -> str:
    best, metric = board.best, board.metrics[0]
    found = None if best is None else board.difference(best, board.baseline)
    if found is None:
        return ""
    low, high = found.interval
    if found.difference <= 0:
        return f"Not at all: a baseline that looks at no column has {metric.name} " + (
            f"{number(board.baseline.mean(metric))}."
        )
    chance = "" if board.beats_baseline() else ", which may be chance"
    return (
        f"Its {metric.name} is better than that of a baseline that looks at no column by "
        f"{number(found.difference)} (95 % interval {number(low)} to {number(high)}){chance}."
    )


def _ties(tied: list[str]) -> str:
    if not tied:
        return "No other model can be taken for as good."
    names = listed(tied[:MOST_NAMED]) + (" and others" if len(tied) > MOST_NAMED else "")
    return f"The folds cannot tell {count(len(tied), 'model')} from it: {names}."
