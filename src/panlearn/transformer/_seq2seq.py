r"""The encoder-decoder of the original paper, and the search for the best target.

.. math::
    x &= \sqrt d\, E_{\text{source}} + S, \qquad m = \operatorname{encoder}(x) \\
    y &= \sqrt d\, E_{\text{target}} + S, \qquad
    y \leftarrow \operatorname{norm}(y + \operatorname{attention}(y)), \quad
    y \leftarrow \operatorname{norm}(y + \operatorname{attention}(y, m)), \quad
    y \leftarrow \operatorname{norm}(y + \operatorname{feedforward}(y))

S are the sinusoids of the places.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from panlearn.neural._recurrence import within
from panlearn.neural._step import drop
from panlearn.transformer._encoder import Block
from panlearn.transformer.attention import attention_weights, sinusoidal_positions


class EncoderDecoder(nn.Module):
    """Codes of sources and targets in, scores of the next codes of targets out.

    Targets are codes 0, ..., n_targets - 1; n_targets stands for the end, and for the beginning.
    """

    def __init__(
        self,
        n_sources: int,
        n_targets: int,
        width: int,
        n_heads: int,
        hidden: int,
        n_layers: int,
        *,
        dropout: float = 0.0,
        norm_before: bool = False,
        activation: str = "relu",
    ) -> None:
        super().__init__()
        self.end, self.width, self.dropout = n_targets, width, dropout
        self.source = nn.Embedding(n_sources, width)
        self.target = nn.Embedding(n_targets + 1, width)
        options: dict[str, Any] = {"activation": activation, "norm_before": norm_before}
        options |= {"dropout": dropout}

        def stack(crossed: bool) -> nn.ModuleList:
            sizes = (width, n_heads, hidden)
            return nn.ModuleList(Block(*sizes, crossed=crossed, **options) for _ in range(n_layers))

        self.encoder: Any = stack(crossed=False)
        self.decoder: Any = stack(crossed=True)
        last = [nn.LayerNorm(width) if norm_before else nn.Identity() for _ in range(2)]
        self.encoder_norm, self.decoder_norm = last
        self.head = nn.Linear(width, n_targets + 1)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        for table in (self.source, self.target):  # times sqrt(d), as large as the sinusoids
            nn.init.normal_(table.weight, std=1 / math.sqrt(width))

    def embed(self, table: nn.Embedding, codes: Tensor, first: int = 0) -> Tensor:
        """Look codes up and add their places, which begin at `first`."""
        places = sinusoidal_positions(first + codes.shape[1], self.width)[first:]
        x = math.sqrt(self.width) * table(codes) + places.to(table.weight)
        return drop(x, self.dropout, self.training)

    def encode(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """What the decoder needs of padded sources: their states, and the mask of the padding."""
        mask = within(lengths, source.shape[1])[:, None, None]
        x = self.embed(self.source, source)
        for block in self.encoder:
            x = block(x, mask=mask)
        return self.encoder_norm(x), mask

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """Score every symbol of padded targets given those before it, (n, T, n_targets + 1)."""
        memory, mask = self.encode(source, lengths)
        before = F.pad(target, (1, 0), value=self.end)[:, :-1]
        x = self.embed(self.target, before)
        for block in self.decoder:
            x = block(x, memory, other_mask=mask, causal=True)
        return self.head(self.decoder_norm(x))

    def alignment(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """What the last layer looks at in the source, the mean over heads, shape (n, T, S)."""
        memory, mask = self.encode(source, lengths)
        x = self.embed(self.target, F.pad(target, (1, 0), value=self.end)[:, :-1])
        for block in self.decoder:
            kept, given = block.cross.branch.keep(memory), x
            x = block(x, kept, other_mask=mask, causal=True)
        given = block.attention(given, causal=True)
        asks = block.cross.norm(given) if block.cross.before else given
        weights = attention_weights(block.cross.branch.split(asks), kept[0], mask=mask)
        return weights.mean(dim=1)

    def decoding(self, source: Tensor, lengths: Tensor) -> Decoding:
        """Begin with targets of padded sources."""
        return Decoding(self, source, lengths)


class Decoding:
    """A decoder on its way: what it keeps of the source and of the target so far, row by row."""

    def __init__(self, module: EncoderDecoder, source: Tensor, lengths: Tensor) -> None:
        self.module, self.n_steps = module, 0
        memory, self.mask = module.encode(source, lengths)
        self.kept = [block.cross.branch.keep(memory) for block in module.decoder]
        self.past: list[tuple[Tensor, Tensor] | None] = [None] * len(self.kept)

    def step(self, last: Tensor) -> Tensor:
        """The scores of the next symbol after the last one of each row, (n, n_targets + 1)."""
        x = self.module.embed(self.module.target, last[:, None], self.n_steps)
        self.n_steps += 1
        for i, block in enumerate(self.module.decoder):
            x = block(x, self.kept[i], other_mask=self.mask, remember=self._remember(i))
        return self.module.head(self.module.decoder_norm(x[:, 0]))

    def _remember(self, layer: int) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
        def remember(key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
            past = self.past[layer]
            if past is not None:
                key, value = torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)
            self.past[layer] = key, value
            return key, value

        return remember

    def take(self, rows: Tensor) -> None:
        """Go on with these rows, some of which may be the same."""
        self.mask = self.mask[rows]
        self.kept = [(key[rows], value[rows]) for key, value in self.kept]
        self.past = [None if p is None else (p[0][rows], p[1][rows]) for p in self.past]


def search(
    module: Any,
    source: Tensor,
    lengths: Tensor,
    width: int,
    max_length: int,
    penalty: float,
) -> list[list[int]]:
    r"""The targets of padded sources that a beam finds best by log p / ((5 + length) / 6)^penalty.

    An answer that has ended is put aside, and a source is done when no beginning can become better
    than its best answer.
    """
    n, end, device = len(source), module.end, source.device
    worth = [((5 + length) / 6) ** penalty for length in range(1, max_length + 2)]
    decoding = module.decoding(source, lengths)
    decoding.take(torch.arange(n, device=device).repeat_interleave(width))
    total = torch.full((n, width), -torch.inf, device=device)
    total[:, 0] = 0.0  # at first all beams are the same one
    paths = source.new_full((n, width, 1), end)
    best: list[tuple[float, list[int]]] = [(-math.inf, []) for _ in range(n)]
    for step in range(max_length + 1):
        scores = decoding.step(paths[:, :, -1].flatten()).log_softmax(-1)
        gain = total[..., None] + scores.view(n, width, -1).to(total)
        n_symbols = gain.shape[-1]
        last = gain.flatten(1).topk(width).values[:, -1:]
        ended = gain[..., end] / worth[step]
        if step < max_length:  # an end counts if it is among the best; at last all have to end
            ended = ended.masked_fill(gain[..., end] < last, -torch.inf)
        for i, beam in enumerate(ended.argmax(1).tolist()):
            score = float(ended[i, beam])
            if score > best[i][0]:
                best[i] = score, paths[i, beam, 1:].tolist()
        gain[..., end] = -torch.inf
        total, chosen = gain.flatten(1).topk(width)
        hope = (total[:, 0] / worth[-1]).tolist()
        if step == max_length or all(h <= b[0] for h, b in zip(hope, best, strict=True)):
            break
        beam, symbol = chosen // n_symbols, chosen % n_symbols
        rows = (torch.arange(n, device=device)[:, None] * width + beam).flatten()
        decoding.take(rows)
        paths = torch.cat([paths.flatten(0, 1)[rows].view(n, width, -1), symbol[..., None]], -1)
    return [path for _, path in best]
