"""Values near the ends of the floats: taken where the method can, told where it cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from panlearn.core.boundary import is_finite
from panlearn.core.plain import is_known, known_rows
from panlearn.core.threads import one_blas_thread
from panlearn.core.validation import FLOATS

FEW = 10_000  # numbers whose squares BLAS adds up on one thread
LARGEST = {np.dtype(np.float64): 1e153, np.dtype(np.float32): 1e37}
"""Up to here squares are floats: of float32 rows in float64, where squares are taken."""


def checked_rows(
    estimator: Any, X: Any, *, reset: bool, allow_nan: bool = False, **options: Any
) -> Any:
    """Validate rows whose squares will be taken; `options` are those of `validate_data`."""
    if not reset and is_known(estimator, X) and _has_squares(X):
        return X  # and finite
    if not reset:
        X = known_rows(estimator, X, allow_nan=allow_nan, **options)
    else:
        with np.errstate(over="ignore", invalid="ignore"):  # of scikit-learn's look at the sum
            X = validate_data(
                estimator,
                X,
                dtype=FLOATS,
                ensure_all_finite="allow-nan" if allow_nan else True,
                **options,
            )
    values = X.data if sparse.issparse(X) else X
    if _has_squares(values):
        return X
    largest = max(
        np.fmax.reduce(values, axis=None, initial=0), -np.fmin.reduce(values, axis=None, initial=0)
    )
    if largest > LARGEST[X.dtype]:
        raise ValueError(
            f"X has values up to {largest:.3g}, and {type(estimator).__name__} takes up to "
            f"{LARGEST[X.dtype]:g} in {X.dtype}, lest their squares overflow; rescale its columns"
        )
    return X


def _has_squares(values: np.ndarray) -> bool:
    """Whether the squares are floats beyond doubt, in one pass; mostly they are.

    On one thread: another of BLAS would wait for work for milliseconds after, on a core that the
    method's own threads want. Of few numbers BLAS has one anyway.
    """
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread(values.size > FEW):
        square = float(np.vdot(values, values)) if values.flags.c_contiguous else np.inf
    return square <= LARGEST[values.dtype] ** 2


def log_floats(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Log densities in these floats; what is below them is the lowest of them."""
    return np.maximum(values, float(np.finfo(dtype).min)).astype(dtype, copy=False)


def floats(values: Any, dtype: Any, what: str) -> np.ndarray:
    """Numbers in these floats, refused if they are beyond them; what is too small is zero."""
    with np.errstate(over="ignore", under="ignore"):
        out = np.asarray(values).astype(dtype, copy=False)
    if not is_finite(out):
        raise ValueError(f"{what} are beyond {np.dtype(dtype)}; rescale the columns of X")
    return out
