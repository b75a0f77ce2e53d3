"""Runs: some tokens in a row from one call of compiled loops.

Around a step stand half a millisecond of Python and PyTorch, and as long a step of a small model
takes itself. Where loops can choose a token as well, the next one follows without them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from panlearn.transformer._plain import PlainDecoder

MOST = 64  # tokens
_READ = 1 << 32  # bytes, a tenth of a second: Ctrl-C is answered between two runs


class Runs:
    """What loops choose by themselves, column by column.

    Parameters
    ----------
    plain : PlainDecoder
    table : ndarray of ints of shape (n_rows, n_columns)
        The tokens, and where chosen ones are put.
    temperature : float
        Divides the scores; zero takes the highest.
    generators : sequence of numpy.random.Generator
        One a row. A run draws ahead from them.
    ends : sequence of ints
        Tokens after which nothing more of a row is wanted; a run stops when all rows had one.
    """

    def __init__(
        self,
        plain: PlainDecoder,
        table: np.ndarray,
        temperature: float,
        generators: Sequence[np.random.Generator],
        ends: Sequence[int],
    ) -> None:
        self._plain, self._table = plain, table
        self._generators = generators if temperature else ()
        self._ends = np.array(ends, dtype=np.int64)
        self._ended = np.zeros(len(table), dtype=np.int64)
        self._uniform, self.log_probs = np.zeros((2, *table.shape))
        places = {"table": table, "uniform": self._uniform, "log_probs": self.log_probs}
        plain.choose(temperature, self._ends, ended=self._ended, **places)
        self.most = max(1, min(MOST, _READ // plain.n_bytes))

    def see(self, chosen: np.ndarray) -> None:
        """Take note of tokens that were chosen elsewhere."""
        self._ended |= np.isin(chosen, self._ends)

    def __call__(self, memory: Tensor, starts: Sequence[int], column: int, n: int) -> int:
        """Read a column and choose tokens for up to n after it; give for how many."""
        for row, rng in enumerate(self._generators):
            self._uniform[row, column + 1 : column + 1 + n] = rng.random(n)
        ids = self._table[:, column]
        return self._plain.run(ids, memory, np.array(starts), column, n)
