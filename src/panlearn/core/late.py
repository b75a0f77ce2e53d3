"""What kernels call that only Numba can make: it is made when the first of them is compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Late:
    """What kernels call, by its type, without a look at Numba before one is compiled."""

    def __init__(self, find: Callable[[], Any]) -> None:
        self._find = find

    @functools.cached_property
    def _numba_type_(self) -> Any:
        return self._find()


def type_of(function: Any) -> Any:
    """Give the type by which Numba knows a function."""
    from numba.core.registry import cpu_target

    context = cpu_target.typing_context
    context.refresh()  # so that it knows what was made after its last look
    return context.resolve_value_type(function)
