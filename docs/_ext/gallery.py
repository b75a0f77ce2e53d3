"""The gallery: a warning in an example is an error, and so is a picture with nothing on it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from facts import DOCS, EXAMPLES
from sphinx.errors import ExtensionError


def setup(app: Any) -> dict[str, bool]:
    """Look at the pictures as soon as they are drawn."""
    app.connect("builder-inited", check_pictures, priority=800)
    return {"parallel_read_safe": True}


def strict(conf: dict[str, Any], script: str | None) -> None:
    """Make the warnings of an example errors; sphinx-gallery calls this before each."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", message=".*non-interactive.*")  # what plt.show() says there


def check_pictures(app: Any) -> None:
    """Refuse examples without a picture, and pictures of one colour."""
    if not app.config.sphinx_gallery_conf.get("plot_gallery", True):
        return
    bad = [str(path.relative_to(EXAMPLES)) for path in EXAMPLES.glob("*/plot_*.py") if empty(path)]
    if bad:
        raise ExtensionError(f"examples without a picture, or with an empty one: {', '.join(bad)}")


def empty(script: Path) -> bool:
    """Whether an example drew nothing."""
    from matplotlib.image import imread

    images = DOCS / "gallery" / script.parent.name / "images"
    drawn = [imread(path) for path in images.glob(f"sphx_glr_{script.stem}_*.png")]
    return not drawn or any(picture.max() == picture.min() for picture in drawn)
