"""Labels: which are missing, the codes of classes, and the weights that classes are given."""

from __future__ import annotations

from typing import Any

import numpy as np


def missing(column: np.ndarray) -> np.ndarray:
    """Which entries are NaN, None or pandas' NA."""
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind != "O":
        return np.zeros(len(column), dtype=bool)
    return np.array([is_missing(value) for value in column], dtype=bool)


def is_missing(value: Any) -> bool:
    """Whether a label is NaN, None or pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas' NA has no truth
        return True
    except ValueError:  # an array, which is more than one label
        return False


def plain_labels(y: Any, name: str = "y", *, complete: bool = True) -> Any:
    """Give labels, or numbers to learn, in an ordinary type of NumPy's.

    Parameters
    ----------
    y : array-like
        pandas' own integers, booleans, strings and categories, and Arrow's, come back as those of
        NumPy; whatever else as it is.
    name : str
        What an error calls it.
    complete : bool
        Whether a missing label is an error that names the first row without one.
    """
    if hasattr(y, "columns") and hasattr(y, "iloc"):
        if all(isinstance(kind, np.dtype) for kind in y.dtypes):
            return y
        columns = [y.iloc[:, j] for j in range(y.shape[1])]
        return np.stack([plain_labels(c, name, complete=complete) for c in columns], axis=1)
    extended = hasattr(y, "to_numpy") and not isinstance(getattr(y, "dtype", None), np.dtype)
    if not (complete or extended) or hasattr(y, "__dask_graph__"):
        return y
    values = np.asarray(y, dtype=object) if extended else _one_by_one(y)
    if values is None:
        return y
    gaps = missing(values)
    if gaps.any() and complete:
        row = int(np.flatnonzero(gaps)[0])
        raise ValueError(
            f"{name} has a missing label (NaN, None or NA) in row {row}; drop the rows without a "
            "label, or give them one of their own"
        )
    return np.array(values.tolist()) if extended and not gaps.any() else y


def _one_by_one(y: Any) -> np.ndarray | None:
    """Labels in one row, as they are; None where there is nothing to look for."""
    if isinstance(y, list | tuple):
        values = np.empty(len(y), dtype=object)
        values[:] = y
        return values
    array = y if isinstance(y, np.ndarray) else getattr(y, "values", None)
    if isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "fO":
        return array
    return None


def require_two_classes(classes: np.ndarray) -> None:
    """Refuse labels among which there is nothing to tell apart."""
    if len(classes) < 2:
        raise ValueError(
            f"the data hold one class only, {classes.tolist()}; a classifier needs two or more"
        )


def few_integers(y: Any) -> bool:
    """Whether these are labels beyond doubt: integers, from a range of at most half their number.

    scikit-learn's checks, which warn of more, take longer than a small fit.
    """
    if type(y) is not np.ndarray or y.ndim != 1 or y.dtype.kind not in "bi" or not len(y):
        return False
    return y.dtype.kind == "b" or 2 * (int(y.max()) - int(y.min()) + 1) <= len(y)


def encode_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give the labels, sorted, and the place of each row's label among them."""
    if few_integers(y) and y.dtype.kind == "i":  # counted, not sorted
        least = y.min()
        place = np.subtract(y, least, dtype=np.intp)
        there = np.bincount(place) > 0
        classes = (np.flatnonzero(there) + int(least)).astype(y.dtype)
        codes = (np.cumsum(there) - 1)[place]
    else:
        classes, codes = np.unique(y, return_inverse=True)
    require_two_classes(classes)
    return classes, codes.astype(np.int32)


def class_weights(given: Any, classes: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Give the weight of each class.

    Parameters
    ----------
    given : None, "balanced" or mapping
        What the parameter ``class_weight`` of a classifier says: all alike, inverse to their
        share of the rows, or by label, where one that is not named weighs 1.
    classes : ndarray of shape (n_classes,)
        The labels.
    count : ndarray of shape (n_classes,)
        The weight of the rows of each.

    Returns
    -------
    ndarray of shape (n_classes,)
    """
    if given is None:
        return np.ones(len(classes))
    if isinstance(given, str):
        return count.sum() / (len(classes) * count)
    names = classes.tolist()
    if unknown := [label for label in given if label not in names]:
        raise ValueError(f"class_weight names {unknown}, which are not among the classes {names}")
    weight = np.array([float(given.get(label, 1.0)) for label in names])
    if not (np.isfinite(weight).all() and (weight > 0).all()):
        raise ValueError(f"class_weight must be finite and positive; got {given!r}")
    return weight
