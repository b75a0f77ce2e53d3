"""The tail of importance weights: a generalised Pareto law fitted to the largest of them.

References
----------
J. Zhang, M. A. Stephens (2009). A new and efficient estimation method for the generalized Pareto
distribution. Technometrics 51(3). doi:10.1198/tech.2009.08017
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax


def tail_shape(log_weights: np.ndarray) -> float:
    r"""Shape k of the tail of the weights: the largest :math:`\min(n / 5, 3 \sqrt n)` of them."""
    n = len(log_weights)
    size = int(np.ceil(min(0.2 * n, 3 * np.sqrt(n))))
    if size < 5 or not np.isfinite(log_weights.max()):
        return np.inf  # too few weights to say anything
    ordered = np.sort(log_weights - log_weights.max())
    threshold = max(ordered[-size - 1], np.log(np.finfo(float).tiny))
    excess = np.exp(ordered[-size:]) - np.exp(threshold)
    excess = excess[ordered[-size:] > threshold]
    if len(excess) < 5 or excess[-1] <= 1e-12:
        return -np.inf if np.ptp(log_weights) < 1e-12 else np.inf
    return _shape(excess)


def _shape(excess: np.ndarray) -> float:
    r"""Zhang and Stephens' mean of the shape over a grid of scales, with a weak prior at 1/2."""
    n, prior = len(excess), 3.0
    grid = 30 + int(np.sqrt(n))
    points = 1 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))
    points = points / (prior * excess[int(n / 4 + 0.5) - 1]) + 1 / excess[-1]
    shapes = np.log1p(-points[:, None] * excess).mean(axis=1)
    likelihood = n * (np.log(-points / shapes) - shapes - 1)
    best = points @ softmax(likelihood)
    shape = np.log1p(-best * excess).mean()
    return float((n * shape + 5) / (n + 10))
