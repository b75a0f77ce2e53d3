"""Threads of small networks: one, which is quicker and gives the same bits on any machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

_SMALL = 2**24  # multiplications of a pass below which a second thread costs more than it brings

# The threads of OpenMP do not follow into a child by fork, which would wait for them for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


def is_small(module: nn.Module, batch: tuple[torch.Tensor, ...]) -> bool:
    """Whether a pass over a batch is little work: parameters times the positions they are used at.

    Positions are rows, steps of sequences (n, t, d), tokens, or pixels of images (n, c, h, w).
    """
    first = batch[0]
    positions = first.numel()
    if first.is_floating_point() and first.ndim > 1 and positions:
        positions //= first.shape[1] if first.ndim > 3 else first.shape[-1]
    return positions * sum(p.numel() for p in module.parameters()) <= _SMALL


@contextmanager
def one_thread(wanted: bool = True) -> Iterator[None]:
    """Compute on one thread inside the block, and as before after it."""
    before = torch.get_num_threads()
    try:
        if wanted:
            torch.set_num_threads(1)
        yield
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)
