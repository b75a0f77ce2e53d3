"""Arrays that need no conversion pass at a look."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import validate_data

from panlearn.core.boundary import is_finite

FLOATS = [np.float64, np.float32]
Targets = Literal["none", "numbers", "labels"]


def known_rows(estimator: Any, X: Any, *, allow_nan: bool = False, **options: Any) -> Any:
    """Validate rows for a fitted model, in float64 or float32; `options` are scikit-learn's.

    An array of finite floats of as many columns passes at a look: scikit-learn's takes longer than
    most models take to answer for a row. It is not looked at whether it lies in the order of C.
    """
    if is_known(estimator, X) and is_finite(X):
        return X
    with np.errstate(over="ignore", invalid="ignore"):  # of scikit-learn's look at the sum
        return validate_data(
            estimator,
            X,
            reset=False,
            dtype=FLOATS,
            ensure_all_finite="allow-nan" if allow_nan else True,
            **options,
        )


def is_known(estimator: Any, X: Any) -> bool:
    """Whether it is an array of floats with the columns of a fitted model, finite or not."""
    fits = is_plain(X) and X.shape[1] == getattr(estimator, "n_features_in_", None)
    return fits and not is_named(estimator)


def is_plain(X: Any) -> bool:
    """Whether it is an array of floats that has rows and columns, and nothing to be converted."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in FLOATS and X.size > 0


def is_named(estimator: Any) -> bool:
    """Whether a fitted model knows its features by name."""
    return "feature_names_in_" in vars(estimator)


def go_together(X: np.ndarray, y: Any, targets: Targets) -> bool:
    """Whether y is plainly what is to be learned of the rows, with nothing to be converted."""
    if targets == "none":
        return True
    if type(y) is not np.ndarray or y.ndim != 1 or len(y) != len(X):
        return False
    return y.dtype.kind in "iubUS" if targets == "labels" else y.dtype.kind == "f" and is_finite(y)
