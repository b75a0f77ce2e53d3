"""Units in which the squares of rows are floats."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def peak_of(X: Any) -> float:
    """The largest absolute value."""
    values = X.data if sparse.issparse(X) else X
    return float(max(values.max(initial=0), -values.min(initial=0)))


def power_of_two(value: float) -> float:
    """The power of two above a number: to divide by it rounds nothing."""
    return float(np.ldexp(1.0, min(int(np.frexp(value)[1]), 1023))) if value else 1.0
