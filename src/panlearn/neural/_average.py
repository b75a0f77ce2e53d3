"""The exponential moving average of weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch


class WeightAverage:
    r"""An average that follows the weights, :math:`a \leftarrow \beta a + (1 - \beta) \theta`.

    Without a decay it is nothing, and the weights speak for themselves.
    """

    def __init__(self, parameters: Sequence[torch.Tensor], decay: float | None) -> None:
        self._parameters, self._decay = parameters, decay
        self.values = None if decay is None else [p.detach().clone() for p in parameters]

    @torch.no_grad()
    def update(self) -> None:
        """Follow the weights after a step."""
        if self.values is not None and self._decay is not None:
            for average, p in zip(self.values, self._parameters, strict=True):
                average.lerp_(p, 1 - self._decay)

    @torch.no_grad()
    def settle(self) -> None:
        """Put the average in the place of the weights."""
        if self.values is not None:
            for p, average in zip(self._parameters, self.values, strict=True):
                p.copy_(average)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Inside the block the module has the averaged weights."""
        if self.values is None:
            yield
            return
        kept = [p.detach().clone() for p in self._parameters]
        self.settle()
        try:
            yield
        finally:
            with torch.no_grad():
                for p, value in zip(self._parameters, kept, strict=True):
                    p.copy_(value)

    def whole(self) -> list[torch.Tensor] | None:
        """The average, gathered from the shards of all processes if there are any."""
        if self.values is None:
            return None
        return [v.full_tensor() if hasattr(v, "full_tensor") else v for v in self.values]

    def load(self, values: list[torch.Tensor] | None) -> None:
        """Take up an average that was saved."""
        if (values is None) != (self.values is None):
            raise ValueError("one of the two has ema_decay and the other has not")
        if values is not None:
            self.values = [_like(v, p) for v, p in zip(values, self._parameters, strict=True)]


def _like(value: torch.Tensor, parameter: Any) -> torch.Tensor:
    """The value where and how the parameter is kept."""
    value = value.to(dtype=parameter.dtype, device=parameter.device)
    if hasattr(parameter, "device_mesh"):
        from torch.distributed.tensor import distribute_tensor  # takes seconds to import

        return distribute_tensor(value, parameter.device_mesh, parameter.placements)
    return value
