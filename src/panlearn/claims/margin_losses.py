"""Claims on losses of the margin: their derivatives, and what they are calibrated for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from panlearn.claims.claim import Evidence, claim, equal
from panlearn.claims.svm import overlapping
from panlearn.kernel import LinearSVC


@claim("B67")
def gradient_of_the_penalised_loss() -> Iterator[Evidence]:
    """For ‖w‖²/(2λ) + C Σ ℓ(y_i s_i) with s = ⟨x, w⟩ + b the derivatives are w/λ + C Σ ℓ′ y_i x_i
    and C Σ ℓ′ y_i, so a descent step subtracts η times these. One of λ and C is redundant, and the
    text garbles the score.
    """
    X, y = overlapping()
    C, ridge = 0.7, 2.0

    def value(u: np.ndarray) -> float:
        return float(u[:2] @ u[:2] / (2 * ridge) + C * _squared(y * (X @ u[:2] + u[2])).sum())

    u = np.array([0.3, -0.2, 0.1])
    slope = -2 * np.maximum(1 - y * (X @ u[:2] + u[2]), 0)
    gradient = np.r_[u[:2] / ridge + C * (slope * y) @ X, C * (slope * y).sum()]
    step = 1e-6 * np.eye(3)
    differences = [(value(u + e) - value(u - e)) / 2e-6 for e in step]
    yield equal("gradient and differences", gradient, differences, 1e-6)
    for _ in range(4000):
        slope = -2 * np.maximum(1 - y * (X @ u[:2] + u[2]), 0)
        u = u - 2e-3 * np.r_[u[:2] / ridge + C * (slope * y) @ X, C * (slope * y).sum()]
    model = LinearSVC(C * ridge, tol=1e-10).fit(X, y)  # multiplied by λ: one penalty is enough
    yield equal("where descent arrives", u, np.r_[model.coef_[0], model.intercept_], 1e-6)


def _squared(t: np.ndarray) -> np.ndarray:
    return np.maximum(1 - t, 0) ** 2


@claim("B68")
def calibrated_losses() -> Iterator[Evidence]:
    """A convex loss is calibrated for classification just if it is differentiable at 0 with a
    negative derivative. At P(y = 1) = 0.7 the scores of least conditional risk are 1 for the hinge,
    ln(7/3) for the logistic loss, 0.4 for the square, ½ ln(7/3) for the exponential, all positive;
    the perceptron's loss has 0, which gives no sign. That is a statement on all scores of a
    population: that this loss cannot generalise, as the text has it, says too much.
    """
    f = np.linspace(-2, 2, 4001)
    losses: dict[str, tuple[Callable[[np.ndarray], np.ndarray], float]] = {
        "hinge": (lambda t: np.maximum(1 - t, 0), 1.0),
        "logistic": (lambda t: np.log1p(np.exp(-t)), np.log(7 / 3)),
        "squared": (lambda t: (1 - t) ** 2, 0.4),
        "exponential": (lambda t: np.exp(-t), np.log(7 / 3) / 2),
        "perceptron": (lambda t: np.maximum(-t, 0), 0.0),
    }
    for name, (loss, best) in losses.items():
        risk = 0.7 * loss(f) + 0.3 * loss(-f)
        yield equal(f"best score, {name}", f[risk.argmin()], best, 1e-3)
    X, y = np.zeros((10, 1)), np.r_[np.ones(7), -np.ones(3)]
    score = LinearSVC(100.0, loss="hinge", tol=1e-10).fit(X, y).intercept_[0]
    yield equal("score of the machine on rows that say nothing", score, 1, 1e-4)
