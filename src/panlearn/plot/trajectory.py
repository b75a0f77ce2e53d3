"""The steps of optimisers on the landscape that they walk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from panlearn.plot._axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TrajectoryDisplay:
    r"""Paths of optimisers over the contours of a function of two variables.

    .. math:: x_0, x_1, \dots, x_k \in \mathbb{R}^2 \quad \text{over} \quad f(x) = \text{const}

    Parameters
    ----------
    function : callable
        From an array of shape (2,) to a number.
    paths : mapping of str to array-like of shape (k, 2)
        The points that each optimiser visited, by its name.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the paths were drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from panlearn.plot import TrajectoryDisplay
    >>> path = [[1.0, 1.0], [0.5, 0.2], [0.1, 0.0]]
    >>> display = TrajectoryDisplay(lambda x: x @ x, {"by hand": path}).plot()
    >>> len(display.ax_.lines)
    1
    """

    def __init__(self, function: Callable[[np.ndarray], float], paths: Mapping[str, Any]) -> None:
        self.function = function
        self.paths = {name: np.asarray(path, dtype=float) for name, path in paths.items()}
        for name, path in self.paths.items():
            if path.ndim != 2 or path.shape[1] != 2:
                raise ValueError(f"the path {name!r} must have shape (k, 2); got {path.shape}")

    def plot(
        self,
        *,
        limits: tuple[float, float, float, float] | None = None,
        levels: int = 24,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the contours within ``limits`` (x from, to, y from, to) and the paths on them.

        The levels stand closer near the lowest value, where optimisers differ.
        """
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure
        left, right, low, high = limits or self._limits()
        across, up = np.meshgrid(np.linspace(left, right, 121), np.linspace(low, high, 121))
        points = np.column_stack([across.ravel(), up.ravel()])
        heights = np.array([float(self.function(p)) for p in points]).reshape(across.shape)
        floor, top = np.min(heights), np.max(heights)
        steps = floor + (top - floor) * np.linspace(0.0, 1.0, levels + 2)[1:] ** 3
        self.ax_.contour(across, up, heights, levels=steps, cmap="Greys_r", linewidths=0.7)
        for name, path in self.paths.items():
            self.ax_.plot(*path.T, marker="o", markersize=3, linewidth=1.4, label=name)
        self.ax_.set(xlim=(left, right), ylim=(low, high), xlabel="$x_1$", ylabel="$x_2$")
        self.ax_.legend()
        return self

    def _limits(self) -> tuple[float, float, float, float]:
        """Return the box of all points that are finite, with a margin of a sixth."""
        points = np.concatenate(list(self.paths.values()))
        points = points[np.isfinite(points).all(axis=1)]
        low, high = points.min(axis=0), points.max(axis=0)
        margin = np.where(high > low, high - low, 1.0) / 6
        return low[0] - margin[0], high[0] + margin[0], low[1] - margin[1], high[1] + margin[1]
