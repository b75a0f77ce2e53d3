r"""The vision transformer: an image cut into patches, which are read as a sequence.

.. math::
    x &= [c;\; E p_1;\; \ldots;\; E p_N] + E_{\text{position}} \\
    x &\leftarrow x + \operatorname{attention}(\operatorname{norm}(x)), \qquad
    x \leftarrow x + \operatorname{feedforward}(\operatorname{norm}(x)) \qquad (L \text{ times}) \\
    p(\text{class}) &= \operatorname{softmax}(W \operatorname{norm}(x)_{\text{first}} + b)
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from panlearn.neural._step import drop
from panlearn.transformer._encoder import Block, initialise


class VisionEncoder(nn.Module):
    """Patches, a token for the class, positions, blocks with the norm first, and a head.

    CLIP's has no constants in the first and the last layer, and a norm before the first block.
    """

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        patch: tuple[int, int],
        n_outputs: int,
        *,
        n_layers: int,
        width: int,
        n_heads: int,
        hidden: int,
        dropout: float = 0.0,
        norm_epsilon: float = 1e-12,
        activation: str = "gelu",
        bias: bool = True,
        norm_embedded: bool = False,
    ) -> None:
        super().__init__()
        channels, high, wide = image_shape
        self.dropout = dropout
        self.patches = nn.Conv2d(channels, width, patch, stride=patch, bias=bias)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        n_places = 1 + (high // patch[0]) * (wide // patch[1])
        self.positions = nn.Parameter(torch.zeros(1, n_places, width))
        normed = nn.LayerNorm(width, eps=norm_epsilon) if norm_embedded else nn.Identity()
        self.first_norm: nn.Module = normed
        self.blocks: Any = nn.ModuleList(
            Block(
                *(width, n_heads, hidden),
                activation=activation,
                norm_before=True,
                norm_epsilon=norm_epsilon,
                dropout=dropout,
            )
            for _ in range(n_layers)
        )
        self.norm = nn.LayerNorm(width, eps=norm_epsilon)
        self.head = nn.Linear(width, n_outputs, bias=bias)
        initialise(self, width)
        fan = channels * math.prod(patch)
        nn.init.trunc_normal_(self.patches.weight, std=1 / math.sqrt(fan))
        nn.init.normal_(self.first, std=0.02)
        nn.init.normal_(self.positions, std=0.5)  # as large as patches: places differ at once

    def embed(self, images: Tensor) -> Tensor:
        """Patches as tokens after that of the class, with their places, (n, 1 + N, width)."""
        high, wide = self.patches.kernel_size
        tiles = images.unfold(2, high, high).unfold(3, wide, wide)  # what is left over is dropped
        # without gaps, so that the same images give the same bits however they lie in memory
        tiles = tiles.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2).contiguous()
        # a convolution of patches that do not overlap is a product, which is quicker
        x = F.linear(tiles, self.patches.weight.flatten(1), self.patches.bias)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], dim=1) + self.positions
        return drop(self.first_norm(x), self.dropout, self.training)

    def forward(self, images: Tensor) -> Tensor:
        """Score the classes, shape (n, n_outputs)."""
        x = self.embed(images)
        *before, last = self.blocks
        for block in before:
            x = block(x)
        return self.head(self.norm(last(x, first_alone=True)))  # nothing else is read

    def attention_maps(self, images: Tensor) -> Tensor:
        """Say who looks at whom, shape (n_layers, n, n_heads, 1 + N, 1 + N)."""
        x, maps = self.embed(images), []
        for block in self.blocks:
            maps.append(block.weights(x))
            x = block(x)
        return torch.stack(maps)


def resized(positions: Tensor, old: tuple[int, int], new: tuple[int, int]) -> Tensor:
    """A table of positions for another grid of patches: bicubic, the place of the class kept."""
    if old == new:
        return positions
    first, grid = positions[:, :1], positions[:, 1:]
    grid = grid.reshape(1, *old, -1).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, size=new, mode="bicubic", align_corners=False)
    return torch.cat([first, grid.permute(0, 2, 3, 1).flatten(1, 2)], dim=1)
