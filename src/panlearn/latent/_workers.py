"""Blocks of rows on the machine's threads: the same bits for any number of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from scipy import sparse

from panlearn.core.map_reduce import n_threads, one_blas_thread

T = TypeVar("T")
Share = Callable[[Callable[[Any], Any], list[Any]], Iterable[Any]]


@contextmanager
def workers() -> Iterator[Share]:
    """A map whose calls are shared by the threads, BLAS on one thread in each; ordered results."""
    count = n_threads()
    with ThreadPoolExecutor(count) as pool, one_blas_thread():

        def share(function: Callable[[Any], T], items: list[Any]) -> Iterable[T]:
            alone = count == 1 or len(items) < 2
            return list(map(function, items) if alone else pool.map(function, items))

        yield share


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
