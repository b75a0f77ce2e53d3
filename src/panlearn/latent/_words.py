"""Tables with words in them, and the numbers that stand for the words."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from panlearn.core.labels import missing
from panlearn.core.sources import as_batches, is_dask


def has_words(X: Any) -> bool:
    """Whether X is a table with values that are no numbers."""
    if as_batches(X) is not None or is_dask(X):
        return False
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        words = any(getattr(kind, "kind", "O") not in "biuf" for kind in X.dtypes)
    else:
        words = not hasattr(X, "tocsr") and np.asarray(X).dtype.kind in "OUS"
    return words and not _are_numbers(X)


def _are_numbers(X: Any) -> bool:
    """Whether what is held as objects are numbers all the same; text is not, "01" is not "1"."""
    table = np.asarray(X, dtype=object)
    if any(isinstance(value, str) for value in table.ravel()):
        return False
    try:
        np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        return False
    return True


def distinct(column: np.ndarray, j: int) -> np.ndarray:
    """The sorted values of a column, in an array of their own type."""
    values = column[~missing(column)]
    words, numbers = (any(isinstance(v, kind) for v in values) for kind in (str, Real))
    if (words and numbers) or not all(isinstance(v, str | Real) for v in values):
        kinds = sorted({type(v).__name__ for v in values})
        raise TypeError(
            f"column {j} of X holds values of type {', '.join(kinds)}; give strings, or numbers"
        )
    return np.array(sorted(set(values)))


def numbered(table: np.ndarray, categories: list[np.ndarray]) -> np.ndarray:
    """Words as the number of their category, numbers as they are; NaN where there is none."""
    out = np.full(table.shape, np.nan)
    for j, known in enumerate(categories):
        seen = ~missing(table[:, j])
        if known.dtype.kind != "U":
            out[seen, j] = table[seen, j].astype(float)
            continue
        code = {value: float(i) for i, value in enumerate(known.tolist())}
        out[seen, j] = [code.get(value, np.nan) for value in table[seen, j]]
    return out


def named(codes: list[np.ndarray], words: list[np.ndarray]) -> list[np.ndarray]:
    """The values behind the codes that have any weight; numbers are their own codes."""
    return [
        known[code.astype(int)] if known.dtype.kind == "U" else code.astype(known.dtype)
        for code, known in zip(codes, words, strict=True)
    ]
