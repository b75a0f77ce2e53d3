"""The arrays at addresses, for compiled loops."""

from __future__ import annotations

import numpy as np

from panlearn.core import crew
from panlearn.core.jit import jit


@jit
def numbers(place: int, n: int, m: int) -> np.ndarray:
    """The matrix in single precision at an address."""
    return crew.carray(crew.pointer(place), (n, m), np.float32)


@jit
def doubles(place: int, n: int, m: int) -> np.ndarray:
    """The matrix in double precision at an address."""
    return crew.carray(crew.pointer(place), (n, m), np.float64)


@jit
def like(kind: np.ndarray, place: int, n: int, m: int) -> np.ndarray:
    """The matrix at an address, of the kind of another array."""
    return crew.carray(crew.pointer(place), (n, m), kind.dtype)


@jit
def integers(place: int, n: int) -> np.ndarray:
    """The integers at an address."""
    return crew.carray(crew.pointer(place), (n,), np.int64)
