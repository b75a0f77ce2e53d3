"""Tables in a terminal: columns that do not fit are left out whole, and no name is cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

GAP = 2  # spaces between columns


@dataclass(frozen=True)
class Column:
    """A head, which may break between words, and a cell for each row, which may not."""

    head: str
    cells: list[str]

    @property
    def width(self) -> int:
        """The least width that breaks no word."""
        return max(map(len, [*self.head.split(), *self.cells]), default=0)


def fit_columns(columns: list[Column], width: int, least: int) -> list[Column]:
    """The first `least` columns, and of the others as many as there is room for, in order."""
    shown, used = list(columns[:least]), sum(c.width + GAP for c in columns[:least])
    for column in columns[least:]:
        if used + column.width > width:
            break
        shown.append(column)
        used += column.width + GAP
    return shown


def print_columns(out: Any, columns: list[Column], styles: list[str], least: int = 2) -> None:
    """Print a table, text on the left and numbers on the right, and name what has no room."""
    from rich.table import Table
    from rich.text import Text

    shown = fit_columns(columns, out.width, least)
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, GAP, 0, 0))
    room = out.width - sum(column.width + GAP for column in shown)
    for place, column in enumerate(shown):
        side: Any = "left" if place == 0 else "right"
        more = min(max(len(column.head) - column.width, 0), max(room, 0))  # for an unbroken head
        room -= more
        fits = min(column.width + more, out.width)
        table.add_column(Text(column.head), justify=side, width=fits, overflow="fold")
    for cells, style in zip(zip(*(c.cells for c in shown), strict=True), styles, strict=True):
        table.add_row(*(Text(cell, style) for cell in cells))
    out.print(table, soft_wrap=True)
    if left := [c.head for c in columns[len(shown) :]]:
        words = f"no room for {', '.join(left)}: see --json, --report or a wider terminal"
        say(out, Text(words, "dim"))


def say(out: Any, text: Any) -> None:
    """Print a sentence: broken between words in a terminal, on one line in a file."""
    out.print(text, soft_wrap=not out.is_terminal)
