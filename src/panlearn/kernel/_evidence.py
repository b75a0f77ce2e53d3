"""The marginal likelihood of a Gaussian process and its gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from panlearn.core.memory import require_memory
from panlearn.kernel._base import FEW, refuse_overflow
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
    return _condition(lambda A: fill_lower(kernel, X, A), noise, Y)


def _condition(fill: Callable[[np.ndarray], None], noise: np.ndarray, Y: np.ndarray) -> Posterior:
    n, targets = Y.shape
    L, jitter = _factorise(fill, noise)
    with np.errstate(over="ignore", invalid="ignore"):
        weights, _ = lapack.dpotrs(L.T, Y, lower=0)
        value = -0.5 * np.vdot(Y, weights) - targets * (
            np.log(L.diagonal()).sum() + 0.5 * n * np.log(2 * np.pi)
        )
    return Posterior(L, weights, float(value), jitter)


def _factorise(fill: Callable[[np.ndarray], None], noise: np.ndarray) -> tuple[np.ndarray, float]:
    """The lower factor of K + noise + jitter, the least jitter of 0, 1e-12, …, 1e-4 of the mean."""
    n = len(noise)
    require_memory((n, n), "the kernel matrix", "use fewer rows")
    A = np.empty((n, n))
    for size in (0.0, *(10.0**power for power in range(-12, -3))):
        fill(A)
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
    if few := len(X) <= FEW:  # the matrix and what its derivatives need are made together
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            K, pull = kernel._pullback(X, None)
        refuse_overflow(K)
        posterior = _condition(lambda A: np.copyto(A, K), noise, Y)
    else:
        posterior = condition(kernel, X, noise, Y)
    a, targets = posterior.weights, Y.shape[1]
    inverse = posterior.factor
    lapack.dpotri(inverse.T, lower=0, overwrite_c=1)

    if few:
        # ∂K is symmetric, so that what is above the diagonal may count for twice below it
        inverse.flat[:: len(X) + 1] /= 2
        inverse *= -2 * targets
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            inverse += a @ a.T
            return posterior.value, 0.5 * pull(inverse)

    def weight(tile: Tile) -> np.ndarray:
        rows, columns = tile
        return a[rows] @ a[columns].T - targets * symmetric(inverse, tile)

    return posterior.value, 0.5 * pull_lower(kernel, X, weight)
