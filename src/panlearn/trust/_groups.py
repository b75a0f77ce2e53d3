"""Groups of rows by a sensitive column, or by the intersections of several."""

from __future__ import annotations

from typing import Any

import numpy as np


def group_codes(
    sensitive: Any, n: int, name: str = "sensitive_features"
) -> tuple[list, np.ndarray]:
    """The groups that occur, sorted, and the number of each row's.

    A table of several columns makes tuples, one a combination that occurs.
    """
    columns = _columns(sensitive, name)
    for column in columns:
        if len(column) != n:
            raise ValueError(f"{name} has {len(column)} rows, and there are {n}")
    if len(columns) == 1:
        return codes_of(columns[0], name)
    return _intersections(columns, name)


def _intersections(columns: list[np.ndarray], name: str) -> tuple[list, np.ndarray]:
    labels, codes = codes_of(columns[0], name)
    if len(columns) == 1:
        return [(label,) for label in labels], codes
    rest, more = _intersections(columns[1:], name)
    joint = codes * len(rest) + more
    used = np.flatnonzero(np.bincount(joint, minlength=len(labels) * len(rest)))
    place = np.zeros(len(labels) * len(rest), dtype=np.intp)
    place[used] = np.arange(len(used))
    names = [(labels[cell // len(rest)], *rest[cell % len(rest)]) for cell in used]
    return names, place[joint]


def codes_of(column: Any, name: str = "sensitive_features") -> tuple[list, np.ndarray]:
    """The values that occur in a column, sorted, and the number of each entry's, without a sort."""
    values = np.asarray(column)
    if values.dtype.kind == "b":
        values = values.astype(np.int8)
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low <= 4 * len(values) + 1000:
            shifted = values.astype(np.intp) - low
            used = np.flatnonzero(np.bincount(shifted, minlength=high - low + 1))
            place = np.zeros(high - low + 1, dtype=np.intp)
            place[used] = np.arange(len(used))
            return [int(v) + low for v in used], place[shifted]
    entries = values.tolist()
    found = dict.fromkeys(entries)
    if any(v is None or v != v for v in found):
        raise ValueError(f"{name} has missing entries; give them a group of their own")
    labels = sorted(found, key=lambda v: (type(v).__name__, v))
    lookup = {label: i for i, label in enumerate(labels)}
    codes = np.fromiter(map(lookup.__getitem__, entries), dtype=np.intp, count=len(entries))
    return labels, codes


def _columns(sensitive: Any, name: str) -> list:
    if isinstance(sensitive, dict):
        return [np.asarray(column) for column in sensitive.values()]
    if hasattr(sensitive, "columns"):
        return [sensitive[c].to_numpy() for c in sensitive.columns]
    values = sensitive.to_numpy() if hasattr(sensitive, "to_numpy") else np.asarray(sensitive)
    if values.ndim == 1:
        return [values]
    if values.ndim == 2 and values.shape[1]:
        return list(values.T)
    raise ValueError(f"{name} must be a column or a table of columns; it has shape {values.shape}")
