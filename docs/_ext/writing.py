"""Writing reStructuredText: titles, directives, HTML within."""

from __future__ import annotations

import re
from pathlib import Path

from facts import API

written: set[Path] = set()  # in this build


def write(name: str, text: str, folder: Path = API) -> None:
    """Write a page; one that says so already keeps its time, and Sphinx does not read it again."""
    path = folder / name
    written.add(path)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def title(text: str, line: str = "=") -> str:
    """Underline a heading."""
    return f"{text}\n{line * len(text)}\n\n"


def indented(head: str, lines: list[str]) -> str:
    """Write a directive and its content."""
    return "\n".join([head, *(f"   {line}" if line else "" for line in lines)]) + "\n\n"


def raw(html: str) -> str:
    """Put HTML into a page, if there is any."""
    return html and indented(".. raw:: html", ["", *html.splitlines()])


def list_table(rows: list[list[str]], **options: object) -> str:
    """Write a table, its first row the head."""
    lines = [f":{name.rstrip('_')}: {value}" for name, value in options.items()]
    lines = [":header-rows: 1", *lines, ""]
    for row in rows:
        lines += [f"{'* -' if i == 0 else '  -'} {cell}".rstrip() for i, cell in enumerate(row)]
    return indented(".. list-table::", lines)


def formulas(text: str) -> str:
    """Make the formulas between dollars those of reStructuredText."""
    return re.sub(r"\$([^$]+)\$", r"\\ :math:`\1`\\ ", text).strip()
