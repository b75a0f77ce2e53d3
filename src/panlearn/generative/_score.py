"""Diffusion in continuous time: processes, what is learned of them, and ways back to the data.

A score is a function ``score(x, t)`` of rows and of a time for each, that gives the slope of the
log density of the data after time t of the process.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch.nn import functional as F

from panlearn.neural._draws import Draws

Score = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
FIRST = 1e-3  # the time at which the ways back end: at zero itself the slope may have no bound


class Process(ABC):
    r"""Noise that is added from time 0 to 1, :math:`dx = f(t) x\, dt + g(t)\, dw`; abstract.

    At time t an example is :math:`a(t) x_0 + \sigma(t) \varepsilon`.
    """

    end = 1.0  # the deviation of the noise at time 1, which the way back starts from

    @abstractmethod
    def scales(self, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        r""":math:`a(t)` and :math:`\sigma(t)`."""

    @abstractmethod
    def rates(self, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        r""":math:`f(t)` and :math:`g(t)^2`."""


class GrowingNoise(Process):
    """A process whose noise grows beside the example, so that a level of it has one time; abstract.

    Its times can be drawn by their level, as learning does.
    """

    @abstractmethod
    def when(self, log_ratio: torch.Tensor) -> torch.Tensor:
        r"""The time at which :math:`\log(\sigma^2 / a^2)` is what is said."""

    def log_ratio(self, t: torch.Tensor) -> torch.Tensor:
        r""":math:`\log(\sigma^2 / a^2)`, whose slope in t is :math:`g^2 / \sigma^2`."""
        a, sigma = self.scales(t)
        return 2 * (sigma / a).log()


class VariancePreserving(GrowingNoise):
    r""":math:`f = -\beta(t) / 2`, :math:`g^2 = \beta(t)`, with :math:`\beta = 0.1 + 19.9 t`."""

    def scales(self, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Their squares add up to one."""
        log_a = -(0.1 * t + 19.9 * t.square() / 2) / 2
        return log_a.exp(), (-torch.expm1(2 * log_a)).sqrt()

    def rates(self, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Minus half of beta, and beta."""
        beta = 0.1 + 19.9 * t
        return -beta / 2, beta

    def when(self, log_ratio: torch.Tensor) -> torch.Tensor:
        """The root of a square: the integral of beta is the log of one over a squared."""
        integral = F.softplus(log_ratio)
        return ((0.1**2 + 2 * 19.9 * integral).sqrt() - 0.1) / 19.9


class VarianceExploding(GrowingNoise):
    r""":math:`f = 0`, :math:`\sigma(t) = 0.01 (20 / 0.01)^t - 0.01` in squares."""

    low, end = 0.01, 20.0

    def scales(self, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The example stays, the noise grows."""
        grown = self.low * (self.end / self.low) ** t
        return torch.ones_like(t), (grown.square() - self.low**2).sqrt()

    def rates(self, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Zero, and the slope of the variance."""
        log_ratio = math.log(self.end / self.low)
        grown = self.low * (self.end / self.low) ** t
        return torch.zeros_like(t), 2 * log_ratio * grown.square()

    def when(self, log_ratio: torch.Tensor) -> torch.Tensor:
        """The log of the deviation that has grown, over that of all time."""
        log_grown = torch.log1p(log_ratio.exp() / self.low**2) / 2
        return log_grown / math.log(self.end / self.low)


PROCESSES: dict[str, type[GrowingNoise]] = {"vp": VariancePreserving, "ve": VarianceExploding}


def _wide(values: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """One number a row, shaped to multiply rows."""
    return values.to(like).reshape(-1, *[1] * (like.ndim - 1))


def trace_of_slope(score: Score, x: torch.Tensor, t: torch.Tensor) -> tuple[Any, torch.Tensor]:
    r"""The score and the exact :math:`\operatorname{tr} \nabla_x s(x, t)` of each row."""
    shape = x.shape
    with torch.enable_grad():
        flat = x.detach().flatten(1).requires_grad_()
        said = score(flat.reshape(shape), t).flatten(1)
        trace = torch.zeros_like(said[:, 0])
        for j in range(flat.shape[1]):
            (slope,) = torch.autograd.grad(said[:, j].sum(), flat, create_graph=True)
            trace = trace + slope[:, j]
    return said.reshape(shape), trace


def score_losses(process: GrowingNoise, method: Literal["denoising", "sliced", "explicit"]) -> Any:
    r"""Losses of rows, at a random time each, weighted by :math:`\sigma(t)^2`.

    Times are uniform in :math:`\log(\sigma^2 / a^2)`, so that a time t comes as often as
    :math:`g^2 / \sigma^2` says: the mean loss is then, but for constants, a bound of minus the log
    likelihood (Song, Durkan, Murray, Ermon, 2021).

    .. math::
        \lVert \sigma s(x_t, t) + \varepsilon \rVert^2, \qquad
        \sigma^2 \bigl( \tfrac12 \lVert s \rVert^2 + v^\top \nabla s\, v \bigr), \qquad
        \sigma^2 \bigl( \tfrac12 \lVert s \rVert^2 + \operatorname{tr} \nabla s \bigr)

    for "denoising", "sliced", with a random v of signs, and "explicit". Denoising sees each noise
    and its mirror image: of a score that is smooth the two say the same, and the noise in their
    gradients, which is one over sigma in the score, cancels.
    """
    low, high = process.log_ratio(torch.tensor([FIRST, 1.0], dtype=torch.float64)).tolist()

    def objective(score: Score, batch: Any, step: Any) -> torch.Tensor:
        x = batch[0]
        t = process.when(low + (high - low) * step.uniform(dtype=x.dtype))
        noise = step.normal(*x.shape[1:], dtype=x.dtype)
        a, sigma = process.scales(t)
        noisy = _wide(a, x) * x + _wide(sigma, x) * noise
        if method == "denoising":
            mirrored = 2 * _wide(a, x) * x - noisy
            missed = torch.stack(
                [
                    _wide(sigma, x) * score(noisy, t) + noise,
                    _wide(sigma, x) * score(mirrored, t) - noise,
                ]
            )
            return missed.square().mean(0).flatten(1).mean(1)
        if method == "explicit":
            said, trace = trace_of_slope(score, noisy, t)
        else:
            signs = 2.0 * step.integers(2, *x.shape[1:]).to(x) - 1
            with torch.enable_grad():
                noisy = noisy.detach().requires_grad_()
                said = score(noisy, t)
                (slope,) = torch.autograd.grad((said * signs).sum(), noisy, create_graph=True)
            trace = (slope * signs).flatten(1).sum(1)
        return sigma.square() * (said.square().flatten(1).sum(1) / 2 + trace) / x[0].numel()

    return objective


def times(n_steps: int) -> list[tuple[float, float]]:
    """Pairs of a time and the next, from 1 down to the first, closer towards the end."""
    grid = torch.linspace(1, FIRST**0.5, n_steps + 1, dtype=torch.float64).square().tolist()
    return list(itertools.pairwise(grid))


def reverse_sde(
    process: Process, score: Score, noise: torch.Tensor, draws: Draws, n_steps: int
) -> torch.Tensor:
    r"""Go back by :math:`dx = (f x - g^2 s)\, dt + g\, d\bar w`, in steps of Euler and Maruyama."""
    x = process.end * noise
    for now, then in times(n_steps):
        t = torch.full((len(x),), now, dtype=x.dtype, device=x.device)
        f, g2 = (_wide(rate, x) for rate in process.rates(t))
        x = x + (then - now) * (f * x - g2 * score(x, t))
        x = x + (g2 * (now - then)).sqrt() * draws.normal(*x.shape[1:], dtype=x.dtype)
    return _denoised(process, score, x)


def annealed_langevin(
    process: Process, score: Score, noise: torch.Tensor, draws: Draws, n_levels: int, n_moves: int
) -> torch.Tensor:
    r"""At less and less noise, :math:`x \leftarrow x + \delta s + \sqrt{2 \delta} \varepsilon`.

    :math:`\delta` is half the variance of the noise of the level: the slope of a score is nowhere
    below minus one over that variance, so that no move goes too far, and ten of them forget the
    wider noise of the level before.
    """
    x = process.end * noise
    for now, then in times(n_levels):
        t = torch.full((len(x),), then, dtype=x.dtype, device=x.device)
        (a_now, _), (a, sigma) = process.scales(torch.full_like(t, now)), process.scales(t)
        x = x * _wide(a / a_now, x)
        length = 0.5 * _wide(sigma, x).square()
        for _ in range(n_moves):
            drawn = draws.normal(*x.shape[1:], dtype=x.dtype)
            x = x + length * score(x, t) + (2 * length).sqrt() * drawn
    return _denoised(process, score, x)


def _denoised(process: Process, score: Score, x: torch.Tensor) -> torch.Tensor:
    r"""The mean of the example given x at the first time: :math:`(x + \sigma^2 s) / a`."""
    t = torch.full((len(x),), FIRST, dtype=x.dtype, device=x.device)
    a, sigma = (_wide(scale, x) for scale in process.scales(t))
    return (x + sigma.square() * score(x, t)) / a


def flow(
    process: Process, score: Score, x: torch.Tensor, n_steps: int, *, forward: bool, density: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    r"""Follow :math:`\dot x = f x - \frac12 g^2 s(x, t)`, and the integral of its divergence.

    Forward from the first time to 1, or back; in steps of the fourth-order rule of Runge and Kutta.
    """

    def field(x: torch.Tensor, now: float) -> tuple[torch.Tensor, torch.Tensor]:
        t = torch.full((len(x),), now, dtype=x.dtype, device=x.device)
        f, g2 = process.rates(t)
        if not density:
            return _wide(f, x) * x - _wide(g2, x) * score(x, t) / 2, torch.zeros_like(t)
        said, trace = trace_of_slope(score, x, t)
        divergence = f * x[0].numel() - g2 * trace.detach() / 2
        return _wide(f, x) * x - _wide(g2, x) * said.detach() / 2, divergence

    total = torch.zeros(len(x), dtype=x.dtype, device=x.device)
    grid = times(n_steps)
    pairs = [(then, now) for now, then in grid[::-1]] if forward else grid
    for start, end in pairs:
        h, middle = end - start, (start + end) / 2
        k1, d1 = field(x, start)
        k2, d2 = field(x + h / 2 * k1, middle)
        k3, d3 = field(x + h / 2 * k2, middle)
        k4, d4 = field(x + h * k3, end)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        total = total + h / 6 * (d1 + 2 * d2 + 2 * d3 + d4)
    return x, total


def flow_log_density(process: Process, score: Score, x: torch.Tensor, n_steps: int) -> torch.Tensor:
    r""":math:`\log p_1(x_1) + \int \nabla \cdot v\, dt` of rows, with :math:`p_1` the end noise.

    An exploding process does not forget the data: :math:`p_1` has their unit variance besides.
    """
    end, total = flow(process, score, x, n_steps, forward=True, density=True)
    one = torch.ones(1, dtype=x.dtype, device=x.device)
    a, sigma = process.scales(one)
    variance = a.square() + sigma.square()
    flat = end.flatten(1)
    log_end = -(flat.square() / variance + variance.log() + math.log(2 * math.pi)).sum(1) / 2
    return log_end + total
