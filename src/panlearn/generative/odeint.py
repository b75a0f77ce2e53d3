"""Ordinary differential equations of tensors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import nn

from panlearn.generative._adjoint import adjoint_states
from panlearn.generative._runge_kutta import TABLEAUS, SolverError, Step, Stepper, adaptive, fixed

Function = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass
class ODESolution:
    r"""The solution of a differential equation at the times that were asked for.

    .. math:: y(t) = y_0 + \int_{t_0}^{t} f(s, y(s))\, ds

    Called with times inside the interval it gives the state there, if it was made with
    ``dense_output=True``.

    Parameters
    ----------
    t : tensor of shape (n_times,)
        The times that were reached.
    y : tensor of shape (n_times, ...)
        The states.
    nfev : int
        Evaluations of the field.
    n_steps : int
        Steps that were taken.
    status : {0, 1, -1}, default=0
        0 if the end was reached, 1 if an event ended it, -1 if it failed.
    message : str, default=""
        Why it failed, if it did.
    t_event : tensor or None, default=None
        When the event happened.
    y_event : tensor or None, default=None
        The state at the event.
    steps : sequence of Step, default=()
        What lies between the times, with ``dense_output=True``.

    References
    ----------
    Hairer, Norsett, Wanner (1993). Solving ordinary differential equations I, chapter II.
    doi:10.1007/978-3-540-78862-1

    Examples
    --------
    >>> import torch
    >>> from panlearn.generative import odeint
    >>> solution = odeint(lambda t, y: -y, torch.ones(1), [0.0, 1.0], dense_output=True)
    >>> round(float(solution(0.5)[0]), 4)  # exp(-0.5)
    0.6065
    """

    t: torch.Tensor
    y: torch.Tensor
    nfev: int
    n_steps: int
    status: int = 0
    message: str = ""
    t_event: torch.Tensor | None = None
    y_event: torch.Tensor | None = None
    steps: Sequence[Step] = field(default=(), repr=False)

    def __call__(self, t: Any) -> torch.Tensor:
        """The state at a time (...) or at several, (m, ...)."""
        if not self.steps:
            raise ValueError("there is nothing between the times: ask with dense_output=True")
        asked = torch.as_tensor(t, dtype=torch.float64).reshape(-1).tolist()
        steps, shape = self.steps, self.y.shape[1:]
        low, high = sorted((steps[0].t, steps[-1].t + steps[-1].h))
        slack = 1e-9 * (high - low)
        if not all(low - slack <= time <= high + slack for time in asked):
            raise ValueError(f"t={asked} must lie between {low:g} and {high:g}")
        found = []
        for time in asked:
            step = next((s for s in steps if (time - s.t) / s.h <= 1), steps[-1])
            found.append(step.at(step.y.new_tensor([(time - step.t) / step.h]))[0].view(shape))
        return found[0] if torch.as_tensor(t).ndim == 0 else torch.stack(found)


def odeint(
    func: Function,
    y0: torch.Tensor,
    t: Any,
    *,
    method: Literal["dopri5", "rk4", "euler"] = "dopri5",
    rtol: float = 1e-5,
    atol: float = 1e-6,
    step_size: float | None = None,
    gradient: Literal["plain", "adjoint"] = "plain",
    parameters: Iterable[torch.Tensor] | None = None,
    event: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] | None = None,
    dense_output: bool = False,
    max_steps: int = 10_000,
    on_failure: Literal["raise", "return"] = "raise",
) -> ODESolution:
    r"""Solve an initial value problem, with gradients.

    .. math:: \frac{dy}{dt} = f(t, y), \qquad y(t_0) = y_0

    Parameters
    ----------
    func : callable
        :math:`f`, of a time (a tensor without dimensions) and a state; it gives a tensor of the
        shape of the state.
    y0 : tensor
        The state at the first time, of any shape. All of it is one system with one step length.
    t : sequence of float or tensor of shape (n_times,)
        The times to give the state at, rising or falling; the first is where it starts. They are
        constants: no gradient goes to them.
    method : {"dopri5", "rk4", "euler"}, default="dopri5"
        Dormand and Prince's method of order 5 with steps by its own estimate of the error, the
        classical method of order 4, or Euler's.
    rtol : float, default=1e-5
        The error of a "dopri5" step may be ``atol + rtol * abs(y)``, in the root mean square over
        the entries of the state.
    atol : float, default=1e-6
        See `rtol`.
    step_size : float, default=None
        The longest step of the other methods; None for one step from each time to the next.
    gradient : {"plain", "adjoint"}, default="plain"
        "plain" differentiates the steps that were taken, and keeps what they need. "adjoint"
        solves another equation backwards, in memory that does not grow with the steps, up to
        the tolerances.
    parameters : iterable of tensor, default=None
        What gets gradients by "adjoint" beside `y0`; the parameters of `func` if it is a module.
    event : callable, default=None
        A number of time and state; the solution ends where it first changes its sign.
    dense_output : bool, default=False
        Whether the solution can be asked for states between the times.
    max_steps : int, default=10000
        The most steps that "dopri5" tries.
    on_failure : {"raise", "return"}, default="raise"
        What happens if it fails: `SolverError`, or a solution up to there with status -1.

    Returns
    -------
    ODESolution
        With ``t``, ``y`` (n_times, ...), ``nfev``, ``status``, and the event if there was one.

    Notes
    -----
    States at times inside a step come from an interpolant of order 4 ("dopri5"), 3 or 1; the last
    step ends at the last time. The first stage of a "dopri5" step is the last one of the step
    before. Gradients of an event go through its time, by the implicit function theorem.

    For "adjoint" the error of the gradients of parameters is not controlled, as it does not act
    back on the solution: that saves steps. Between two times it starts anew from the state that
    was found on the way there, so that errors of the way back do not pile up. torchdiffeq's "rk4"
    is another method of order 4, with the 3/8 rule. A step is 6 new values of f by "dopri5", 4 by
    "rk4", 1 by "euler"; the gradients keep :math:`O(s)` states of s steps, those of "adjoint"
    :math:`O(1)`.

    References
    ----------
    Dormand, Prince (1980). A family of embedded Runge-Kutta formulae.
    doi:10.1016/0771-050X(80)90013-3

    Chen, Rubanova, Bettencourt, Duvenaud (2018). Neural ordinary differential equations. NeurIPS.
    arXiv:1806.07366

    Kidger, Chen, Lyons (2021). Hey, that's not an ODE: faster ODE adjoints via seminorms. ICML.
    arXiv:2009.09457

    Examples
    --------
    >>> import torch
    >>> from panlearn.generative import odeint
    >>> rate = torch.tensor(2.0, requires_grad=True)
    >>> solution = odeint(lambda t, y: -rate * y, torch.ones(1), [0.0, 0.5, 1.0])
    >>> solution.y[:, 0].detach().numpy().round(4)
    array([1.    , 0.3679, 0.1353], dtype=float32)
    >>> solution.y[-1, 0].backward()
    >>> round(float(rate.grad), 4)  # minus exp(-2)
    -0.1353
    """
    times = _times(t)
    _check(y0, method, rtol, atol, step_size, event, gradient)
    options = {"rtol": float(rtol), "atol": float(atol), "max_steps": max_steps}
    flat, shape = y0.reshape(-1), y0.shape
    system = _System(func, flat, shape)
    if gradient == "adjoint" and torch.is_grad_enabled():
        learned = _learned(func, parameters)
        states, counts = adjoint_states(
            system, flat, times, method, step_size, options, learned, on_failure == "return"
        )
        t = torch.as_tensor(times[: len(states)], dtype=flat.dtype, device=flat.device)
        y = states.view(len(states), *shape)
        return ODESolution(t, y, *counts)
    return _solve(system, flat, times, method, step_size, options, event, dense_output, on_failure)


class _System:
    """A function of time and state, on flat states, that counts its calls."""

    def __init__(self, func: Function, like: torch.Tensor, shape: torch.Size) -> None:
        self.func, self.shape, self.calls = func, shape, 0
        self._options: dict[str, Any] = {"dtype": like.dtype, "device": like.device}

    def __call__(self, t: float | torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The change of a flat state (n,), as a row (1, n)."""
        self.calls += 1
        time = t if isinstance(t, torch.Tensor) else torch.tensor(t, **self._options)
        change = self.func(time, y.view(self.shape))
        if change.shape != self.shape:
            raise ValueError(
                f"func gave a tensor of shape {tuple(change.shape)} for a state of shape "
                f"{tuple(self.shape)}; they must be the same"
            )
        return change.reshape(1, -1)


