"""Numbers as they stand in arrays: as they are, or as the upper half of their bits, in 16 of them.

What reads and stores them is chosen by the kind of the array when loops are compiled, so that a
model in single precision waits for nothing that one in bfloat16 needs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from panlearn.core.jit import jit
from panlearn.core.late import Late, type_of


@jit(_nrt=False)
def widened(bits: Any) -> Any:
    """The number of which these are the upper half of the bits."""
    return np.uint32(np.uint32(bits) << np.uint32(16)).view(np.float32)


@jit(_nrt=False)
def halved(v: Any) -> Any:
    """The upper half of a number's bits, rounded to the nearest, to even if two are near."""
    bits = np.float32(v).view(np.uint32)
    odd = np.uint32(bits >> np.uint32(16)) & np.uint32(1)
    return np.uint16(np.uint32(bits + np.uint32(0x7FFF) + odd) >> np.uint32(16))


def _by_kind(halves: Callable, others: Callable) -> Any:
    """Make what loops call: one function where the last argument has 16 bits, else another."""
    from numba.core import types
    from numba.extending import overload

    def call(v, like=None):  # noqa: ANN001, ANN202 - Numba wants no types of it
        ...

    @overload(call)
    def choose(v, like=None):  # noqa: ANN001, ANN202
        kind = v if like is None or isinstance(like, types.Omitted) else like
        return halves if kind == types.uint16 else others

    return type_of(call)


number: Any = Late(partial(_by_kind, lambda v, like=None: widened(v), lambda v, like=None: v))
"""The number that stands in a place."""

stored: Any = Late(partial(_by_kind, lambda v, like=None: halved(v), lambda v, like=None: v))
"""What stands for a number where another stands."""
