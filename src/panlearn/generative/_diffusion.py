"""Diffusion in steps: how noise is added, and how it is taken away again.

Steps are numbered 0 to T - 1, as in code, where the papers say 1 to T; "before the first" is -1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import torch

from panlearn.neural._draws import Draws

Prediction = Literal["noise", "sample", "velocity"]
Variance = Literal["small", "large", "learned"]
Sampler = Literal["ancestral", "ddim"]
Predictor = Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor | None]]
"""Gives a prediction for noisy rows at their steps, and maybe a learned variance."""


class NoiseSchedule:
    r"""The variances :math:`\beta_t` of noise, and how much of x is left after t steps.

    .. math::
        x_t = \sqrt{1 - \beta_t}\, x_{t-1} + \sqrt{\beta_t}\, \varepsilon_t
        \quad\Rightarrow\quad x_t = \sqrt{\bar\alpha_t}\, x_0 + \sqrt{1 - \bar\alpha_t}\,
        \varepsilon, \qquad \bar\alpha_t = \prod_{s \le t} (1 - \beta_s)

    "linear" goes from 1e-4 to 0.02 in 1000 steps, and is steeper if there are fewer; "cosine" has
    :math:`\bar\alpha_t \propto \cos^2(\frac{t/T + 0.008}{1.008} \frac\pi2)`.
    """

    def __init__(self, kind: Literal["linear", "cosine"], n_steps: int) -> None:
        if kind == "linear":
            betas = np.linspace(1e-4, 0.02, n_steps) * 1000 / n_steps
        else:
            left = np.cos((np.arange(n_steps + 1) / n_steps + 0.008) / 1.008 * np.pi / 2) ** 2
            betas = 1 - left[1:] / left[:-1]
        self.n_steps = n_steps
        self.betas = torch.as_tensor(np.minimum(betas, 0.999))
        self.left = torch.cumprod(1 - self.betas, 0)  # alpha bar
        self._padded = torch.cat([self.left, torch.ones(1, dtype=torch.float64)])  # of -1 it is 1

    def at(self, t: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        r""":math:`\bar\alpha_t` for the rows of `like`."""
        return self._padded.to(like)[t].reshape(-1, *[1] * (like.ndim - 1))

    def noised(self, x: torch.Tensor, noise: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        """Examples after step t of each row."""
        left = self.at(t, x)
        return left.sqrt() * x + (1 - left).sqrt() * noise

    def target(
        self, prediction: Prediction, x: torch.Tensor, noise: torch.Tensor, t: torch.Tensor
    ) -> torch.Tensor:
        """What a network is to say: the noise, the example, or the velocity between them."""
        left = self.at(t, x)
        velocity = left.sqrt() * noise - (1 - left).sqrt() * x
        return {"noise": noise, "sample": x, "velocity": velocity}[prediction]

    def origin(
        self, prediction: Prediction, noisy: torch.Tensor, said: torch.Tensor, t: torch.Tensor
    ) -> torch.Tensor:
        """The example that a prediction stands for."""
        left = self.at(t, noisy)
        if prediction == "sample":
            return said
        if prediction == "velocity":
            return left.sqrt() * noisy - (1 - left).sqrt() * said
        return (noisy - (1 - left).sqrt() * said) / left.sqrt()

    def posterior(
        self, noisy: torch.Tensor, origin: torch.Tensor, t: torch.Tensor, before: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        r"""Mean and variance of :math:`q(x_s \mid x_t, x_0)` for s before t, and :math:`\beta`.

        .. math::
            \frac{\sqrt{\alpha} (1 - \bar\alpha_s)\, x_t + \sqrt{\bar\alpha_s} (1 - \alpha)\, x_0}
            {1 - \bar\alpha_t}, \qquad \frac{1 - \bar\alpha_s}{1 - \bar\alpha_t} (1 - \alpha),
            \qquad \alpha = \bar\alpha_t / \bar\alpha_s
        """
        now, then = self.at(t, noisy), self.at(before, noisy)
        alpha = now / then
        mean = alpha.sqrt() * (1 - then) * noisy + then.sqrt() * (1 - alpha) * origin
        return mean / (1 - now), (1 - then) / (1 - now) * (1 - alpha), 1 - alpha

    def log_variance(
        self, share: torch.Tensor, t: torch.Tensor, before: torch.Tensor
    ) -> torch.Tensor:
        r"""A learned variance between the two fixed ones, in logarithms.

        Of the first step the lower one is zero; it takes that of the second.
        """
        _, small, _ = self.posterior(share, share, t.clamp(min=1), before.clamp(min=0))
        _, _, own = self.posterior(share, share, t, before)
        small = torch.minimum(small, own)
        return share * own.log() + (1 - share) * small.log()

    def ancestral(
        self,
        noisy: torch.Tensor,
        origin: torch.Tensor,
        t: torch.Tensor,
        before: torch.Tensor,
        noise: torch.Tensor,
        variance: Variance = "small",
        share: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Draw what was before, given x_t and a guess of x_0; without noise where it is x_0."""
        mean, small, beta = self.posterior(noisy, origin, t, before)
        if share is not None:
            deviation = (self.log_variance(share, t, before) / 2).exp()
        else:
            deviation = (small if variance == "small" else beta).sqrt()
        last = (before < 0).reshape(-1, *[1] * (noisy.ndim - 1))
        return mean + torch.where(last, 0.0, deviation * noise)

    def ddim(
        self,
        noisy: torch.Tensor,
        origin: torch.Tensor,
        t: torch.Tensor,
        before: torch.Tensor,
        noise: torch.Tensor,
        eta: float = 0.0,
    ) -> torch.Tensor:
        r"""Step along the direction of the noise; :math:`\eta = 0` draws nothing."""
        now, then = self.at(t, noisy), self.at(before, noisy)
        direction = (noisy - now.sqrt() * origin) / (1 - now).sqrt()
        variance = eta**2 * (1 - then) / (1 - now) * (1 - now / then)
        along = (1 - then - variance).clamp(min=0).sqrt() * direction
        return then.sqrt() * origin + along + variance.sqrt() * noise

    def path(self, n_steps: int | None = None) -> list[tuple[int, int]]:
        """Pairs of a step and the one before it, from the last to the example."""
        count = self.n_steps if n_steps is None else n_steps
        if not 1 <= count <= self.n_steps:
            raise ValueError(
                f"n_sampling_steps={n_steps!r} must be from 1 to the {self.n_steps} of training"
            )
        ends = np.round(np.arange(count, -1, -1) * self.n_steps / count).astype(int) - 1
        return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))


