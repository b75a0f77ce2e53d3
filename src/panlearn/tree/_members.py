"""The members of an ensemble: copies of an estimator, each with a seed of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier


def checked_base(estimator: Any) -> Any:
    """The estimator, if it is a classifier."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit") or not is_classifier(estimator):
        raise ValueError(
            f"estimator must be a classifier, an object with fit and predict; got {estimator!r}"
        )
    return estimator


def seeded_copy(estimator: Any, rng: np.random.Generator) -> Any:
    """An unfitted copy whose random states, at any depth, are drawn from the generator."""
    copy = clone(estimator)
    names = sorted(copy.get_params(deep=True))
    seeds = [n for n in names if n == "random_state" or n.endswith("__random_state")]
    return copy.set_params(**{name: int(rng.integers(2**31)) for name in seeds})
