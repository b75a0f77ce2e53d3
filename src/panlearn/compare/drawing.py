"""How a plot of the report becomes images: drawn once for a light page and once for a dark one."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from panlearn.compare.scoring import reason

LINES = ["C0", "C1", "C2", "C3", "C4"]  # those of the theme
GREY = "#7f8c9a"
THEMES: dict[str, Any] = {
    "light": {
        "ink": "#1c2430",
        "faint": "#d8dde5",
        "lines": ["#3b6fe0", "#e4572e", "#17a398", "#b14aed", "#c77f12"],
    },
    "dark": {
        "ink": "#e6eaf0",
        "faint": "#3a4352",
        "lines": ["#86a9ff", "#ff8a66", "#4fd1c5", "#d19bff", "#f2b86b"],
    },
}


@dataclass(frozen=True)
class Picture:
    """A plot with its words, or the reason why it could not be drawn."""

    title: str
    caption: str
    alt: str
    images: dict[str, str]
    error: str = ""


@dataclass(frozen=True)
class Plot:
    """What to draw, and what to say of it."""

    title: str
    caption: str
    alt: str
    draw: Callable[[Axes], Any]
    height: float = 4.2


def render(plot: Plot) -> Picture:
    """Draw a plot in both themes; a failure to draw must not cost the report."""
    images = {}
    for theme, colours in THEMES.items():
        with mpl.rc_context(_style(**colours)):
            figure = Figure(figsize=(6.0, plot.height), layout="constrained")
            try:
                axes = figure.subplots()
                plot.draw(axes)
                _quieten(axes)
                stream = io.BytesIO()
                figure.savefig(stream, format="png", dpi=144, transparent=True)
            except Exception as error:
                return Picture(plot.title, plot.caption, plot.alt, {}, reason(error))
            images[theme] = base64.b64encode(stream.getvalue()).decode()
    return Picture(plot.title, plot.caption, plot.alt, images)


def short(name: str) -> str:
    """A name that leaves room for the plot."""
    return name if len(name) <= 32 else name[:31] + "…"


def of_class(positive: Any) -> str:
    """The class that is called positive, if any, as the label of an axis names it."""
    return "" if positive is None else f" of {short(str(positive))}"


def legend_below(ax: Axes) -> None:
    """Put the legend where it covers no curve."""
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.16), frameon=False)


def _quieten(axes: Axes) -> None:
    """Names come from the data: show a dollar as a dollar."""
    for text in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
        text.set_parse_math(False)
    legend = axes.get_legend()
    for text in legend.get_texts() if legend is not None else []:
        text.set_parse_math(False)


def _style(ink: str, faint: str, lines: list[str]) -> Any:
    return {
        "axes.prop_cycle": cycler(color=lines),
        "axes.edgecolor": faint,
        "axes.labelcolor": ink,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": faint,
        "grid.linewidth": 0.6,
        "text.color": ink,
        "xtick.color": ink,
        "ytick.color": ink,
        "font.size": 10,
        "legend.fontsize": 9,
        "legend.framealpha": 0.0,
        "lines.linewidth": 1.8,
        "mathtext.default": "regular",
    }
