r"""The encoder of MPNet: BERT's without segments, with a score for how far apart two tokens are.

.. math::
    x = \operatorname{norm}(E_{\text{token}} + E_{\text{position} + 2}), \qquad
    \text{weight}_{ij} \propto \exp(q_i \cdot k_j / \sqrt d + b_{h,\, \text{bucket}(j - i)})

One table b of buckets serves all layers. Distances below 8 have a bucket each, on either side;
farther ones share buckets whose width grows with the distance, up to 128.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from panlearn.neural._step import drop
from panlearn.transformer._bert import BERTConfig, padding
from panlearn.transformer._encoder import Block

BUCKETS, FARTHEST = 32, 128
FIRST = 2  # rows of the table of positions that no token has: those of padding


class MPNetEncoder(nn.Module):
    """A stack of blocks on embedded tokens, whose attention knows relative positions."""

    def __init__(self, config: BERTConfig, n_tokens: int) -> None:
        super().__init__()
        self.dropout, width = config.dropout, config.width
        self.tokens = nn.Embedding(n_tokens, width)
        self.positions = nn.Embedding(FIRST + config.context, width)
        self.distances = nn.Embedding(BUCKETS, config.n_heads)
        self.norm = nn.LayerNorm(width, eps=config.norm_epsilon)
        self.blocks: Any = nn.ModuleList(
            Block(
                *(width, config.n_heads, config.hidden_size),
                activation=config.activation,
                norm_epsilon=config.norm_epsilon,
                dropout=config.dropout,
            )
            for _ in range(config.n_layers)
        )

    def forward(self, ids: Tensor, segments: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Give the states of padded texts, shape (batch, n, width); segments are not looked at."""
        n = ids.shape[1]
        x = self.norm(self.tokens(ids) + self.positions.weight[FIRST : FIRST + n])
        x, mask = drop(x, self.dropout, self.training), padding(ids, lengths)
        bias = self.distances(buckets(n).to(ids.device)).permute(2, 0, 1)
        for block in self.blocks:
            x = block(x, mask=mask, score_bias=bias)
        return x


def buckets(n: int) -> Tensor:
    """The bucket of each pair of n places, shape (n, n)."""
    place = torch.arange(n)
    ahead = place - place[:, None]
    distance, half, exact = ahead.abs(), BUCKETS // 2, BUCKETS // 4
    growth = torch.log(distance.clamp(min=1) / exact) / math.log(FARTHEST / exact)
    far = (exact + (growth * (half - exact)).long()).clamp(max=half - 1)
    return torch.where(distance < exact, distance, far) + half * (ahead > 0)