def reverse(
    schedule: NoiseSchedule,
    predict: Predictor,
    noise: torch.Tensor,
    draws: Draws,
    *,
    prediction: Prediction = "noise",
    variance: Variance = "small",
    sampler: Sampler = "ancestral",
    n_steps: int | None = None,
    eta: float = 0.0,
    clip: float = math.inf,
) -> Iterator[torch.Tensor]:
    """Take the noise away, step by step; `predict` gives a prediction and maybe a variance.

    What there is after each step, the last of which is the example.
    """
    x, size = noise, noise.shape[1:]
    random = sampler == "ancestral" or eta > 0
    for step, earlier in schedule.path(n_steps):
        t, before = (torch.full((len(x),), n, device=x.device) for n in (step, earlier))
        said, share = predict(x, t)
        origin = schedule.origin(prediction, x, said, t).clamp(-clip, clip)
        drawn = draws.normal(*size, dtype=x.dtype) if random else torch.zeros_like(x)
        if sampler == "ddim":
            x = schedule.ddim(x, origin, t, before, drawn, eta)
        else:
            x = schedule.ancestral(x, origin, t, before, drawn, variance, share)
        yield x


def bound(
    schedule: NoiseSchedule,
    predict: Predictor,
    x: torch.Tensor,
    draws: Draws,
    *,
    prediction: Prediction = "noise",
    variance: Variance = "small",
    clip: float = math.inf,
) -> torch.Tensor:
    r"""Estimate the variational bound of the log density of rows, with a draw for each step.

    .. math::
        \mathbb E_q \Bigl[ \log p(x_0 \mid x_1) - \sum_{t > 1} KL\bigl(q(x_{t-1} \mid x_t, x_0)
        \,\|\, p(x_{t-1} \mid x_t)\bigr) \Bigr] - KL\bigl(q(x_T \mid x_0) \,\|\, N(0, I)\bigr)

    Of the first step the small variance is zero; it takes that of the second.
    """
    left = schedule.left[-1].to(x)
    end = left * x.square() - left - torch.log1p(-left)
    total = -end.flatten(1).sum(1) / 2
    for number in range(schedule.n_steps):
        t = torch.full((len(x),), number, device=x.device)
        noisy = schedule.noised(x, draws.normal(*x.shape[1:], dtype=x.dtype), t)
        said, share = predict(noisy, t)
        origin = schedule.origin(prediction, noisy, said, t).clamp(-clip, clip)
        share = torch.full_like(x, variance == "large") if share is None else share
        lost = variational_losses(schedule, x, noisy, origin, share, t)
        total = total - lost * x[0].numel()
    return total