def _solve(
    system: _System,
    flat: torch.Tensor,
    times: list[float],
    method: str,
    size: float | None,
    options: dict[str, Any],
    event: Any,
    dense: bool,
    on_failure: str,
) -> ODESolution:
    """Walk the steps and collect what is asked for."""
    stepper = Stepper(method, flat)
    if stepper.error is None:
        walk = fixed(stepper, system, flat, times, size)
    else:
        walk = adaptive(stepper, system, flat, times[0], times[-1], **options)
    parts, kept, reached, n_steps = [flat[None]], [], 1, 0
    found, status, message = None, 0, ""
    watch = None if event is None else _Watch(event, system)
    try:
        for step in walk:
            n_steps += 1
            if dense:
                kept.append(step)
            if watch is not None and (found := watch(step)) is not None:
                status = 1
            low, inside = (
                reached,
                (1.0 if found is None else (float(found[0].detach()) - step.t) / step.h),
            )
            while reached < len(times) and (times[reached] - step.t) / step.h <= inside + 1e-12:
                reached += 1
            parts += _states(step, times[low:reached])
            if status == 1:
                break
    except SolverError as error:
        if on_failure == "raise":
            raise
        status, message = -1, str(error)
    t = torch.as_tensor(times[:reached], dtype=flat.dtype, device=flat.device)
    y = torch.cat(parts).view(-1, *system.shape)
    solution = ODESolution(t, y, system.calls, n_steps, status, message, steps=kept)
    if found is not None:
        solution.t_event, solution.y_event = found[0], found[1].view(system.shape)
    return solution


