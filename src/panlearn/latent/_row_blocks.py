"""Blocks of rows, as views."""

from __future__ import annotations

from typing import Any

from scipy import sparse


def row_blocks(X: Any, size: int) -> list[tuple[slice, Any]]:
    """The rows of X, `size` at a time, and where they stand; views, of sparse rows too."""
    n = X.shape[0]
    parts = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    if not sparse.issparse(X):
        return [(part, X[part]) for part in parts]
    return [(part, _csr_view(X, part)) for part in parts]


def _csr_view(X: Any, part: slice) -> Any:
    first, last = X.indptr[part.start], X.indptr[part.stop]
    return sparse.csr_array(
        (
            X.data[first:last],
            X.indices[first:last],
            X.indptr[part.start : part.stop + 1] - first,
        ),
        shape=(part.stop - part.start, X.shape[1]),
        copy=False,
    )
