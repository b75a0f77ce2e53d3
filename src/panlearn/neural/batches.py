r"""Where a training loop takes its batches from: arrays, iterables, and what you write yourself.

A *batcher* hands out one batch a step, a tuple of tensors whose first dimension is the examples:

.. math:: \text{epoch } e, \ \text{step } t: \qquad B_t = (X_{\pi_e(tb)}, \ldots,
          X_{\pi_e(tb + b - 1)}), \qquad \pi_e \text{ drawn from } (\text{seed}, e)

The order of an epoch depends on the seed and on the number of the epoch alone, so "epoch 3, step
17" is all that a checkpoint needs to note of the position in the data.

References
----------
Bengio, Louradour, Collobert, Weston (2009). Curriculum learning. ICML.
doi:10.1145/1553374.1553380

Examples
--------
>>> import numpy as np
>>> from panlearn.neural import batches
>>> data = batches.Arrays((np.arange(5.0),), batch_size=2, order="given")
>>> [rows.tolist() for rows, in data.epoch(0, np.random.default_rng(0))]
[[0.0, 1.0], [2.0, 3.0], [4.0]]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch

__all__ = ["Arrays", "Batcher", "Curriculum", "Stream", "as_batcher"]

Batch = tuple[torch.Tensor, ...]
Order = str | np.ndarray | Callable[[int, np.random.Generator], Any]

_GATHERED = 2**26  # bytes of a shuffled copy that are worth having for batches that are views


@runtime_checkable
class Batcher(Protocol):
    r"""What the loop asks of a source of batches, :math:`(B_1, \ldots, B_T)`."""

    def __len__(self) -> int:
        """Return the number of steps of an epoch."""
        ...

    def epoch(
        self, epoch: int, rng: np.random.Generator, rank: int = 0, world: int = 1, start: int = 0
    ) -> Iterator[Batch]:
        """Yield the batches of an epoch from step `start` on, of each the share of this rank."""
        ...


class Arrays:
    r"""Batches of rows of arrays, :math:`B_t = (X_{\pi(tb)}, \ldots, X_{\pi(tb + b - 1)})`.

    Parameters
    ----------
    arrays : sequence of array or tensor
        Of the same length. A memory-mapped array stays on disk: only the rows of a batch are read.
    batch_size : int
        Rows a step, over all processes.
    order : "shuffle", "given", array or callable
        A fresh permutation an epoch; the order of the rows; or indices of the rows to walk, or
        ``order(epoch, rng)`` that returns them, such as `Curriculum`.
    """

    def __init__(
        self, arrays: Sequence[Any], batch_size: int = 32, order: Order = "shuffle"
    ) -> None:
        if not arrays:
            raise ValueError("there are no arrays to take batches from")
        lengths = {len(a) for a in arrays}
        if len(lengths) > 1:
            raise ValueError(f"the arrays have different lengths, {sorted(lengths)}")
        if not (isinstance(batch_size, int | np.integer) and batch_size > 0):
            raise ValueError(f"batch_size={batch_size!r} must be an int above zero")
        if isinstance(order, str) and order not in ("shuffle", "given"):
            raise ValueError(
                f"order={order!r} must be 'shuffle', 'given', indices of rows, or a function"
            )
        self.n_rows = lengths.pop()
        if not self.n_rows:
            raise ValueError("the arrays have no rows")
        self.arrays = [a if _stays(a) else _tensor(a) for a in arrays]
        self.batch_size, self.order = int(batch_size), order
        sizes = [a.nbytes if isinstance(a, torch.Tensor) else np.inf for a in self.arrays]
        self._gather = sum(sizes) <= _GATHERED

    def __len__(self) -> int:
        return -(-self.n_rows // self.batch_size)

    def epoch(
        self, epoch: int, rng: np.random.Generator, rank: int = 0, world: int = 1, start: int = 0
    ) -> Iterator[Batch]:
        """Yield the batches of an epoch from step `start` on, of each the share of this rank."""
        rows = self._rows(epoch, rng)
        arrays = self.arrays
        if rows is not None and self._gather:
            index = torch.from_numpy(rows)
            arrays, rows = [a[index] for a in arrays], None
        n = len(arrays[0]) if rows is None else len(rows)
        for low in range(start * self.batch_size, n, self.batch_size):
            size = min(self.batch_size, n - low)
            share = slice(low + rank * size // world, low + (rank + 1) * size // world)
            picked = share if rows is None else rows[share]
            yield tuple(_tensor(a[picked]) for a in arrays)

    def _rows(self, epoch: int, rng: np.random.Generator) -> np.ndarray | None:
        """The rows of an epoch, or None for all in their order."""
        if isinstance(self.order, str):
            return rng.permutation(self.n_rows) if self.order == "shuffle" else None
        rows = np.asarray(self.order(epoch, rng) if callable(self.order) else self.order)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
            raise ValueError("order must give a list of row numbers, one at least")
        if rows.min() < 0 or rows.max() >= self.n_rows:
            raise ValueError(f"order gives row numbers outside 0 to {self.n_rows - 1}")
        return rows.astype(np.int64)


class Stream:
    r"""Batches as an iterable gives them, :math:`B_1, B_2, \ldots`, in its order.

    Parameters
    ----------
    source : iterable or callable
        Yields batches: a tensor, an array, or a tuple of them. A callable returns a fresh iterable
        each epoch. Several processes each take their share of the rows of every batch.
    length : int, default=None
        Steps of an epoch; None counts those of the first epoch.
    """

    def __init__(
        self, source: Iterable[Any] | Callable[[], Iterable[Any]], length: int | None = None
    ) -> None:
        if isinstance(source, Iterator):
            raise ValueError(
                "the iterator can be walked once only; give a list of batches, or a function that "
                "returns a fresh iterator"
            )
        self.source, self._length = source, length

    def __len__(self) -> int:
        if self._length is None:
            source = self.source
            self._length = (
                len(source) if isinstance(source, Sized) else sum(1 for _ in self._fresh())
            )
        return self._length

    def epoch(
        self, epoch: int, rng: np.random.Generator, rank: int = 0, world: int = 1, start: int = 0
    ) -> Iterator[Batch]:
        """Yield the batches of an epoch from step `start` on, of each the share of this rank."""
        for batch in islice(self._fresh(), start, None):
            parts = batch if isinstance(batch, tuple | list) else (batch,)
            yield tuple(torch.tensor_split(_tensor(p), world)[rank] for p in parts)

    def _fresh(self) -> Iterable[Any]:
        return self.source() if callable(self.source) else self.source


class Curriculum:
    r"""From easy rows to all of them: an order for `Arrays`.

    .. math:: n_e = \Bigl\lceil n \bigl(s + (1 - s) \min(1, e / E)\bigr) \Bigr\rceil

    Epoch e walks the :math:`n_e` easiest rows in random order.

    Parameters
    ----------
    difficulty : array of shape (n_rows,)
        A number a row; the lowest come first.
    epochs : int
        E, after how many epochs all rows take part.
    start : float, default=0.2
        s, the share of the rows in the first epoch.
    """

    def __init__(self, difficulty: Any, epochs: int, start: float = 0.2) -> None:
        if not (epochs > 0 and 0 < start <= 1):
            raise ValueError(f"epochs={epochs!r} must be above 0, and start={start!r} in (0, 1]")
        self._ranked = np.argsort(np.asarray(difficulty), kind="stable")
        self._epochs, self._start = epochs, start

    def __call__(self, epoch: int, rng: np.random.Generator) -> np.ndarray:
        """Return the rows of an epoch."""
        share = self._start + (1 - self._start) * min(1.0, epoch / self._epochs)
        count = int(np.ceil(share * len(self._ranked) - 1e-9))  # 0.6 * 5 is a little above 3
        return rng.permutation(self._ranked[:count])


def as_batcher(data: Any, batch_size: int = 32, order: Order = "shuffle") -> Batcher:
    """Make a batcher of arrays, of an iterable or function of batches, or leave one as it is."""
    if isinstance(data, Batcher):
        return data
    if isinstance(data, np.ndarray | torch.Tensor):
        return Arrays((data,), batch_size, order)
    if isinstance(data, tuple) and data and all(hasattr(a, "__len__") for a in data):
        return Arrays(data, batch_size, order)
    if not isinstance(order, str) or order != "shuffle":
        raise ValueError("order needs arrays; an iterable of batches keeps its own order")
    if callable(data) or isinstance(data, Iterable):
        return Stream(data)
    raise TypeError(
        "data must be a tuple of arrays, an iterable of batches, a function that returns one, or "
        f"a batcher; got a {type(data).__name__}"
    )


def _stays(array: Any) -> bool:
    """Whether an array is read batch by batch: on disk, or read-only and too large to copy."""
    return isinstance(array, np.memmap) or (
        isinstance(array, np.ndarray) and not array.flags.writeable and array.nbytes > _GATHERED
    )


def _tensor(values: Any) -> torch.Tensor:
    if isinstance(values, torch.Tensor):
        return values
    array = np.asarray(values)
    if not array.flags.writeable or not array.dtype.isnative or min(array.strides, default=0) < 0:
        array = np.array(array, dtype=array.dtype.newbyteorder("="))
    return torch.from_numpy(array)
