"""The gallery: a warning of an example is an error, and so is a picture with nothing on it."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

from facts import DOCS, EXAMPLES
from sphinx.errors import ExtensionError

_held = warnings.catch_warnings()


def setup(app: Any) -> dict[str, bool]:
    """Look at the pictures as soon as they are drawn."""
    app.connect("builder-inited", check_pictures, priority=800)
    return {"parallel_read_safe": True}


def strict(conf: dict[str, Any], script: str | None, when: str) -> None:
    """Make errors of the warnings that lines of an example give, while it runs."""
    global _held
    if when == "after":
        _held.__exit__(None, None, None)
        return
    _held = warnings.catch_warnings()
    _held.__enter__()
    warnings.filterwarnings("error", module="__main__")
    warnings.filterwarnings("ignore", message=".*non-interactive.*")  # what plt.show() says there


def check_pictures(app: Any) -> None:
    """Refuse examples without a picture, and pictures of one colour."""
    conf = app.config.sphinx_gallery_conf
    if not conf["plot_gallery"]:
        return
    run = [p for p in EXAMPLES.glob("*/plot_*.py") if re.search(conf["filename_pattern"], str(p))]
    if bad := [str(path.relative_to(EXAMPLES)) for path in run if empty(path)]:
        raise ExtensionError(f"examples without a picture, or with an empty one: {', '.join(bad)}")


def empty(script: Path) -> bool:
    """Whether an example drew nothing."""
    from matplotlib.image import imread

    images = DOCS / "gallery" / script.parent.name / "images"
    drawn = [imread(path) for path in images.glob(f"sphx_glr_{script.stem}_*.png")]
    return not drawn or any(picture.max() == picture.min() for picture in drawn)
