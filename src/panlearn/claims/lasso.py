"""Claims on the lasso."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal
from panlearn.linear import Lasso


def _data(n: int = 60, d: int = 20) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(38)
    X = rng.standard_normal((n, d))
    w = np.where(np.arange(d) < 4, 2.0, 0.0)
    return X, X @ w + rng.standard_normal(n)


def _minimise(X: np.ndarray, y: np.ndarray, strength: float) -> np.ndarray:
    """The minimum of ½‖y − Xw‖² + strength ‖w‖₁, which is n times the objective of `Lasso`."""
    return Lasso(strength / len(y), fit_intercept=False, tol=1e-13).fit(X, y).coef_


def _violation(X: np.ndarray, y: np.ndarray, w: np.ndarray, strength: float) -> float:
    """How far w is from the conditions of a minimum."""
    pull = X.T @ (y - X @ w)
    inside = np.maximum(np.abs(pull) - strength, 0)
    return float(np.where(w != 0, np.abs(pull - strength * np.sign(w)), inside).max())


@claim("A38")
def optimality_of_the_lasso() -> Iterator[Evidence]:
    """At the lasso's minimum each feature pulls with λ sign(w_j), or with at most λ if w_j = 0.

    That is, w minimises ½‖y − Xw‖² + λ‖w‖₁ where, with r = y − Xw, x_jᵀr = λ sign(w_j) for each
    w_j that is not zero and |x_jᵀr| ≤ λ for each that is. So w is zero exactly when λ ≥ ‖Xᵀy‖∞,
    and for orthonormal columns w is the soft threshold of Xᵀy at λ. The form without the half has
    2λ in its place, the mean over n rows λ/n.
    """
    X, y = _data()
    strength = 15.0
    w = _minimise(X, y, strength)
    yield at_most("violation of the conditions", _violation(X, y, w, strength), 1e-8)
    yield at_least("coefficients at zero", np.sum(w == 0), 1)
    yield at_least("coefficients not at zero", np.sum(w != 0), 1)
    largest = np.abs(X.T @ y).max()
    yield equal("w and 0 at λ = ‖Xᵀy‖∞", _minimise(X, y, largest), np.zeros(20))
    yield at_least("‖w‖₁ just below it", np.abs(_minimise(X, y, 0.999 * largest)).sum(), 1e-6)
    Q = np.linalg.qr(X)[0]
    z = Q.T @ y
    soft = np.sign(z) * np.maximum(np.abs(z) - 1, 0)
    yield equal("w and the soft threshold, orthonormal X", _minimise(Q, y, 1.0), soft, 1e-8)


@claim("A45")
def lasso_is_the_mode_under_a_laplace_prior() -> Iterator[Evidence]:
    """With unit Gaussian noise and a Laplace prior the most probable w is the lasso's.

    For the prior exp(−‖w‖₁/s)/z it minimises ½‖y − Xw‖² + ‖w‖₁/s, which in the form without the
    half has λ = 2/s.
    """
    X, y = _data()
    scale = 1 / 12
    w = _minimise(X, y, 1 / scale)
    yield at_most("violation of the conditions", _violation(X, y, w, 1 / scale), 1e-8)

    def log_posterior(v: np.ndarray) -> float:
        return float(-0.5 * np.sum((y - X @ v) ** 2) - np.abs(v).sum() / scale)

    rng = np.random.default_rng(45)
    moves = rng.standard_normal((200, len(w))) * 10.0 ** rng.uniform(-6, 0, (200, 1))
    best = max(log_posterior(w + move) for move in moves)
    yield at_most("best log posterior nearby, less the lasso's", best - log_posterior(w), 0)

    def unhalved(v: np.ndarray) -> float:
        return float(np.sum((y - X @ v) ** 2) + 2 / scale * np.abs(v).sum())

    least = min(unhalved(w + move) for move in moves)
    yield at_least("least objective with λ = 2/s nearby, less the lasso's", least - unhalved(w), 0)
