"""The generator splitmix64, for kernels that draw numbers of their own.

A stream is one 64-bit number, its state; a draw gives the next state and 64 bits. Kernels seed it
from a `numpy.random.Generator`, and so give the same numbers wherever they run.

References
----------
G. L. Steele, D. Lea and C. H. Flood (2014). Fast splittable pseudorandom number generators. OOPSLA.
doi:10.1145/2660193.2660195
"""

from __future__ import annotations

from typing import Any

import numpy as np

from panlearn.core.jit import jit


def mixed(bits: Any) -> Any:
    """Mix 64 bits, or an array of them: a bijection, each bit hanging on all."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


_mixed = jit(mixed)  # for kernels


STEP = np.uint64(0x9E3779B97F4A7C15)
ULP = 1.0 / 9007199254740992.0  # of numbers below one, with 53 bits


def uniforms(state: int, n: int) -> np.ndarray:
    """The first n numbers from [0, 1) after a state, those of `next_uniform`."""
    bits = mixed(np.arange(1, n + 1, dtype=np.uint64) * STEP + np.uint64(state))
    return (bits >> np.uint64(11)) * ULP


@jit
def next_bits(state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """One step: the new state, and 64 bits."""
    state = state + STEP
    return state, _mixed(state)


@jit
def next_uniform(state: np.uint64) -> tuple[np.uint64, float]:
    """One step: the new state, and a number from [0, 1)."""
    state, bits = next_bits(state)
    return state, float(bits >> np.uint64(11)) * ULP


@jit
def next_below(state: np.uint64, bound: int) -> tuple[np.uint64, int]:
    """One step: the new state, and a whole number below `bound`."""
    state, bits = next_bits(state)
    return state, int(bits % np.uint64(bound))
