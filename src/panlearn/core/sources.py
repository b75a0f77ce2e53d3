"""Where rows come from: an array, a stream of batches, a file, a Dask collection.

`Batches` is the public wrapper of a stream. Behind the boundary each source is one of three small
classes with the same two facts (``n_features``, ``repeatable``) and a way to walk its rows, so that
an estimator never asks which one it has.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from panlearn.core.extras import require

BLOCK_BYTES = 1 << 22  # a block and its centred copy stay in the cache of one core
SEQUENCE_BLOCK_STEPS = 1 << 14
WIDE_BLOCK_BYTES = 1 << 25  # with many columns, enough rows that merging d x d sums is cheap beside


class Block(NamedTuple):
    """Some rows: features, targets (or None) and weights (or None)."""

    X: Any
    y: Any = None
    weight: Any = None


class Batches:
    """A stream of batches that `fit` accepts in place of an array.

    Parameters
    ----------
    source : iterable, or callable that returns one
        Each item is a batch ``X``, or a tuple ``(X, y)`` or ``(X, y, sample_weight)``. A callable
        or a list can be walked again, which iterative methods need; an iterator only once.

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn import Batches
    >>> from panlearn.linear import LinearRegression
    >>> def read():
    ...     for start in range(0, 100, 10):
    ...         X = np.arange(start, start + 10.0)[:, None]
    ...         yield X, 3 * X[:, 0] + 1
    >>> LinearRegression().fit(Batches(read)).coef_.round(6)
    array([3.])
    """

    def __init__(self, source: Iterable[Any] | Callable[[], Iterable[Any]]) -> None:
        if not callable(source) and not isinstance(source, Iterable):
            raise TypeError(
                f"a stream is an iterable of batches or a function that returns one; got {source!r}"
            )
        self.source = source
        self._walked: Any = None

    @property
    def repeatable(self) -> bool:
        """Whether the stream can be walked more than once."""
        return callable(self.source) or not isinstance(self.source, Iterator)

    def __iter__(self) -> Iterator[Block]:
        items = self.source() if callable(self.source) else self.source
        if callable(self.source) and isinstance(items, Iterator):
            if items is self._walked:
                raise ValueError(
                    "the function given to Batches returned the same iterator twice, and it can be "
                    "walked once; let the function make a fresh one each time"
                )
            self._walked = items
        return map(_as_block, items)


def _as_block(item: Any) -> Block:
    if not isinstance(item, tuple):
        return Block(item)
    if not 1 <= len(item) <= 3:
        raise ValueError(
            f"a batch is X, (X, y) or (X, y, sample_weight); got a tuple of {len(item)}"
        )
    return Block(*item)


def read_parquet(
    path: str | PathLike[str],
    *,
    target: str | list[str] | None = None,
    sample_weight: str | None = None,
    columns: list[str] | None = None,
    batch_size: int = 65536,
) -> Batches:
    """Stream a Parquet file, or a folder of them, that may be larger than memory.

    Parameters
    ----------
    path : path
        A file or a folder of files of one schema.
    target : str or list of str, default=None
        The column, or columns, to learn.
    sample_weight : str, default=None
        The column of weights.
    columns : list of str, default=None
        The features; by default every other column.
    batch_size : int, default=65536
        Rows read at a time.

    Returns
    -------
    Batches
        A stream of data frames that can be walked again. A few batches and one row group of the
        file are in memory at a time.
    """
    dataset = require("pyarrow.dataset").dataset(path, format="parquet")
    targets = [target] if isinstance(target, str) else list(target or [])
    aside = [*targets, *([sample_weight] if sample_weight else [])]
    features = [c for c in dataset.schema.names if c not in aside] if columns is None else columns
    if missing := [c for c in [*features, *aside] if c not in dataset.schema.names]:
        raise ValueError(f"no column {missing} in {path}; it has {dataset.schema.names}")

    def read() -> Iterator[tuple[Any, ...]]:
        # One row group at a time, with little read ahead: by default Arrow reads dozens of batches
        # ahead of a slower consumer, which may be the whole file.
        for fragment in dataset.get_fragments():
            for group in fragment.split_by_row_group():
                yield from _frames(group)

    def _frames(group: Any) -> Iterator[tuple[Any, ...]]:
        for record in group.to_batches(
            columns=[*features, *aside],
            batch_size=batch_size,
            batch_readahead=1,
            fragment_readahead=1,
        ):
            if record.num_rows:
                frame = record.to_pandas()
                y = frame[target] if target else None
                yield frame[features], y, frame[sample_weight] if sample_weight else None

    return Batches(read)


def is_dask(data: Any) -> bool:
    """Whether `data` is a Dask collection, found out without importing dask."""
    return hasattr(data, "__dask_graph__")


def partitions(collection: Any, like: Any = None) -> list[Any]:
    """One delayed object a block of rows; columns are gathered, y is cut as X is."""
    if not is_dask(collection):
        raise ValueError("X is a Dask collection, so y and sample_weight must be Dask too")
    if hasattr(collection, "chunks"):
        if collection.ndim == 2:
            collection = collection.rechunk({1: -1})
        rows = getattr(like, "chunks", (None,))[0]
        if rows is not None and not any(np.isnan(rows)) and collection.chunks[0] != rows:
            collection = collection.rechunk({0: rows})
    return list(np.ravel(collection.to_delayed()))


def as_batches(X: Any, y: Any = None) -> Batches | None:
    """Return the stream that `X` is, or None if it is an array.

    A list or tuple is a stream if it holds batches: tuples ``(X, y[, weight])`` or matrices, and y
    is not given beside it. ``[[1, 2], [3, 4]]`` is a matrix, as everywhere.
    """
    if isinstance(X, Batches):
        stream = X
    elif isinstance(X, Iterator):
        stream = Batches(X)
    elif isinstance(X, list | tuple) and y is None and X and all(map(_is_batch, X)):
        stream = Batches(X)
    else:
        return None
    if y is not None:
        raise ValueError("with a stream of batches, y comes in the batches: give (X, y) tuples")
    return stream


def _is_batch(item: Any) -> bool:
    head = item[0] if isinstance(item, tuple) and 2 <= len(item) <= 3 else item
    return getattr(head, "ndim", 0) == 2


@dataclass(frozen=True)
class ArrayRows:
    """Rows in memory (or mapped into it), validated, walked as views of cache-sized blocks."""

    X: Any
    y: np.ndarray | None
    weight: np.ndarray | None
    repeatable = True

    @property
    def n_features(self) -> int:
        """How many columns X has."""
        return self.X.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """The floats that X is in."""
        return self.X.dtype

    @property
    def y_ndim(self) -> int:
        """1 for one target, 2 for a table of them."""
        return 1 if self.y is None else self.y.ndim

    def __iter__(self) -> Iterator[Block]:
        X = self.X.tocsr() if sparse.issparse(self.X) else self.X
        # A function of the shape alone, so that the blocks and with them the bits of the result
        # are the same for any number of threads.
        row_bytes = max(self.n_features, 1) * X.dtype.itemsize
        tall = min(2 * self.n_features, WIDE_BLOCK_BYTES // row_bytes)
        step = min(max(BLOCK_BYTES // row_bytes, tall, 256), 65536)
        for start in range(0, X.shape[0], step):
            part = slice(start, start + step)
            yield Block(
                X[part],
                None if self.y is None else self.y[part],
                None if self.weight is None else self.weight[part],
            )

    def reject_non_finite(self) -> None:
        """Raise an error that names X or y if it holds NaN or infinity."""
        values = self.X.data if sparse.issparse(self.X) else self.X
        with np.errstate(over="ignore", invalid="ignore"):
            # mostly the sum tells, sooner than the checks
            if values.dtype.kind != "f" or not np.isfinite(values.sum()):
                assert_all_finite(values, input_name="X")


@dataclass(frozen=True)
class StreamRows:
    """Rows of a stream; each batch is validated as it passes."""

    batches: Batches
    first: Block
    rest: Iterator[Block]
    check: Callable[[Block], Block]

    @property
    def repeatable(self) -> bool:
        """Whether the stream can be walked again."""
        return self.batches.repeatable

    @property
    def n_features(self) -> int:
        """How many columns the first batch has."""
        return self.first.X.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """The floats of the first batch."""
        return self.first.X.dtype

    @property
    def y_ndim(self) -> int:
        """1 for one target, 2 for a table of them."""
        return 1 if self.first.y is None else self.first.y.ndim

    def __iter__(self) -> Iterator[Block]:
        if self.repeatable:
            return map(self.check, self.batches)
        return itertools.chain([self.first], map(self.check, self.rest))

    def reject_non_finite(self) -> None:
        """Nothing to do: each batch was checked as it passed."""


@dataclass(frozen=True)
class DaskRows:
    """Rows of a Dask collection: one delayed block a partition."""

    parts: list[Any]
    n_features: int
    dtype: np.dtype
    y_ndim: int
    repeatable = True

    def reject_non_finite(self) -> None:
        """Nothing to do: each partition is checked where it is computed."""


@dataclass(frozen=True)
class Sequences:
    """Whole sequences, one after the other: sequence s is ``values[offsets[s] : offsets[s + 1]]``.

    Attributes
    ----------
    values : ndarray of shape (n_steps, d) or (n_steps,)
        The steps: vectors, or symbols.
    offsets : ndarray of shape (n_sequences + 1,)
    """

    values: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def dtype(self) -> np.dtype:
        """The type of the steps."""
        return self.values.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """How many sequences, and how many numbers a step has."""
        return len(self), 1 if self.values.ndim == 1 else self.values.shape[1]

    @property
    def nbytes(self) -> int:
        """The size of the steps."""
        return self.values.nbytes

    @property
    def lengths(self) -> np.ndarray:
        """How many steps each sequence has."""
        return np.diff(self.offsets)

    def part(self, start: int, stop: int) -> Sequences:
        """Some of the sequences, as a view."""
        offsets = self.offsets[start : stop + 1]
        return Sequences(self.values[offsets[0] : offsets[-1]], offsets - offsets[0])


@dataclass(frozen=True)
class SequenceRows:
    """Sequences in memory, walked in blocks of whole sequences; y is flat, a weight a sequence."""

    X: Sequences
    y: np.ndarray | None
    weight: np.ndarray | None
    repeatable = True
    y_ndim = 1

    @property
    def n_features(self) -> int:
        """How many numbers a step has."""
        return self.X.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """The type of the steps."""
        return self.X.dtype

    def __iter__(self) -> Iterator[Block]:
        # as for ArrayRows a function of the data alone; a sequence is never cut
        ends, start = self.X.offsets, 0
        while start < len(self.X):
            stop = int(np.searchsorted(ends, ends[start] + SEQUENCE_BLOCK_STEPS, side="right")) - 1
            stop = max(stop, start + 1)
            yield Block(
                self.X.part(start, stop),
                None if self.y is None else self.y[ends[start] : ends[stop]],
                None if self.weight is None else self.weight[start:stop],
            )
            start = stop

    def reject_non_finite(self) -> None:
        """Nothing to do: the steps were checked when they were read."""


Rows = ArrayRows | StreamRows | DaskRows | SequenceRows
