"""Gaussian densities of many rows in a few states, and their expected moments.

Arrays of states have the state last, so that the inner loops run over states, in one vector.
"""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit


def _cost(X: np.ndarray, means: np.ndarray, *rest: np.ndarray) -> float:
    """About the microseconds that Python takes for what each feature adds to each state."""
    return 0.8 * len(X) * means.size


def _square_cost(X: np.ndarray, means: np.ndarray, *rest: np.ndarray) -> float:
    return _cost(X, means) * X.shape[1]


@jit(plain=_cost)
def diagonal_log_densities(
    X: np.ndarray, means: np.ndarray, halves: np.ndarray, constant: np.ndarray, out: np.ndarray
) -> None:
    """Constant_k - Σ_j (x_j - mean_jk)² halves_jk; halves are halved precisions."""
    d, k = means.shape
    for t in range(len(X)):
        for s in range(k):
            out[t, s] = constant[s]
        for j in range(d):
            x = np.float64(X[t, j])
            for s in range(k):
                centred = x - means[j, s]
                out[t, s] -= centred * centred * halves[j, s]


@jit(plain=_square_cost)
def full_log_densities(
    X: np.ndarray, means: np.ndarray, roots: np.ndarray, constant: np.ndarray, out: np.ndarray
) -> None:
    """Constant_k - ½ |R_k (x - mean_k)|² with lower triangular roots of the precisions."""
    d, k = means.shape
    centred, white = np.empty((d, k)), np.empty(k)
    for t in range(len(X)):
        for j in range(d):
            x = np.float64(X[t, j])
            for s in range(k):
                centred[j, s] = x - means[j, s]
        for s in range(k):
            out[t, s] = constant[s]
        for i in range(d):
            for s in range(k):
                white[s] = 0.0
            for j in range(i + 1):
                for s in range(k):
                    white[s] += roots[i, j, s] * centred[j, s]
            for s in range(k):
                out[t, s] -= 0.5 * white[s] * white[s]


@jit(plain=_cost)
def diagonal_moments(
    X: np.ndarray, means: np.ndarray, share: np.ndarray, shift: np.ndarray, scatter: np.ndarray
) -> None:
    """Add Σ_t share_tk (x - mean_k) and Σ_t share_tk (x - mean_k)²."""
    d, k = means.shape
    for t in range(len(X)):
        for j in range(d):
            x = np.float64(X[t, j])
            for s in range(k):
                centred = x - means[j, s]
                part = share[t, s] * centred
                shift[j, s] += part
                scatter[j, s] += part * centred


@jit(plain=_square_cost)
def full_moments(
    X: np.ndarray, means: np.ndarray, share: np.ndarray, shift: np.ndarray, scatter: np.ndarray
) -> None:
    """Add Σ_t share_tk c and the lower triangle of Σ_t share_tk c cᵀ, with c = x - mean_k."""
    d, k = means.shape
    centred, part = np.empty((d, k)), np.empty(k)
    for t in range(len(X)):
        for i in range(d):
            x = np.float64(X[t, i])
            for s in range(k):
                centred[i, s] = x - means[i, s]
                part[s] = share[t, s] * centred[i, s]
                shift[i, s] += part[s]
            for j in range(i + 1):
                for s in range(k):
                    scatter[i, j, s] += part[s] * centred[j, s]