def denoising_losses(
    schedule: NoiseSchedule, prediction: Prediction, learned: bool, dropped: float
) -> Any:
    r"""The mean squared error of a prediction at a random step of each row.

    .. math::
        \mathbb E_{t, \varepsilon} \bigl\lVert \varepsilon - \varepsilon_\theta(x_t, t)
        \bigr\rVert^2 \ \Bigl( + \ \lambda\, T\, \mathbb E_t\, KL\bigl(q(x_{t-1} \mid x_t, x_0)
        \,\|\, p_\theta(x_{t-1} \mid x_t)\bigr) \Bigr)

    The second part, with :math:`\lambda = 0.001`, teaches a learned variance alone. A share of the
    conditions is `dropped`, for guidance.
    """

    def objective(module: Any, batch: Any, step: Any) -> torch.Tensor:
        x, *condition = batch
        t = step.integers(schedule.n_steps)
        noise = step.normal(*x.shape[1:], dtype=x.dtype)
        noisy = schedule.noised(x, noise, t)
        if condition:
            kept = (step.uniform(1, dtype=x.dtype) >= dropped).to(x.dtype)
            condition = [torch.cat([kept * condition[0], kept], dim=1)]
        said, share = module(noisy, t, *condition)
        target = schedule.target(prediction, x, noise, t)
        losses = (said - target).square().flatten(1).mean(1)
        if learned:
            origin = schedule.origin(prediction, noisy, said.detach(), t)
            losses = losses + 1e-3 * schedule.n_steps * variational_losses(
                schedule, x, noisy, origin, share, t
            )
        return losses

    return objective


def variational_losses(
    schedule: NoiseSchedule,
    x: torch.Tensor,
    noisy: torch.Tensor,
    origin: torch.Tensor,
    share: torch.Tensor,
    t: torch.Tensor,
) -> torch.Tensor:
    """KL of the true step back and the model's, the mean over entries; at the end minus log p."""
    true, small, _ = schedule.posterior(noisy, x, t, t - 1)
    guess, _, _ = schedule.posterior(noisy, origin, t, t - 1)
    log_variance = schedule.log_variance(share, t, t - 1)
    squares = (true - guess).square() * (-log_variance).exp()
    first = (t == 0).reshape(-1, *[1] * (x.ndim - 1))
    safe = torch.where(first, 1.0, small)
    kl = (squares + safe * (-log_variance).exp() - 1 + log_variance - safe.log()) / 2
    end = (squares + log_variance + math.log(2 * math.pi)) / 2
    return torch.where(first, end, kl).flatten(1).mean(1)
