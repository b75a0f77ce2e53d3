"""From another package to this one: the same work in both, side by side, and the same numbers.

A page is a script in ``docs/migration``: a docstring, then cells that start with ``# %% data``,
``# %% theirs: what is done``, ``# %% ours`` and ``# %% same``. A test runs the cells in order.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from facts import DOCS, Method
from writing import indented, title, write

FOLDER = DOCS / "migration"
_CELL = re.compile(r"^# %% (data|theirs|ours|same)(?:: (.*))?\n", re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """A piece of a page: what part it plays, what it is about, its code."""

    role: str
    about: str
    code: str


@functools.cache
def read(path: Path) -> tuple[str, list[Cell]]:
    """Read a page: its text, and its cells in order."""
    source = path.read_text(encoding="utf-8")
    _, *parts = _CELL.split(source)
    cells = [
        Cell(role, about or "", code.strip() + "\n")
        for role, about, code in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    ]
    return ast.get_docstring(ast.parse(source)) or "", cells


def scripts() -> list[Path]:
    """Return the pages there are."""
    return sorted(FOLDER.glob("*.py"))


def migrations_of(method: Method) -> list[str]:
    """Return the pages on which a method stands beside a peer, by their names."""
    given = re.compile(rf"from panlearn\.{method.family} import [^#]*?\b{method.name}\b")
    return [
        path.stem
        for path in scripts()
        if any(cell.role == "ours" and given.search(cell.code) for cell in read(path)[1])
    ]


def write_migration() -> None:
    """Write a page for each script, and their index."""
    for path in scripts():
        text, cells = read(path)
        page = text + "\n\n" + "".join(_blocks(cells))
        write(f"{path.stem}.rst", page, FOLDER)
    words = "The same work in the package you know and in panlearn, side by side. Every pair is\n"
    words += "run by a test that compares their numbers.\n\n"
    tree = indented(".. toctree::", [":maxdepth: 1", "", *(path.stem for path in scripts())])
    write("index.rst", title("Coming from") + words + tree, FOLDER)


def _blocks(cells: list[Cell]) -> Iterator[str]:
    """Give the code of each cell; what is theirs and what is ours stand side by side."""
    left = ""
    for cell in cells:
        code = indented(".. code-block:: python", ["", *cell.code.splitlines()])
        boxed = indented(f".. container:: {cell.role}", ["", *code.splitlines()])
        if cell.role == "theirs":
            yield title(cell.about, "-")
            left = boxed
        elif cell.role == "ours":
            yield indented(".. container:: pair", ["", *left.splitlines(), *boxed.splitlines()])
        else:
            yield boxed
