"""Modules that follow others: the exponential moving average of weights."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from panlearn.neural._processes import Processes


class Follower:
    r"""A module whose weights follow those of another.

    .. math:: a \leftarrow \beta_t a + (1 - \beta_t) w, \qquad
              \beta_t = \min\Bigl(\beta, \frac{1 + t}{10 + t}\Bigr)

    The decay warms up, so that the first weights, which know nothing, are soon forgotten. Buffers
    such as the statistics of batch normalisation are averaged too; counters are copied.
    """

    def __init__(self, module: nn.Module, decay: float, processes: Processes) -> None:
        self.decay = decay
        self.module = processes.share(copy.deepcopy(module).requires_grad_(False))

    @torch.no_grad()
    def follow(self, leader: nn.Module, t: int) -> None:
        """Follow after update t of the leader, counted from zero."""
        decay = min(self.decay, (1 + t) / (10 + t))
        parts: Any = self.module.modules()
        for part in parts:
            if hasattr(part, "reshard"):  # what was called and has no way back is still whole
                part.reshard()
        pairs = zip(_tensors(self.module), _tensors(leader), strict=True)
        for mine, theirs in pairs:
            if mine.is_floating_point():
                mine.lerp_(theirs.to(mine.dtype), 1 - decay)
            else:
                mine.copy_(theirs)


def _tensors(module: nn.Module) -> list[Any]:
    return [*module.parameters(), *module.buffers()]
