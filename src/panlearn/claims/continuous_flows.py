"""Flows in continuous time, followed by the solver of the library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import expm

from panlearn.claims.claim import Evidence, claim, equal
from panlearn.core.extras import require

torch: Any = require("torch")

from panlearn.generative import odeint  # noqa: E402

_TIGHT: Any = {"rtol": 1e-11, "atol": 1e-13}


@claim("B276")
def density_along_a_flow() -> Iterator[Evidence]:
    """Along dx/dt = f(x) the log density changes by minus the divergence of f.

    A residual step x + h f(x) changes it by -h div f up to order h^2; for f = A x the change over a
    time t is exactly -t tr A.
    """
    A = np.array([[0.4, -1.0], [0.8, -0.7]])
    field = torch.tensor(A.T)

    def moved(x: Any) -> Any:
        return odeint(lambda _, y: y @ field, x, [0.0, 1.5], **_TIGHT).y[-1]

    x = torch.tensor([0.3, -1.2], dtype=torch.float64)
    yield equal("solution", moved(x), expm(1.5 * A) @ x.numpy(), 1e-9)
    jacobian = torch.autograd.functional.jacobian(moved, x)
    change = -torch.linalg.slogdet(jacobian).logabsdet
    yield equal("change of the log density", change, -1.5 * np.trace(A), 1e-9)
    for h in (1e-2, 1e-3):
        step = torch.autograd.functional.jacobian(
            lambda y, h=h: odeint(lambda _, s: s @ field, y, [0.0, h], method="euler").y[-1], x
        )
        found = -torch.linalg.slogdet(step).logabsdet
        yield equal(f"a residual step of {h:g}", found, -h * np.trace(A), h**2)


@claim("B278")
def probability_flow() -> Iterator[Evidence]:
    """The equation dx/dt = f - g^2/2 score has the marginals of the diffusion dx = f dt + g dw.

    For dx = -x dt + sqrt(2) dw from a variance of 4, v(t) = 1 + 3 exp(-2t), and a path goes as
    x(t) = x(0) sqrt(v(t) / 4): from 1.5 to 0.889313 at time 1.
    """

    def flow(t: Any, x: Any) -> Any:
        score = -x / (1 + 3 * torch.exp(-2 * t))
        return -x - score

    start = torch.tensor([1.5, -0.4, 4.0], dtype=torch.float64)
    end = odeint(flow, start, [0.0, 1.0], **_TIGHT).y[-1]
    share = np.sqrt((1 + 3 * np.exp(-2)) / 4)
    yield equal("path from 1.5", end[0], 0.889313, 1e-6)
    yield equal("all paths", end, start.numpy() * share, 1e-9)
    yield equal("variance", 4 * float(end[0] / start[0]) ** 2, 1 + 3 * np.exp(-2), 1e-9)
