"""Samples of rows."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Annotated, Any

import numpy as np

from panlearn.core.parameters import Bounds

Part = Annotated[float, Bounds(0, 1, closed_high=True)]
"""Above zero, at most one."""


def sample_size(max_samples: Any, weight: np.ndarray) -> int:
    """How many rows a sample has: a number, or a part of all.

    Weights that are whole numbers stand for repeated rows, which all count; others are relative.
    """
    whole = bool((weight == np.floor(weight)).all())
    n = int(weight.sum()) if whole else len(weight)
    if max_samples is None:
        return n
    if isinstance(max_samples, Integral):
        size = int(max_samples)
        if size > n:
            raise ValueError(f"max_samples={size} is more than the {n} rows")
        return size
    return max(1, round(max_samples * n))


def row_sampler(weight: np.ndarray) -> Callable[[np.random.Generator, int], np.ndarray]:
    """A function that draws rows with replacement, each with a chance in proportion to its weight.

    A point in [0, W) falls on the row whose stretch of the summed weights it is in, so that the
    same points fall on a row of weight two and on two copies of it.
    """
    n, ends = len(weight), np.cumsum(weight)
    even = bool((weight == weight[0]).all())

    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        points = rng.random(size)
        if even:
            return (points * n).astype(np.int64)
        return np.minimum(np.searchsorted(ends, points * ends[-1], side="right"), n - 1)

    return draw
