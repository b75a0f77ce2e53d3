"""How long a fit will take, by fits to a few of the rows."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline

from panlearn.core import interpretation

SHARES = (1 / 16, 1 / 8, 1 / 4)  # of the rows
FIRST = 100  # rows of a fit before the clock runs
FEWEST = 200  # rows that tell something of a time
MARGIN = 2.0  # times the limit, beyond which fits to fewer rows than the most give a model up
SHORT = 0.02  # seconds; a time below says little of how it grows
STEEPEST = 3.0  # no method of the library grows faster than the cube of the rows


def too_slow(
    X: pd.DataFrame, y: np.ndarray, pipeline: Pipeline, n_splits: int, limit: float | None
) -> str:
    """Say why a pipeline cannot be fitted to each fold and to all rows in time, or nothing.

    The time is taken to grow as a power of the rows, at least in proportion and at most as their
    cube, by what fits to growing parts of the rows take. A first, small one is not counted: it may
    compile. No more are made than it takes to see that even a cube stays within the limit. Where a
    fit fails nothing is said, for the comparison will say it.
    """
    n = len(y)
    sizes = [int(n * share) for share in SHARES if n * share >= FEWEST]
    if limit is None or not sizes:
        return ""
    known: tuple[int, float] | None = None
    with warnings.catch_warnings(), interpretation.forbidden():  # which is slow, but not for long
        warnings.simplefilter("ignore")
        try:
            _seconds(X, y, pipeline, FIRST)
            for size in sizes:
                seconds = _seconds(X, y, pipeline, size)
                power = 1.0
                if known is not None and known[1] > SHORT:
                    steep = np.log(seconds / known[1]) / np.log(size / known[0])
                    power = float(np.clip(steep, 1.0, STEEPEST))
                expected = seconds * _fits(n / size, n_splits, power)
                if expected > (limit if size == sizes[-1] else MARGIN * limit):
                    return (
                        f"not begun: it would take about {_spoken(expected)}, and {limit:g} s are "
                        f"allowed ({seconds:.1f} s for {size:,} of {n:,} rows)"
                    )
                if seconds * _fits(n / size, n_splits, STEEPEST) <= limit:
                    return ""
                known = size, seconds
        except Exception:
            return ""
    return ""


def _fits(ratio: float, n_splits: int, power: float) -> float:
    """How many fits to a part of the rows take as long as those to the folds and to all rows."""
    return ratio**power * (n_splits * (1 - 1 / n_splits) ** power + 1)


def _seconds(X: pd.DataFrame, y: np.ndarray, pipeline: Pipeline, size: int) -> float:
    labels: Any = y if y.dtype.kind not in "f" else None
    some, _ = train_test_split(np.arange(len(y)), train_size=size, stratify=labels, random_state=0)
    begun = perf_counter()
    clone(pipeline).fit(X.iloc[some], y[some])
    return perf_counter() - begun


def _spoken(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
