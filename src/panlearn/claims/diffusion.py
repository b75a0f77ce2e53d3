"""Diffusion: how noise is added and taken away, on Gaussian data where all is known."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal
from panlearn.core.extras import require

torch = require("torch")

from panlearn.generative._diffusion import (  # noqa: E402
    NoiseSchedule,
    denoising_losses,
    variational_losses,
)
from panlearn.neural._draws import Draws, Share  # noqa: E402


def _row(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64)[:, None]


def _step(t: int) -> Any:
    return torch.tensor([t])


@claim("B263")
def many_small_steps_are_one() -> Iterator[Evidence]:
    """Iterating x_t = sqrt(1 - b) x_{t-1} + sqrt(b) e gives q(x_t | x_0) with mean sqrt(abar) x_0
    and variance 1 - abar.
    """
    schedule = NoiseSchedule("linear", 1000)
    mean, variance = [1.0], [0.0]
    for beta in schedule.betas.tolist():
        mean.append(math.sqrt(1 - beta) * mean[-1])
        variance.append((1 - beta) * variance[-1] + beta)
    t = torch.arange(1000)
    ones, zeros = torch.ones(1000, 1, dtype=torch.float64), torch.zeros(1000, 1)
    yield equal("means", schedule.noised(ones, zeros.double(), t)[:, 0], mean[1:], 1e-13)
    spread = schedule.noised(zeros.double(), ones, t)[:, 0].square()
    yield equal("variances", spread, variance[1:], 1e-13)


@claim("B264")
def the_variance_is_kept() -> Iterator[Evidence]:
    """If x_0 has variance 1, so has every x_t; and abar_T -> 0, so that x_T is near N(0, I): below
    1e-4 for the linear schedule from 1e-4 to 0.02 in 1000 steps.
    """
    schedule = NoiseSchedule("linear", 1000)
    t, one = torch.arange(1000), torch.ones(1000, 1, dtype=torch.float64)
    parts = schedule.noised(one, 0 * one, t), schedule.noised(0 * one, one, t)
    yield equal("variances", parts[0] ** 2 + parts[1] ** 2, one, 1e-14)
    yield at_most("what is left of x_0 in the end", schedule.left[-1], 1e-4)


@claim("B265")
def the_step_back_is_known_given_the_example() -> Iterator[Evidence]:
    """q(x_{t-1} | x_t, x_0) has mean [sqrt(a_t)(1 - abar_{t-1}) x_t + sqrt(abar_{t-1})(1 - a_t)
    x_0] / (1 - abar_t) and variance (1 - a_t)(1 - abar_{t-1}) / (1 - abar_t): the product of two
    Gaussians. One line of the text has abar_t in the place of a_t in q(x_t | x_{t-1}).
    """
    schedule = NoiseSchedule("cosine", 20)
    x_t, x_0 = 0.8, -0.3
    for t in (1, 7, 18):
        alpha, before = 1 - schedule.betas[t].item(), schedule.left[t - 1].item()
        precision = 1 / (1 - before) + alpha / (1 - alpha)
        mean = (math.sqrt(before) * x_0 / (1 - before) + math.sqrt(alpha) * x_t / (1 - alpha)) / (
            precision
        )
        found = schedule.posterior(_row(x_t), _row(x_0), _step(t), _step(t - 1))
        yield equal(f"mean and variance of step {t}", [found[0].item(), found[1].item()],
                    [mean, 1 / precision], 1e-12)  # fmt: skip


@claim("B266")
def the_step_back_by_the_noise() -> Iterator[Evidence]:
    """The same mean is (x_t - (1 - a_t) / sqrt(1 - abar_t) e) / sqrt(a_t), with
    e = (x_t - sqrt(abar_t) x_0) / sqrt(1 - abar_t).
    """
    schedule, t = NoiseSchedule("linear", 100), 60
    x, noise = _row(0.4), _row(-1.2)
    noisy = schedule.noised(x, noise, _step(t))
    alpha, left = 1 - schedule.betas[t], schedule.left[t]
    mean, _, _ = schedule.posterior(noisy, x, _step(t), _step(t - 1))
    by_noise = (noisy - (1 - alpha) / (1 - left).sqrt() * noise) / alpha.sqrt()
    yield equal("both means", mean, by_noise, 1e-13)
    yield equal("the example back", schedule.origin("noise", noisy, noise, _step(t)), x, 1e-13)


@claim("B267")
def the_divergence_is_an_error_of_noise() -> Iterator[Evidence]:
    """The divergence of two steps back of one variance s_q^2 is
    (1 - a_t)^2 / (2 s_q^2 (1 - abar_t) a_t) ||e - e_theta||^2.
    """
    schedule, t = NoiseSchedule("linear", 100), 40
    x, noise, guess = _row(0.4), _row(-1.2), _row(-0.9)
    noisy = schedule.noised(x, noise, _step(t))
    origin = schedule.origin("noise", noisy, guess, _step(t))
    share = torch.zeros_like(x)  # the smaller variance, that of q
    found = variational_losses(schedule, x, noisy, origin, share, _step(t))
    alpha, left, before = 1 - schedule.betas[t], schedule.left[t], schedule.left[t - 1]
    variance = (1 - alpha) * (1 - before) / (1 - left)
    expected = (1 - alpha) ** 2 / (2 * variance * (1 - left) * alpha) * (noise - guess).square()
    yield equal("divergence", found, expected[:, 0], 1e-12)


@claim("B268", mathematics=True)
def the_bound_of_a_diffusion() -> Iterator[Evidence]:
    """ELBO = E log p(x_0|x_1) - KL(q(x_T|x_0) || p(x_T)) - sum E KL(q(x_{t-1}|x_t, x_0) ||
    p(x_{t-1}|x_t)) <= log p(x_0). With T = 2, a = (0.8, 0.6), x_0 = 0.9, p(x_1|x_2) = N(0.5 x_2,
    0.3), p(x_0|x_1) = N(0.7 x_1, 0.2) it is -1.4548331, directly and so; log p(x_0) is -1.4035149.
    The text's form with a consistency term that is called a divergence is another number.
    """
    a1, a2, x0 = 0.8, 0.6, 0.9
    # direct: expectations of quadratic forms under q(x_1, x_2 | x_0)
    m1, v1 = math.sqrt(a1) * x0, 1 - a1
    m2, v2 = math.sqrt(a2) * m1, a2 * v1 + 1 - a2

    def expected_log(mean: float, variance: float, noise: float) -> float:
        """E log N(r; 0, noise) for r of that mean and variance."""
        return -0.5 * math.log(2 * math.pi * noise) - (mean**2 + variance) / (2 * noise)

    cross = math.sqrt(a2) * v1  # covariance of x_1 and x_2
    log_p = expected_log(x0 - 0.7 * m1, 0.49 * v1, 0.2)
    log_p += expected_log(m1 - 0.5 * m2, v1 + 0.25 * v2 - cross, 0.3)
    log_p += expected_log(m2, v2, 1.0)
    entropy = 0.5 * math.log(2 * math.pi * math.e * v1)
    entropy += 0.5 * math.log(2 * math.pi * math.e * (1 - a2))
    direct = log_p + entropy
    left = a1 * a2
    prior = 0.5 * (left * x0**2 + (1 - left) - 1 - math.log(1 - left))
    gain = math.sqrt(a2) * v1 / (1 - left)
    offset = math.sqrt(a1) * (1 - a2) * x0 / (1 - left)
    back = (1 - a2) * v1 / (1 - left)
    bias = offset + (gain - 0.5) * m2
    step = 0.5 * (math.log(0.3 / back) - 1 + back / 0.3 + (bias**2 + (gain - 0.5) ** 2 * v2) / 0.3)
    parts = expected_log(x0 - 0.7 * m1, 0.49 * v1, 0.2) - prior - step
    yield equal("directly", direct, -1.4548331, 1e-7)
    yield equal("by its parts", parts, direct, 1e-12)
    x1 = 0.25 + 0.3
    exact = stats.norm.logpdf(x0, 0, math.sqrt(0.49 * x1 + 0.2))
    yield equal("log density", exact, -1.4035149, 1e-7)
    yield at_least("log density - bound", exact - direct, 0)


@claim("B269")
def the_simple_loss_and_its_best_network() -> Iterator[Evidence]:
    """The loss is ||e - e_theta(sqrt(abar) x_0 + sqrt(1 - abar) e, t)||^2 with t uniform; for
    x_0 ~ N(0, s2) the best is e*(x, t) = sqrt(1 - abar) x / (abar s2 + 1 - abar), with loss
    abar s2 / (abar s2 + 1 - abar).
    """
    schedule, s2, n = NoiseSchedule("cosine", 100), 2.0, 400_000
    left = schedule.left

    def network(factor: float) -> Any:
        def said(x: Any, t: Any) -> tuple[Any, None]:
            now = schedule.at(t, x)
            return factor * (1 - now).sqrt() * x / (now * s2 + 1 - now), None

        return said

    draws = Draws(Share(0, n, n), 269, 0, torch.device("cpu"))
    x = math.sqrt(s2) * draws.normal(1, dtype=torch.float64)
    objective = denoising_losses(schedule, "noise", False, 0.0)
    losses = [
        float(objective(network(f), (x,), Draws(Share(0, n, n), 1, 0, x.device)).mean())
        for f in (0.9, 1.0, 1.1)
    ]
    expected = float((left * s2 / (left * s2 + 1 - left)).mean())
    yield equal("loss of the best", losses[1], expected, 0.01)
    yield at_least("loss of others, more", min(losses[0], losses[2]) - losses[1], 0.001)


@claim("B270")
def ancestral_sampling_gives_the_data_back() -> Iterator[Evidence]:
    """With the best e* and noise of variance beta_t, none in the last step, the variance of what is
    sampled is 0.25075, 0.99990 and 3.99057 for data of variance 0.25, 1 and 4, with the linear
    schedule of 1000 steps. The text takes the variance for the deviation of the noise.
    """
    schedule = NoiseSchedule("linear", 1000)
    for s2, expected in ((0.25, 0.25075), (1.0, 0.99990), (4.0, 3.99057)):
        variance = 1.0
        for t, before in schedule.path():
            one, zero = _row(1.0), _row(0.0)
            now = schedule.at(_step(t), one)
            said = (1 - now).sqrt() / (now * s2 + 1 - now)
            origin = schedule.origin("noise", one, said, _step(t))
            steps = (_step(t), _step(before))
            kept = schedule.ancestral(one, origin, *steps, zero, "large").item()
            added = schedule.ancestral(zero, zero, *steps, one, "large").item()
            variance = kept**2 * variance + added**2
        yield equal(f"variance for {s2}", variance, expected, 1e-5)


@claim("B273", mathematics=True)
def why_densities_of_images_are_not_written_down() -> Iterator[Evidence]:
    """A 100 x 100 image of 8 bits has 256^10000 states, a number of 24083 digits, and the full
    covariance of its pixels is 10000 x 10000.
    """
    digits = math.floor(10_000 * math.log10(256)) + 1
    yield equal("digits", digits, 24083)
    yield equal("digits of 10^24082 at most", float(256**10_000 >= 10**24082), 1)
    yield equal("rows of the covariance", np.zeros(100 * 100).size, 10_000)
