"""The expectation of a mixture of Gaussians with matrices, over whole rows; compiled.

Rows are taken a few at a time and features are walked in the outer loops, so that the inner ones
run along rows that lie side by side, and nothing leaves the nearest cache.
"""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit

FAST = {"reassoc", "contract"}
BLOCK = 64
NOTHING = 1e-30  # a probability that adds nothing that a float could show


@jit(fastmath=FAST)
def log_joint_rows(
    rows: np.ndarray, means: np.ndarray, roots: np.ndarray, constant: np.ndarray
) -> np.ndarray:
    """Log π_j N(x | μ_j, Σ_j), components in rows; roots R with R Rᵀ = Σ⁻¹ are upper triangular."""
    n, d = rows.shape
    out = np.empty((len(means), n))
    across, centred, white = np.empty((d, BLOCK)), np.empty((d, BLOCK)), np.empty(BLOCK)
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        _transpose(rows, start, m, across)
        for j in range(len(means)):
            _log_joint(
                across,
                m,
                means[j],
                roots[j],
                constant[j],
                centred,
                white,
                out[j, start : start + m],
            )
    return out


@jit(fastmath=FAST)
def expect_rows(
    rows: np.ndarray,
    weight: np.ndarray,
    labels: np.ndarray,
    hard: bool,
    means: np.ndarray,
    roots: np.ndarray,
    constant: np.ndarray,
    count: np.ndarray,
    shift: np.ndarray,
    scatter: np.ndarray,
) -> float:
    """Add what rows are expected to add to each component; returns their log-likelihood.

    A label is the component of a row, or negative; an empty array has none. With `hard` a row
    belongs to its most probable component.
    """
    n, d = rows.shape
    k = len(means)
    across, centred, white = np.empty((d, BLOCK)), np.empty((d, BLOCK)), np.empty(BLOCK)
    share, top, total = np.empty((k, BLOCK)), np.empty(BLOCK), np.empty(BLOCK)
    value = 0.0
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        _transpose(rows, start, m, across)
        for j in range(k):
            _log_joint(across, m, means[j], roots[j], constant[j], centred, white, share[j, :m])
            if len(labels) > 0:
                for b in range(m):
                    if labels[start + b] >= 0 and labels[start + b] != j:
                        share[j, b] = -np.inf
        for b in range(m):
            best = 0
            for j in range(1, k):
                best = j if share[j, b] > share[best, b] else best
            top[b], total[b] = share[best, b], 0.0
            for j in range(k):
                if hard:
                    share[j, b] = 1.0 if j == best else 0.0
                else:
                    share[j, b] = np.exp(share[j, b] - top[b])
                total[b] += share[j, b]
            value += weight[start + b] * (top[b] + np.log(total[b]))
        for j in range(k):
            some = False
            for b in range(m):
                share[j, b] /= total[b]
                some = some or not share[j, b] <= NOTHING
                share[j, b] *= weight[start + b]
                count[j] += share[j, b]
            if some:
                _add(across, m, means[j], share[j], centred, white, shift[j], scatter[j])
    for j in range(k):
        for i in range(d):
            for h in range(i):
                scatter[j, h, i] = scatter[j, i, h]
    return value


@jit
def _transpose(rows: np.ndarray, start: int, m: int, across: np.ndarray) -> None:
    for b in range(m):
        for i in range(rows.shape[1]):
            across[i, b] = rows[start + b, i]


@jit(fastmath=FAST)
def _log_joint(
    across: np.ndarray,
    m: int,
    mean: np.ndarray,
    root: np.ndarray,
    constant: float,
    centred: np.ndarray,
    white: np.ndarray,
    out: np.ndarray,
) -> None:
    """Fill constant − ½ ‖Rᵀ (x − μ)‖² of m columns."""
    out[:] = constant
    for i in range(len(mean)):
        for b in range(m):
            centred[i, b] = across[i, b] - mean[i]
            white[b] = root[i, i] * centred[i, b]
        for h in range(i):
            factor = root[h, i]
            for b in range(m):
                white[b] += factor * centred[h, b]
        for b in range(m):
            out[b] -= 0.5 * white[b] * white[b]


@jit(fastmath=FAST)
def _add(
    across: np.ndarray,
    m: int,
    mean: np.ndarray,
    share: np.ndarray,
    centred: np.ndarray,
    weighed: np.ndarray,
    shift: np.ndarray,
    scatter: np.ndarray,
) -> None:
    """Add the weighted sum of m centred columns, and the lower half of their scatter."""
    for i in range(len(mean)):
        total = 0.0
        for b in range(m):
            centred[i, b] = across[i, b] - mean[i]
            weighed[b] = share[b] * centred[i, b]
            total += weighed[b]
        shift[i] += total
        for h in range(i + 1):
            total = 0.0
            for b in range(m):
                total += weighed[b] * centred[h, b]
            scatter[i, h] += total
