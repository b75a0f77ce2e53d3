"""The axes that a display draws on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from panlearn.core.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_or_new(ax: Axes | None) -> Axes:
    """Return the given axes, or those of a new figure."""
    return ax if ax is not None else require("matplotlib.pyplot").subplots(layout="constrained")[1]
