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
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from panlearn.core.parameters import Bounds, Positive, check_parameters
from panlearn.core.value import Value
from panlearn.neural._step import drop
from panlearn.transformer._gelu import gelu
from panlearn.transformer._head import linear_cross_entropy
from panlearn.transformer._positions import rotary_positions, sinusoidal_positions
from panlearn.transformer.attention import MultiHeadAttention, attention_weights

if TYPE_CHECKING:
    from panlearn.transformer._generation import Cache


@dataclass(frozen=True)
class GPTConfig(Value):
    r"""The shape of a decoder; `gpt2` and `llama` give those of the two families.

    .. math::
        N_{\text{parameters}} = L (12 d^2 + 13 d) + V d + C d + 2 d

    is the number of parameters of a GPT-2 of L layers, width d, context C and V tokens.

    Parameters
    ----------
    n_layers : int, default=2
        Blocks L.
    width : int, default=32
        Coordinates d of a token.
    n_heads : int, default=2
        Heads of queries in each block.
    context : int, default=64
        The most tokens C that are seen at once.
    n_key_heads : int, default=None
        Heads of keys and values, shared by groups of heads; as many as heads if None.
    head_width : int, default=None
        Coordinates of a head; width / n_heads if None.
    hidden : int, default=None
        Width of the feed-forward layer; four times the width if None.
    positions : {"learned", "sinusoidal", "rotary"}, default="learned"
        A table that is learned or fixed and added to the tokens, or rotations of queries and keys.
    rotary_base : float, default=10000.0
        The base of the wave lengths of fixed and rotary positions.
    norm : {"layer", "rms"}, default="layer"
        Centre and scale each token, or only scale it.
    norm_epsilon : float, default=1e-05
        Is added to the variance there.
    activation : {"gelu", "relu", "swiglu"}, default="gelu"
        Of the feed-forward layer; "gelu" is the approximation by tanh, "swiglu" has a gate.
    bias : bool, default=True
        Whether projections have constants.
    tied : bool, default=True
        Whether the table of tokens is also the last projection.
    dropout : float, default=0.0
        Probability of leaving a value out in training, after the embedding, in attention and at
        the end of each branch.

    References
    ----------
    Radford, A. et al. (2019). Language models are unsupervised multitask learners. OpenAI.

    Touvron, H. et al. (2023). LLaMA: open and efficient foundation language models.
    https://arxiv.org/abs/2302.13971

    Examples
    --------
    >>> from panlearn.transformer import GPTConfig
    >>> GPTConfig.llama(n_layers=4, n_heads=4, n_key_heads=2).positions
    'rotary'
    """

    n_layers: Positive[int] = 2
    width: Positive[int] = 32
    n_heads: Positive[int] = 2
    context: Positive[int] = 64
    _: KW_ONLY
    n_key_heads: Positive[int] | None = None
    head_width: Positive[int] | None = None
    hidden: Positive[int] | None = None
    positions: Literal["learned", "sinusoidal", "rotary"] = "learned"
    rotary_base: Positive[float] = 10_000.0
    norm: Literal["layer", "rms"] = "layer"
    norm_epsilon: Positive[float] = 1e-5
    activation: Literal["gelu", "relu", "swiglu"] = "gelu"
    bias: bool = True
    tied: bool = True
    dropout: Annotated[float, Bounds(0, 1, closed_low=True)] = 0.0

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.head_width is None and self.width % self.n_heads:
            raise ValueError(f"width={self.width} is not a multiple of n_heads={self.n_heads}")
        if self.n_key_heads is not None and self.n_heads % self.n_key_heads:
            raise ValueError(f"n_key_heads={self.n_key_heads} does not divide {self.n_heads} heads")
        turned = {"rotary": self.head_size, "sinusoidal": self.width}.get(self.positions, 0)
        if turned % 2:
            raise ValueError(f"positions={self.positions!r} need an even width; got {turned}")

    @classmethod
    def gpt2(cls, **changes: Any) -> GPTConfig:
        """Give the smallest GPT-2, with what is changed: 12 layers, 768 wide, context 1024."""
        sizes = {"n_layers": 12, "width": 768, "n_heads": 12, "context": 1024}
        return cls(**{**sizes, **changes})

    @classmethod
    def llama(cls, **changes: Any) -> GPTConfig:
        """Give the first Llama, with what is changed: 32 layers, 4096 wide, context 2048."""
        sizes = {"n_layers": 32, "width": 4096, "n_heads": 32, "context": 2048}
        style = {"positions": "rotary", "norm": "rms", "activation": "swiglu", "bias": False}
        if not {"width", "hidden"} & set(changes):
            sizes["hidden"] = 11008
        return cls(**{**sizes, **style, "norm_epsilon": 1e-6, "tied": False, **changes})

    @property
    def head_size(self) -> int:
        """Coordinates of a head."""
        return self.head_width or self.width // self.n_heads

    @property
    def hidden_size(self) -> int:
        """Width of the feed-forward layer."""
        return self.hidden or 4 * self.width


