"""Values: frozen dataclasses that a model holds, and that a model file may carry."""

from __future__ import annotations

from abc import ABC


class Value(ABC):  # noqa: B024
    """The abstract base of what is defined by its fields alone, such as a statistic or a kernel.

    A subclass is a frozen dataclass. A file that `panlearn.save` writes holds its fields and
    nothing else.
    """
