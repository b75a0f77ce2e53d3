r"""Attention: every token takes a weighted mean of what others say, with masks and positions.

.. math::
    \operatorname{attention}(Q, K, V)
        = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d}} + M\right) V

:math:`M` is zero where a query (row) may look at a key (column) and minus infinity elsewhere; the
softmax runs along each row. `attention` goes through PyTorch's fused kernel, which never holds the
matrix of weights (short causal texts are trained on a CPU in blocks, which is quicker there);
`attention_weights` shows that matrix. `MultiHeadAttention` puts projections
around it: one head of keys for each head of queries, for a group of them, or for all; of the
sequence itself or of another one.

Masks are boolean and say True where looking is allowed: `causal_mask`, `padding_mask`. Positions
are added to the tokens (`sinusoidal_positions`, or any table that is learned) or turn queries and
keys (`rotary_positions`, `rotate`).

The cost is :math:`O(n m d)` for n queries and m keys of d numbers.

References
----------
Vaswani, A. et al. (2017). Attention is all you need. Advances in Neural Information Processing
Systems 30. https://arxiv.org/abs/1706.03762

Shazeer, N. (2019). Fast transformer decoding: one write-head is all you need.
https://arxiv.org/abs/1911.02150

Ainslie, J. et al. (2023). GQA: training generalized multi-query transformer models from multi-head
checkpoints. EMNLP. https://doi.org/10.18653/v1/2023.emnlp-main.298

Su, J. et al. (2024). RoFormer: enhanced transformer with rotary position embedding.
Neurocomputing 568. https://doi.org/10.1016/j.neucom.2023.127063

Examples
--------
>>> import torch
>>> from panlearn.transformer import attention
>>> x = torch.eye(3)[None, None]  # one sequence, one head, three tokens
>>> attention.attention_weights(x, x, causal=True)[0, 0]
tensor([[1.0000, 0.0000, 0.0000],
        [0.3595, 0.6405, 0.0000],
        [0.2645, 0.2645, 0.4711]])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from panlearn.neural._step import current_step, drop
from panlearn.transformer import _causal
from panlearn.transformer._positions import rotary_positions, rotate, sinusoidal_positions

__all__ = [
    "MultiHeadAttention",
    "attention",
    "attention_weights",
    "causal_mask",
    "padding_mask",
    "rotary_positions",
    "rotate",
    "sinusoidal_positions",
]


def causal_mask(n_queries: int, n_keys: int | None = None, *, window: int | None = None) -> Tensor:
    r"""Let query i look at keys :math:`j \le i + (m - n)`: the last query sees all keys.

    Parameters
    ----------
    n_queries : int
        Number n of queries.
    n_keys : int, default=None
        Number m of keys, of which the queries are the last; as many as queries if not given.
    window : int, default=None
        The most keys that a query looks at, the last ones of those; no limit if not given.

    Returns
    -------
    tensor of bool of shape (n_queries, n_keys)

    Examples
    --------
    >>> from panlearn.transformer.attention import causal_mask
    >>> causal_mask(2, 3).int()
    tensor([[1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    n_keys = n_queries if n_keys is None else n_keys
    allowed = torch.ones(n_queries, n_keys, dtype=torch.bool)
    lower = allowed.tril(n_keys - n_queries)
    return lower if window is None else lower.triu(n_keys - n_queries - window + 1)


def padding_mask(lengths: Tensor | list[int], n: int, *, left: bool = False) -> Tensor:
    """Let no query look at the padding of sequences of unequal lengths.

    Parameters
    ----------
    lengths : tensor or list of ints of shape (n_sequences,)
        How many tokens of each sequence are real.
    n : int
        The padded length.
    left : bool, default=False
        Whether the padding stands before the tokens.

    Returns
    -------
    tensor of bool of shape (n_sequences, 1, 1, n)
        It broadcasts over heads and queries; ``&`` joins it with a causal mask.
    """
    lengths = torch.as_tensor(lengths)
    if len(lengths) and (int(lengths.max()) > n or int(lengths.min()) < 0):
        raise ValueError(f"lengths must be from 0 to n={n}; got {lengths.tolist()}")
    place = torch.arange(n, device=lengths.device)
    real = place >= n - lengths[:, None] if left else place < lengths[:, None]
    return real[:, None, None]


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    score_bias: Tensor | None = None,
    causal: bool = False,
    window: int | None = None,
    dropout: float = 0.0,
) -> Tensor:
    r"""Give :math:`\operatorname{softmax}(Q K^\top / \sqrt d + M) V`, one mean of values a query.

    Parameters
    ----------
    query : tensor of shape (..., n_heads, n, d)
        What each token asks.
    key : tensor of shape (..., n_key_heads, m, d)
        What each token answers to. Fewer heads than the query's are shared by groups of them.
    value : tensor of shape (..., n_key_heads, m, d_v)
        What each token says.
    mask : tensor of bool that broadcasts to (..., n_heads, n, m), default=None
        True where looking is allowed. A query that may look at nothing gives zeros.
    score_bias : tensor that broadcasts to (..., n_heads, n, m), default=None
        Is added to the scores before the softmax, such as one that relative positions have.
    causal : bool, default=False
        Whether to allow, besides, only what `causal_mask` allows.
    window : int, default=None
        With `causal`, the most keys that a query looks at.
    dropout : float, default=0.0
        Probability of leaving a weight out.

    Returns
    -------
    tensor of shape (..., n_heads, n, d_v)
    """
    n, m = query.shape[-2], key.shape[-2]
    group = _group(query, key)
    window = None if window is None or not causal or window >= m else window
    plain = score_bias is None
    if n == 1 and window is not None and plain:
        key, value = key[..., -window:, :], value[..., -window:, :]
        mask = mask if mask is None or mask.shape[-1] == 1 else mask[..., -window:]
        m, window = window, None
    if n == 1 and not dropout and plain and (mask is None or mask.shape[-3] == 1):
        return _of_one_query(query, key, value, mask, group)
    if group > 1:
        key, value = (t.repeat_interleave(group, dim=-3) for t in (key, value))
    exact = mask is None and window is None and not dropout and plain
    if causal and exact and _causal.suits(query, key):
        return _causal.causal_attention(query, key, value)
    if causal and (mask is not None or window is not None or n != m or not plain):
        lower = causal_mask(n, m, window=window).to(query.device)
        mask, causal = lower if mask is None else mask & lower, False
    if dropout and current_step() is not None:  # the fused kernel draws from a global generator
        shown = attention_weights(query, key, mask=mask, score_bias=score_bias, causal=causal)
        return drop(shown, dropout) @ value
    look = mask
    if score_bias is not None:
        added = score_bias.to(query.dtype)
        look = added if mask is None else added.masked_fill(~mask, -torch.inf)
    mean = F.scaled_dot_product_attention(query, key, value, look, dropout, is_causal=causal)
    if mask is None:
        return mean
    return mean.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)


def _of_one_query(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, group: int
) -> Tensor:
    """The mean for the last token, which sees all: small products, quicker than the fused kernel.

    Heads of a group are the queries of their key head, so that nothing is repeated.
    """
    shape = (*query.shape[:-1], value.shape[-1])
    # one product for each head of keys of each sequence, on views of what there is
    query = query.reshape(-1, group, query.shape[-1])
    key, value = key.flatten(0, -3), value.flatten(0, -3)
    scale = 1 / math.sqrt(query.shape[-1])
    scores = torch.baddbmm(query.new_empty(()), query, key.transpose(1, 2), beta=0, alpha=scale)
    if mask is not None:
        scores = scores.view(*shape[:-2], 1, -1).masked_fill(~mask, -torch.inf).view_as(scores)
    mean = torch.bmm(scores.softmax(dim=-1), value).view(shape)
    return mean if mask is None else mean.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)


