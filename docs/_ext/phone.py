"""Pictures for narrow screens: panels that stand side by side are drawn once more, stacked.

A wide picture on a phone has letters that nobody can read, or has to be moved from side to side.
The gallery keeps a second file beside it, and pages offer both: the browser takes what fits.
"""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

from facts import DOCS

NARROW = 6.6  # inches: at 390 pixels letters keep half their size
IMAGE = re.compile(r'<img\b[^>]*?\bsrc="([^"]*_images/([^"/]+))\.png"[^>]*>')


def setup(app: Any) -> dict[str, bool]:
    """Offer the narrow pictures on every page, and carry them to the site."""
    app.connect("html-page-context", offer)
    app.connect("build-finished", carry)
    return {"parallel_read_safe": True}


def phone_path(picture: Path) -> Path:
    """Return where the narrow form of a picture is kept."""
    return picture.with_name(f"{picture.stem}_phone.png")


def stack(figure: Any) -> bool:
    """Move the panels of a wide figure below each other; say whether that was needed."""
    panels = [ax for ax in figure.axes if ax.get_subplotspec() is not None]
    width, height = figure.get_size_inches()
    if width <= NARROW or not panels or figure.subfigs:
        return False
    columns = {ax: ax.get_subplotspec().get_gridspec().ncols for ax in panels}
    if max(columns.values()) == 1:
        return False
    own = width / max(columns.values())
    fit = max(1, int(NARROW // own))
    rows = _flowed(panels, fit)
    heights = [max(_height(ax, height) for ax in row) for row in rows]
    figure.set_layout_engine("constrained")
    figure.set_size_inches(fit * max(own, 4.2 / fit), sum(heights))
    grid = figure.add_gridspec(len(rows), fit, height_ratios=heights)
    for i, row in enumerate(rows):
        for j, ax in enumerate(row):
            _label(ax, panels)
            ax.set_subplotspec(grid[i, :] if _spans(ax) else grid[i, j])
    return True


def _flowed(panels: list[Any], fit: int) -> list[list[Any]]:
    """Cut each row of panels into rows of as many as fit; what spans columns has its own."""
    found = defaultdict(list)
    for ax in sorted(panels, key=lambda ax: ax.get_subplotspec().num1):
        found[ax.get_subplotspec().rowspan.start].append(ax)
    first, *others = lines = list(found.values())
    below = any(ax.get_title() for line in others for ax in line) or any(map(_spans, panels))
    if all(ax.get_title() for ax in first) and not below:  # a title is that of its column
        cuts = [line[i : i + fit] for i in range(0, len(first), fit) for line in lines]
        return [row for row in cuts if row]
    return [row for line in lines for row in _cut(line, fit)]


def _cut(line: list[Any], fit: int) -> list[list[Any]]:
    """Cut a row of panels where it is full, and before and after one that spans columns."""
    rows: list[list[Any]] = []
    for ax in line:
        full = not rows or len(rows[-1]) == fit or _spans(rows[-1][-1])
        if full or _spans(ax):
            rows.append([])
        rows[-1].append(ax)
    return rows


def _spans(ax: Any) -> bool:
    return len(ax.get_subplotspec().colspan) > 1


def _height(ax: Any, whole: float) -> float:
    """Return the inches of a panel, with its part of the margins."""
    place = ax.get_subplotspec()
    ratios = place.get_gridspec().get_height_ratios() or [1] * place.get_gridspec().nrows
    return whole * sum(ratios[i] for i in place.rowspan) / sum(ratios)


def _label(ax: Any, panels: list[Any]) -> None:
    """Give back what a panel left to the one beside it with the same scale."""
    shared = ax.get_shared_y_axes().get_siblings(ax)
    beside = [other for other in panels if other in shared]
    if len(beside) > 1 and ax.yaxis.get_visible():
        ax.tick_params(labelleft=True)
        ax.set_ylabel(ax.get_ylabel() or beside[0].get_ylabel())


def offer(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Put the narrow form beside each picture of a page that has one."""
    narrow = {path.stem for path in _narrow()}

    def both(found: re.Match[str]) -> str:
        if f"{found[2]}_phone" not in narrow:
            return found[0]
        source = f'<source media="(max-width: 600px)" srcset="{found[1]}_phone.png">'
        return f"<picture>{source}{found[0]}</picture>"

    if "body" in context:
        context["body"] = IMAGE.sub(both, context["body"])


def carry(app: Any, error: Exception | None) -> None:
    """Copy the narrow pictures beside those that pages name."""
    images = Path(app.outdir) / "_images"
    for path in _narrow() if error is None and images.exists() else []:
        shutil.copyfile(path, images / path.name)


def _narrow() -> list[Path]:
    return sorted((DOCS / "gallery").glob("*/images/*_phone.png"))
