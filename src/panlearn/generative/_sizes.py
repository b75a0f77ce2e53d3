"""Sizes of hidden layers, as estimators take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from panlearn.core.parameters import Positive

Sizes = Positive[int] | tuple | list


def hidden_sizes(given: Any) -> tuple[int, ...]:
    """The units of each hidden layer, from an int or a tuple of them; () for none."""
    sizes = (given,) if isinstance(given, int | np.integer) else tuple(given)
    if not all(isinstance(h, int | np.integer) and 0 < h <= 10**6 for h in sizes):
        raise ValueError(
            f"hidden_layer_sizes={given!r} must be an int above zero, or a tuple of them"
        )
    return tuple(map(int, sizes))
