"""Loops over rows by class, which BLAS has no words for."""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit


@jit
def class_moments(
    X: np.ndarray, codes: np.ndarray, weight: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean of each column in each class, what its rounding left out, and the scatter about it.

    `total` is the weight of each class. Rows are centred before they are squared; the mean of the
    centred rows is the correction of the mean, and takes its square out of the scatter.
    """
    n, d = X.shape
    k = len(total)
    mean, rest, scatter = np.zeros((k, d)), np.zeros((k, d)), np.zeros((k, d))
    for i in range(n):
        c, w = codes[i], weight[i]
        for j in range(d):
            mean[c, j] += w * X[i, j]
    for c in range(k):
        for j in range(d):
            mean[c, j] /= total[c]
    for i in range(n):
        c, w = codes[i], weight[i]
        for j in range(d):
            z = X[i, j] - mean[c, j]
            rest[c, j] += w * z
            scatter[c, j] += w * z * z
    for c in range(k):
        for j in range(d):
            scatter[c, j] -= rest[c, j] * (rest[c, j] / total[c])
            rest[c, j] /= total[c]
    return mean, rest, scatter


@jit
def sparse_class_sums(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add the weighted rows of a CSR matrix to the row of `out` that their class has."""
    for i in range(len(codes)):
        c, w = codes[i], weight[i]
        for p in range(indptr[i], indptr[i + 1]):
            out[c, indices[p]] += w * data[p]
