"""Networks between images and a few numbers: blocks of convolutions that halve and double sizes.

Images come and go as flat rows, so that these stand where perceptrons stand.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from panlearn.generative._denoisers import Block
from panlearn.generative._sizes import Sizes, hidden_sizes
from panlearn.neural._layers import MLP, Activation

Shape = tuple[int, int, int]


def halved(shape: Shape, times: int) -> tuple[int, int]:
    """Height and width after so many halvings, each rounded up."""
    height, width = shape[1:]
    for _ in range(times):
        height, width = -(-height // 2), -(-width // 2)
    return height, width


class ImageEncoder(nn.Module):
    """Rows (n, c h w + beside) to numbers (n, n_out); what is beside an image joins at the end."""

    def __init__(self, shape: Shape, channels: tuple[int, ...], beside: int, n_out: int) -> None:
        super().__init__()
        self.shape = shape
        self.enter = nn.Conv2d(shape[0], channels[0], 3, padding=1)
        before = (channels[0], *channels[:-1])
        self.blocks = nn.ModuleList(Block(a, b) for a, b in zip(before, channels, strict=True))
        size = channels[-1] * math.prod(halved(shape, len(channels)))
        self.leave = nn.Linear(size + beside, n_out)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Numbers of each image."""
        d = math.prod(self.shape)
        h = self.enter(rows[:, :d].unflatten(1, self.shape))
        for block in self.blocks:
            h = F.avg_pool2d(block(h), 2, ceil_mode=True)
        return self.leave(torch.cat([h.flatten(1), rows[:, d:]], dim=1))


class ImageDecoder(nn.Module):
    """Numbers (..., n_in) to flat images (..., n_outputs c h w), the encoder backwards."""

    def __init__(self, n_in: int, channels: tuple[int, ...], shape: Shape, n_outputs: int) -> None:
        super().__init__()
        self.sizes = [halved(shape, times) for times in range(len(channels), -1, -1)]
        self.channels = channels
        self.enter = nn.Linear(n_in, channels[-1] * math.prod(self.sizes[0]))
        after = (channels[0], *channels[:-1])[::-1]
        pairs = zip(channels[::-1], after, strict=True)
        self.blocks = nn.ModuleList(Block(a, b) for a, b in pairs)
        self.leave = nn.Conv2d(channels[0], n_outputs * shape[0], 3, padding=1)

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """Images, as rows."""
        lead = z.shape[:-1]
        h = self.enter(z.reshape(-1, z.shape[-1]))
        h = h.unflatten(1, (self.channels[-1], *self.sizes[0]))
        for block, size in zip(self.blocks, self.sizes[1:], strict=True):
            h = block(F.interpolate(h, size=size))
        return self.leave(h).reshape(*lead, -1)


class Networks:
    """Makes the networks between examples and a few numbers, of one kind for both ways.

    Parameters
    ----------
    shape : tuple of int or None
        That of images; None for rows of a table.
    hidden : sizes
        Units of hidden layers, from examples to numbers.
    activation : str
        Theirs.
    convolutions : sizes
        Channels of convolutions for each size of the images; () for perceptrons.
    """

    def __init__(
        self, shape: Shape | None, hidden: Sizes, activation: Activation, convolutions: Any
    ) -> None:
        self.hidden, self.activation = hidden_sizes(hidden), activation
        self.channels = hidden_sizes(convolutions)
        if self.channels and shape is None:
            raise ValueError(
                f"convolutions={convolutions!r} go over images, and X is a table: give images "
                "(n, h, w) or (n, c, h, w), or leave them out"
            )
        self.shape = shape

    def encoder(self, n_in: int, n_out: int) -> nn.Module:
        """From examples, with what stands beside them, to numbers."""
        if self.channels and self.shape is not None:
            beside = n_in - math.prod(self.shape)
            return ImageEncoder(self.shape, self.channels, beside, n_out)
        return MLP((n_in, *self.hidden, n_out), self.activation)

    def decoder(self, n_in: int, n_out: int) -> nn.Module:
        """From numbers to what is said of each entry of an example."""
        if self.channels and self.shape is not None:
            n_outputs, rest = divmod(n_out, math.prod(self.shape))
            if rest:
                raise ValueError(
                    "convolutions say equally much of each pixel, and these have different numbers "
                    "of categories: leave convolutions out"
                )
            return ImageDecoder(n_in, self.channels, self.shape, n_outputs)
        return MLP((n_in, *self.hidden[::-1], n_out), self.activation)
