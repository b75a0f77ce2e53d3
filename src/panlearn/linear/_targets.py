"""One target: what a method that learns a single column of y asks of the rows."""

from __future__ import annotations

from dataclasses import replace

from sklearn.utils import column_or_1d

from panlearn.core.sources import ArrayRows, Rows


def one_target(rows: Rows) -> Rows:
    """Give the rows with y as a vector; a column is flattened with scikit-learn's warning."""
    if isinstance(rows, ArrayRows) and rows.y_ndim > 1:
        return replace(rows, y=column_or_1d(rows.y, warn=True))
    if rows.y_ndim > 1:
        raise ValueError("this method learns one target: give y of shape (n_samples,)")
    return rows
