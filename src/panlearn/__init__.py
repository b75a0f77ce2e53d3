"""panlearn: the whole of machine learning as it is taught, behind one scikit-learn contract.

Families are subpackages that load on first use: ``panlearn.optimize``, ``panlearn.linear`` and so
on. Importing panlearn itself loads no family, and never torch, dask or matplotlib.
"""

from __future__ import annotations

import importlib
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from panlearn.compare import compare as compare

__version__ = _version("panlearn")

FAMILIES = (
    "theory",
    "preprocessing",
    "optimize",
    "linear",
    "bayes",
    "neighbors",
    "kernel",
    "tree",
    "latent",
    "sequence",
    "montecarlo",
    "graphical",
    "text",
    "retrieval",
    "neural",
    "transformer",
    "statespace",
    "generative",
    "representation",
    "alignment",
    "evaluate",
    "trust",
)
_HOMES = {
    "all_estimators": "panlearn.core.inventory",
    "show_versions": "panlearn.core.inventory",
    "save": "panlearn.core.persistence",
    "load": "panlearn.core.persistence",
    "Batches": "panlearn.core.sources",
    "read_parquet": "panlearn.core.sources",
}

_PACKAGES = ("compare",)  # a function, too

__all__ = ["FAMILIES", "__version__", *FAMILIES, *_PACKAGES, *_HOMES]


def __getattr__(name: str) -> Any:
    if name in (*FAMILIES, *_PACKAGES):
        return importlib.import_module(f"panlearn.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'panlearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
