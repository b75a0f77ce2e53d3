"""A stack of blocks that read sequences causally, and one output for each sequence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor, nn

from panlearn.neural._recurrence import within
from panlearn.neural._step import Dropout
from panlearn.statespace.s4 import S4

Pooling = Literal["mean", "last"]


class SequenceNetwork(nn.Module):
    """Inputs to vectors of some width, blocks that see what came before, a norm, a read-out.

    Blocks map (n, T, width) to the same, and none looks ahead: what stands behind the end of a
    sequence changes nothing before it.
    """

    def __init__(
        self,
        inputs: nn.Module,
        blocks: Iterable[nn.Module],
        norm: nn.Module,
        head: nn.Linear,
        *,
        pooling: Pooling,
        dropout: float,
    ) -> None:
        super().__init__()
        self.inputs, self.blocks = inputs, nn.ModuleList(blocks)
        self.norm, self.head = norm, head
        self.pooling, self.dropout = pooling, Dropout(dropout)

    def states(self, inputs: Tensor) -> Tensor:
        """What is known after each step, (n, T, width)."""
        x = self.inputs(inputs)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)

    def last(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        """The outputs of each sequence, from the mean of its steps or the last, (n, n_outputs)."""
        states = self.states(inputs)
        if self.pooling == "mean":
            there = within(lengths, states.shape[1])
            pooled = states.masked_fill(~there[..., None], 0).sum(1) / lengths[:, None]
        else:
            pooled = states[torch.arange(len(states), device=states.device), lengths - 1]
        return self.head(self.dropout(pooled))


def reader(n_features: int, n_symbols: int, embedding_size: int, width: int) -> nn.Module:
    """What steps go through first: vectors a projection, symbols a table before it."""
    if not n_symbols:
        return nn.Linear(n_features, width)
    return nn.Sequential(nn.Embedding(n_symbols, embedding_size), nn.Linear(embedding_size, width))


class S4Block(nn.Module):
    """x + glu(W gelu(S4(norm(x)))): the layer mixes steps, W the channels of each."""

    def __init__(self, layer: S4, dropout: float) -> None:
        super().__init__()
        width = len(layer.D)
        self.norm, self.layer = nn.LayerNorm(width), layer
        self.mix, self.dropout = nn.Linear(width, 2 * width), Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        y = nn.functional.gelu(self.layer(self.norm(x)))
        return x + self.dropout(nn.functional.glu(self.mix(self.dropout(y))))
