"""The feed-forward layer of a block."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from panlearn.transformer._gelu import gelu


class FeedForward(nn.Module):
    """W2 phi(W1 x) of each token by itself; with a gate, W2 (silu(Wg x) * W1 x)."""

    def __init__(self, width: int, hidden: int, activation: str, *, bias: bool = True) -> None:
        super().__init__()
        self.activation = activation
        gates = 2 if activation == "swiglu" else 1
        self.up = nn.Linear(width, gates * hidden, bias=bias)
        self.down = nn.Linear(hidden, width, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.up(x)
        if self.activation == "gelu":
            x = gelu(x)
        elif self.activation == "relu":
            x = F.relu(x)
        else:
            gate, x = x.chunk(2, dim=-1)
            x = F.silu(gate) * x
        return self.down(x)
