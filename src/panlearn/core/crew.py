"""Work that is shared with threads that are awake: numbers of a job, taken by whoever is free.

A thread that sleeps takes some 0.1 ms to wake, as long as to read two megabytes. Here helpers look
for work for a moment before they sleep again, and the thread that asks never waits for one that
sleeps: each takes the next share of the job until there is none, so that without helpers it does
all of it itself. Shares are taken from two sides: whoever goes on with the one after the last that
it took reads on in memory where a core has fetched ahead already. A board is an array of 64-bit
integers whose first `HEAD` this module writes; what the job is stands behind them.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np

from panlearn.core.jit import jit
from panlearn.core.late import Late, type_of

SHARES = 16  # of a job; a constant, so that a helper that comes late knows when there are none left
HEAD = 24  # three counters, each in a line of cache of its own: taken of both sides, and done
_SIDE = SHARES // 2  # shares of a side


def board(n: int) -> np.ndarray:
    """A board with room for n numbers that describe a job."""
    made = np.zeros(HEAD + n, dtype=np.int64)
    made[0] = made[8] = _SIDE  # nothing to do
    return made


@jit
def offer(board: np.ndarray) -> None:
    """Let everybody take shares of the job that the board describes; all others are done."""
    _swap(board.ctypes.data + 128, 0)
    _swap(board.ctypes.data, 0)
    _swap(board.ctypes.data + 64, 0)


@jit
def take(board: np.ndarray, side: int) -> int:
    """The number of a share that is now the caller's, of its side first, or -1 if there is none."""
    for here in (side, 1 - side):
        address = board.ctypes.data + 64 * here
        if _add(address, 0) < _SIDE:
            share = _add(address, 1)
            if share < _SIDE:
                return here * _SIDE + share
    return -1


@jit
def finish(board: np.ndarray) -> None:
    """Say that a share is done."""
    _add(board.ctypes.data + 128, 1)


@jit
def unfinished(board: np.ndarray) -> bool:
    """Whether somebody still works at the job."""
    return _add(board.ctypes.data + 128, 0) < SHARES


def _atomic(operation: str) -> Any:
    """Change a 64-bit integer at an address and give what it was, before all that follows."""
    from numba.core import types
    from numba.extending import intrinsic

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = context.get_value_type(types.CPointer(types.int64))
        return builder.atomic_rmw(
            operation, builder.inttoptr(arguments[0], place), arguments[1], "acq_rel"
        )

    def update(context: Any, address: Any, value: Any) -> Any:
        return types.int64(types.int64, types.int64), code

    return type_of(intrinsic(update))


def _pointer() -> Any:
    """The address of what an array is to be made of."""
    from numba.core import types
    from numba.extending import intrinsic

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    def pointer(context: Any, address: Any) -> Any:
        return types.voidptr(types.int64), code

    return type_of(intrinsic(pointer))


def _carray() -> Any:
    from numba import carray

    return type_of(carray)


def _rest() -> Any:
    """Let others have the core, if there are any."""
    from numba.core import types

    name = "SwitchToThread" if os.name == "nt" else "sched_yield"
    return types.ExternalFunction(name, types.int32())


_add: Any = Late(functools.partial(_atomic, "add"))
_swap: Any = Late(functools.partial(_atomic, "xchg"))
pointer: Any = Late(_pointer)
carray: Any = Late(_carray)
rest: Any = Late(_rest)
