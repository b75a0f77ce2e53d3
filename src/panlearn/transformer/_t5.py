r"""The encoder-decoder of T5. Read this file to know it.

.. math::
    x \leftarrow x + \operatorname{softmax}(Q K^\top + B) V, \qquad
    x \leftarrow x + \operatorname{feedforward}(\operatorname{norm}(x))

Q, K and V are made of norm(x), which scales by the root mean square alone; products are not divided
by the root of their width. Positions are told by B alone: a number for each head and each distance,
distances in buckets that widen, the same table in all layers. No layer has constants.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from panlearn.core.parameters import NonNegative, Positive, check_parameters
from panlearn.core.value import Value
from panlearn.neural._recurrence import within
from panlearn.neural._step import drop


@dataclass(frozen=True)
class T5Config(Value):
    r"""The shape of a T5, which `Seq2Seq.from_pretrained` reads.

    .. math::
        N_{\text{parameters}} \approx V d + L_e (4 d h k + g d f) + L_d (8 d h k + g d f)

    of widths d, h heads of width k, a feed-forward layer of width f, and g = 2, or 3 with a gate.

    Parameters
    ----------
    n_tokens : int, default=32128
        Size V of the vocabulary.
    width : int, default=512
        Coordinates d of a token.
    n_layers : int, default=6
        Blocks of the encoder.
    n_decoder_layers : int, default=6
        Blocks of the decoder.
    n_heads : int, default=8
        Heads of attention.
    head_width : int, default=64
        Coordinates k of a head.
    hidden : int, default=2048
        Width f of the feed-forward layers.
    activation : {"relu", "geglu"}, default="relu"
        Of the feed-forward layers; "geglu" has a gate, and the approximation by tanh.
    n_buckets : int, default=32
        Buckets of distances.
    max_distance : int, default=128
        The distance from which on all are in one bucket.
    norm_epsilon : float, default=1e-06
        Is added to the mean square in norms.
    scaled : bool, default=True
        Whether states are divided by the root of d before the last layer.
    tied : bool, default=True
        Whether the table of tokens is also the last layer.
    start : int, default=0
        The token that the decoder begins with.
    end : int, default=1
        The token that ends a target.

    References
    ----------
    Raffel, C. et al. (2020). Exploring the limits of transfer learning with a unified text-to-text
    transformer. Journal of Machine Learning Research 21. https://arxiv.org/abs/1910.10683

    Examples
    --------
    >>> from panlearn.transformer import T5Config
    >>> T5Config(width=64, head_width=16, n_heads=4).hidden
    2048
    """

    n_tokens: Positive[int] = 32128
    width: Positive[int] = 512
    n_layers: Positive[int] = 6
    n_decoder_layers: Positive[int] = 6
    _: KW_ONLY
    n_heads: Positive[int] = 8
    head_width: Positive[int] = 64
    hidden: Positive[int] = 2048
    activation: Literal["relu", "geglu"] = "relu"
    n_buckets: Positive[int] = 32
    max_distance: Positive[int] = 128
    norm_epsilon: Positive[float] = 1e-6
    scaled: bool = True
    tied: bool = True
    start: NonNegative[int] = 0
    end: NonNegative[int] = 1

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.n_buckets % 4 or self.max_distance <= self.n_buckets // 2:
            raise ValueError(
                f"n_buckets={self.n_buckets} must be a multiple of four, and at most twice "
                f"max_distance={self.max_distance}"
            )
        if max(self.start, self.end) >= self.n_tokens:
            raise ValueError(
                f"start={self.start} and end={self.end} must be among {self.n_tokens} tokens"
            )


def buckets(distances: Tensor, config: T5Config, *, both: bool) -> Tensor:
    """The bucket of each distance, of a key's place minus a query's; `both` sides, or one.

    Half of them hold one distance each, the others widen with the logarithm of it.
    """
    n = config.n_buckets // 2 if both else config.n_buckets
    later = (distances > 0) * n if both else torch.zeros_like(distances)
    far = distances.abs() if both else (-distances).clamp_min(0)
    exact = n // 2
    growth = (far.clamp_min(1) / exact).log() / math.log(config.max_distance / exact)
    wide = (exact + (growth * (n - exact)).long()).clamp_max(n - 1)
    return later + torch.where(far < exact, far, wide)


class Attention(nn.Module):
    """Heads that look at a sequence, without a scale and without constants."""

    def __init__(self, config: T5Config) -> None:
        super().__init__()
        inner = config.n_heads * config.head_width
        self.n_heads = config.n_heads
        self.query = nn.Linear(config.width, inner, bias=False)
        self.key = nn.Linear(config.width, inner, bias=False)
        self.value = nn.Linear(config.width, inner, bias=False)
        self.output = nn.Linear(inner, config.width, bias=False)

    def split(self, x: Tensor) -> Tensor:
        """Split into heads, (n, n_heads, T, head_width)."""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def keep(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of a sequence."""
        return self.split(self.key(x)), self.split(self.value(x))

    def forward(self, x: Tensor, kept: tuple[Tensor, Tensor], bias: Tensor) -> Tensor:
        """Look at what is kept; `bias` is added to the scores."""
        found = F.scaled_dot_product_attention(
            self.split(self.query(x)), *kept, attn_mask=bias, scale=1.0
        )
        return self.output(found.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    """One hidden layer, with a gate or without."""

    def __init__(self, config: T5Config) -> None:
        super().__init__()
        self.up = nn.Linear(config.width, config.hidden, bias=False)
        gated = config.activation == "geglu"
        self.gate = nn.Linear(config.width, config.hidden, bias=False) if gated else None
        self.down = nn.Linear(config.hidden, config.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Give what is added to the states."""
        if self.gate is None:
            return self.down(F.relu(self.up(x)))
        return self.down(F.gelu(self.gate(x), approximate="tanh") * self.up(x))


class Block(nn.Module):
    """Attention to the sequence itself, to another one if there is, and a feed-forward layer."""

    def __init__(self, config: T5Config, dropout: float, *, crossed: bool) -> None:
        super().__init__()
        self.dropout = dropout
        self.attention = Attention(config)
        self.cross = Attention(config) if crossed else None
        self.feed_forward = FeedForward(config)
        n_norms = 3 if crossed else 2
        self.norms = nn.ModuleList(
            nn.RMSNorm(config.width, eps=config.norm_epsilon) for _ in range(n_norms)
        )

    def forward(
        self,
        x: Tensor,
        bias: Tensor,
        other: tuple[Tensor, Tensor] | None = None,
        other_bias: Tensor | None = None,
        past: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Give the next states, and keys and values of all so far."""
        given = self.norms[0](x)
        kept = self.attention.keep(given)
        if past is not None:
            kept = (torch.cat([past[0], kept[0]], 2), torch.cat([past[1], kept[1]], 2))
        x = x + self._drop(self.attention(given, kept, bias))
        if self.cross is not None:
            assert other is not None
            assert other_bias is not None
            x = x + self._drop(self.cross(self.norms[1](x), other, other_bias))
        return x + self._drop(self.feed_forward(self.norms[-1](x))), kept

    def _drop(self, x: Tensor) -> Tensor:
        return drop(x, self.dropout, self.training)


class Stack(nn.Module):
    """Blocks, the table of their distances, and a last norm."""

    def __init__(self, config: T5Config, n_layers: int, dropout: float, *, crossed: bool) -> None:
        super().__init__()
        self.config, self.both = config, not crossed
        self.distances = nn.Embedding(config.n_buckets, config.n_heads)
        self.blocks: Any = nn.ModuleList(
            Block(config, dropout, crossed=crossed) for _ in range(n_layers)
        )
        self.norm = nn.RMSNorm(config.width, eps=config.norm_epsilon)

    def bias(self, n_keys: int, first: int = 0) -> Tensor:
        """What is added to scores of queries at `first`, ... , n_keys - 1, (1, heads, T, n)."""
        places = torch.arange(n_keys, device=self.distances.weight.device)
        far = places[None, :] - places[first:, None]
        bias = self.distances(buckets(far, self.config, both=self.both)).permute(2, 0, 1)
        return bias[None] if self.both else bias[None].masked_fill(far > 0, -torch.inf)


class T5(nn.Module):
    """Codes of sources and targets in, scores of the next codes of targets out.

    Codes of sources are tokens. Those of targets are the tokens without the end, in their order;
    the last code stands for the end.
    """

    order: Tensor

    def __init__(self, config: T5Config, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.config, self.end, self.dropout = config, config.n_tokens - 1, dropout
        self.tokens = nn.Embedding(config.n_tokens, config.width)
        self.encoder = Stack(config, config.n_layers, dropout, crossed=False)
        self.decoder = Stack(config, config.n_decoder_layers, dropout, crossed=True)
        head = None if config.tied else nn.Linear(config.width, config.n_tokens, bias=False)
        self.head = head
        others = [i for i in range(config.n_tokens) if i != config.end]
        self.register_buffer("order", torch.tensor([*others, config.end]), persistent=False)

    def embed(self, tokens: Tensor) -> Tensor:
        """Look tokens up."""
        return drop(self.tokens(tokens), self.dropout, self.training)

    def encode(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """What the decoder needs of padded sources: their states, and what hides the padding."""
        there = within(lengths, source.shape[1])[:, None, None]
        hidden = torch.zeros_like(there, dtype=self.tokens.weight.dtype)
        hidden = hidden.masked_fill(~there, -torch.inf)
        x, bias = self.embed(source), self.encoder.bias(source.shape[1]) + hidden
        for block in self.encoder.blocks:
            x, _ = block(x, bias)
        return drop(self.encoder.norm(x), self.dropout, self.training), hidden

    def before(self, target: Tensor) -> Tensor:
        """The tokens before each one of padded targets."""
        return F.pad(self.order[target], (1, 0), value=self.config.start)[:, :-1]

    def score(self, x: Tensor) -> Tensor:
        """Scores of codes from the states of the last block."""
        x = drop(self.decoder.norm(x), self.dropout, self.training)
        x = x / math.sqrt(self.config.width) if self.config.scaled else x
        head = self.tokens.weight if self.head is None else self.head.weight
        return F.linear(x, head)[..., self.order]

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """Score every symbol of padded targets given those before it, (n, T, n_tokens)."""
        memory, hidden = self.encode(source, lengths)
        x, bias = self.embed(self.before(target)), self.decoder.bias(target.shape[1])
        for block in self.decoder.blocks:
            x, _ = block(x, bias, block.cross.keep(memory), hidden)
        return self.score(x)

    def alignment(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """What the last layer looks at in the source, the mean over heads, shape (n, T, S)."""
        memory, hidden = self.encode(source, lengths)
        x, bias = self.embed(self.before(target)), self.decoder.bias(target.shape[1])
        for block in self.decoder.blocks:
            given, kept = x, block.cross.keep(memory)
            x, _ = block(x, bias, kept, hidden)
        inner = block.norms[0](given)
        given = given + block.attention(inner, block.attention.keep(inner), bias)
        asks = block.cross.split(block.cross.query(block.norms[1](given)))
        return (asks @ kept[0].mT + hidden).softmax(-1).mean(dim=1)

    def decoding(self, source: Tensor, lengths: Tensor) -> Decoding:
        """Begin with targets of padded sources."""
        return Decoding(self, source, lengths)


class Decoding:
    """A decoder on its way: what it keeps of the source and of the target so far, row by row."""

    def __init__(self, module: T5, source: Tensor, lengths: Tensor) -> None:
        self.module, self.n_steps = module, 0
        memory, self.hidden = module.encode(source, lengths)
        self.kept = [block.cross.keep(memory) for block in module.decoder.blocks]
        self.past: list[tuple[Tensor, Tensor] | None] = [None] * len(self.kept)

    def step(self, last: Tensor) -> Tensor:
        """The scores of the next code after the last one of each row, (n, n_tokens)."""
        tokens = self.module.order[last] if self.n_steps else torch.full_like(last, self._start)
        self.n_steps += 1
        x, bias = (
            self.module.embed(tokens[:, None]),
            self.module.decoder.bias(self.n_steps, self.n_steps - 1),
        )
        for i, block in enumerate(self.module.decoder.blocks):
            x, self.past[i] = block(x, bias, self.kept[i], self.hidden, self.past[i])
        return self.module.score(x[:, 0])

    @property
    def _start(self) -> int:
        return self.module.config.start

    def take(self, rows: Tensor) -> None:
        """Go on with these rows, some of which may be the same."""
        self.hidden = self.hidden[rows]
        self.kept = [(key[rows], value[rows]) for key, value in self.kept]
        self.past = [None if p is None else (p[0][rows], p[1][rows]) for p in self.past]
