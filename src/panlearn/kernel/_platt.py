"""Probabilities from scores: Platt's sigmoid for two classes, coupling of the pairs for more."""

from __future__ import annotations

import numpy as np
from scipy.special import expit


def fit_sigmoid(
    scores: np.ndarray, positive: np.ndarray, weight: np.ndarray
) -> tuple[float, float]:
    """A and B of P(+ | f) = 1 / (1 + exp(A f + B)), of highest likelihood on smoothed labels.

    Newton's method with a line search; the labels (N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2) keep it from
    infinity where scores separate the classes.
    """
    above, below = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (above + 1) / (above + 2), 1 / (below + 2))
    scale = max(np.abs(scores).max(), np.finfo(float).tiny)  # Newton's system in units of its own
    design = np.column_stack([scores / scale, np.ones(len(scores))])
    theta = np.array([0.0, np.log((below + 1) / (above + 1))])

    def loss(theta: np.ndarray) -> float:
        logits = -design @ theta
        return float(weight @ (np.logaddexp(0, logits) - target * logits))

    value = loss(theta)
    for _ in range(100):
        p = expit(-design @ theta)
        gradient = design.T @ (weight * (target - p))
        if np.abs(gradient).max() < 1e-10 * weight.sum():
            break
        hessian = design.T @ ((weight * p * (1 - p))[:, None] * design)
        hessian.flat[::3] += 1e-12 * weight.sum()
        step, size = np.linalg.solve(hessian, gradient), 1.0
        while (new := loss(theta - size * step)) > value - 1e-4 * size * gradient @ step:
            size /= 2
            if size < 1e-10:
                return theta[0] / scale, theta[1]
        theta, value = theta - size * step, new
    return theta[0] / scale, theta[1]


def couple(pairwise: np.ndarray) -> np.ndarray:
    r"""Probabilities p of k classes from those of the pairs.

    With :math:`r_{ij} = P(i | i \text{ or } j)` in an array (n, k, k), p is the minimum of
    :math:`\sum_{i \ne j} (r_{ji} p_i - r_{ij} p_j)^2` on the simplex: one linear system a row.
    """
    n, k, _ = pairwise.shape
    r = np.clip(pairwise, 1e-7, 1 - 1e-7)
    system = np.zeros((n, k + 1, k + 1))
    system[:, :k, :k] = -np.swapaxes(r, 1, 2) * r
    squares = np.swapaxes(r, 1, 2) ** 2
    squares[:, np.arange(k), np.arange(k)] = 0
    system[:, np.arange(k), np.arange(k)] = squares.sum(axis=2)
    system[:, :k, k] = system[:, k, :k] = 1
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1
    p = np.maximum(np.linalg.solve(system, right)[:, :k, 0], 0)
    return p / p.sum(axis=1, keepdims=True)
