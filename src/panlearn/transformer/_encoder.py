r"""The blocks of encoders, and of decoders that look at an encoder.

.. math::
    \text{before:}\quad x \leftarrow x + f(\operatorname{norm}(x)), \qquad
    \text{after:}\quad x \leftarrow \operatorname{norm}(x + f(x))

where f is attention of the sequence to itself, attention to another one, or a feed-forward layer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from panlearn.neural._step import drop
from panlearn.transformer._gelu import gelu
from panlearn.transformer.attention import MultiHeadAttention, attention, attention_weights

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_tanh": gelu,
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "relu": F.relu,
}


class FeedForward(nn.Module):
    """W2 phi(W1 x) of each token by itself."""

    def __init__(self, width: int, hidden: int, activation: str) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.activation(self.up(x)))


Other = Tensor | tuple[Tensor, Tensor]


class CrossAttention(nn.Module):
    """Attention to another sequence, given by its states or by keys and values that were kept."""

    def __init__(self, width: int, n_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.n_heads, self.dropout = n_heads, dropout
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.output = nn.Linear(width, width)

    def keep(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of the other sequence, each of shape (batch, n_heads, m, head_width)."""
        split = self.key_value(memory).unflatten(-1, (2 * self.n_heads, -1)).transpose(1, 2)
        key, value = split.chunk(2, dim=1)
        return key, value

    def forward(self, x: Tensor, other: Other, mask: Tensor | None = None) -> Tensor:
        dropout = self.dropout if self.training else 0.0
        key, value = other if isinstance(other, tuple) else self.keep(other)
        mean = attention(self.split(x), key, value, mask=mask, dropout=dropout)
        return self.output(mean.transpose(1, 2).flatten(2))

    def split(self, x: Tensor) -> Tensor:
        """What tokens ask, shape (batch, n_heads, n, head_width)."""
        return self.query(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)


class Residual(nn.Module):
    """A branch beside the identity, with its norm before the branch or after the sum."""

    def __init__(self, branch: nn.Module, norm: nn.Module, *, before: bool, dropout: float) -> None:
        super().__init__()
        self.branch, self.norm = branch, norm
        self.before, self.dropout = before, dropout

    def forward(self, x: Tensor, *more: Any, **look: Any) -> Tensor:
        if self.before:
            return x + self._drop(self.branch(self.norm(x), *more, **look))
        return self.norm(x + self._drop(self.branch(x, *more, **look)))

    def _drop(self, x: Tensor) -> Tensor:
        return drop(x, self.dropout, self.training)


class Block(nn.Module):
    """Attention to the sequence itself, to another one if there is, and a feed-forward layer."""

    def __init__(
        self,
        width: int,
        n_heads: int,
        hidden: int,
        *,
        activation: str = "gelu",
        norm_before: bool = False,
        norm_epsilon: float = 1e-5,
        dropout: float = 0.0,
        crossed: bool = False,
    ) -> None:
        super().__init__()

        def residual(branch: nn.Module) -> Residual:
            norm = nn.LayerNorm(width, eps=norm_epsilon)
            return Residual(branch, norm, before=norm_before, dropout=dropout)

        self.attention = residual(MultiHeadAttention(width, n_heads, dropout=dropout))
        self.cross = residual(CrossAttention(width, n_heads, dropout)) if crossed else None
        self.feed_forward = residual(FeedForward(width, hidden, activation))

    def forward(
        self,
        x: Tensor,
        other: Other | None = None,
        *,
        other_mask: Tensor | None = None,
        first_alone: bool = False,
        **look: Any,
    ) -> Tensor:
        """Give the next states; `look` goes to the attention of the sequence to itself.

        `other` is the other sequence: its states, or what `CrossAttention.keep` made of them. With
        `first_alone` only the state of the first token is made, shape (batch, width).
        """
        x = self.attention(x, **look)
        if self.cross is not None:
            x = self.cross(x, other, mask=other_mask)
        return self.feed_forward(x[:, 0] if first_alone else x)

    def weights(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Say who looks at whom in the sequence itself, shape (batch, n_heads, n, n)."""
        part: Any = self.attention
        query, key, _ = part.branch.heads(part.norm(x) if part.before else x)
        return attention_weights(query, key, mask=mask)


def initialise(module: nn.Module, width: int) -> None:
    """Normal weights, and no constants: what BERT and ViT start from at their width of 768.

    There the deviation is 0.02; what is narrower gets larger weights, so that the sums of a layer
    are as large as there.
    """
    deviation = 0.02 * math.sqrt(768 / width)
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Embedding | nn.Conv2d):
            nn.init.normal_(part.weight, std=deviation)
            if getattr(part, "bias", None) is not None:
                nn.init.zeros_(part.bias)  # type: ignore[arg-type]
