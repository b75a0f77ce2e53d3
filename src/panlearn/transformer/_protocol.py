"""What a module must offer to be trained, questioned and continued as a language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from torch import Tensor


class Memory(Protocol):
    """What is kept of the columns that were read; see `_cache.Cache`."""

    memory: Tensor
    starts: list[int]
    end: int

    @property
    def capacity(self) -> int:
        """The number of columns."""

    def put(self, row: int, start: int, alone: Any) -> None:
        """Let a row begin in column `start` with what another memory holds of it."""

    def move(self, shift: int) -> None:
        """Shift all rows to the left."""


class NextToken(Protocol):
    """A module that scores next tokens; `Decoder` is one."""

    @property
    def config(self) -> Any:
        """Its shape; ``context`` is the most tokens that are seen at once."""

    @property
    def projection(self) -> Tensor:
        """The vectors that tokens are scored by, shape (n_tokens, width)."""

    def losses(self, ids: Tensor, targets: Tensor, emphasis: Tensor | None = None) -> Tensor:
        """Give -log p of the token that follows each, shape (batch, n)."""

    def cache(self, starts: Sequence[int], capacity: int) -> Any:
        """Make room for rows that begin in these columns: a `Memory`."""

    def last(self, ids: Tensor, cache: Any) -> Tensor:
        """Go on from what is kept: the last token as the head sees it, (batch, width)."""

    def attention_maps(self, ids: Tensor) -> Tensor:
        """Say who looks at whom, shape (n_layers, batch, n_heads, n, n)."""
