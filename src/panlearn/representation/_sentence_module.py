"""The network of a sentence encoder: an encoder of tokens, pooling, and a layer on pairs."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from panlearn.representation._mpnet import MPNetEncoder
from panlearn.transformer._bert import BERTConfig, Encoder
from panlearn.transformer._encoder import initialise

ENCODERS = {"bert": Encoder, "mpnet": MPNetEncoder}
MARKS = {"bert": ("[CLS]", "[SEP]"), "mpnet": ("<s>", "</s>")}
POOLINGS = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")


class SentenceModule(nn.Module):
    """Texts to vectors: states of an encoder pooled in one way or several, side by side."""

    def __init__(
        self,
        family: str,
        config: BERTConfig,
        n_tokens: int,
        pooling: tuple[str, ...],
        *,
        normalize: bool,
        n_classes: int = 0,
    ) -> None:
        super().__init__()
        self.pooling, self.normalize = pooling, normalize
        self.encoder = ENCODERS[family](config, n_tokens)
        n_inputs = 3 * len(pooling) * config.width
        self.head = nn.Linear(n_inputs, n_classes) if n_classes else None
        initialise(self, config.width)

    def forward(self, ids: Tensor, segments: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Give a vector for each text, shape (batch, n_poolings * width)."""
        states = self.encoder(ids, segments, lengths)
        found = torch.cat([pool(states, lengths, mode) for mode in self.pooling], dim=1)
        return F.normalize(found) if self.normalize else found

    def classify(self, one: Tensor, other: Tensor) -> Tensor:
        """Score the classes of pairs of vectors u, v from [u, v, |u - v|]."""
        return self.head(torch.cat([one, other, (one - other).abs()], dim=1))  # type: ignore[misc]


def pool(states: Tensor, lengths: Tensor | None, mode: str) -> Tensor:
    """Make one vector of the states of a text, shape (batch, width)."""
    if mode == "cls":
        return states[:, 0]
    batch, n = states.shape[:2]
    if lengths is None:
        lengths = torch.full((batch,), n, device=states.device)
    if mode == "lasttoken":
        return states[torch.arange(batch, device=states.device), lengths - 1]
    place = torch.arange(n, device=states.device)
    there = (place < lengths[:, None])[..., None]
    if mode == "max":
        return states.masked_fill(~there, -torch.inf).amax(1)
    weight = there.to(states.dtype)
    if mode == "weightedmean":
        weight = weight * (place + 1)[:, None]
    total = weight.sum(1)
    return (states * weight).sum(1) / (total.sqrt() if mode == "mean_sqrt_len_tokens" else total)
