"""Objectives with known constants, on which the claims about optimisation are measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from panlearn.linear._logistic_loss import Loss, LossAndCurvature
from panlearn.optimize import gradient_descent, newton


@dataclass(frozen=True)
class Quadratic:
    r"""The quadratic :math:`\tfrac12 (x - c)^\top H (x - c)` with its minimiser c."""

    hessian: np.ndarray
    minimiser: np.ndarray

    def value(self, x: np.ndarray) -> float:
        """f(x)."""
        return float((x - self.minimiser) @ self.hessian @ (x - self.minimiser) / 2)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """H (x - c)."""
        return self.hessian @ (x - self.minimiser)


def random_quadratic(spectrum: np.ndarray, seed: int) -> Quadratic:
    """A quadratic with these eigenvalues, in a random frame about a random minimiser."""
    rng = np.random.default_rng(seed)
    d = len(spectrum)
    frame = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return Quadratic((frame * spectrum) @ frame.T, rng.normal(size=d))


@dataclass(frozen=True)
class Logistic:
    r"""The mean of :math:`\log(1 + e^{-y_i x_i^\top w})` over the rows, with a ridge.

    The sums are those that `LogisticRegression` is fitted by.
    """

    X: np.ndarray
    y: np.ndarray
    ridge: float = 0.0

    @property
    def smoothness(self) -> float:
        """The Lipschitz constant of the gradient, at most lmax(X'X) / 4n + ridge."""
        return float(np.linalg.norm(self.X, 2) ** 2 / (4 * len(self.y)) + self.ridge)

    def value(self, w: np.ndarray) -> float:
        """The mean loss."""
        return self._sums(w).loss / len(self.y) + float(self.ridge * w @ w / 2)

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """Its gradient."""
        return self._sums(w).gradient[0, :-1] / len(self.y) + self.ridge * w

    def hessian(self, w: np.ndarray) -> np.ndarray:
        """Its Hessian."""
        d = len(w)
        origin, unit, zero = np.zeros(d), np.ones(d), np.zeros(1)
        sums = LossAndCurvature.of(self.X, self._codes, None, w[None], zero, origin, unit, 1)
        return sums.hessian[:d, :d] / len(self.y) + self.ridge * np.eye(d)

    @property
    def _codes(self) -> np.ndarray:
        return (self.y > 0).astype(int)

    def _sums(self, w: np.ndarray) -> Loss:
        return Loss.of(self.X, self._codes, None, w[None], np.zeros(1))

    def solve(self) -> OptimizeResult:
        """The minimum, to machine precision."""
        return newton(
            self.value, np.zeros(self.X.shape[1]), jac=self.gradient, hess=self.hessian, tol=1e-13
        )


def noisy_logistic(seed: int, ridge: float = 0.0, n: int = 80, d: int = 4) -> Logistic:
    """Labels that no hyperplane separates, so that the loss has a minimum."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return Logistic(X, np.where(X[:, 0] + 1.5 * rng.normal(size=n) > 0, 1.0, -1.0), ridge)


def descend(problem: Any, x0: np.ndarray, steps: int, **options: Any) -> OptimizeResult:
    """So many steps of gradient descent, whatever the gradient."""
    return gradient_descent(
        problem.value, x0, jac=problem.gradient, maxiter=steps, **{"tol": 0.0, **options}
    )
