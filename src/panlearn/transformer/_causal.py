r"""Causal attention to train with, on a CPU: a block of queries at a time, on the keys it sees.

.. math::
    P = \operatorname{softmax}(s Q K^\top + M), \quad O = P V, \qquad
    dV = P^\top dO, \quad dS = s P \odot (dO\, V^\top - \operatorname{rowsum}(dO \odot O)), \quad
    dQ = dS\, K, \quad dK = dS^\top Q

PyTorch's fused kernel keeps no weights and works them out again in the backward pass, masked ones
too. For texts of a few hundred tokens it is quicker to keep the lower triangle of blocks.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

_BLOCK, _LONGEST = 64, 512


def suits(query: Tensor, key: Tensor) -> bool:
    """Whether this is the quicker way to train."""
    return (
        torch.is_grad_enabled()
        and query.device.type == "cpu"
        and query.dtype in (torch.float32, torch.float64)
        and query.shape[-2] == key.shape[-2] <= _LONGEST
    )


def causal_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Give the mean of values for each query; all of shape (..., n, d), values with their own d."""
    found = _Causal.apply(*(t.flatten(0, -3) for t in (query, key, value)))
    return found[0].view(*query.shape[:-1], value.shape[-1])


class _Causal(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        """The means, and the weights of each block."""
        scale = 1 / math.sqrt(query.shape[-1])
        upper = torch.full((_BLOCK, _BLOCK), -torch.inf, dtype=query.dtype).triu(1)
        means, weights = [], []
        for low, high in _blocks(query.shape[-2]):
            scores = torch.bmm(query[:, low:high], key[:, :high].transpose(1, 2)).mul_(scale)
            scores[:, :, low:] += upper[: high - low, : high - low]
            weights.append(scores.softmax(dim=-1))
            means.append(torch.bmm(weights[-1], value[:, :high]))
        return torch.cat(means, dim=1), *weights

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    def backward(ctx: Any, outer: Tensor, *_: Tensor) -> tuple[Tensor, ...]:
        query, key, value, mean, *weights = ctx.saved_tensors
        scale = 1 / math.sqrt(query.shape[-1])
        if torch.is_grad_enabled():  # derivatives of these are wanted too: all at once
            n = query.shape[-2]
            upper = torch.full((n, n), -torch.inf, dtype=query.dtype).triu(1)
            weight = (scale * query @ key.transpose(1, 2) + upper).softmax(dim=-1)
            slope = outer @ value.transpose(1, 2)
            slope = scale * weight * (slope - (slope * weight).sum(dim=-1, keepdim=True))
            return slope @ key, slope.transpose(1, 2) @ query, weight.transpose(1, 2) @ outer
        share = (outer * mean).sum(dim=-1, keepdim=True)
        of_query, of_key, of_value = (torch.zeros_like(t) for t in (query, key, value))
        for (low, high), weight in zip(_blocks(query.shape[-2]), weights, strict=True):
            here, seen = slice(low, high), slice(high)
            of_value[:, seen] += torch.bmm(weight.transpose(1, 2), outer[:, here])
            slope = torch.bmm(outer[:, here], value[:, seen].transpose(1, 2))
            slope = slope.sub_(share[:, here]).mul_(weight).mul_(scale)
            of_query[:, here] = torch.bmm(slope, key[:, seen])
            of_key[:, seen] += torch.bmm(slope.transpose(1, 2), query[:, here])
        return of_query, of_key, of_value


def _blocks(n: int) -> list[tuple[int, int]]:
    """Where each block of queries begins and ends."""
    return [(low, min(low + _BLOCK, n)) for low in range(0, n, _BLOCK)]
