r"""The decoder: tokens in, scores of every next token out. Read this file to know what a GPT is.

.. math::
    x &= E_{\text{token}} + E_{\text{position}} \\
    x &\leftarrow x + \operatorname{attention}(\operatorname{norm}(x)), \qquad
    x \leftarrow x + \operatorname{feedforward}(\operatorname{norm}(x)) \qquad (L \text{ times}) \\
    p(\text{next} \mid \text{so far}) &= \operatorname{softmax}(\operatorname{norm}(x) W)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from panlearn.neural._step import drop
from panlearn.transformer._block import Block, block_of, norm_of
from panlearn.transformer._cache import Cache
from panlearn.transformer._config import GPTConfig
from panlearn.transformer._feed_forward import FeedForward
from panlearn.transformer._head import linear_cross_entropy
from panlearn.transformer._positions import rotary_positions, sinusoidal_positions
from panlearn.transformer.mixture_of_experts import MixtureOfExperts
from panlearn.transformer.multi_token_prediction import MultiTokenPrediction

__all__ = ["Block", "Decoder", "FeedForward", "GPTConfig", "n_parameters", "shapes"]


class Decoder(nn.Module):
    """A stack of blocks between an embedding of tokens and a projection onto tokens."""

    def __init__(self, config: GPTConfig, n_tokens: int) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(n_tokens, config.width)
        if config.positions == "learned":
            self.positions = nn.Embedding(config.context, config.width)
        self.blocks: Any = nn.ModuleList([block_of(config, i) for i in range(config.n_layers)])
        self.norm = norm_of(config)
        self.head = None if config.tied else nn.Linear(config.width, n_tokens, bias=False)
        self.ahead: Any = nn.ModuleList(
            [MultiTokenPrediction(config) for _ in range(config.n_ahead)]
        )
        self.apply(_initialise)
        for name, weight in self.named_parameters():
            if name.endswith(_LAST):  # so that the sum of all branches has the variance of one
                weight.data.div_(math.sqrt(2 * config.n_layers))

    def forward(self, ids: Tensor, documents: Tensor | None = None) -> Tensor:
        """Score every next token, shape (batch, n, n_tokens).

        `documents` gives the number of the text that each token is of, where several stand in a
        row; a token then sees its own alone, and counts its place from the text's beginning.
        """
        return F.linear(self.states(ids, documents), self.projection)

    def losses(
        self,
        ids: Tensor,
        targets: Tensor,
        emphasis: Tensor | None = None,
        documents: Tensor | None = None,
    ) -> Tensor:
        """Give -log p of the token that follows each, shape (batch, n), without the scores of all.

        `emphasis` tells what the losses will be multiplied by, of the same shape.
        """
        return self._losses(self.states(ids, documents), targets, emphasis)

    def losses_ahead(
        self,
        ids: Tensor,
        targets: Tensor,
        emphasis: Tensor | None = None,
        documents: Tensor | None = None,
    ) -> Tensor:
        r"""Give the loss of the next token plus :math:`\lambda / D \sum_k L_k`, shape (batch, n).

        The tokens of a row that are so near its end that there is none so many places ahead have
        no part in L_k, and the others stand for them.
        """
        x, look = self._begin(ids, documents)
        for block in self.blocks:
            x = block(x, **look)
        state = self.norm(x)
        total, n = self._losses(state, targets, emphasis), ids.shape[1]
        for k, depth in enumerate(self.ahead, 1):
            if k >= n:
                break
            look = {name: _fewer(part, name, n - k) for name, part in look.items()}
            state = depth(state[:, :-1], self.tokens(targets[:, k - 1 : -1]), **look)
            rest = None if emphasis is None else emphasis[:, :-k]
            found = self._losses(depth.norm(state), targets[:, k:], rest)
            share = self.config.ahead_weight / len(self.ahead) * n / (n - k)
            total = total + share * F.pad(found, (0, k))
        return total

    def _losses(self, states: Tensor, targets: Tensor, emphasis: Tensor | None) -> Tensor:
        hint = None if emphasis is None else emphasis.flatten()
        rows, wanted = states.flatten(0, 1), targets.flatten()
        return linear_cross_entropy(rows, self.projection, wanted, hint).view(targets.shape)

    def states(self, ids: Tensor, documents: Tensor | None = None) -> Tensor:
        """What the head sees of each token, shape (batch, n, width)."""
        x, look = self._begin(ids, documents)
        for block in self.blocks:
            x = block(x, **look)
        return self.norm(x)

    def _begin(self, ids: Tensor, documents: Tensor | None) -> tuple[Tensor, dict[str, Any]]:
        """What goes into the first block, and what all blocks are told."""
        places = torch.arange(ids.shape[1], device=ids.device)
        look: dict[str, Any] = {}
        if documents is not None:
            begins = F.pad(documents[:, 1:] != documents[:, :-1], (1, 0), value=True)
            places = places - (places * begins).cummax(dim=1).values
            look["mask"] = (documents[:, :, None] == documents[:, None, :])[:, None]
        x, look["rotation"] = self.embed(ids, places)
        return x, look

    @property
    def projection(self) -> Tensor:
        """The vectors that tokens are scored by, shape (n_tokens, width)."""
        return self.tokens.weight if self.head is None else self.head.weight

    @property
    def mixers(self) -> list[Any]:
        """What keeps memory, layer by layer."""
        return [block.attention for block in self.blocks]

    @property
    def experts(self) -> list[MixtureOfExperts]:
        """The layers in which tokens choose among experts."""
        return [part for part in self.modules() if isinstance(part, MixtureOfExperts)]

    def cache(self, starts: Sequence[int], capacity: int) -> Cache:
        """Make room for what blocks keep of rows that begin in these columns."""
        return Cache(self, starts, capacity)

    def last(self, ids: Tensor, cache: Cache) -> Tensor:
        """Go on from what a cache holds: the last token as the head sees it, (batch, width)."""
        return self.norm(self.go_on(ids, cache)[:, -1])

    def go_on(self, ids: Tensor, cache: Cache) -> Tensor:
        """Go on from what a cache holds: what the last norm sees of new tokens."""
        positions, mask = cache.begin(ids.shape[1])
        x, rotation = self.embed(ids, positions)
        for block, remember in zip(self.blocks, cache.layers, strict=True):
            x = block(x, rotation=rotation, mask=mask, remember=remember)
        return x

    def embed(self, ids: Tensor, positions: Tensor) -> tuple[Tensor, Tensor | None]:
        """Look tokens up and tell them where they stand: the sum, and the rotation if any."""
        x, rotation = self.tokens(ids), None
        if self.config.positions == "rotary":
            rotation = self.rotation(positions, x)
        else:
            x = x + F.embedding(positions, self.places().to(x))
        return drop(x, self.config.dropout, self.training), rotation

    def rotation(self, positions: Tensor, like: Tensor) -> Tensor:
        """Give what turns queries and keys at these positions."""
        config = self.config
        turned = rotary_positions(
            positions, config.rotary_width, base=config.rotary_base, scaling=config.rotary_scaling
        )
        # one axis for the heads, after that of the batch if positions have one
        return turned.to(like).unsqueeze(-3)

    def places(self) -> Tensor:
        """Give what is added to a token at each place."""
        if self.config.positions == "learned":
            return self.positions.weight
        return _sinusoids(self.config)

    def attention_maps(self, ids: Tensor) -> Tensor:
        """Say who looks at whom, shape (n_layers, batch, n_heads, n, n)."""
        x, look = self._begin(ids, None)
        maps = []
        for block in self.blocks:
            maps.append(block.attention.weights(block.attention_norm(x), **look))
            x = block(x, **look)
        return torch.stack(maps)


_LAST = ("attention.output.weight", "down.weight", "experts_down")


def shapes(config: GPTConfig, n_tokens: int) -> dict[str, tuple[int, ...]]:
    """Name every parameter of a decoder and give its shape, without making it."""
    with torch.device("meta"):
        state = Decoder(config, n_tokens).state_dict()
    return {name: tuple(tensor.shape) for name, tensor in state.items()}


def n_parameters(config: GPTConfig, n_tokens: int) -> int:
    """Count the parameters of a decoder without making it."""
    return sum(math.prod(shape) for shape in shapes(config, n_tokens).values())


def _fewer(part: Tensor | None, name: str, n: int) -> Tensor | None:
    """What blocks are told of the first n tokens."""
    if part is None:
        return None
    return part[..., :n, :n] if name == "mask" else part[..., :n, :]


def _initialise(module: nn.Module) -> None:
    """Draw weights from N(0, 0.02^2), as GPT-2 does; constants are zero."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


@functools.lru_cache(maxsize=8)
def _sinusoids(config: GPTConfig) -> Tensor:
    return sinusoidal_positions(config.context, config.width, base=config.rotary_base)
