"""Sequences and their targets at the boundary of recurrent estimators."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from panlearn.core.labels import require_two_classes
from panlearn.core.sequences import Kind, as_list, read_sequences
from panlearn.core.sources import Batches, SequenceRows, Sequences, is_dask
from panlearn.sequence._symbols import categories_of, encode, missing


class Labels(NamedTuple):
    """What is to be learned: codes of labels, one a sequence or one a step, and the labels."""

    codes: np.ndarray
    classes: np.ndarray


def kind_of(X: Any) -> Kind:
    """Whether the steps of the first sequence are vectors or symbols."""
    if isinstance(X, str | bytes | dict | set) or not hasattr(X, "__len__"):
        raise ValueError(f"X must be a list of sequences; got {type(X).__name__}")
    bare = (isinstance(X, np.ndarray) and X.dtype != object) or hasattr(X, "columns")
    first = X if bare or not len(X) else X[0]
    ndim = getattr(first, "ndim", None)
    if ndim is None:  # a list of steps, or a step
        inner = not isinstance(first, str) and hasattr(first, "__len__") and len(first)
        ndim = 1 + np.ndim(first[0]) if inner else 1
    return "vectors" if ndim >= 2 else "symbols"


def read(estimator: Any, X: Any, kind: Kind, *, reset: bool) -> tuple[Sequences, bool]:
    """Sequences in memory, checked, and whether X was a single one."""
    if is_dask(X) or isinstance(X, Batches):
        raise ValueError(
            f"{type(estimator).__name__} learns from sequences in memory; got a {type(X).__name__}"
        )
    rows = read_sequences(estimator, X, kind=kind, reset=reset)
    assert isinstance(rows, SequenceRows)
    if kind == "symbols":
        check_symbols(rows.X.values)
    return rows.X, as_list(X, kind)[1]


def check_symbols(values: np.ndarray) -> None:
    """Refuse numbers that were meant as a series, and symbols that are missing."""
    if missing(values).any():
        raise ValueError("X holds a missing symbol (NaN or None); leave those steps out")
    if values.dtype.kind == "f" and not (values == np.round(values)).all():
        raise ValueError(
            "X holds fractions, which are no symbols: a series of numbers is of shape (T, 1), "
            "x.reshape(-1, 1)"
        )


def symbols(X: Sequences, given: Any, name: str) -> np.ndarray:
    """The symbols that may come: those of the parameter `name`, or those of X."""
    return categories_of(SequenceRows(X, None, None), given, name)


def coded(X: Sequences, categories: np.ndarray, name: str) -> Sequences:
    """The sequences in codes of symbols."""
    return Sequences(encode(X.values, categories, name), X.offsets)


def read_labels(y: Any, X: Sequences, single: bool) -> tuple[Labels, bool]:
    """Labels of sequences or of steps, and whether they are one a sequence."""
    if isinstance(y, str | bytes | dict | set) or not hasattr(y, "__len__"):
        raise ValueError(f"y must be a list of labels; got {type(y).__name__}")
    each = [y] if single else list(y)
    if len(each) != len(X):
        raise ValueError(f"X holds {len(X)} sequences and y {len(each)} targets")
    depths = {0 if isinstance(t, str) or not hasattr(t, "__len__") else 1 for t in each}
    if len(depths) > 1:
        raise ValueError("y holds labels and lists of labels; give one label a sequence, or a list")
    if depths == {0}:
        return _labels(np.asarray(each)), True
    lengths = [len(t) for t in each]
    if lengths != X.lengths.tolist():
        i = next(i for i, n in enumerate(lengths) if n != X.lengths[i])
        raise ValueError(
            f"y[{i}] has {lengths[i]} labels and sequence {i} of X has {X.lengths[i]} steps; give "
            "one label a step, or one a sequence"
        )
    return _labels(np.concatenate([np.asarray(t) for t in each])), False


def _labels(y: np.ndarray) -> Labels:
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise ValueError("y contains NaN; leave out the sequences that have no label")
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    require_two_classes(classes)
    return Labels(codes, classes)


def read_weights(sample_weight: Any, n: int) -> np.ndarray:
    """One weight a sequence, in float32."""
    return _check_sample_weight(
        sample_weight, np.empty((n, 1)), dtype=np.float32, ensure_non_negative=True
    )


def as_given(values: np.ndarray, X: Sequences, single: bool) -> Any:
    """Values of all steps as a list of arrays, or as one if there was a single sequence."""
    return values if single else np.split(values, X.offsets[1:-1])
