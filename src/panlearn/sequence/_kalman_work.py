"""Memory for the recursions of a linear Gaussian state space, and how it is filled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from panlearn.core.jit import jit


class Work(NamedTuple):
    """Memory for the recursions of m observed components and n hidden ones.

    A : (max(m, n) + n, max(m, n) + n), what is triangularised, and gain, one that came to rest.
    scale, size : the entries that a row is made of, and those of a state. exact : zeros. S,
    S_ahead, before : factors of a covariance. none : a matrix of no rows. pivots : see `divide`.
    """

    A: np.ndarray
    gain: np.ndarray
    scale: np.ndarray
    size: np.ndarray
    exact: np.ndarray
    innovation: np.ndarray
    S: np.ndarray
    S_ahead: np.ndarray
    before: np.ndarray
    none: np.ndarray
    pivots: np.ndarray


def make_work(m: int, n: int) -> Work:
    """Memory, outside of what is compiled, which is the quicker to compile."""
    wide, factor = (max(m, n) + n, max(m, n) + n), (n, n)
    return Work(
        *(np.empty(wide), np.empty(wide), np.empty(wide[0]), np.empty(n), np.zeros(n)),
        *(np.empty(m), np.empty(factor), np.empty(factor), np.empty(factor)),
        *(np.empty((0, n)), np.empty(n, np.int64)),
    )


@jit(_nrt=False)
def put(values: np.ndarray, out: np.ndarray) -> None:
    """Out = values, of one row; loops are compiled in less time than assignments of arrays."""
    for i in range(len(values)):
        out[i] = values[i]


@jit(_nrt=False)
def put_matrix(values: np.ndarray, out: np.ndarray) -> None:
    """Out = values."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[i, j] = values[i, j]
