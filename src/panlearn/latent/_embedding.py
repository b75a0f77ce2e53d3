"""Eigenvectors for embeddings: a few of many, the same on each run."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

SMALL = 300  # up to here the dense solver takes a few milliseconds


def signed(vectors: np.ndarray) -> np.ndarray:
    """Columns with the sign that makes their largest entry positive."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)


def largest_eigenpairs(matrix: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k algebraically largest eigenvalues, falling, and their vectors."""
    n = len(matrix)
    if n > SMALL and 10 * k < n:
        try:
            values, vectors = eigsh(matrix, k, which="LA", v0=_start(n))
        except ArpackNoConvergence:
            pass
        else:
            order = np.argsort(values)[::-1]
            return values[order], signed(vectors[:, order])
    values, vectors = linalg.eigh(matrix, subset_by_index=[n - k, n - 1], check_finite=False)
    return values[::-1], signed(vectors[:, ::-1])


def smallest_eigenpairs(matrix: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k smallest eigenvalues, rising, of a sparse positive semi-definite matrix.

    Lanczos on the inverse at a shift just below zero, so that what is factorised is definite.
    """
    n = matrix.shape[0]
    if n > SMALL and 10 * k < n:
        shift = -1e-13 * float(matrix.trace())
        try:
            values, vectors = eigsh(matrix, k, sigma=shift, which="LM", v0=_start(n))
        except (ArpackNoConvergence, RuntimeError):  # or the factor is singular to rounding
            pass
        else:
            order = np.argsort(values)
            return values[order], signed(vectors[:, order])
    dense = matrix.toarray() if sparse.issparse(matrix) else matrix
    values, vectors = linalg.eigh(dense, subset_by_index=[0, k - 1], check_finite=False)
    return values, signed(vectors)


def _start(n: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, n)
