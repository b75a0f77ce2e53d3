"""Latent attention: keys and values are made of one short vector a token, which alone is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from panlearn.transformer._config import LatentConfig
from panlearn.transformer.attention import attention, attention_weights, rotate


class LatentAttention(nn.Module):
    r"""Attention whose keys and values are made of one short vector a token, the latent.

    .. math::
        c_t = \operatorname{norm}(W^{D} x_t), \quad
        k_{t,h} = [W^{UK}_h c_t;\, k^R_t], \quad v_{t,h} = W^{UV}_h c_t, \quad
        k^R_t = \operatorname{rotate}_t(W^{KR} x_t)

        q_{t,h} = [q^C_{t,h};\, \operatorname{rotate}_t(q^R_{t,h})], \qquad
        o_t = \sum_h W^O_h \sum_j
        \operatorname{softmax}_j\!\left(\frac{q_{t,h}^\top k_{j,h}}{\sqrt{d_h + d_r}}\right) v_{j,h}

    Parameters
    ----------
    width : int
        Coordinates of a token x.
    n_heads : int
        Heads of queries; each has keys and values of its own.
    config : LatentConfig
        The widths of latents, keys and values.
    sharpness : float, default=1.0
        Multiplies the scores.
    dropout : float, default=0.0
        Probability of leaving a weight out in training.

    Notes
    -----
    A rotation stands between query and key and cannot be drawn into either matrix, so the
    coordinates that are turned are apart: each head has its own in the query, and the key's
    are the same for all heads.

    What is kept of a token is the latent and that part of the key: :math:`d_c + d_r` numbers, where
    attention keeps :math:`2 H d_h`. Two forms give the same. The explicit one makes keys and
    values of the latents. The absorbed one draws :math:`W^{UK}` into the query and :math:`W^{UV}`
    into the output and lets all heads look at the latents themselves, as in multi-query attention:

    .. math::
        q^{C\top}_{t,h} W^{UK}_h c_j = (W^{UK\top}_h q^C_{t,h})^\top c_j, \qquad
        \sum_j a_j W^{UV}_h c_j = W^{UV}_h \sum_j a_j c_j

    The explicit form costs less where all tokens are read, the absorbed one where few look at many
    that are kept; the number of queries decides, unless told. A token that looks at n kept ones
    costs :math:`O(n H (d_c + d_r))` in the absorbed form.

    References
    ----------
    DeepSeek-AI (2024). DeepSeek-V2: a strong, economical, and efficient mixture-of-experts language
    model. https://arxiv.org/abs/2405.04434

    Examples
    --------
    >>> import torch
    >>> from panlearn.transformer import LatentAttention, LatentConfig
    >>> layer = LatentAttention(32, 4, LatentConfig(8, 12, 6, 4, 6))
    >>> layer(torch.zeros(1, 5, 32), causal=True).shape
    torch.Size([1, 5, 32])
    >>> layer.memory  # one vector of 8 + 4 numbers a token
    (1, 1, 12)
    """

    def __init__(
        self,
        width: int,
        n_heads: int,
        config: LatentConfig,
        *,
        sharpness: float = 1.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.n_heads, self.config, self.dropout = n_heads, config, dropout
        self.sharpness = sharpness
        queries = n_heads * (config.head_width + config.rotary_width)
        if config.query_rank is None:
            self.query: nn.Module = nn.Linear(width, queries, bias=False)
        else:
            self.query = nn.Sequential(
                nn.Linear(width, config.query_rank, bias=False),
                nn.RMSNorm(config.query_rank, eps=1e-6),
                nn.Linear(config.query_rank, queries, bias=False),
            )
        self.compress = nn.Linear(width, config.rank + config.rotary_width, bias=False)
        self.norm = nn.RMSNorm(config.rank, eps=1e-6)
        expanded = n_heads * (config.head_width + config.value_width)
        self.expand = nn.Linear(config.rank, expanded, bias=False)
        self.output = nn.Linear(n_heads * config.value_width, width, bias=False)

    @property
    def memory(self) -> tuple[int, int, int]:
        """What is kept of a token: kinds of vectors, how many of each, and their width."""
        return 1, 1, self.config.rank + self.config.rotary_width

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        rotation: Tensor | None = None,
        remember: Callable[..., Sequence[Tensor]] | None = None,
        absorbed: bool | None = None,
    ) -> Tensor:
        """Let the tokens x look at each other.

        `rotation` turns queries and keys by their positions. `remember` takes the new latents
        and gives all there are: a cache. `absorbed` chooses between the two forms.
        """
        query, latent = self.latents(x, rotation)
        if remember is not None:
            (latent,) = remember(latent)
        if absorbed is None:
            absorbed = query.shape[-2] < latent.shape[-2]
        dropout = self.dropout if self.training else 0.0
        query, key, value = (self.absorb if absorbed else self.explain)(query, latent)
        mean = attention(query, key, value, mask=mask, causal=causal, dropout=dropout)
        if absorbed:
            mean = mean @ self._expansions()[1].transpose(1, 2)
        return self.output(mean.transpose(1, 2).flatten(2))

    def latents(self, x: Tensor, rotation: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Give queries (batch, heads, n, d_h + d_r), and what is kept: (batch, 1, n, d_c + d_r)."""
        config = self.config
        query = self.query(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
        latent, key = self.compress(x)[:, None].split([config.rank, config.rotary_width], dim=-1)
        if rotation is not None:
            still, turned = query.split([config.head_width, config.rotary_width], dim=-1)
            turned = rotate(turned, rotation, adjacent=config.adjacent)
            query = torch.cat([still, turned], dim=-1)
            key = rotate(key, rotation, adjacent=config.adjacent)
        return query * self.sharpness, torch.cat([self.norm(latent), key], dim=-1)

    def explain(self, query: Tensor, latent: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Make keys and values of latents: queries, keys and values of all heads."""
        config = self.config
        latent, turned = latent.split([config.rank, config.rotary_width], dim=-1)
        made = self.expand(latent[:, 0]).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
        key, value = made.split([config.head_width, config.value_width], dim=-1)
        shared = turned.expand(-1, self.n_heads, -1, -1)
        return query, torch.cat([key, shared], dim=-1), value

    def absorb(self, query: Tensor, latent: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Let queries look at latents themselves: as many queries, one head of keys and values."""
        config = self.config
        still, turned = query.split([config.head_width, config.rotary_width], dim=-1)
        query = torch.cat([still @ self._expansions()[0], turned], dim=-1)
        # the scores are divided by the root of the width of these, not by that of the keys'
        longer = math.sqrt(latent.shape[-1] / (config.head_width + config.rotary_width))
        return query * longer, latent, latent[..., : config.rank]

    def weights(self, x: Tensor, *, rotation: Tensor | None = None) -> Tensor:
        """Say which of the tokens x looks at which before it, (batch, n_heads, n, n)."""
        query, key, _ = self.explain(*self.latents(x, rotation))
        return attention_weights(query, key, causal=True)

    def _expansions(self) -> tuple[Tensor, Tensor]:
        """The matrices of keys and of values, (n_heads, d_h or d_v, d_c) each."""
        parts = [self.config.head_width, self.config.value_width]
        keys, values = self.expand.weight.unflatten(0, (self.n_heads, -1)).split(parts, dim=1)
        return keys, values
