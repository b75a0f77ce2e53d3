"""What a decoder keeps of the tokens it has read, column by column, allocated once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor


class Cache:
    """What the mixers of a decoder keep of the columns so far; each says how much that is.

    Rows of a batch may begin in different columns, so that all end in the same one.

    Attributes
    ----------
    memory : tensor of shape (n_layers, n_kinds, n_rows, n_vectors, n_columns, width)
        For attention keys and values, for latent attention one vector a token.
    layers : list of callable
        Take the new vectors of a layer, one tensor a kind, and give all that there are.
    starts : list of int
        The first column of each row.
    end : int
        The column after the last that is filled.
    """

    def __init__(self, decoder: Any, starts: Sequence[int], capacity: int) -> None:
        mixers, like = decoder.mixers, next(decoder.parameters())
        kinds, vectors, width = mixers[0].memory
        shape = (len(mixers), kinds, len(starts), vectors, capacity, width)
        self.memory = torch.empty(shape, dtype=like.dtype, device=like.device)
        self.starts, self.end = list(starts), 0
        kept = (tuple(layer.unbind(0)) for layer in self.memory.unbind(0))
        self.layers: list[Callable] = [functools.partial(self._remember, k) for k in kept]
        self._places = torch.arange(capacity, device=like.device)
        self._first = self._low = 0

    @property
    def capacity(self) -> int:
        """The number of columns."""
        return self.memory.shape[-2]

    def begin(self, n: int) -> tuple[Tensor, Tensor | None]:
        """Make room for n columns: their positions, and a mask if rows begin in different ones."""
        low, first, self.end = min(self.starts), self.end, self.end + n
        self._low, self._first = low, first
        columns = self._places[first : self.end]
        if low == max(self.starts):
            return self._places[first - low : self.end - low], None
        starts = torch.tensor(self.starts, device=columns.device)[:, None]
        keys = self._places[low : self.end]
        real = (keys >= starts)[:, None, None]
        if n > 1:  # padding looks at itself alone: a query that sees nothing has no mean
            real = (real & (keys <= columns[:, None])) | (keys == columns[:, None])
        return (columns - starts).clamp_min(0), real

    def _remember(self, kept: tuple[Tensor, ...], *new: Tensor) -> list[Tensor]:
        n = self.end - self._low
        for tensor, fresh in zip(kept, new, strict=True):
            tensor.narrow(2, self._first, fresh.shape[2]).copy_(fresh)
        return [tensor.narrow(2, self._low, n) for tensor in kept]

    def take(self, other: Cache, rows: Tensor) -> None:
        """Begin with what another cache holds: each row with what is in one of its rows."""
        self.end = other.end
        self.memory[..., : self.end, :] = other.memory[:, :, rows]

    def put(self, row: int, start: int, alone: Cache) -> None:
        """Let a row begin in column `start` with what another cache holds of it."""
        self.memory[:, :, row, :, start : start + alone.end] = alone.memory[:, :, 0]
        self.starts[row] = start

    def move(self, shift: int) -> None:
        """Shift all rows to the left."""
        left = slice(shift, self.end)
        self.memory[..., : self.end - shift, :] = self.memory[..., left, :].clone()
        self.starts = [start - shift for start in self.starts]
        self.end -= shift
