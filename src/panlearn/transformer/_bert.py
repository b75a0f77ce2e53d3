r"""The encoder of BERT: tokens in, states that know of all others out.

.. math::
    x &= \operatorname{norm}(E_{\text{token}} + E_{\text{position}} + E_{\text{segment}}) \\
    x &\leftarrow \operatorname{norm}(x + \operatorname{attention}(x)), \qquad
    x \leftarrow \operatorname{norm}(x + \operatorname{feedforward}(x)) \qquad (L \text{ times}) \\
    p(\text{word}) &= \operatorname{softmax}(E_{\text{token}} g(x) + b), \qquad
    p(\text{follows}) = \operatorname{softmax}(W \tanh(P x_{\text{first}}))
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from panlearn.core.parameters import BelowOne, Positive, check_parameters
from panlearn.core.value import Value
from panlearn.neural._step import drop
from panlearn.transformer._encoder import ACTIVATIONS, Block, initialise


@dataclass(frozen=True)
class BERTConfig(Value):
    r"""The shape of an encoder; `base` gives that of the paper.

    .. math::
        N_{\text{parameters}} = L (12 d^2 + 13 d) + (V + C + S + 2) d

    without the parts that predict, for L layers, width d, context C, S segments and V tokens.

    Parameters
    ----------
    n_layers : int, default=2
        Blocks L.
    width : int, default=32
        Coordinates d of a token.
    n_heads : int, default=2
        Heads of attention in each block.
    context : int, default=128
        The most tokens C of a text, its marks included.
    hidden : int, default=None
        Width of the feed-forward layer; four times the width if None.
    n_segments : int, default=2
        Kinds S of segments.
    norm_epsilon : float, default=1e-12
        Is added to the variance in a norm.
    activation : {"gelu", "gelu_tanh", "relu"}, default="gelu"
        Of the feed-forward layers; "gelu_tanh" is the approximation by tanh.
    dropout : float, default=0.1
        Probability of leaving a value out in training.

    References
    ----------
    J. Devlin, M.-W. Chang, K. Lee and K. Toutanova (2019). BERT: pre-training of deep bidirectional
    transformers for language understanding. NAACL. doi:10.18653/v1/N19-1423

    Examples
    --------
    >>> from panlearn.transformer import BERTConfig
    >>> BERTConfig.base(n_layers=6).width
    768
    """

    n_layers: Positive[int] = 2
    width: Positive[int] = 32
    n_heads: Positive[int] = 2
    context: Positive[int] = 128
    _: KW_ONLY
    hidden: Positive[int] | None = None
    n_segments: Positive[int] = 2
    norm_epsilon: Positive[float] = 1e-12
    activation: Literal["gelu", "gelu_tanh", "relu"] = "gelu"
    dropout: BelowOne = 0.1

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.width % self.n_heads:
            raise ValueError(f"width={self.width} is not a multiple of n_heads={self.n_heads}")
        if self.context < 5:
            raise ValueError(f"context={self.context} has no room for two words and three marks")

    @classmethod
    def base(cls, **changes: Any) -> BERTConfig:
        """Give the smaller BERT of the paper, with what is changed: 12 layers, 768 wide."""
        sizes = {"n_layers": 12, "width": 768, "n_heads": 12, "context": 512}
        return cls(**{**sizes, **changes})

    @property
    def hidden_size(self) -> int:
        """Width of the feed-forward layer."""
        return self.hidden or 4 * self.width


class Encoder(nn.Module):
    """A stack of blocks on embedded tokens."""

    def __init__(self, config: BERTConfig, n_tokens: int) -> None:
        super().__init__()
        self.dropout, width = config.dropout, config.width
        self.tokens = nn.Embedding(n_tokens, width)
        self.positions = nn.Embedding(config.context, width)
        self.segments = nn.Embedding(config.n_segments, width)
        self.norm = nn.LayerNorm(width, eps=config.norm_epsilon)
        self.blocks: Any = nn.ModuleList(
            Block(
                *(width, config.n_heads, config.hidden_size),
                activation=config.activation,
                norm_epsilon=config.norm_epsilon,
                dropout=config.dropout,
            )
            for _ in range(config.n_layers)
        )

    def embed(self, ids: Tensor, segments: Tensor) -> Tensor:
        """Look tokens up, with their places and segments, shape (batch, n, width)."""
        places = self.positions.weight[: ids.shape[1]]
        x = self.norm(self.tokens(ids) + places + self.segments(segments))
        return drop(x, self.dropout, self.training)

    def forward(self, ids: Tensor, segments: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Give the states of padded texts, shape (batch, n, width); None if there is no padding."""
        x, mask = self.embed(ids, segments), padding(ids, lengths)
        for block in self.blocks:
            x = block(x, mask=mask)
        return x

    def attention_maps(self, ids: Tensor, segments: Tensor) -> Tensor:
        """Say who looks at whom, shape (n_layers, batch, n_heads, n, n)."""
        x, maps = self.embed(ids, segments), []
        for block in self.blocks:
            maps.append(block.weights(x))
            x = block(x)
        return torch.stack(maps)


class PretrainedEncoder(nn.Module):
    """An encoder, and the parts that it is trained by: one for words, one for what follows."""

    def __init__(self, config: BERTConfig, n_tokens: int) -> None:
        super().__init__()
        width = config.width
        self.encoder = Encoder(config, n_tokens)
        self.pooler = nn.Linear(width, width)
        self.transform = nn.Linear(width, width)
        self.transform_norm = nn.LayerNorm(width, eps=config.norm_epsilon)
        self.word_bias = nn.Parameter(torch.zeros(n_tokens))
        self.follows = nn.Linear(width, 2)
        self.activation = ACTIVATIONS[config.activation]
        initialise(self, config.width)

    def forward(self, ids: Tensor, segments: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Give the states of the encoder."""
        return self.encoder(ids, segments, lengths)

    def words(self, states: Tensor) -> Tensor:
        """Score every token at places whose states are given, shape (..., n_tokens)."""
        made = self.transform_norm(self.activation(self.transform(states)))
        return F.linear(made, self.encoder.tokens.weight, self.word_bias)

    def order(self, states: Tensor) -> Tensor:
        """Score whether the second segment follows the first (class 0) or not, (batch, 2)."""
        return self.follows(self.pooled(states))

    def pooled(self, states: Tensor) -> Tensor:
        """Give what the first token says of the whole text, shape (batch, width)."""
        return self.pooler(states[:, 0]).tanh()


class HeadedEncoder(nn.Module):
    """An encoder and a linear layer: on the pooled first token, or on every token."""

    def __init__(self, config: BERTConfig, n_tokens: int, n_outputs: int, *, each: bool) -> None:
        super().__init__()
        self.each, self.dropout = each, config.dropout
        self.encoder = Encoder(config, n_tokens)
        self.pooler = None if each else nn.Linear(config.width, config.width)
        self.head = nn.Linear(config.width, n_outputs)
        initialise(self, config.width)

    def forward(self, ids: Tensor, segments: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Give the outputs, shape (batch, n_outputs), or (batch, n, n_outputs) of every token."""
        x = self.encoder(ids, segments, lengths)
        if self.pooler is not None:
            x = self.pooler(x[:, 0]).tanh()
        return self.head(drop(x, self.dropout, self.training))


def padding(ids: Tensor, lengths: Tensor | None) -> Tensor | None:
    """The mask of padded texts, none where nothing is padded."""
    if lengths is None:
        return None
    there = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
    return there[:, None, None]
