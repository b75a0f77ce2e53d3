"""The matrix of rows with themselves, made and pulled back a tile at a time on all threads.

Half of the tiles say all. The only matrix of n by n is the one that is asked for: what a kernel
needs in between has the size of a tile, which stays in the cache of a core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from panlearn.core.memory import require_memory
from panlearn.core.threads import threads
from panlearn.kernel._base import FEW, refuse_overflow
from panlearn.kernel._kernel import Kernel

TILE = 256
Tile = tuple[slice, slice]


def gram(kernel: Kernel, X: Any, *, copies: int = 2) -> np.ndarray:
    """K(X, X) in float64, after saying whether it and its factor fit, finite or refused."""
    n = X.shape[0]
    require_memory((copies, n, n), "the kernel matrix with its workspace", "use fewer rows")
    K = np.empty((n, n))
    fill_lower(kernel, X.astype(np.float64, copy=False), K)
    for rows, columns in _tiles(n):
        if rows != columns:
            K[columns, rows] = K[rows, columns].T
    return K


def fill_lower(kernel: Kernel, X: Any, out: np.ndarray) -> None:
    """Write K(X, X) on and below the diagonal of `out`; above it, what the tiles there hold."""

    def fill(tile: Tile) -> None:
        rows, columns = tile
        K = kernel._gram(X[rows], None if rows == columns else X[columns])
        out[tile] = refuse_overflow(K)

    _for_each(fill, X.shape[0])


def pull_lower(kernel: Kernel, X: np.ndarray, weight: Callable[[Tile], np.ndarray]) -> np.ndarray:
    """Σ_ij W_ij ∂K_ij for a symmetric W, of which `weight` gives the tiles of the lower half."""

    def pull(tile: Tile) -> np.ndarray:
        rows, columns = tile
        if rows == columns:
            return kernel._pullback(X[rows], None)[1](weight(tile))
        return 2 * kernel._pullback(X[rows], X[columns])[1](weight(tile))

    return sum(_for_each(pull, len(X)), start=np.zeros(len(kernel.theta)))


def symmetric(A: np.ndarray, tile: Tile) -> np.ndarray:
    """A tile of a symmetric matrix whose lower half A holds."""
    rows, columns = tile
    if rows != columns:
        return A[tile]
    half = np.tril(A[tile])
    return half + np.tril(half, -1).T


def _tiles(n: int) -> Iterator[Tile]:
    size = n if n <= FEW else TILE  # few rows are done sooner than threads are made ready
    for i in range(0, n, size):
        for j in range(0, i + 1, size):
            yield slice(i, min(i + size, n)), slice(j, min(j + size, n))


def _for_each(call: Callable[[Tile], Any], n: int) -> list[Any]:
    """Results in the order of the tiles, so that their sum does not hang on the threads."""
    tiles = list(_tiles(n))
    # an overflow is refused by name, and needs no warning
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if len(tiles) == 1:
            return [call(tiles[0])]
        with threads() as run:
            return list(run(call, tiles))