def attention_weights(
    query: Tensor,
    key: Tensor,
    *,
    mask: Tensor | None = None,
    score_bias: Tensor | None = None,
    causal: bool = False,
    window: int | None = None,
) -> Tensor:
    r"""Give the matrix :math:`\operatorname{softmax}(Q K^\top / \sqrt d + M)` itself, to look at.

    Parameters
    ----------
    query : tensor of shape (..., n_heads, n, d)
        What each token asks.
    key : tensor of shape (..., n_key_heads, m, d)
        What each token answers to.
    mask : tensor of bool that broadcasts to (..., n_heads, n, m), default=None
        True where looking is allowed.
    score_bias : tensor that broadcasts to (..., n_heads, n, m), default=None
        Is added to the scores before the softmax.
    causal : bool, default=False
        Whether to allow, besides, only what `causal_mask` allows.
    window : int, default=None
        With `causal`, the most keys that a query looks at.

    Returns
    -------
    tensor of shape (..., n_heads, n, m)
        Rows sum to one; those of a query that may look at nothing are zero.
    """
    key = key.repeat_interleave(_group(query, key), dim=-3)
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    scores = scores if score_bias is None else scores + score_bias
    allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    if causal:
        allowed = allowed & causal_mask(*scores.shape[-2:], window=window).to(scores.device)
    weights = scores.masked_fill(~allowed, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(~allowed.any(dim=-1, keepdim=True), 0.0)


def _group(query: Tensor, key: Tensor) -> int:
    """Heads of queries for each head of keys."""
    group, rest = divmod(query.shape[-3], key.shape[-3])
    if rest:
        raise ValueError(
            f"{query.shape[-3]} heads of queries cannot share {key.shape[-3]} heads of keys evenly"
        )
    return group


class MultiHeadAttention(nn.Module):
    r"""Attention of several heads side by side, between two projections.

    .. math::
        \operatorname{head}_h = \operatorname{attention}(X W^Q_h, Z W^K_{g(h)}, Z W^V_{g(h)}),
        \qquad Y = [\operatorname{head}_1, \dots, \operatorname{head}_H] W^O

    :math:`Z` is :math:`X` itself (self-attention) or another sequence (cross-attention). With as
    many key heads as heads this is multi-head attention, with one it is multi-query attention,
    and in between heads share keys and values in groups.

    Parameters
    ----------
    width : int
        Coordinates of a token.
    n_heads : int
        Heads H of queries.
    n_key_heads : int, default=None
        Heads of keys and values, a divisor of H; H if not given.
    head_width : int, default=None
        Coordinates of one head; width / H if not given.
    bias : bool, default=True
        Whether the projections have constants.
    output_bias : bool, default=None
        Whether the last one has; as `bias` says if not given.
    window : int, default=None
        With `causal`, the most keys that a query looks at.
    norm_epsilon : float, default=None
        If given, each head of queries and keys is divided by its root mean square, to whose square
        this is added, and multiplied by numbers that are learned.
    dropout : float, default=0.0
        Probability of leaving a weight out in training.

    Examples
    --------
    >>> import torch
    >>> from panlearn.transformer.attention import MultiHeadAttention
    >>> grouped = MultiHeadAttention(64, 8, n_key_heads=2, bias=False)
    >>> grouped(torch.zeros(1, 5, 64), torch.zeros(1, 7, 64)).shape
    torch.Size([1, 5, 64])
    >>> sum(p.numel() for p in grouped.parameters()) == 64 * 64 * 2 + 64 * 16 * 2
    True
    """

    def __init__(
        self,
        width: int,
        n_heads: int,
        *,
        n_key_heads: int | None = None,
        head_width: int | None = None,
        bias: bool = True,
        output_bias: bool | None = None,
        window: int | None = None,
        norm_epsilon: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if head_width is None and width % n_heads:
            raise ValueError(f"width={width} is not a multiple of n_heads={n_heads}")
        self.n_heads, self.n_key_heads = n_heads, n_key_heads or n_heads
        if n_heads % self.n_key_heads:
            raise ValueError(f"n_key_heads={n_key_heads} does not divide n_heads={n_heads}")
        self.head_width, self.dropout = head_width or width // n_heads, dropout
        self.window = window
        heads = n_heads + 2 * self.n_key_heads
        self.project = nn.Linear(width, heads * self.head_width, bias=bias)  # Q, K, V at once
        output_bias = bias if output_bias is None else output_bias
        self.output = nn.Linear(n_heads * self.head_width, width, bias=output_bias)
        self.query_norm = self.key_norm = None
        if norm_epsilon is not None:
            self.query_norm = nn.RMSNorm(self.head_width, eps=norm_epsilon)
            self.key_norm = nn.RMSNorm(self.head_width, eps=norm_epsilon)

    @property
    def memory(self) -> tuple[int, int, int]:
        """What is kept of a token: kinds of vectors, how many of each, and their width."""
        return 2, self.n_key_heads, self.head_width

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        score_bias: Tensor | None = None,
        causal: bool = False,
        rotation: Tensor | None = None,
        remember: Callable[..., Sequence[Tensor]] | None = None,
    ) -> Tensor:
        """Let the tokens x look at themselves, or at those of `memory`.

        `score_bias` is added to the scores, and `rotation` turns queries and keys by their
        positions. `remember` takes the new keys and
        values and gives all there are: a cache.
        """
        query, key, value = self.heads(x, memory, rotation)
        if remember is not None:
            key, value = remember(key, value)
        dropout = self.dropout if self.training else 0.0
        mean = attention(
            *(query, key, value),
            mask=mask,
            score_bias=score_bias,
            causal=causal,
            window=self.window,
            dropout=dropout,
        )
        return self.output(mean.transpose(1, 2).flatten(2))

    def weights(self, x: Tensor, *, rotation: Tensor | None = None) -> Tensor:
        """Say which of the tokens x looks at which before it, (batch, n_heads, n, n)."""
        query, key, _ = self.heads(x, rotation=rotation)
        return attention_weights(query, key, causal=True, window=self.window)

    def heads(
        self, x: Tensor, memory: Tensor | None = None, rotation: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Project to queries, keys and values, each of shape (batch, heads, n, head_width)."""
        sizes = [self.n_heads, self.n_key_heads, self.n_key_heads]
        if memory is None:
            split = self.project(x).unflatten(-1, (-1, self.head_width)).transpose(1, 2)
            query, key, value = split.split(sizes, dim=1)
        else:
            parts = [size * self.head_width for size in sizes]
            weights = self.project.weight.split(parts)
            biases = (None,) * 3 if self.project.bias is None else self.project.bias.split(parts)
            query, key, value = (
                F.linear(source, weight, bias).unflatten(-1, (-1, self.head_width)).transpose(1, 2)
                for source, weight, bias in zip((x, memory, memory), weights, biases, strict=True)
            )
        if self.query_norm is not None and self.key_norm is not None:
            query, key = self.query_norm(query), self.key_norm(key)
        if rotation is not None:
            query, key = rotate(query, rotation), rotate(key, rotation)
        return query, key, value
