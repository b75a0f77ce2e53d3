r"""The selective scan of Mamba, forward and backward, a stretch of steps at a time.

.. math::
    h_t = e^{\Delta_t A} \odot h_{t-1} + (\Delta_t x_t) B_t^\top, \qquad y_t = h_t C_t

with a state h of shape (channels, n) for each sequence. The gradient :math:`g_t` of the state runs
the other way, :math:`g_t = \bar y_t C_t^\top + e^{\Delta_{t+1} A} \odot g_{t+1}`, and with it

.. math::
    \bar x_t = \Delta_t (g_t B_t), \quad \bar B_t = g_t^\top (\Delta_t x_t), \quad
    \bar C_t = h_t^\top \bar y_t, \quad r_t = g_t \odot h_{t-1} \odot e^{\Delta_t A}, \quad
    \bar A = \sum_t \Delta_t r_t, \quad
    \bar\Delta_t = x_t (g_t B_t) + \sum_n A_n r_{tn}

All steps of a stretch are made at once, but for one product and sum a step that carries the state.
Only the states between stretches are kept, and the way back makes the others again: a stretch stays
in the processor's cache, and memory grows with the sequence by one state a stretch.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_NUMBERS = 1 << 19  # in the states of a stretch


def selective_scan(
    x: Tensor, step: Tensor, A: Tensor, B: Tensor, C: Tensor, state: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Run the recurrence over sequences.

    Parameters
    ----------
    x, step : tensor of shape (n_rows, T, channels)
        Inputs, and sizes of steps; a step of size zero leaves the state as it is.
    A : tensor of shape (channels, n)
        Rates, below zero.
    B, C : tensor of shape (n_rows, T, n)
        How inputs enter the state, and how it is read.
    state : tensor of shape (n_rows, channels, n), default=None
        The state before the first step; zero if None.

    Returns
    -------
    tuple of tensor
        Outputs of shape (n_rows, T, channels), and the state after the last step.
    """
    if state is None:
        state = x.new_zeros(len(x), *A.shape)
    y, last, _ = _Scan.apply(x, step, A, B, C, state)
    return y, last


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(
        x: Tensor, step: Tensor, A: Tensor, B: Tensor, C: Tensor, state: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The outputs, the last state, and the states before each stretch."""
        y, before = torch.empty_like(x), []
        for part in _stretches(x, A):
            before.append(state)
            _, states = _states(x[:, part], step[:, part], A, B[:, part], state)
            y[:, part] = (states @ _first(C[:, part])[..., None])[..., 0].transpose(0, 1)
            state = states[-1]
        return y, state.clone(), torch.stack(before)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(output[2])
        ctx.save_for_backward(*inputs[:5], output[2])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, of_y: Tensor, of_last: Tensor, _: Tensor) -> tuple[Tensor, ...]:
        x, step, A, B, C, before = ctx.saved_tensors
        of_x, of_step, of_B, of_C = (torch.empty_like(t) for t in (x, step, B, C))
        of_A, carry = torch.zeros_like(A), of_last
        for part, start in reversed(list(zip(_stretches(x, A), before, strict=True))):
            decay, states = _states(x[:, part], step[:, part], A, B[:, part], start)
            inner, size, outer = _first(x[:, part]), _first(step[:, part]), _first(of_y[:, part])
            enter, read = _first(B[:, part]), _first(C[:, part])
            of_C[:, part] = (outer[:, :, None] @ states)[:, :, 0].transpose(0, 1)
            slope = outer[..., None] * read[:, :, None]  # g, once what comes later is added
            slope[-1] += carry
            for t in range(len(slope) - 2, -1, -1):
                torch.addcmul(slope[t], decay[t + 1], slope[t + 1], out=slope[t])
            carry = decay[0] * slope[0]
            entered = (slope @ enter[..., None])[..., 0]
            of_x[:, part] = (size * entered).transpose(0, 1)
            of_B[:, part] = ((size * inner)[:, :, None] @ slope)[:, :, 0].transpose(0, 1)
            slope.mul_(decay)  # r: times the state one step before
            slope[1:].mul_(states[:-1])
            slope[0].mul_(start)
            of_step[:, part] = (inner * entered + (slope * A).sum(-1)).transpose(0, 1)
            of_A += torch.einsum("tbc,tbcn->cn", size, slope)
        return of_x, of_step, of_A, of_B, of_C, carry


def _states(x: Tensor, step: Tensor, A: Tensor, B: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """What the state is multiplied by in each step, and the states, (T, n_rows, channels, n)."""
    size, enter = _first(step), _first(B)
    decay = (size[..., None] * A).exp_()
    states = (size * _first(x))[..., None] * enter[:, :, None]
    for t in range(len(states)):
        state = torch.addcmul(states[t], decay[t], state, out=states[t])
    return decay, states


def _first(x: Tensor) -> Tensor:
    """Steps before rows: what a step touches lies together."""
    return x.transpose(0, 1)


def _stretches(x: Tensor, A: Tensor) -> list[slice]:
    """Cut the steps so that the states of a part are few enough for the cache."""
    n_steps = max(1, _NUMBERS // max(1, len(x) * A.numel()))
    return [slice(low, low + n_steps) for low in range(0, x.shape[1], n_steps)]
