"""Kernels as they are written, run by Python: for a first call that ends before Numba would begin.

A kernel that is compiled takes seconds before it does anything; a few thousand steps of its loops
take Python milliseconds. It is the same function, and so are those that it calls, but for loops
that say what NumPy does instead.
"""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from panlearn.core.jit import Kernel

# Microseconds of a process that a kernel may take if it is kept, before it is read: LLVM is loaded
# for the first in this time, and for others in a tenth of it.
READING = 40_000
allowed = True


@contextlib.contextmanager
def forbidden() -> Iterator[None]:
    """Compile whatever is called inside."""
    global allowed
    before, allowed = allowed, False
    try:
        yield
    finally:
        allowed = before


def run(kernel: Kernel, arguments: tuple[Any, ...]) -> Any:
    """Call a kernel as if it were compiled: numbers wrap around in silence, plain ones return."""
    with np.errstate(all="ignore"):
        if kernel.written is None:
            kernel.written = _as_written(kernel, {})
        return _returned(kernel.written(*map(_seen, arguments)))


def _as_written(kernel: Kernel, made: dict[Kernel, FunctionType]) -> FunctionType:
    """Give the function of a kernel, for which the kernels that it calls are functions too."""
    if kernel not in made:
        function = kernel.interpreted
        scope: dict[str, Any] = {"__builtins__": builtins, "__name__": function.__module__}
        made[kernel] = FunctionType(
            function.__code__, scope, closure=function.__closure__, argdefs=function.__defaults__
        )
        for name in function.__code__.co_names:
            if name in function.__globals__:
                value = function.__globals__[name]
                scope[name] = _as_written(value, made) if isinstance(value, type(kernel)) else value
    return made[kernel]


def _seen(argument: Any) -> Any:
    """Let the fields of records be attributes, as Numba does."""
    if isinstance(argument, np.ndarray) and argument.dtype.names:
        return _records(argument)
    if isinstance(argument, tuple) and hasattr(argument, "_fields"):
        return type(argument)(*map(_seen, argument))
    return argument


class _Record:
    """One of an array of records: a class is made for the array, with its fields as attributes."""

    __slots__ = ("at",)

    def __init__(self, at: int) -> None:
        self.at = at


def _records(array: np.ndarray) -> list[_Record]:
    """Give the records of an array; those of `numpy.recarray` take several times as long."""
    fields = {name: _field(array[name]) for name in array.dtype.names or ()}
    kind = type("Record", (_Record,), {"__slots__": (), **fields})
    return [kind(at) for at in range(len(array))]


def _field(values: np.ndarray) -> property:
    """An attribute that stands in an array, where the record does."""

    def write(record: _Record, value: Any) -> None:
        values[record.at] = value

    return property(lambda record: values[record.at], write)


def _returned(result: Any) -> Any:
    """Turn the numbers of NumPy into those of Python, as Numba does."""
    if isinstance(result, np.generic):
        return result.item()
    if isinstance(result, tuple):
        made = map(_returned, result)
        return type(result)(*made) if hasattr(result, "_fields") else tuple(made)
    return result
