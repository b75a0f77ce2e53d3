r"""Where a training loop takes its batches from: arrays, iterables, and what you write yourself.

A *batcher* hands out one batch a step, a tuple or a dict of tensors whose first dimension is the
examples:

.. math:: \text{epoch } e, \ \text{step } t: \qquad B_t = (X_{\pi_e(tb)}, \ldots,
          X_{\pi_e(tb + b - 1)}), \qquad \pi_e \text{ drawn from } (\text{seed}, e)

The order of an epoch depends on the seed and on the number of the epoch alone, so "epoch 3, step
17" is all that a checkpoint needs to note of the position in the data.

The order of an epoch costs :math:`O(n)` for n examples, and a batch its own rows.

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

import hashlib
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import islice, pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from scipy import sparse

from panlearn.neural._random import seeded
from panlearn.neural._scaling import ScaledRows

__all__ = ["Arrays", "Batcher", "Curriculum", "Stream", "as_batcher"]

Batch = tuple[torch.Tensor, ...] | dict[str, torch.Tensor]
Order = str | np.ndarray | Callable[[int, np.random.Generator], Any]

_GATHERED = 2**26  # bytes of a shuffled copy that are worth having for batches that are views


@runtime_checkable
class Batcher(Protocol):
    r"""What the loop asks of a source of batches, :math:`(B_1, \ldots, B_T)`.

    It may also have ``__len__``, the steps of an epoch, which some schedules need; and
    ``identity()``, a text that tells its data from others, which a run that is resumed compares.
    """

    def epoch(
        self, epoch: int, rng: np.random.Generator, rank: int = 0, world: int = 1, start: int = 0
    ) -> Iterator[Batch]:
        """Yield the batches of an epoch from step `start` on, of each the share of this rank."""
        ...


class Arrays:
    r"""Batches of rows of arrays, :math:`B_t = (X_{\pi(tb)}, \ldots, X_{\pi(tb + b - 1)})`.

    Parameters
    ----------
    arrays : sequence or dict of array, sparse matrix or tensor
        Of the same length; batches are tuples or dicts of them. A memory-mapped array stays on
        disk, and a sparse one sparse: only the rows of a batch are read.
    batch_size : int
        Rows a step, over all processes.
    order : "shuffle", "given", array or callable
        A fresh permutation an epoch; the order of the rows; or indices of the rows to walk, or
        ``order(epoch, rng)`` that returns them, such as `Curriculum`.
    """

    def __init__(
        self,
        arrays: Sequence[Any] | Mapping[str, Any],
        batch_size: int = 32,
        order: Order = "shuffle",
    ) -> None:
        if not arrays:
            raise ValueError("there are no arrays to take batches from")
        self._names = None
        if isinstance(arrays, Mapping):
            self._names = list(arrays)
            arrays = list(arrays.values())
        lengths = {a.shape[0] if sparse.issparse(a) else len(a) for a in arrays}
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
            batch = tuple(_tensor(a[picked]) for a in arrays)
            yield batch if self._names is None else dict(zip(self._names, batch, strict=True))

    def identity(self) -> str:
        """Tell these data from others, by their shapes and a sample of their rows."""
        digest = hashlib.sha256()
        sample = np.unique(np.linspace(0, self.n_rows - 1, 64).astype(int))
        for array in self.arrays:
            digest.update(f"{array.dtype} {tuple(array.shape)} ".encode())
            for row in sample:
                digest.update(np.ascontiguousarray(_tensor(array[row : row + 1]).cpu()).tobytes())
        return digest.hexdigest()

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
        Yields batches: a tensor, an array, or a tuple or dict of them. A callable returns a fresh
        iterable each epoch. Several processes each take their share of the rows of every batch.
        What it draws from PyTorch's generator when it begins, as a `DataLoader` that shuffles does,
        follows from the seed and the epoch.
    length : int, default=None
        Steps of an epoch, if the source does not know. Schedules such as "cosine" need it, or
        `max_steps`.
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
        if self._length is not None:
            return self._length
        if isinstance(self.source, Sized):
            return len(self.source)
        raise TypeError("the source does not say how many batches it has; give length")

    def epoch(
        self, epoch: int, rng: np.random.Generator, rank: int = 0, world: int = 1, start: int = 0
    ) -> Iterator[Batch]:
        """Yield the batches of an epoch from step `start` on, of each the share of this rank."""
        own = getattr(self.source, "generator", None)
        seed = int(rng.integers(2**31))
        if isinstance(own, torch.Generator):
            own.manual_seed(seed)
        with seeded(seed):
            walk = iter(self.source() if callable(self.source) else self.source)
            first = list(islice(walk, 1))
        for batch in islice(_chain(first, walk), start, None):
            parts = batch if isinstance(batch, tuple | list | dict) else (batch,)
            yield map_batch(lambda part: torch.tensor_split(_tensor(part), world)[rank], parts)


def _chain(first: list[Any], rest: Iterator[Any]) -> Iterator[Any]:
    yield from first
    yield from rest


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
    if isinstance(data, Mapping):
        return Arrays(data, batch_size, order)
    if not isinstance(order, str) or order != "shuffle":
        raise ValueError("order needs arrays; an iterable of batches keeps its own order")
    if callable(data) or isinstance(data, Iterable):
        return Stream(data)
    raise TypeError(
        "data must be a tuple or dict of arrays, an iterable of batches, a function that returns "
        f"one, or a batcher; got a {type(data).__name__}"
    )


def _stays(array: Any) -> bool:
    """Whether an array is read batch by batch: sparse, on disk, or read-only and too large."""
    return (
        isinstance(array, np.memmap)
        or sparse.issparse(array)
        or isinstance(array, ScaledRows)
        or (
            isinstance(array, np.ndarray) and not array.flags.writeable and array.nbytes > _GATHERED
        )
    )


def _tensor(values: Any) -> torch.Tensor:
    if isinstance(values, torch.Tensor):
        return values
    array = values.toarray() if sparse.issparse(values) else np.asarray(values)
    if not array.flags.writeable or not array.dtype.isnative or min(array.strides, default=0) < 0:
        array = np.array(array, dtype=array.dtype.newbyteorder("="))
    return torch.from_numpy(array)


def map_batch(function: Callable[[Any], torch.Tensor], batch: Any) -> Batch:
    """Apply a function to each tensor of a batch."""
    if isinstance(batch, dict):
        return {name: function(part) for name, part in batch.items()}
    return tuple(function(part) for part in batch)


def n_rows(batch: Batch) -> int:
    """Count the examples of a batch."""
    return len(next(iter(batch.values())) if isinstance(batch, dict) else batch[0])


def pieces_of(batch: Batch, count: int) -> list[Batch]:
    """Cut a batch into so many pieces, or into as many as it has rows."""
    size = n_rows(batch)
    count = min(count, size)
    if count < 2:
        return [batch]
    edges = [i * size // count for i in range(count + 1)]
    return [map_batch(operator.itemgetter(slice(*ends)), batch) for ends in pairwise(edges)]
