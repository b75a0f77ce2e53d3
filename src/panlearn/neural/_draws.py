"""Noise for the rows of a batch, whatever share of them is at hand."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from panlearn.neural._random import mix


@dataclass
class Share:
    """Which rows of a batch are at hand: `rows` of them from `low` on, of `whole`; maybe none.

    A process without a row computes with one of zeros that counts for nothing.
    """

    low: int
    rows: int
    whole: int

    @property
    def idle(self) -> bool:
        """Whether the row at hand stands in for none."""
        return self.rows == 0


@dataclass
class Draws:
    """Random numbers for rows: drawn for the whole batch from a seed, of which a share is taken.

    Each draw has a seed of its own, made of the seed, the number of the step and how many draws
    came before, so that it can be repeated.
    """

    share: Share
    seed: int
    number: int
    device: torch.device
    draws: int = 0

    def normal(self, *size: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        """Draw standard normal numbers, `size` of them for each row."""
        return self._room(size, dtype).normal_(generator=self._generator())[self._rows]

    def uniform(self, *size: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        """Draw numbers from [0, 1), `size` of them for each row."""
        return self._room(size, dtype).uniform_(generator=self._generator())[self._rows]

    def integers(self, high: int, *size: int) -> torch.Tensor:
        """Draw whole numbers from 0 to `high` - 1, `size` of them for each row."""
        drawn = self._room(size, torch.int64).random_(0, high, generator=self._generator())
        return drawn[self._rows]

    def mask(self, like: torch.Tensor, keep: float) -> torch.Tensor:
        """Ones with probability `keep` and zeros, for each entry of a tensor of rows.

        A tensor may have several rows for each of the batch, one after the other. One that has not
        is drawn for by itself, from the seed and its first row.
        """
        rows = 1 if self.share.idle else self.share.rows
        each, rest = divmod(len(like), rows)
        if rest:
            made = self._generator(self.share.low)
            return torch.empty_like(like).bernoulli_(keep, generator=made)
        drawn = self._room((each, *like.shape[1:]), like.dtype)
        return drawn.bernoulli_(keep, generator=self._generator())[self._rows].view_as(like)

    def _room(self, size: tuple[int, ...], dtype: torch.dtype | None) -> torch.Tensor:
        return torch.empty(max(self.share.whole, 1), *size, dtype=dtype, device=self.device)

    @property
    def _rows(self) -> slice:
        if self.share.idle:
            return slice(0, 1)
        return slice(self.share.low, self.share.low + self.share.rows)

    def _generator(self, *more: int) -> torch.Generator:
        self.draws += 1
        made = torch.Generator(self.device)
        return made.manual_seed(mix(self.seed, self.number, self.draws, *more))


def fresh(rows: int, device: torch.device) -> Draws:
    """Draws from a seed of PyTorch's generator, for rows that are not part of a run."""
    seed = int(torch.randint(2**62, ()))
    return Draws(Share(0, rows, rows), seed, 0, device)
