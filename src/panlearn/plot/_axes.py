"""The one place that needs matplotlib to be there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_or_new(ax: Axes | None) -> Axes:
    """Return the given axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        raise ImportError("plots need matplotlib: pip install 'panlearn[plot]'") from None
    return plt.subplots(layout="constrained")[1]
