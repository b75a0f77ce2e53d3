"""Memory for arrays that machine code makes, where Numba is not there to give it.

Such code asks for memory by name, counts its references itself and says when none is left. Here it
gets that of an array of bytes, which begins with what that code reads: the count of references, two
addresses that it leaves alone, that of the values and their size. An array that it returns is one
of NumPy in the same memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

_HEAD = 48
_LENT: dict[int, np.ndarray] = {}  # what is in use, by its address


def _lend(size: int, alignment: int) -> int:
    try:
        memory = np.empty(_HEAD + size + alignment, dtype=np.uint8)
    except MemoryError:
        return 0  # which the code takes as it takes it from Numba
    address = memory.ctypes.data
    values = (address + _HEAD + alignment - 1) // alignment * alignment
    memory[:40].view(np.int64)[:] = 1, 0, 0, values, size
    _LENT[address] = memory
    return address


def _take_back(address: int) -> None:
    _LENT.pop(address, None)


def own(name: str) -> str:
    """Give another name in the place of one of Numba, so that it keeps what has that name."""
    return f"L{name[1:]}"


_CALLBACKS = {
    "NRT_MemInfo_alloc_aligned": ctypes.CFUNCTYPE(
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
    )(_lend),
    "NRT_MemInfo_call_dtor": ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_take_back),
}
SYMBOLS = {
    own(name): ctypes.cast(callback, ctypes.c_void_p).value for name, callback in _CALLBACKS.items()
}


def fields(dimensions: int) -> list[tuple[str, Any]]:
    """Give what an array is for machine code: names and types."""
    start = [("memory", ctypes.c_void_p), ("parent", ctypes.c_void_p)]
    counts = [("size", ctypes.c_int64), ("itemsize", ctypes.c_int64), ("data", ctypes.c_void_p)]
    sides = [(f"{s}{i}", ctypes.c_int64) for s in ("shape", "stride") for i in range(dimensions)]
    return start + counts + sides


class _View:
    """An array as machine code describes it, with what must live as long as it does."""

    def __init__(self, interface: dict[str, Any], owner: Any) -> None:
        self.__array_interface__, self.owner = interface, owner


def result(dtype: np.dtype, dimensions: int) -> tuple[Any, Callable]:
    """Give the type of an array that is returned, and what makes of it one of NumPy."""

    def adopt(made: Any, owners: dict[int | None, Any]) -> np.ndarray:
        sides = [getattr(made, name) for name, _ in made._fields_[5:]]
        interface = {
            "version": 3,
            "typestr": dtype.str,
            "descr": dtype.descr,
            "shape": tuple(sides[:dimensions]),
            "strides": tuple(sides[dimensions:]),
            "data": (made.data, False),
        }
        if made.memory not in owners:
            owners[made.memory] = _LENT.pop(made.memory)
        return np.asarray(_View(interface, owners[made.memory]))

    return type("Array", (ctypes.Structure,), {"_fields_": fields(dimensions)}), adopt
