"""Energies and scores: densities up to a constant, and slopes that do not see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_least, claim, equal
from panlearn.core.extras import require

torch = require("torch")

from panlearn.generative._score import trace_of_slope  # noqa: E402


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
