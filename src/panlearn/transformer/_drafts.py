"""Tokens that a decoder proposes to itself, one further ahead than it has read."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from panlearn.transformer._cache import Cache
from panlearn.transformer._decoder import Decoder


class Drafts:
    """What the first depth of `MultiTokenPrediction` expects after the newest token of each row.

    Rows begin in the columns `starts`, and all end in the same one.
    """

    def __init__(self, decoder: Decoder, starts: Sequence[int], capacity: int) -> None:
        self._decoder, self._depth = decoder, decoder.ahead[0]
        self._cache = Cache(self._depth, starts, capacity)

    def after(self, states: Tensor, following: Tensor) -> Tensor:
        """Propose a token a row, shape (rows, 1).

        `states` are what the head sees of tokens that were not here before, (rows, n, width), and
        `following` the tokens after each of them.
        """
        decoder, rotation = self._decoder, None
        positions, mask = self._cache.begin(following.shape[1])
        tokens = decoder.tokens(following)
        if decoder.config.positions == "rotary":
            rotation = decoder.rotation(positions, tokens)
        remember = self._cache.layers[0]
        seen = self._depth(states, tokens, rotation=rotation, mask=mask, remember=remember)
        state = seen[:, -1:]
        return F.linear(self._depth.norm(state), decoder.projection).argmax(dim=-1)
