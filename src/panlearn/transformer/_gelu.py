r"""GELU in its approximation by tanh, through the logistic function.

.. math::
    \tfrac{x}{2} \left(1 + \tanh \tfrac{z}{2}\right) = x\, \sigma(z), \qquad
    z = \sqrt{8 / \pi}\, (x + 0.044715\, x^3)

The two sides are equal. On a CPU tanh is what takes PyTorch's kernel its time, forward and
backward; the right side needs none, and its derivative gets :math:`\sigma(z)` from the result.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

_LINEAR = math.sqrt(8 / math.pi)
_CUBIC = 0.044715 * _LINEAR


def gelu(x: Tensor) -> Tensor:
    """Give x times the probability that a standard normal is below x, nearly."""
    if x.device.type != "cpu" or x.dtype not in (torch.float32, torch.float64):
        return F.gelu(x, approximate="tanh")
    return _Gelu.apply(x) if torch.is_grad_enabled() else _gated(x)


def _gated(x: Tensor) -> Tensor:
    z = (x * x).mul_(_CUBIC).add_(_LINEAR).mul_(x)
    return z.sigmoid_().mul_(x)


class _Gelu(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return _gated(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)
        ctx.save_for_forward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> Tensor:
        x, y = ctx.saved_tensors
        if torch.is_grad_enabled():  # for the derivative of a derivative
            return torch.ops.aten.gelu_backward(outer, x, approximate="tanh")
        gate = (y / x).nan_to_num_(0.5)  # sigma(z), one half at zero
        rise = (x * x).mul_(3 * _CUBIC).add_(_LINEAR).mul_(x)  # x dz/dx
        return rise.addcmul_(rise, gate, value=-1).add_(1).mul_(gate).mul_(outer)

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        return torch.ops.aten.gelu_backward(tangent, ctx.saved_tensors[0], approximate="tanh")
