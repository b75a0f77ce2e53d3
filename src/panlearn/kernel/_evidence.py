"""The marginal likelihood of a Gaussian process, its gradient, and its ascent."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.memory import require_memory
from panlearn.kernel._base import refuse_overflow
from panlearn.kernel._kernel import Kernel


class Posterior(NamedTuple):
    """The factor L of K + noise + jitter, (K + …)⁻¹ y, the log marginal likelihood, the jitter."""

    factor: np.ndarray
    weights: np.ndarray
    value: float
    jitter: float


def condition(K: np.ndarray, noise: np.ndarray, Y: np.ndarray) -> Posterior:
    """Condition on Y, with log p(Y) summed over its columns, by one Cholesky factorisation."""
    K = np.array(K)
    K.flat[:: len(K) + 1] += noise
    L, jitter = _factorise(K)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = linalg.cho_solve((L, True), Y, check_finite=False)
        n, targets = Y.shape
        value = -0.5 * np.vdot(Y, weights) - targets * (
            np.log(L.diagonal()).sum() + 0.5 * n * np.log(2 * np.pi)
        )
    return Posterior(L, weights, float(value), jitter)


def _factorise(K: np.ndarray) -> tuple[np.ndarray, float]:
    """The lower factor of K + jitter I, with the least jitter of 0, 1e-12, …, 1e-4 of the mean."""
    scale = float(np.mean(K.diagonal()))
    for jitter in (0.0, *(scale * 10.0**power for power in range(-12, -3))):
        A = np.array(K, order="F")
        A.flat[:: len(A) + 1] += jitter
        L, info = linalg.lapack.dpotrf(A, lower=1, overwrite_a=1, clean=1)
        if info == 0:
            return L, float(jitter)
    raise ValueError(
        "the kernel matrix is not positive definite, whatever is added to its diagonal: the kernel "
        "is not valid on these rows, or alpha is too small for them"
    )


def evidence(
    kernel: Kernel, X: np.ndarray, noise: np.ndarray, Y: np.ndarray
) -> tuple[float, np.ndarray]:
    """Log p(Y) and its gradient ½ ⟨aaᵀ − mK⁻¹, ∂K⟩ in θ, with a = K⁻¹Y and m columns."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        K, pull = kernel._pullback(X)
    posterior = condition(refuse_overflow(K), noise, Y)
    inverse, _ = linalg.lapack.dpotri(posterior.factor, lower=1, overwrite_c=1)
    W = posterior.weights @ posterior.weights.T
    lower = np.tril(inverse, -1)
    W -= Y.shape[1] * (lower + lower.T)
    W.flat[:: len(W) + 1] -= Y.shape[1] * inverse.diagonal()
    return posterior.value, 0.5 * pull(W)


def maximise_evidence(
    kernel: Kernel,
    X: np.ndarray,
    noise: np.ndarray,
    Y: np.ndarray,
    *,
    n_restarts: int,
    rng: np.random.Generator,
) -> Kernel:
    """The kernel with the parameters of highest evidence, by L-BFGS-B from θ and random starts."""
    n, bounds = len(X), kernel.bounds
    require_memory((6, n, n), "the kernel matrix with its workspace", "use fewer rows")

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            value, gradient = evidence(kernel.with_theta(theta), X, noise, Y)
        except ValueError:  # not positive definite there: no likelihood
            return np.inf, np.zeros_like(theta)
        return -value, -gradient

    evidence(kernel, X, noise, Y)  # what fails at the start is for the user to see
    starts = [
        kernel.theta,
        *rng.uniform(bounds[:, 0], bounds[:, 1], size=(n_restarts, len(bounds))),
    ]
    runs = [minimize(objective, s, jac=True, method="L-BFGS-B", bounds=bounds) for s in starts]
    best = min(runs, key=lambda run: run.fun)
    if best.status != 0:
        warnings.warn(
            f"the marginal likelihood did not converge: L-BFGS-B stopped after {best.nit} "
            f"iterations ({best.message}); scale the data, or give other starting values",
            ConvergenceWarning,
            stacklevel=5,
        )
    fitted = kernel.with_theta(best.x)
    _warn_at_bounds(fitted)
    return fitted


def _warn_at_bounds(kernel: Kernel) -> None:
    ends = kernel.bounds
    for name, theta, (low, high) in zip(kernel.names, kernel.theta, ends, strict=True):
        side = "lower" if np.isclose(theta, low) else "upper" if np.isclose(theta, high) else ""
        if side and low < high:
            warnings.warn(
                f"{name} = {np.exp(theta):.3g} is at its {side} bound: widen its bounds, or leave "
                "that part of the kernel out",
                ConvergenceWarning,
                stacklevel=6,
            )
