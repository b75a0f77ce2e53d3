r"""Gradients of differential equations by the adjoint equation, in constant memory.

.. math::
    \frac{da}{dt} = -a^\top \frac{\partial f}{\partial y}, \qquad
    \frac{dL}{d\theta} = -\int_{t_1}^{t_0} a^\top \frac{\partial f}{\partial \theta}\, dt
"""

from __future__ import annotations

import itertools
from typing import Any

import torch

from panlearn.generative._runge_kutta import SolverError, Stepper, adaptive, fixed


def adjoint_states(
    system: Any,
    flat: torch.Tensor,
    times: list[float],
    method: str,
    size: float | None,
    options: dict[str, Any],
    learned: tuple[torch.Tensor, ...],
    lenient: bool,
) -> tuple[torch.Tensor, tuple[int, int, int, str]]:
    """The states at times, (n_times, n), whose gradients come by the adjoint equation.

    Evaluations, steps, status and message come along.
    """
    counts: list[Any] = []
    solve = (system, times, method, size, options, lenient, counts)
    states = _Adjoint.apply(solve, flat, *learned)
    return states, tuple(counts)


class _Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, solve: tuple, flat: torch.Tensor, *learned: torch.Tensor) -> torch.Tensor:
        system, times, method, size, options, lenient, counts = solve
        stepper, states, n_steps = Stepper(method, flat), [flat], 0
        status, message, h, pace = 0, "", None, []
        try:
            for start, end in itertools.pairwise(times):
                y, h, n = advance(stepper, system, states[-1], start, end, size, options, h)
                states.append(y)
                pace.append(h)
                n_steps += n
        except SolverError as error:
            if not lenient:
                raise
            status, message = -1, str(error)
        counts += [system.calls, n_steps, status, message]
        result = torch.stack(states)
        ctx.save_for_backward(result, *learned)
        ctx.solve, ctx.pace = (system, times[: len(states)], method, size, options), pace
        return result

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple:
        states, *learned = ctx.saved_tensors
        system, times, method, size, options = ctx.solve
        (grad,), n = grads, states.shape[1]
        sizes = [p.numel() for p in learned]
        adjoint, total = grad[-1], states.new_zeros(sum(sizes))

        def backwards(t: float | torch.Tensor, state: torch.Tensor) -> torch.Tensor:
            with torch.enable_grad():
                y = state[:n].detach().requires_grad_()
                change = system(t, y)
            against = -state[n : 2 * n].view(1, n)
            found = torch.autograd.grad(
                change, (y, *learned), against, allow_unused=True, materialize_grads=True
            )
            return torch.cat([change.detach(), *(g.reshape(1, -1) for g in found)], dim=1)

        whole = torch.cat([states[-1], adjoint, total])
        stepper = Stepper(method, whole)
        for i in range(len(times) - 1, 0, -1):
            whole = torch.cat([states[i], adjoint, total])
            h = ctx.pace[i - 1]
            whole, _, _ = advance(
                stepper, backwards, whole, times[i], times[i - 1], size, options, h, 2 * n
            )
            adjoint, total = whole[n : 2 * n] + grad[i - 1], whole[2 * n :]
        parts = total.split(sizes) if learned else ()
        return None, adjoint, *(g.view_as(p) for g, p in zip(parts, learned, strict=True))


def advance(
    stepper: Stepper,
    f: Any,
    y: torch.Tensor,
    start: float,
    end: float,
    size: float | None,
    options: dict[str, Any],
    h: float | None,
    counted: int | None = None,
) -> tuple[torch.Tensor, float, int]:
    """The state at the end, the length of the longest step and how many there were."""
    if stepper.error is None:
        walk = fixed(stepper, f, y, [start, end], size)
    else:
        walk = adaptive(stepper, f, y, start, end, h=h, counted=counted, **options)
    longest, count = 0.0, 0
    for step in walk:
        y, longest, count = step.end, max(longest, abs(step.h)), count + 1
    return y, longest, count
