"""Training rows of a method that needs all of them in memory at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from panlearn.core.capabilities import require_source
from panlearn.core.validation import reject_hidden
from panlearn.latent._extremes import checked_rows


def rows_in_memory(estimator: Any, X: Any, *, reset: bool = True) -> np.ndarray:
    """Validate dense rows and remember their features on the estimator."""
    require_source(estimator, X)
    reject_hidden(X=X)
    return checked_rows(estimator, X, reset=reset)


def coordinates(X: Any, k: int) -> np.ndarray:
    """What a user wants turned back into rows: of the shape that `transform` returns."""
    array = np.asarray(X)
    if array.ndim != 2 or array.shape[1] != k:
        raise ValueError(
            f"X must have the shape (n_samples, {k}) of what transform returns; got {array.shape}"
        )
    return array


def power_of_two(value: float) -> float:
    """The power of two next above a size: to divide by it rounds nothing."""
    return float(np.ldexp(1.0, min(int(np.frexp(value)[1]), 1023))) if value > 0 else 1.0
