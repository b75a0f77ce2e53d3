"""Tokens that a decoder proposes to itself, one further ahead than it has read."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from panlearn.transformer._cache import Cache
from panlearn.transformer._decoder import Decoder


class Drafts:
    """What the first depth of `MultiTokenPrediction` expects after the newest token of one row."""

    def __init__(self, decoder: Decoder, capacity: int) -> None:
        self._decoder, self._depth = decoder, decoder.ahead[0]
        self._cache = Cache(self._depth, [0], capacity)

    def after(self, states: Tensor, following: Tensor) -> Tensor:
        """Propose a token, shape (1, 1).

        `states` are what the head sees of tokens that were not here before, (1, n, width), and
        `following` the tokens after each of them.
        """
        decoder, rotation = self._decoder, None
        positions, _ = self._cache.begin(following.shape[1])
        tokens = decoder.tokens(following)
        if decoder.config.positions == "rotary":
            rotation = decoder.rotation(positions, tokens)
        remember = self._cache.layers[0]
        state = self._depth(states, tokens, rotation=rotation, remember=remember)[:, -1:]
        return F.linear(self._depth.norm(state), decoder.projection).argmax(dim=-1)
