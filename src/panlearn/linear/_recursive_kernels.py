"""The walk of recursive least squares over the rows of a block."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def update(theta, covariance, X, y, noise, past) -> None:  # noqa: ANN001
    r"""Fold rows, one after the other, into the estimate, in place.

    With p = P x / f, K = p / (x'p + r) and M = P / f - K p':

    .. math:: \theta \leftarrow \theta + K (y - x^\top \theta), \qquad
              P \leftarrow M (I - x K^\top) + r K K^\top = M + (r K - M x) K^\top

    theta is (D, t), covariance P is (D, D) and symmetric, X is (n, d) with d = D or D - 1 (a one is
    appended), y is (n, t), noise r and past f are (n,). A row of infinite noise changes nothing.
    """
    n, d = X.shape
    size, targets = theta.shape
    x, p, gain, rest = np.ones(size), np.empty(size), np.empty(size), np.empty(size)
    for i in range(n):
        if noise[i] == np.inf:
            continue
        for j in range(d):
            x[j] = X[i, j]
        if past[i] != 1.0:
            covariance /= past[i]
        p[:] = 0.0
        for j in range(size):  # P x as a sum of columns, which vectorises
            for k in range(size):
                p[k] += covariance[j, k] * x[j]
        spread = noise[i]
        for j in range(size):
            spread += x[j] * p[j]
        if not np.isfinite(spread):  # an overflow would leave the row out; the caller looks for NaN
            theta[:] = np.nan
            return
        for j in range(size):
            gain[j] = p[j] / spread
        for t in range(targets):
            error = y[i, t]
            for j in range(size):
                error -= x[j] * theta[j, t]
            for j in range(size):
                theta[j, t] += gain[j] * error
        for j in range(size):
            for k in range(size):
                covariance[j, k] -= gain[j] * p[k]
        # M x is summed anew, not as p - K p'x: this is what keeps P positive definite
        for j in range(size):
            total = 0.0
            for k in range(size):
                total += covariance[j, k] * x[k]
            rest[j] = noise[i] * gain[j] - total
        for j in range(size):
            for k in range(j + 1):
                value = covariance[j, k] + rest[j] * gain[k]
                covariance[j, k] = value
                covariance[k, j] = value
