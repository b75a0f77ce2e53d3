"""Formulas without a network: MathJax from a package that forgets to say it runs in parallel."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def setup(app: Any) -> dict[str, bool]:
    """Set that package up, and say it."""
    import_module("sphinx-mathjax-offline").setup(app)
    return {"parallel_read_safe": True}
