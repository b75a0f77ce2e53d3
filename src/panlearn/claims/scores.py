"""Energies and scores: densities up to a constant, and slopes that do not see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_least, claim, equal
from panlearn.core.extras import require

torch = require("torch")

from panlearn.generative._score import (  # noqa: E402
    FIRST,
    Process,
    VariancePreserving,
    flow,
    reverse_sde,
    trace_of_slope,
)
from panlearn.neural._draws import Draws, Share  # noqa: E402


@claim("B271", mathematics=True)
def slope_of_an_energy_model() -> Iterator[Evidence]:
    """For p = exp(-f) / Z the slope of log p in theta is -grad f + E_p grad f; for
    f = theta x^2 / 2 it is -x^2 / 2 + 1 / (2 theta). The text writes it for exp(+f), and Z for
    log Z.
    """
    theta, x, h = 1.7, 0.6, 1e-5
    grid = np.linspace(-12, 12, 200_001)

    def log_p(theta: float) -> float:
        normaliser = np.exp(-theta * grid**2 / 2).sum() * (grid[1] - grid[0])
        return -theta * x**2 / 2 - np.log(normaliser)

    numeric = (log_p(theta + h) - log_p(theta - h)) / (2 * h)
    density = np.exp(-theta * grid**2 / 2)
    expected = -(x**2) / 2 + (density * grid**2 / 2).sum() / density.sum()
    yield equal("by differences", numeric, expected, 1e-8)
    yield equal("in closed form", expected, -(x**2) / 2 + 1 / (2 * theta), 1e-10)


@claim("B272")
def scores_do_not_see_the_constant() -> Iterator[Evidence]:
    """The score -grad_x f does not depend on Z: a density times a constant has the same score, and
    the same trace of its slope.
    """
    x = torch.linspace(-2, 2, 7, dtype=torch.float64)[:, None]

    def score_of(constant: float) -> Any:
        def score(x: Any, t: Any) -> Any:
            with torch.enable_grad():
                x = x if x.requires_grad else x.detach().requires_grad_()
                log_p = np.log(constant) - (x**4 / 4 + x.sin()).sum()
                (slope,) = torch.autograd.grad(log_p, x, create_graph=True)
            return slope

        return score

    found = [trace_of_slope(score_of(c), x, x[:, 0]) for c in (1.0, 1e6)]
    exact = -(x**3 + x.cos())
    yield equal("scores", found[1][0].detach(), exact, 1e-12)
    yield equal("with another constant", found[0][0].detach(), found[1][0].detach())
    yield equal("traces", found[1][1].detach(), (-3 * x**2 + x.sin())[:, 0], 1e-12)


@claim("B274")
def matching_scores_without_the_score() -> Iterator[Evidence]:
    """E ||s - grad log p||^2 / 2 = E[||s||^2 / 2 + tr grad s] + const; for p = N(0, v) and s = -a x
    the objective is a^2 v / 2 - a, lowest at a = 1 / v, and the constant is 1 / (2 v).
    """
    v = 2.5
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)  # exact for polynomials
    x = torch.as_tensor(np.sqrt(v) * nodes)[:, None]
    share = weights / weights.sum()

    def objective(a: float) -> float:
        said, trace = trace_of_slope(lambda x, t: -a * x, x, x[:, 0])
        values = said.square().sum(1) / 2 + trace
        return float(share @ values.detach().numpy())

    factors = np.array([0.1, 0.4, 1.0])
    found = np.array([objective(a) for a in factors])
    yield equal("objective", found, factors**2 * v / 2 - factors, 1e-12)
    true = share @ ((-factors[:, None] * x.numpy()[:, 0] + x.numpy()[:, 0] / v) ** 2 / 2).T
    yield equal("distance of scores - objective", true - found, np.full(3, 1 / (2 * v)), 1e-12)
    yield at_least("objective beside 1 / v", min(objective(0.39), objective(0.41)), objective(0.4))


class _Linear(Process):
    """dx = f x dt + g dw with constant rates, from x = 0 at the end."""

    end = 0.0

    def __init__(self, f: float, g2: float) -> None:
        self.f, self.g2 = f, g2

    def scales(self, t: Any) -> tuple[Any, Any]:
        return torch.ones_like(t), torch.zeros_like(t)

    def rates(self, t: Any) -> tuple[Any, Any]:
        return torch.full_like(t, self.f), torch.full_like(t, self.g2)


def _draws(n: int, seed: int) -> Draws:
    return Draws(Share(0, n, n), seed, 0, torch.device("cpu"))


@claim("B277")
def increments_have_the_variance_of_their_step() -> Iterator[Evidence]:
    """A step of Euler and Maruyama of length h adds noise of covariance h G G^T, so that Brownian
    motion over a time T has variance T however many steps it takes. The text writes h^2, with
    which the noise of n steps, T^2 / n, would vanish.
    """
    n, time = 100_000, 1 - FIRST
    for n_steps in (1, 10, 100):
        start = torch.zeros(n, 1, dtype=torch.float64)
        x = reverse_sde(
            _Linear(0.0, 1.0), lambda x, t: torch.zeros_like(x), start, _draws(n, n_steps), n_steps
        )
        error = time * np.sqrt(2 / n)
        yield equal(f"variance after {n_steps} steps", x.var(), time, 4 * error)


@claim("B279")
def the_way_back_restores_the_data() -> Iterator[Evidence]:
    """Run from time 1 to 0 with the exact score, dx = (f - g^2 score) dt + g dw restores the
    variance of the data; without noise, g = 0, it is the ordinary equation dx = f dt.
    """
    n, process = 40_000, VariancePreserving()
    for variance in (0.25, 4.0):

        def score(x: Any, t: Any, variance: float = variance) -> Any:
            a, sigma = process.scales(t)
            return -x / (a.square() * variance + sigma.square())[:, None]

        draws = _draws(n, 279)
        start = draws.normal(1, dtype=torch.float64)
        back = reverse_sde(process, score, start, draws, 400)
        yield equal("restored variance over that of the data", back.var() / variance, 1.0, 0.03)
    still = _Linear(-1.0, 0.0)
    still.end = 1.0
    start = torch.tensor([[1.0], [-0.3]], dtype=torch.float64)
    paths = [reverse_sde(still, lambda x, t: -x, start, _draws(2, s), 2000) for s in (0, 1)]
    yield equal("two paths without noise", paths[0], paths[1])
    solved, _ = flow(still, lambda x, t: -x, start, 100, forward=False, density=False)
    yield equal("by Runge and Kutta", solved, start * np.exp(1 - FIRST), 1e-6)
    yield equal("by Euler and Maruyama", paths[0], solved, 5e-3)