class FeedForward(nn.Module):
    """W2 phi(W1 x) of each token by itself; with a gate, W2 (silu(Wg x) * W1 x)."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.activation = config.activation
        gates = 2 if config.activation == "swiglu" else 1
        self.up = nn.Linear(config.width, gates * config.hidden_size, bias=config.bias)
        self.down = nn.Linear(config.hidden_size, config.width, bias=config.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.up(x)
        if self.activation == "gelu":
            x = gelu(x)
        elif self.activation == "relu":
            x = F.relu(x)
        else:
            gate, x = x.chunk(2, dim=-1)
            x = F.silu(gate) * x
        return self.down(x)


class Block(nn.Module):
    """x + attention(norm(x)), then x + feedforward(norm(x))."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.attention_norm = _norm(config)
        self.attention = MultiHeadAttention(
            config.width,
            config.n_heads,
            n_key_heads=config.n_key_heads,
            head_width=config.head_width,
            bias=config.bias,
            dropout=config.dropout,
        )
        self.feed_forward_norm = _norm(config)
        self.feed_forward = FeedForward(config)
        self.dropout = config.dropout

    def forward(self, x: Tensor, **look: Any) -> Tensor:
        x = x + self.drop(self.attention(self.attention_norm(x), causal=True, **look))
        return x + self.drop(self.feed_forward(self.feed_forward_norm(x)))

    def drop(self, x: Tensor) -> Tensor:
        return drop(x, self.dropout, self.training)


