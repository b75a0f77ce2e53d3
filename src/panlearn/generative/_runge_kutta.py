r"""Steps of explicit Runge-Kutta methods on flat tensors, recorded by autograd or not.

.. math::
    k_i = f\Bigl(t + c_i h,\ y + h \sum_{j < i} a_{ij} k_j\Bigr), \qquad
    y_1 = y + h \sum_i b_i k_i, \qquad y(\theta) = y + h \sum_i k_i \sum_p P_{ip}\, \theta^{p+1}

A step keeps its stages as rows of a matrix and takes one matrix-vector product a stage, so that on
the way back the gradients of stages are added up as matrices too. Errors and step lengths are
worked out outside autograd, so that gradients are those of the arithmetic on the steps taken.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from scipy.integrate import RK45

Field = Callable[[float | torch.Tensor, torch.Tensor], torch.Tensor]
"""The change of a flat state (n,) at a time, as a row (1, n)."""


@dataclass(frozen=True)
class Tableau:
    """The numbers of a method; the last row of `a` is b.

    If the method estimates its error, its last stage is the field at the end of the step, which
    the next one starts from.
    """

    c: tuple[float, ...]
    a: tuple[tuple[float, ...], ...]
    dense: np.ndarray
    error: np.ndarray | None = None


_RK4_DENSE = np.array([[1, -3 / 2, 2 / 3], [0, 1, -2 / 3], [0, 1, -2 / 3], [0, -1 / 2, 2 / 3]])
TABLEAUS = {
    "euler": Tableau((0.0,), ((1.0,),), np.ones((1, 1))),
    "rk4": Tableau(
        (0.0, 0.5, 0.5, 1.0),
        ((0.5,), (0.0, 0.5), (0.0, 0.0, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6)),
        _RK4_DENSE,
    ),
    "dopri5": Tableau(
        tuple(RK45.C),
        (*(tuple(row[: i + 1]) for i, row in enumerate(RK45.A[1:])), tuple(RK45.B)),
        RK45.P,
        RK45.E,
    ),
}


class SolverError(ArithmeticError):
    """A differential equation could not be followed to the end."""


@dataclass(slots=True)
class Step:
    """A step that was taken: from t and y by h to `end`, with the stages `k`, one a row."""

    t: float
    h: float
    y: torch.Tensor
    k: torch.Tensor
    end: torch.Tensor
    dense: torch.Tensor

    def at(self, theta: torch.Tensor) -> torch.Tensor:
        """The state at shares of the step, (m,) to (m, n)."""
        powers = theta[:, None] ** torch.arange(1, self.dense.shape[1] + 1, device=theta.device)
        stages = self.k[: len(self.dense)]
        return torch.addmm(self.y[None], powers @ self.dense.T, stages, alpha=self.h)


class Stepper:
    """A method with its numbers in the floats of a state.

    Parameters
    ----------
    method : str
        A name in `TABLEAUS`.
    like : tensor
        The state.
    """

    def __init__(self, method: str, like: torch.Tensor) -> None:
        tableau = TABLEAUS[method]
        self.c = like.new_tensor(tableau.c, dtype=torch.float64)
        self.rows = [like.new_tensor(row) for row in tableau.a]
        self.dense = like.new_tensor(tableau.dense)
        self.error = None if tableau.error is None else like.new_tensor(tableau.error)

    def take(self, f: Field, t: float, y: torch.Tensor, first: torch.Tensor, h: float) -> Step:
        """One step; `first` is the field at its beginning."""
        k, state = first, y
        times = (self.c * h).add_(t).to(y.dtype).unbind()
        for i, row in enumerate(self.rows, start=1):
            state = torch.addmv(y, k.t(), row, alpha=h)
            if i < len(self.rows):
                k = torch.cat([k, f(times[i], state)])
        return Step(t, h, y, k, state, self.dense)


def fixed(
    stepper: Stepper, f: Field, y: torch.Tensor, times: list[float], size: float | None
) -> Iterator[Step]:
    """Steps of one length between two times each, at most `size`."""
    for start, end in itertools.pairwise(times):
        count = 1 if size is None else max(1, math.ceil(abs(end - start) / size - 1e-9))
        h = (end - start) / count
        for i in range(count):
            t = start + i * h
            step = stepper.take(f, t, y, f(t, y), h)
            y = step.end
            yield step


def adaptive(
    stepper: Stepper,
    f: Field,
    y: torch.Tensor,
    start: float,
    end: float,
    *,
    rtol: float,
    atol: float,
    max_steps: int,
    h: float | None = None,
    counted: int | None = None,
) -> Iterator[Step]:
    """Steps whose error is within the tolerances, the last of which ends at `end`.

    The error is that of the first `counted` numbers of the state. `h` is a length to begin with.
    """
    t, direction, first = start, math.copysign(1.0, end - start), f(start, y)
    if h is None:
        h = _first_length(f, t, y, first, end, rtol, atol, counted)
    for _ in range(max_steps):
        rest = abs(end - t)
        h = min(abs(h), rest)
        if h < 16 * math.ulp(t) or not math.isfinite(h):
            raise SolverError(_stuck(t, h, y, rtol, atol))
        h = rest if rest - h < 1e-3 * h else h
        step = stepper.take(f, t, y, first, direction * h)
        last = f(t + direction * h, step.end)
        step.k = torch.cat([step.k, last])
        ratio = _error_ratio(stepper, step, rtol, atol, counted)
        good = ratio <= 1
        factor = 0.9 * ratio**-0.2 if ratio > 0 else 10.0
        factor = min(max(factor, 0.2), 10.0 if good else 1.0) if ratio == ratio else 0.2
        if good:
            yield step
            if h >= rest:
                return
            t, y, first = t + direction * h, step.end, last
        h *= factor
    raise SolverError(
        f"max_steps={max_steps} steps led from t={start:g} to t={t:g} of {end:g}, the last ones of "
        f"length {h:.3g}: raise max_steps or the tolerances (rtol={rtol:g}, atol={atol:g}), or say "
        "on_failure='return' for what there is"
    )


@torch.no_grad()
def _error_ratio(
    stepper: Stepper, step: Step, rtol: float, atol: float, counted: int | None
) -> float:
    """The estimated error of a step over what is allowed, in the root mean square."""
    assert stepper.error is not None
    stages, y, end = step.k, step.y, step.end
    if counted is not None:
        stages, y, end = stages[:, :counted], y[:counted], end[:counted]
    allowed = torch.maximum(y.abs(), end.abs()).mul_(rtol).add_(atol)
    error = torch.mv(stages.t(), stepper.error).div_(allowed)
    return abs(step.h) * float(torch.linalg.vector_norm(error)) / math.sqrt(len(error))


@torch.no_grad()
def _first_length(
    f: Field,
    t: float,
    y: torch.Tensor,
    first: torch.Tensor,
    end: float,
    rtol: float,
    atol: float,
    counted: int | None,
) -> float:
    """A first length from the sizes of the field and of its change (Hairer, algorithm II.4)."""
    allowed = atol + rtol * y[:counted].abs()

    def size(x: torch.Tensor) -> float:
        x = x[:counted] / allowed
        return float(torch.linalg.vector_norm(x)) / math.sqrt(max(len(x), 1))

    first = first.view(-1)
    d0, d1 = size(y), size(first)
    guess = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    guess = min(guess, abs(end - t))
    h = math.copysign(guess, end - t)
    d2 = size(f(t + h, y + h * first).view(-1) - first) / guess
    largest = max(d1, d2)
    better = max(1e-6, guess * 1e-3) if largest <= 1e-15 else (0.01 / largest) ** 0.2
    return min(100 * guess, better)


def _stuck(t: float, h: float, y: torch.Tensor, rtol: float, atol: float) -> str:
    return (
        f"the step at t={t:.6g} has become {h:.3g}, where the state has a norm of "
        f"{float(y.norm()):.3g}: the field grows without bound there, is not smooth or stiff, or "
        f"rtol={rtol:g} and atol={atol:g} are less than {str(y.dtype)[6:]} can give; raise them, "
        "compute in float64, or say on_failure='return' for what there is"
    )
