"""Rows grouped by the entries that they miss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def by_pattern(rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Indices of the rows that have the same entries, and which entries these are."""
    if not np.isnan(np.vdot(rows, rows)):
        yield np.arange(len(rows)), np.ones(rows.shape[1], dtype=bool)
        return
    holes = np.isnan(rows)
    _, first, code = np.unique(
        np.packbits(holes, axis=1), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(code.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(code.ravel()))
    for index, i in zip(np.split(order, ends[:-1]), first, strict=True):
        yield index, ~holes[i]
