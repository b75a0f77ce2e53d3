"""What new rows ask of fitted centres: how far each is, and which is the nearest."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from panlearn.core.jit import jit
from panlearn.core.short_rows import shifted
from panlearn.core.threads import in_parts, rows_together
from panlearn.latent._lloyd import assign
from panlearn.latent._lloyd_kernel import CHUNK

FEW = 1 << 9  # entries of all centres up to which a product in single precision saves no time
PRODUCTS = 1 << 20  # that a thread finds at a time


def distances(X: np.ndarray, centres: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """The distance of each row from each centre, (n, k).

    All are taken about the origin, so that data far from zero keep their digits.
    """
    moved, out = centres - origin, np.empty((len(X), len(centres)))
    squares = np.einsum("ij,ij->i", moved, moved)

    def fill(part: slice) -> None:
        rows = shifted(X[part], -origin)
        square = np.matmul(rows, moved.T, out=out[part])
        square *= -2
        square += np.einsum("ij,ij->i", rows, rows)[:, None]
        shifted(square, squares, out=square)
        np.maximum(square, 0, out=square)
        np.sqrt(square, out=square)

    in_parts(fill, len(X), rows_together(sum(centres.shape)))
    return out.astype(X.dtype, copy=False)


def nearest(X: Any, centres: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """Label each row with its nearest centre, as `assign` does, and nothing else."""
    if centres.size > FEW or sparse.issparse(X):
        return assign(X, None, centres, origin)[0]
    moved, labels = centres - origin, np.empty(len(X), np.int32)
    half = 0.5 * (moved**2).sum(axis=1)

    def label(part: slice) -> None:
        _label(np.ascontiguousarray(X[part]), moved, half, origin, labels[part])

    in_parts(label, len(X), PRODUCTS // centres.size)
    return labels


@jit
def _label(
    X: np.ndarray, centres: np.ndarray, half: np.ndarray, origin: np.ndarray, labels: np.ndarray
) -> None:
    """argmin_j ½|c_j|² - x·c_j of all rows in double precision, the first of several."""
    n, d = X.shape
    across, score, low = np.empty((d, CHUNK)), np.empty(CHUNK), np.empty(CHUNK)
    for start in range(0, n, CHUNK):
        size, best = min(CHUNK, n - start), labels[start : start + CHUNK]
        for a in range(size):
            best[a], low[a] = 0, np.inf
            for i in range(d):
                across[i, a] = X[start + a, i] - origin[i]
        for j in range(len(half)):
            for a in range(size):
                score[a] = half[j]
            for i in range(d):
                factor = centres[j, i]
                for a in range(size):
                    score[a] -= across[i, a] * factor
            for a in range(size):
                best[a] = np.int32(j) if score[a] < low[a] else best[a]
                low[a] = min(low[a], score[a])
