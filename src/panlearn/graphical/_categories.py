"""Columns of labels as codes, with -1 for what is missing, and back."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from panlearn.core.labels import missing


def states_of(column: np.ndarray, name: Any) -> np.ndarray:
    """The distinct labels of a column, sorted."""
    try:
        states = np.unique(column[~missing(column)])
    except TypeError:
        raise TypeError(
            f"the states of {name!r} do not sort, as its objects are of different types; argument "
            "must be a string or a number throughout a column"
        ) from None
    return plain(states) if states.dtype.kind == "O" else states


def named_states(given: Mapping | None, names: Sequence[Hashable]) -> dict[Hashable, np.ndarray]:
    """The states of the variables that are named, each a list of different labels."""
    found = {}
    for name, labels in (given or {}).items():
        states = np.asarray(labels)
        if name not in names:
            raise ValueError(f"states: no variable {name!r}; there are {list(names)}")
        if states.ndim != 1 or len(set(states.tolist())) != len(states) or not len(states):
            raise ValueError(f"states of {name!r} must be different labels; got {labels!r}")
        found[name] = states
    return found


def plain(states: np.ndarray) -> np.ndarray:
    """Objects that are numbers, or strings, as an array of these."""
    typed = np.array(states.tolist())
    same = typed.dtype.kind in "biufU" and typed.shape == states.shape
    return typed if same and typed.tolist() == states.tolist() else states


def encode(
    column: np.ndarray, states: np.ndarray, name: Any, *, lenient: bool = False
) -> np.ndarray:
    """Codes of labels, -1 for missing ones; an unknown label is an error, or missing too."""
    absent = missing(column)
    present = column[~absent] if absent.any() else column
    if present.dtype.kind in "biuf" and states.dtype.kind in "biuf":
        order = np.argsort(states)
        at = np.searchsorted(states, present, sorter=order).clip(max=len(states) - 1)
        found = order[at]
        unknown = states[found] != present
    else:
        place = {state: code for code, state in enumerate(states.tolist())}
        found = np.array([place.get(label, -1) for label in present.tolist()], dtype=np.int64)
        unknown = found < 0
    strange = [v for v in present[unknown].tolist() if not isinstance(v, str | Number)]
    if strange:
        raise TypeError(f"{name!r} holds the object {strange[0]!r}, neither a string nor a number")
    if unknown.any() and not lenient:
        raise ValueError(
            f"{present[unknown.argmax()]!r} is no state of {name!r}, which has {_shown(states)}; "
            "give all states in `states`, or mark the entry as missing"
        )
    if unknown.any():
        found = np.where(unknown, -1, found)
    if len(present) == len(column):
        return found
    codes = np.full(len(column), -1, dtype=np.int64)
    codes[~absent] = found
    return codes


def _shown(states: np.ndarray) -> list[Any]:
    return [*states[:5].tolist(), "..."] if len(states) > 5 else states.tolist()


def decode(codes: np.ndarray, states: Sequence[np.ndarray]) -> np.ndarray:
    """Labels of a table of codes, of the one type of all states, or objects."""
    kinds = {s.dtype.kind for s in states}
    dtype = np.result_type(*(s.dtype for s in states)) if len(kinds) == 1 else np.dtype(object)
    labels = np.empty(codes.shape, dtype=dtype, order="F")
    for j, column in enumerate(states):
        labels[:, j] = column[codes[:, j]]
    return labels
