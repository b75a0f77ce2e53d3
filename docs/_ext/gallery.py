"""The gallery: one style, and no warning, empty picture or number that an example does not show."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from pathlib import Path
from typing import Any

from cycler import cycler
from facts import DOCS, EXAMPLES
from phone import phone_path, stack
from sphinx.errors import ExtensionError
from sphinx.util.logging import getLogger

logger = getLogger(__name__)

# Letters that a reduced picture keeps readable, and the colours of Okabe and Ito, which tell apart
# for every eye, with a grey, a wine and an olive of Tol's instead of their yellow.
COLOURS = "#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #000000 #767d88 #882255 #999933".split()
STYLE = {
    "font.size": 12,
    "axes.titlesize": 12,
    "legend.fontsize": 11,
    "axes.prop_cycle": cycler(color=COLOURS),
}
_held = warnings.catch_warnings()


def setup(app: Any) -> dict[str, bool]:
    """Look at the examples as soon as they have run."""
    app.connect("builder-inited", check_examples, priority=800)
    return {"parallel_read_safe": True}


def strict(conf: dict[str, Any], script: str | None, when: str) -> None:
    """Set the style; make errors of the warnings that lines of an example give, while it runs."""
    import matplotlib

    global _held
    matplotlib.rcParams.update(STYLE)
    if when == "after":
        _held.__exit__(None, None, None)
        return
    _held = warnings.catch_warnings()
    _held.__enter__()
    warnings.filterwarnings("error", module="__main__")
    warnings.filterwarnings("ignore", message=".*non-interactive.*")  # what plt.show() says there


def _get_sg_image_scraper() -> Any:
    return scrape


def scrape(block: Any, variables: dict[str, Any], conf: dict[str, Any]) -> str:
    """Keep the figures of a block, wide and narrow; refuse a panel that shows nothing."""
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import matplotlib_scraper

    figures = [plt.figure(number) for number in plt.get_fignums()]
    if any(blank(axes) for figure in figures for axes in figure.axes):
        raise ExtensionError(f"{variables['src_file']} draws a panel with nothing in it")
    before = len(variables["image_path_iterator"])
    said = matplotlib_scraper(block, variables, conf)
    paths = variables["image_path_iterator"].paths[before:]
    for figure, path in zip(figures, map(Path, paths), strict=True):
        phone_path(path).unlink(missing_ok=True)
        if stack(figure):
            figure.savefig(phone_path(path), bbox_inches="tight")
    return said


def blank(axes: Any) -> bool:
    """Whether a panel has its frame and nothing else."""
    return axes.axison and not axes.has_data() and not axes.texts


def check_examples(app: Any) -> None:
    """Warn of examples without a picture, pictures of one colour, and numbers from nowhere."""
    conf = app.config.sphinx_gallery_conf
    if not conf["plot_gallery"]:
        return
    run = [p for p in EXAMPLES.glob("*/plot_*.py") if re.search(conf["filename_pattern"], str(p))]
    for path in run:
        name, page = path.relative_to(EXAMPLES), DOCS / "gallery" / path.parent.name
        if empty(path):
            logger.warning("%s draws nothing, or a picture of one colour", name)
        elif numbers := unfounded(path.read_text(), (page / f"{path.stem}.rst").read_text()):
            logger.warning("%s says %s, which it neither sets nor prints", name, numbers)


def empty(script: Path) -> bool:
    """Whether an example drew nothing."""
    from matplotlib.image import imread

    images = DOCS / "gallery" / script.parent.name / "images"
    drawn = [imread(path) for path in images.glob(f"sphx_glr_{script.stem}_*.png")]
    return not drawn or any(picture.max() == picture.min() for picture in drawn)


_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)")
_OUTPUT = re.compile(r"sphx-glr-script-out\n\n \.\. code-block:: none\n((?:\n|    .*\n)+)")


def unfounded(source: str, page: str) -> list[str]:
    """Return the numbers of an example's prose that neither its code nor its output has.

    A number of the prose may be rounded, or be a percentage of what is printed. Formulas and
    literals are not prose.
    """
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    prose = tokens[0].string + "\n".join(t.string for t in tokens if t.type == tokenize.COMMENT)
    prose = re.sub(r"``.*?``|`[^`]*`", "", prose, flags=re.DOTALL)
    code = [t.string for t in tokens if t.type in (tokenize.NUMBER, tokenize.STRING)][1:]
    known = [_value(n) for text in [*code, *_OUTPUT.findall(page)] for n in _NUMBER.findall(text)]
    known += [abs(ast.literal_eval(t.string)) for t in tokens if t.type == tokenize.NUMBER]
    return [number for number in _NUMBER.findall(prose) if not _founded(number, known)]


def _founded(number: str, known: list[float]) -> bool:
    digits = len(number.partition(".")[2])
    return any(
        round(scale * value, digits) == _value(number) for value in known for scale in (1, 100)
    )


def _value(number: str) -> float:
    return float(number.replace(",", ""))
