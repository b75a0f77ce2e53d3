r"""The loss of the last layer, without the table of all scores.

.. math::
    \ell_i = \log \sum_v e^{x_i^\top w_v} - x_i^\top w_{y_i}, \qquad
    \frac{\partial \ell_i}{\partial x_i} = \sum_v p_{iv} w_v - w_{y_i}, \qquad
    \frac{\partial}{\partial w_v} \sum_i \ell_i = \sum_i (p_{iv} - [y_i = v]) x_i

A vocabulary is long, so the scores of a batch are by far its largest table. Here a piece of rows is
scored, turned into probabilities and into its share of both gradients in one buffer, while it is
in the cache. The gradient of the weights is that of the sum of the losses, weighted if the weights
are told beforehand; should the losses be weighted otherwise in the end, the pieces are worked out
again.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

_BUFFER = 1 << 23  # scores at once: 32 MB


def linear_cross_entropy(
    x: Tensor, weight: Tensor, targets: Tensor, emphasis: Tensor | None = None
) -> Tensor:
    """Give -log softmax(x weight')[target] of each row.

    Parameters
    ----------
    x : tensor of shape (n, width)
    weight : tensor of shape (n_tokens, width)
    targets : tensor of int64 of shape (n,)
    emphasis : tensor of shape (n,), default=None
        What the losses will be multiplied by, up to a factor. They are the same with it and
        without; their gradient is then ready.

    Returns
    -------
    tensor of shape (n,)
    """
    precise = x.dtype == weight.dtype and x.dtype in (torch.float32, torch.float64)
    if not precise or torch.is_autocast_enabled(x.device.type):
        scores = F.linear(x, weight)
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        return F.cross_entropy(scores, targets, reduction="none")
    if torch.is_grad_enabled():
        hint = x.new_ones(len(x)) if emphasis is None else emphasis.detach().to(x)
        return _LinearCrossEntropy.apply(x, weight, targets, hint)
    return _work_out(x, weight, targets, differentiate=False)[0]


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, targets: Tensor, hint: Tensor) -> Tensor:
        losses, *gradients = _work_out(x, weight, targets, hint[:, None])
        ctx.save_for_backward(x, weight, targets, hint, *gradients)
        return losses

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, Tensor, None, None]:
        x, weight, targets, hint, of_x, of_weight = ctx.saved_tensors
        if torch.is_grad_enabled():  # derivatives of these are wanted too: the table as it is
            error = F.linear(x, weight).softmax(1) - F.one_hot(targets, len(weight))
            error = error * outer[:, None]
            return error @ weight, error.t() @ x, None, None
        factor = _factor(outer, hint)
        if factor is not None:
            return of_x * factor, of_weight * factor, None, None
        _, of_x, of_weight = _work_out(x, weight, targets, outer[:, None])
        return of_x, of_weight, None, None


def _factor(outer: Tensor, hint: Tensor) -> Tensor | None:
    """The number that `outer` is `hint` times, if there is one."""
    if not len(hint) or not hint.any():
        return None
    largest = hint.abs().argmax()
    factor = outer[largest] / hint[largest]
    alike = torch.isclose(outer, factor * hint, rtol=8 * torch.finfo(hint.dtype).eps, atol=0.0)
    return factor if bool(alike.all()) else None


def _work_out(
    x: Tensor, weight: Tensor, targets: Tensor, outer: Any = None, *, differentiate: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    """The losses and the gradients of the sum of the losses times `outer`."""
    losses = x.new_empty(len(x))
    of_x, of_weight = (torch.zeros_like(t) if differentiate else t for t in (x, weight))
    n_rows = max(1, _BUFFER // len(weight))
    buffer = x.new_empty(min(n_rows, len(x)), len(weight))
    for low in range(0, len(x), n_rows):
        piece = slice(low, low + n_rows)
        rows = x[piece]
        scores = torch.mm(rows, weight.t(), out=buffer[: len(rows)])
        scores -= scores.amax(1, keepdim=True)
        wanted = scores.gather(1, targets[piece, None])
        total = scores.exp_().sum(1, keepdim=True)  # probabilities are scores / total
        losses[piece] = (total.log() - wanted)[:, 0]
        if differentiate:
            share = outer[piece] / total
            torch.mm(scores, weight, out=of_x[piece]).mul_(share)
            of_weight.addmm_(scores.t(), rows * share)
    if differentiate:
        of_x -= outer * weight[targets]
        of_weight.index_add_(0, targets, outer * x, alpha=-1)
    return losses, of_x, of_weight