def _states(step: Step, times: list[float]) -> list[torch.Tensor]:
    """The states at times inside a step, or at its end."""
    shares = [(time - step.t) / step.h for time in times]
    ends = [share for share in shares if share >= 1 - 1e-9]
    inner = shares[: len(shares) - len(ends)]
    parts = [step.at(step.y.new_tensor(inner))] if inner else []
    return parts + [step.end[None]] * len(ends)


class _Watch:
    """Finds where a function of time and state changes its sign."""

    def __init__(self, event: Any, system: _System) -> None:
        self._event, self._system = event, system
        self._before: float | None = None

    def _value(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self._event(t, y.view(self._system.shape)).reshape(())

    def __call__(self, step: Step) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Time and state of the event, if it lies in this step; both with gradients."""

        def sign(share: float) -> float:
            place = step.end if share == 1 else step.at(step.y.new_tensor([share]))[0]
            return float(self._value(step.y.new_tensor(step.t + share * step.h), place))

        with torch.no_grad():
            before = sign(0.0) if self._before is None else self._before
            after = self._before = sign(1.0)
            if before * after > 0 or before == 0:
                return None
            low, high = 0.0, 1.0
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if sign(middle) * before > 0 else (low, middle)
        time = step.y.new_tensor(step.t + high * step.h)
        y = step.at(step.y.new_tensor([high]))[0]
        speed = self._system(float(time), y).view(-1)
        with torch.enable_grad():
            at, place = time.clone().requires_grad_(), y.detach().requires_grad_()
            slopes = torch.autograd.grad(
                self._value(at, place), (at, place), allow_unused=True, materialize_grads=True
            )
        rate = slopes[0] + slopes[1] @ speed.detach()
        time = time - self._value(time, y) / rate  # nearly nothing, but it has the gradient
        return time, y + speed * (time - time.detach())


def _times(t: Any) -> list[float]:
    if isinstance(t, torch.Tensor) and t.requires_grad:
        raise ValueError("t requires a gradient, which is not computed: give t.detach()")
    times = [float(time) for time in t]
    steps = [b - a for a, b in itertools.pairwise(times)]
    if not steps or not all(map(math.isfinite, times)) or not (min(steps) > 0 or max(steps) < 0):
        raise ValueError(f"t={times} must be two or more finite times that rise, or that fall")
    return times


def _check(
    y0: Any, method: str, rtol: float, atol: float, size: Any, event: Any, gradient: str
) -> None:
    if not isinstance(y0, torch.Tensor) or not y0.is_floating_point():
        raise TypeError(f"y0 must be a tensor of floats; got {type(y0).__name__}")
    if method not in TABLEAUS:
        raise ValueError(f"method={method!r} must be one of {sorted(TABLEAUS)}")
    if gradient not in ("plain", "adjoint"):
        raise ValueError(f"gradient={gradient!r} must be 'plain' or 'adjoint'")
    if not (rtol > 0 and atol > 0):
        raise ValueError(f"rtol={rtol!r} and atol={atol!r} must be above zero")
    if size is not None and not size > 0:
        raise ValueError(f"step_size={size!r} must be above zero")
    if event is not None and gradient == "adjoint":
        raise ValueError("an event has gradients by gradient='plain' alone")


def _learned(func: Any, parameters: Iterable[torch.Tensor] | None) -> tuple[torch.Tensor, ...]:
    if parameters is None:
        if not isinstance(func, nn.Module):
            raise ValueError(
                "gradient='adjoint' must know what gets gradients: give parameters, () for y0 "
                "alone, or make func a torch.nn.Module"
            )
        parameters = func.parameters()
    return tuple(p for p in parameters if p.requires_grad)
