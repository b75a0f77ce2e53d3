"""What a fitted model holds beside numbers, strings and arrays."""

from __future__ import annotations


class Part:
    """A frozen dataclass that `panlearn.save` writes by its fields and `load` builds from them.

    Its ``__post_init__``, if it has one, refuses with a ValueError fields that do not go together:
    they may come from a file.
    """
