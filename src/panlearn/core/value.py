"""Values: frozen dataclasses that a model holds, and that a model file may carry."""

from __future__ import annotations

from abc import ABC


class Value(ABC):  # noqa: B024
    """The abstract base of what its fields alone define, such as a statistic, a kernel or a tree.

    A subclass is a frozen dataclass. A file that `panlearn.save` writes holds its fields and
    nothing else, and `load` builds it from them: its ``__post_init__``, if it has one, refuses
    with a ValueError fields that do not go together, for they may come from a file.
    """
