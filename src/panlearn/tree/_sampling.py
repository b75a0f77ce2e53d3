"""Samples of rows, and what is said of rows that are in every one of them."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Annotated, Any

import numpy as np

from panlearn.core.parameters import Bounds
from panlearn.core.warning import warn

Part = Annotated[float, Bounds(0, 1, closed_high=True)]
"""Above zero, at most one."""


def sample_size(max_samples: Any, n: int) -> int:
    """How many of n rows a sample has: a number, or a part of all.

    n counts rows, whatever they weigh: weights are relative, and ten times the weights is the same
    sample.
    """
    if max_samples is None:
        return n
    if isinstance(max_samples, Integral):
        if int(max_samples) > 10**9:
            raise ValueError("max_samples is more rows than can be drawn, above 1e9")
        return int(max_samples)
    return max(1, round(max_samples * n))


def row_sampler(weight: np.ndarray) -> Callable[[np.random.Generator, int], np.ndarray]:
    """A function that draws rows with replacement, each with a chance in proportion to its weight.

    A point in [0, W) falls on the row whose stretch of the summed weights it is in, so that the
    same points fall on a row of weight two and on two copies of it.
    """
    n, ends = len(weight), np.cumsum(weight / weight.max())
    even = bool((weight == weight[0]).all())

    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        points = rng.random(size)
        if even:
            return (points * n).astype(np.int64)
        return np.minimum(np.searchsorted(ends, points * ends[-1], side="right"), n - 1)

    return draw


def out_of_bag_mean(total: np.ndarray, times: np.ndarray) -> np.ndarray:
    """What the members say of each row that they were not fitted to, summed over so many of them.

    total is (n, n_components). A row that all were fitted to gets NaN, and there is a warning.
    """
    if not times.any():
        raise ValueError("oob_score: no row is out of any bag; raise n_estimators")
    if not times.all():
        warn(
            f"{(times == 0).sum()} of {len(times)} rows do not have out-of-bag scores: they are in "
            "every bag, and NaN stands for them; raise n_estimators",
            UserWarning,
        )
    with np.errstate(invalid="ignore"):
        return total / times[:, None]


def scored(score: Any, true: np.ndarray, found: np.ndarray) -> float:
    """What a function makes of out-of-bag predictions; an error names the parameter."""
    try:
        return float(score(true, found))
    except TypeError as error:
        raise ValueError(f"oob_score={score!r} must take y and its prediction: {error}") from error
