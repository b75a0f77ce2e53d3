"""Pictures of a comparison of densities: samples of the best models beside the rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from sklearn.decomposition import PCA

from panlearn.compare.drawing import GREY, LINES, Plot
from panlearn.compare.leaderboard import BASELINE, Leaderboard
from panlearn.compare.scoring import Row

MOST = 4  # models whose samples are shown


def density_plots(board: Leaderboard) -> Iterator[Plot]:
    """Samples of the best densities and of the best of those that only draw."""
    drawing = [
        r for r in board.rows if "sample" in r.predictions and r.name != BASELINE and not r.failed
    ]
    first = board.metrics[0].name
    with_density = [r for r in drawing if first in r.scores]
    without = [r for r in drawing if first not in r.scores]
    for row in [*with_density[: MOST // 2], *without[: MOST // 2]]:
        yield _samples(row)


def _samples(row: Row) -> Plot:
    real, made = row.predictions["real"], row.predictions["sample"]
    words = "the first two columns"
    if real.shape[1] > 2:
        plane = PCA(2).fit(real)
        real, made = plane.transform(real), plane.transform(made)
        words = "the first two principal components of the rows"
    if real.shape[1] == 1:
        words = "the one column, spread at random upwards"
        spread = np.random.default_rng(0)
        real, made = (np.column_stack([a[:, 0], spread.uniform(size=len(a))]) for a in (real, made))
    real = real[np.random.default_rng(0).permutation(len(real))[: len(made)]]
    low, high = np.quantile(real, [0, 1], axis=0)
    room = 0.1 * (high - low) + 1e-9

    def draw(ax: Axes) -> None:
        ax.plot(real[:, 0], real[:, 1], "o", color=GREY, alpha=0.4, ms=3, label="rows")
        ax.plot(made[:, 0], made[:, 1], "o", color=LINES[0], alpha=0.4, ms=3, label="samples")
        ax.set_xlim(low[0] - room[0], high[0] + room[0])
        ax.set_ylim(low[1] - room[1], high[1] + room[1])
        ax.legend()

    outside = float(((made < low - room) | (made > high + room)).any(axis=1).mean())
    return Plot(
        f"Samples of {row.name}",
        f"Rows of the table and as many samples, in {words}.",
        f"Scatter plot of rows and samples of {row.name}; {outside:.0%} of the samples lie outside "
        "the range of the rows.",
        draw,
    )