class Decoder(nn.Module):
    """A stack of blocks between an embedding of tokens and a projection onto tokens."""

    def __init__(self, config: GPTConfig, n_tokens: int) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(n_tokens, config.width)
        if config.positions == "learned":
            self.positions = nn.Embedding(config.context, config.width)
        blocks = [Block(config) for _ in range(config.n_layers)]
        self.blocks: Any = nn.ModuleList(blocks)
        self.norm = _norm(config)
        self.head = None if config.tied else nn.Linear(config.width, n_tokens, bias=False)
        self.apply(_initialise)
        for block in blocks:  # so that the sum of all branches has the variance of one
            for last in (block.attention.output, block.feed_forward.down):
                last.weight.data.div_(math.sqrt(2 * config.n_layers))

    def forward(self, ids: Tensor) -> Tensor:
        """Score every next token, shape (batch, n, n_tokens)."""
        return F.linear(self.states(ids), self.projection)

    def losses(self, ids: Tensor, targets: Tensor, emphasis: Tensor | None = None) -> Tensor:
        """Give -log p of the token that follows each, shape (batch, n), without the scores of all.

        `emphasis` tells what the losses will be multiplied by, of the same shape.
        """
        states = self.states(ids).flatten(0, 1)
        hint = None if emphasis is None else emphasis.flatten()
        found = linear_cross_entropy(states, self.projection, targets.flatten(), hint)
        return found.view(targets.shape)

    def states(self, ids: Tensor) -> Tensor:
        """What the head sees of each token, shape (batch, n, width)."""
        x, rotation = self.embed(ids, torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x, rotation=rotation)
        return self.norm(x)

    @property
    def projection(self) -> Tensor:
        """The vectors that tokens are scored by, shape (n_tokens, width)."""
        return self.tokens.weight if self.head is None else self.head.weight

    def last(self, ids: Tensor, cache: Cache) -> Tensor:
        """Go on from what a cache holds: the last token as the head sees it, (batch, width)."""
        positions, mask = cache.begin(ids.shape[1])
        x, rotation = self.embed(ids, positions)
        for block, remember in zip(self.blocks, cache.layers, strict=True):
            x = block(x, rotation=rotation, mask=mask, remember=remember)
        return self.norm(x[:, -1])

    def embed(self, ids: Tensor, positions: Tensor) -> tuple[Tensor, Tensor | None]:
        """Look tokens up and tell them where they stand: the sum, and the rotation if any."""
        x, rotation = self.tokens(ids), None
        if self.config.positions == "rotary":
            # one axis for the heads, after that of the batch if positions have one
            rotation = self.places()[:, positions].to(x).unsqueeze(-3)
        else:
            x = x + F.embedding(positions, self.places().to(x))
        return drop(x, self.config.dropout, self.training), rotation

    def places(self) -> Tensor:
        """Give what is added to a token at each place, or the cosines and sines that turn it."""
        if self.config.positions == "learned":
            return self.positions.weight
        return (_rotations if self.config.positions == "rotary" else _sinusoids)(self.config)

    def attention_maps(self, ids: Tensor) -> Tensor:
        """Say who looks at whom, shape (n_layers, batch, n_heads, n, n)."""
        x, rotation = self.embed(ids, torch.arange(ids.shape[1], device=ids.device))
        maps = []
        for block in self.blocks:
            query, key, _ = block.attention.heads(block.attention_norm(x), rotation=rotation)
            maps.append(attention_weights(query, key, causal=True))
            x = block(x, rotation=rotation)
        return torch.stack(maps)


def shapes(config: GPTConfig, n_tokens: int) -> dict[str, tuple[int, ...]]:
    """Name every parameter of a decoder and give its shape, without making it."""
    width, hidden, size = config.width, config.hidden_size, config.head_size
    heads = config.n_heads + 2 * (config.n_key_heads or config.n_heads)
    gates = 2 if config.activation == "swiglu" else 1
    matrices = {
        "attention.project": (heads * size, width),
        "attention.output": (width, config.n_heads * size),
        "feed_forward.up": (gates * hidden, width),
        "feed_forward.down": (width, hidden),
    }
    norms = [f"blocks.{i}.{n}_norm" for i in range(config.n_layers) for n in _BRANCHES]
    named: dict[str, tuple[int, ...]] = {"tokens.weight": (n_tokens, width)}
    if config.positions == "learned":
        named["positions.weight"] = (config.context, width)
    if not config.tied:
        named["head.weight"] = (n_tokens, width)
    for norm in (*norms, "norm"):
        named[f"{norm}.weight"] = (width,)
        if config.norm == "layer":
            named[f"{norm}.bias"] = (width,)
    for i in range(config.n_layers):
        for name, shape in matrices.items():
            named[f"blocks.{i}.{name}.weight"] = shape
            if config.bias:
                named[f"blocks.{i}.{name}.bias"] = shape[:1]
    return named


_BRANCHES = ("attention", "feed_forward")


def n_parameters(config: GPTConfig, n_tokens: int) -> int:
    """Count the parameters of a decoder without making it."""
    return sum(math.prod(shape) for shape in shapes(config, n_tokens).values())


def _norm(config: GPTConfig) -> nn.Module:
    kind = nn.LayerNorm if config.norm == "layer" else nn.RMSNorm
    return kind(config.width, eps=config.norm_epsilon)


def _initialise(module: nn.Module) -> None:
    """Draw weights from N(0, 0.02^2), as GPT-2 does; constants are zero."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


@functools.lru_cache(maxsize=8)
def _sinusoids(config: GPTConfig) -> Tensor:
    return sinusoidal_positions(config.context, config.width, base=config.rotary_base)


@functools.lru_cache(maxsize=8)
def _rotations(config: GPTConfig) -> Tensor:
    places = torch.arange(config.context)
    return rotary_positions(places, config.head_size, base=config.rotary_base)
