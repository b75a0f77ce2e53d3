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
    return np.array([_is_missing(value) for value in column], dtype=bool)


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas' NA has no truth
        return True


def require_two_classes(classes: np.ndarray) -> None:
    """Refuse labels among which there is nothing to tell apart."""
    if len(classes) < 2:
        raise ValueError(
            f"the data hold one class only, {classes.tolist()}; a classifier needs two or more"
        )


def encode_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give the labels, sorted, and the place of each row's label among them."""
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
