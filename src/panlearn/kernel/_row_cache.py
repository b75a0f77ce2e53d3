"""The rows of a kernel matrix that are at hand."""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit
from panlearn.kernel._rows import Rows


class RowCache:
    """The rows that were used last, as many as the bytes allow, at least two."""

    def __init__(self, n: int, cache_bytes: float, dtype: type) -> None:
        size = int(np.clip(cache_bytes // (n * np.dtype(dtype).itemsize), 2, n))
        self.values: np.ndarray = np.empty((size, n), dtype=dtype)
        self.slot = np.full(n, -1)  # where a row is
        self.used = np.full(size, -2)  # when a place was used last
        self._owner, self._length = np.full(size, -1), np.zeros(size, dtype=np.int64)
        self.room = n if size == n else size - 1

    def free(self) -> int:
        """How many places are empty."""
        return int((self._owner < 0).sum())

    def fill(self, rows: Rows, block: np.ndarray, m: int, clock: int, settled: np.ndarray) -> None:
        """Make the first m entries of rows, in the place of those that were used longest ago.

        Rows of variables that have settled at a bound give way first: they are hardly used again,
        while those that were made in advance still wait for their turn.
        """
        places = np.arange(len(block))
        if len(block) < len(self.used):
            age = self.used - (1 << 40) * (settled[self._owner] & (self.used < clock))
            age[self._owner < 0] = -(1 << 50)
            places = np.argpartition(age, len(block) - 1)[: len(block)]
        self._release(places)
        self.values[places, :m] = rows(block, 0, m)
        self.values[places, block] = rows.diagonal[block]
        self._owner[places], self.slot[block] = block, places
        # older than the first row of this step, which must stay while the second one comes
        self.used[places], self._length[places] = clock - 1, m

    def get(self, rows: Rows, block: np.ndarray, start: int, stop: int) -> np.ndarray:
        """Entries of rows, from memory if all of them are there."""
        places = self.slot[block]
        if (places >= 0).all() and (self._length[places] >= stop).all():
            return self.values[places, start:stop]
        return rows(block, start, stop)

    def move(self, order: np.ndarray, m: int) -> None:
        """Bring rows and their first m entries into another order."""
        owned = np.flatnonzero(self._owner >= 0)
        _permute(self.values, owned, order[:m])
        self.slot = self.slot[order]
        self._owner[owned] = np.argsort(order)[self._owner[owned]]

    def forget_short(self) -> None:
        """Drop the rows that are not whole."""
        self._release(np.flatnonzero(self._length < len(self.slot)))

    def _release(self, places: np.ndarray) -> None:
        owners = self._owner[places]
        self.slot[owners[owners >= 0]] = -1
        self._owner[places], self._length[places], self.used[places] = -1, 0, -2


@jit
def _permute(values: np.ndarray, places: np.ndarray, order: np.ndarray) -> None:
    """The first entries of some rows in another order, in place."""
    old = np.empty(len(order), dtype=values.dtype)
    for place in places:
        for t in range(len(order)):
            old[t] = values[place, t]
        for t in range(len(order)):
            values[place, t] = old[order[t]]
