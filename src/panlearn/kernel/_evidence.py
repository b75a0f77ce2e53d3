"""The marginal likelihood of a Gaussian process and its gradient."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from panlearn.core.memory import require_memory
from panlearn.kernel._kernel import Kernel
from panlearn.kernel._tiles import Tile, fill_lower, pull_lower, symmetric


class Posterior(NamedTuple):
    """The factor L of K + noise + jitter, (K + …)⁻¹ Y, the log marginal likelihood, the jitter."""

    factor: np.ndarray
    weights: np.ndarray
    value: float
    jitter: float


def condition(kernel: Kernel, X: np.ndarray, noise: np.ndarray, Y: np.ndarray) -> Posterior:
    """Condition on Y, with log p(Y) summed over its columns, by one Cholesky factorisation."""
    n, targets = Y.shape
    L, jitter = _factorise(kernel, X, noise)
    with np.errstate(over="ignore", invalid="ignore"):
        weights, _ = lapack.dpotrs(L.T, Y, lower=0)
        value = -0.5 * np.vdot(Y, weights) - targets * (
            np.log(L.diagonal()).sum() + 0.5 * n * np.log(2 * np.pi)
        )
    return Posterior(L, weights, float(value), jitter)


def _factorise(kernel: Kernel, X: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, float]:
    """The lower factor of K + noise + jitter, the least jitter of 0, 1e-12, …, 1e-4 of the mean."""
    require_memory((len(X), len(X)), "the kernel matrix", "use fewer rows")
    A = np.empty((len(X), len(X)))
    for size in (0.0, *(10.0**power for power in range(-12, -3))):
        fill_lower(kernel, X, A)
        diagonal = A.diagonal() + noise
        jitter = size * float(diagonal.mean())
        A.flat[:: len(A) + 1] = diagonal + jitter
        # what is below the diagonal here is above it for Fortran, which so writes on A itself
        _, info = lapack.dpotrf(A.T, lower=0, overwrite_a=1, clean=1)
        if info == 0:
            return A, jitter
    raise ValueError(
        "the kernel matrix is not positive definite, whatever is added to its diagonal: the kernel "
        "is not valid on these rows, or alpha is too small for them"
    )


def evidence(
    kernel: Kernel, X: np.ndarray, noise: np.ndarray, Y: np.ndarray
) -> tuple[float, np.ndarray]:
    """Log p(Y) and its gradient ½ ⟨aaᵀ − mK⁻¹, ∂K⟩ in θ, with a = K⁻¹Y and m columns."""
    posterior = condition(kernel, X, noise, Y)
    a, targets = posterior.weights, Y.shape[1]
    inverse = posterior.factor
    lapack.dpotri(inverse.T, lower=0, overwrite_c=1)

    def weight(tile: Tile) -> np.ndarray:
        rows, columns = tile
        return a[rows] @ a[columns].T - targets * symmetric(inverse, tile)

    return posterior.value, 0.5 * pull_lower(kernel, X, weight)
