"""Randomness of deep models: seeds from NumPy's generators, PyTorch's global one left as it was."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from panlearn.core.parameters import RandomState
from panlearn.core.random import generator

_lock = threading.RLock()  # the global generator is one for all threads


def draw_seed(random_state: RandomState) -> int:
    """Draw a seed from an int, a Generator, a RandomState or fresh entropy."""
    return int(generator(random_state).integers(2**63))


def mix(*numbers: int) -> int:
    """Hash numbers to 32 bits, as many as seed PyTorch's generator on the CPU (splitmix64)."""
    state = 0
    for number in numbers:
        state = (state + number + 0x9E3779B97F4A7C15) % 2**64
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB % 2**64
        state ^= state >> 31
    return state >> 32


@contextmanager
def seeded(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Run the block as if PyTorch's generator had been seeded, and leave it as it was.

    What initialises a module, and dropout of PyTorch, take their numbers from the global generator;
    inside the block it is a private one in all but name. Blocks of several threads take turns.
    """
    generators = [torch.default_generator]
    if torch.device(device).type == "cuda":
        generators.append(torch.cuda.default_generators[torch.cuda.current_device()])
    with _lock:
        before = [each.get_state() for each in generators]
        for each in generators:
            each.manual_seed(seed)
        try:
            yield
        finally:
            for each, state in zip(generators, before, strict=True):
                each.set_state(state)
