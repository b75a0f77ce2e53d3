"""Optional dependencies: import one, or say which extra brings it."""

from __future__ import annotations

import importlib
from types import ModuleType

_EXTRA_OF = {
    "torch": "deep",
    "jinja2": "deep",
    "dask": "scale",
    "distributed": "scale",
    "matplotlib": "plot",
    "pandas": "data",
    "pyarrow": "data",
}


class MissingExtraError(ImportError):
    """A package of an extra is needed and not installed; the message names the extra."""


def require(module: str) -> ModuleType:
    """Import a module of an extra; if it is missing, name the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        extra = _EXTRA_OF.get(module.partition(".")[0])
        if extra is None:
            raise
        raise MissingExtraError(
            f"this needs {module}, which is not installed; `pip install 'panlearn[{extra}]'`"
        ) from error
