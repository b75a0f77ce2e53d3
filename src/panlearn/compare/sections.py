"""A part of an audit: what it found in words, as a table, and as plots."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from panlearn.compare.drawing import Plot, render
from panlearn.compare.page import figure, number


@dataclass(frozen=True)
class Section:
    """A part of an audit: what it found in words, as a table, and as plots."""

    title: str
    words: str
    head: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    plots: tuple[Plot, ...] = ()


def content(section: Section) -> str:
    """The words, the table and the plots of a section as HTML."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in section.head)
    body = ""
    for first, *cells in section.rows:
        tail = "".join(f"<td>{escape(shown(cell))}</td>" for cell in cells)
        body += f'<tr><th scope="row">{escape(str(first))}</th>{tail}</tr>'
    drawn = "".join(figure(render(plot)) for plot in section.plots)
    plots = f'<div class="plots">{drawn}</div>' if drawn else ""
    return (
        f'<p>{escape(section.words)}</p><div class="card scroll" tabindex="0" role="region" '
        f'aria-label="{escape(section.title)}"><table class="leaderboard"><thead><tr>{head}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>{plots}"
    )


def shown(cell: Any) -> str:
    """A cell as people read it."""
    if isinstance(cell, float):
        return "–" if np.isnan(cell) else number(cell)
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
