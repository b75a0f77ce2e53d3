r"""The module of Mamba: tokens in, scores of every next token out. Read this file to know it.

.. math::
    x \leftarrow x + \operatorname{mixer}(\operatorname{norm}(x)) \quad (L \text{ times}), \qquad
    p(\text{next} \mid \text{so far}) = \operatorname{softmax}(\operatorname{norm}(x) W)

A mixer sees the past through two windows: a convolution over a few steps, and a state that each
step rewrites as it chooses. What it needs of the past has one size, however long that is.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from panlearn.core.parameters import Positive, check_parameters
from panlearn.core.value import Value
from panlearn.statespace._scan import selective_scan
from panlearn.transformer._head import linear_cross_entropy

_STEPS = (1e-3, 1e-1)  # between which sizes of steps the channels start
UNLIMITED = 2**62


@dataclass(frozen=True)
class MambaConfig(Value):
    r"""The shape of a Mamba.

    .. math::
        N_{\text{parameters}} = L \bigl(3 E d + E (3 N + 2 R + K + 3) + d\bigr) + V d + d

    is the number of parameters of L layers, width d, E = expand d channels, states of N numbers,
    filters of K steps, rank R and V tokens, without constants of projections.

    Parameters
    ----------
    n_layers : int, default=2
        Blocks L.
    width : int, default=32
        Coordinates d of a token.
    state_size : int, default=16
        Numbers N in the state of a channel.
    expand : int, default=2
        Channels of a block for each coordinate of a token.
    conv_size : int, default=4
        Steps K that the convolution sees.
    step_rank : int, default=None
        Rank R of what decides on the size of steps; the width over 16, rounded up, if None.
    bias : bool, default=False
        Whether the projections into a block and out of it have constants.
    conv_bias : bool, default=True
        Whether the convolution has.
    norm_epsilon : float, default=1e-05
        Is added to the mean square in norms.
    tied : bool, default=True
        Whether the table of tokens is also the last projection.

    References
    ----------
    Gu, A. and Dao, T. (2023). Mamba: linear-time sequence modeling with selective state spaces.
    https://arxiv.org/abs/2312.00752

    Examples
    --------
    >>> from panlearn.statespace import MambaConfig
    >>> MambaConfig(n_layers=24, width=768).channels
    1536
    """

    n_layers: Positive[int] = 2
    width: Positive[int] = 32
    _: KW_ONLY
    state_size: Positive[int] = 16
    expand: Positive[int] = 2
    conv_size: Positive[int] = 4
    step_rank: Positive[int] | None = None
    bias: bool = False
    conv_bias: bool = True
    norm_epsilon: Positive[float] = 1e-5
    tied: bool = True

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def channels(self) -> int:
        """Channels of a block."""
        return self.expand * self.width

    @property
    def rank(self) -> int:
        """Rank of what decides on the size of steps."""
        return self.step_rank or math.ceil(self.width / 16)

    @property
    def context(self) -> int:
        """The most tokens that are seen at once: there is no limit."""
        return UNLIMITED


class Memory(NamedTuple):
    """What a mixer keeps of the past: its last inputs, (n, K - 1, E), and its state, (n, E, N)."""

    tail: Tensor
    state: Tensor


class Mixer(nn.Module):
    r"""Mix steps by a convolution and by a state whose coefficients depend on the input.

    .. math::
        (u, g) &= W_{\text{in}} x, \qquad u \leftarrow \operatorname{silu}(w * u + b), \qquad
        (r, B, C) = W_{\text{select}} u, \qquad \Delta = \operatorname{softplus}(W_\Delta r + c) \\
        h_t &= e^{\Delta_t A} h_{t-1} + \Delta_t u_t B_t, \qquad
        y_t = W_{\text{out}} \bigl((h_t C_t + D u_t) \operatorname{silu}(g_t)\bigr), \qquad
        A = -e^{a}
    """

    def __init__(self, config: MambaConfig) -> None:
        super().__init__()
        channels, self.sizes = config.channels, (config.rank, config.state_size, config.state_size)
        self.project = nn.Linear(config.width, 2 * channels, bias=config.bias)
        self.filter = nn.Parameter(torch.empty(channels, config.conv_size))
        self.filter_bias = nn.Parameter(torch.empty(channels)) if config.conv_bias else None
        self.select = nn.Linear(channels, sum(self.sizes), bias=False)
        self.step = nn.Linear(config.rank, channels)
        self.log_rate = nn.Parameter(torch.empty(channels, config.state_size))
        self.D = nn.Parameter(torch.ones(channels))
        self.output = nn.Linear(channels, config.width, bias=config.bias)
        self._initialise(config.rank)

    @torch.no_grad()
    def _initialise(self, rank: int) -> None:
        """Rates -1, ..., -N; sizes of steps of several magnitudes, whatever the input."""
        bound = 1 / math.sqrt(self.filter.shape[1])
        for weight in (self.filter, self.filter_bias):
            if weight is not None:
                nn.init.uniform_(weight, -bound, bound)
        self.log_rate.copy_(torch.arange(1.0, 1 + self.sizes[1]).log().expand_as(self.log_rate))
        nn.init.uniform_(self.step.weight, -(rank**-0.5), rank**-0.5)
        nn.init.uniform_(self.step.bias, math.log(_STEPS[0]), math.log(_STEPS[1]))
        size = self.step.bias.exp()
        self.step.bias.copy_(size + torch.log(-torch.expm1(-size)))  # the inverse of softplus

    def start(self, n_rows: int) -> Memory:
        """What is kept when nothing has been read."""
        channels, size = self.filter.shape
        tail = self.filter.new_zeros(n_rows, size - 1, channels)
        return Memory(tail, self.log_rate.new_zeros(n_rows, *self.log_rate.shape))

    def forward(
        self, x: Tensor, memory: Memory | None = None, there: Tensor | None = None
    ) -> tuple[Tensor, Memory]:
        """Mix (n, T, width), and give what is kept; `there` says which steps are no padding.

        Padding stands behind: it leaves the state as it is.
        """
        memory = self.start(len(x)) if memory is None else memory
        inner, gate = _product(self.project, x).to(self.D.dtype).chunk(2, dim=-1)
        seen = torch.cat([memory.tail, inner], dim=1)
        inner = F.silu(self._convolve(seen, x.shape[1]))
        low, enter, read = _product(self.select, inner).to(inner.dtype).split(self.sizes, dim=-1)
        size = F.softplus(_product(self.step, low).to(inner.dtype))
        if there is not None:
            size = size * there[..., None]
        rate = -self.log_rate.exp()
        y, state = selective_scan(inner, size, rate, enter, read, memory.state)
        y = _product(self.output, (y + self.D * inner) * F.silu(gate))
        return y, Memory(self._last(seen, there), state)

    def _convolve(self, seen: Tensor, n_steps: int) -> Tensor:
        """Each channel by its filter, over the steps up to each."""
        taps = self.filter.unbind(1)
        parts = [seen[:, k : k + n_steps] * tap for k, tap in enumerate(taps)]
        total = sum(parts[1:], parts[0])
        return total if self.filter_bias is None else total + self.filter_bias

    def _last(self, seen: Tensor, there: Tensor | None) -> Tensor:
        """The inputs that the next step will see beside its own."""
        n = self.filter.shape[1] - 1
        if there is None:
            return seen[:, seen.shape[1] - n :]
        places = there.sum(1)[:, None] + torch.arange(n, device=seen.device)
        return seen.gather(1, places[..., None].expand(-1, -1, seen.shape[2]))


def _product(layer: nn.Linear, x: Tensor) -> Tensor:
    """Apply a layer whose matrix may be in half precision; all else stays as it is."""
    if layer.weight.dtype == x.dtype:
        return layer(x)
    y = F.linear(x.to(layer.weight.dtype), layer.weight).to(x.dtype)
    return y if layer.bias is None else y + layer.bias


class MambaBlock(nn.Module):
    """x + mixer(norm(x))."""

    def __init__(self, config: MambaConfig) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(config.width, eps=config.norm_epsilon)
        self.mixer = Mixer(config)

    def forward(self, x: Tensor) -> Tensor:
        return self.go_on(x, None)[0]

    def go_on(
        self, x: Tensor, memory: Memory | None, there: Tensor | None = None
    ) -> tuple[Tensor, Memory]:
        """Read more steps: what comes out, and what is kept."""
        y, memory = self.mixer(self.norm(x), memory, there)
        return x + y, memory


class MambaDecoder(nn.Module):
    """A stack of blocks between an embedding of tokens and a projection onto tokens."""

    def __init__(self, config: MambaConfig, n_tokens: int) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(n_tokens, config.width)
        nn.init.normal_(self.tokens.weight, std=0.02)
        blocks = [MambaBlock(config) for _ in range(config.n_layers)]
        self.blocks: Any = nn.ModuleList(blocks)
        for block in blocks:  # so that the sum of all branches has the variance of one
            block.mixer.output.weight.data.div_(math.sqrt(config.n_layers))
        self.norm = nn.RMSNorm(config.width, eps=config.norm_epsilon)
        self.head = None if config.tied else nn.Linear(config.width, n_tokens, bias=False)

    @property
    def projection(self) -> Tensor:
        """The vectors that tokens are scored by, shape (n_tokens, width)."""
        return self.tokens.weight if self.head is None else self.head.weight

    def forward(self, ids: Tensor) -> Tensor:
        """Score every next token, shape (batch, n, n_tokens)."""
        return F.linear(self.states(ids), self.projection)

    def states(self, ids: Tensor) -> Tensor:
        """What the head sees of each token, shape (batch, n, width)."""
        x = self._look_up(ids)
        for block in self.blocks:
            x = block(x)
        return self.norm(x).to(self.projection.dtype)

    def _look_up(self, ids: Tensor) -> Tensor:
        """The vectors of tokens, as precise as the norms: the sum over blocks is kept so."""
        return self.tokens(ids).to(self.norm.weight.dtype)

    def losses(self, ids: Tensor, targets: Tensor, emphasis: Tensor | None = None) -> Tensor:
        """Give -log p of the token that follows each, shape (batch, n), without the scores of all.

        `emphasis` tells what the losses will be multiplied by, of the same shape.
        """
        states = self.states(ids).flatten(0, 1)
        hint = None if emphasis is None else emphasis.flatten()
        found = linear_cross_entropy(states, self.projection, targets.flatten(), hint)
        return found.view(targets.shape)

    def go_on(
        self, ids: Tensor, memory: list[Memory] | None, lengths: Tensor | None = None
    ) -> tuple[Tensor, list[Memory]]:
        """Read more tokens: the last of each row as the head sees it, (batch, width), and memory.

        With `lengths`, rows are shorter than the table, and what stands behind them is not read.
        """
        x, kept = self._look_up(ids), []
        there = None
        if lengths is not None:
            there = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        for i, block in enumerate(self.blocks):
            x, more = block.go_on(x, None if memory is None else memory[i], there)
            kept.append(more)
        if lengths is None:
            return self.norm(x[:, -1]).to(self.projection.dtype), kept
        last = x[torch.arange(len(x), device=x.device), lengths - 1]
        return self.norm(last).to(self.projection.dtype), kept
