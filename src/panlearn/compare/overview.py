"""Several comparisons side by side: every model's score on each data set, and its mean place."""

from __future__ import annotations

import numpy as np
import pandas as pd

from panlearn.compare.leaderboard import Leaderboard
from panlearn.compare.metrics import Metric


def overviews(boards: dict[str, Leaderboard]) -> list[tuple[pd.DataFrame, Metric]]:
    """Make one frame a task and metric: ``mean rank``, each data set, ``seconds``.

    The best mean rank is first. A model that failed on a data set has no score there and
    shares the last place.
    """
    groups: dict[tuple[str, str], dict[str, Leaderboard]] = {}
    for task in ("classification", "regression", "density"):
        for name, board in boards.items():
            if board.table.task == task:
                groups.setdefault((task, board.metrics[0].name), {})[name] = board
    found = []
    for chosen in groups.values():
        metric = next(iter(chosen.values())).metrics[0]
        found.append((_overview(chosen, metric), metric))
    return found


def _overview(boards: dict[str, Leaderboard], metric: Metric) -> pd.DataFrame:
    scores = pd.DataFrame(
        {
            name: {row.name: np.nan if row.failed else row.mean(metric) for row in board.rows}
            for name, board in boards.items()
        }
    )
    ranks = scores.rank(ascending=metric.sign < 0, na_option="bottom").mean(axis=1)
    seconds = pd.DataFrame(
        {
            name: {row.name: row.total_seconds for row in board.rows}
            for name, board in boards.items()
        }
    ).sum(axis=1)
    scores.insert(0, "mean rank", ranks)
    return scores.assign(seconds=seconds).sort_values("mean rank", kind="stable")


def overview_sentence(boards: dict[str, Leaderboard]) -> str:
    """Say which model has the best mean rank in each task."""
    return " ".join(
        f"Best mean rank in {metric.name}: {frame.index[0]}, {frame['mean rank'].iloc[0]:.1f} "
        f"of {len(frame)}."
        for frame, metric in overviews(boards)
    )
