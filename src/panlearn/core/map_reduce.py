"""`map_reduce`: a statistic of all rows, wherever the rows are.

Arrays are walked in cache-sized blocks on the machine's threads, with BLAS held to one thread
each; streams pass through in bounded memory; a Dask collection gets one task a partition and a
tree of merges. The estimator does not know which.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np

from panlearn.core.extras import require
from panlearn.core.sources import Block, DaskRows, Rows
from panlearn.core.statistics import Statistic
from panlearn.core.threads import threads

S = TypeVar("S", bound=Statistic)
Summary = Callable[..., S]


def map_reduce(summary: Summary[S], rows: Rows, *, require_finite: bool = True) -> S:
    """Merge ``summary(X, y, weight)`` over the blocks of `rows`.

    Parameters
    ----------
    summary : callable
        A pure function of one block; it returns a `Statistic`.
    rows : Rows
        What `panlearn.core.validation.read_rows` returned.
    require_finite : bool, default=True
        Refuse a result that is not finite: by name if the input is to blame.

    Returns
    -------
    Statistic
        The same to rounding whatever the blocks, the threads or the workers; the same to the
        last bit for any number of threads.
    """
    if isinstance(rows, DaskRows):
        total = _reduce_dask(summary, rows.parts)
    else:
        total = _reduce_blocks(functools.partial(_summarise, summary), iter(rows))
    if getattr(total, "weight", None) == 0:
        raise ValueError("sample_weight is zero for every row, so there is nothing to learn from")
    if require_finite and not total.is_finite:
        rows.reject_non_finite()
        raise ValueError(
            "the sums over the rows of X overflow: its values are too large for this method in "
            "float64; rescale the columns, for example with sklearn.preprocessing.StandardScaler"
        )
    return total


def _summarise(summary: Summary[S], block: Block) -> S:
    # Bad values show in the result, which is looked at once; warnings for each block do not help.
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return summary(block.X, block.y, block.weight)


def _reduce_blocks(summary: Callable[[Block], S], blocks: Iterator[Block]) -> S:
    head = list(islice(blocks, 2))
    if len(head) == 1:
        return summary(head[0])
    blocks = chain(head, blocks)
    if not head or _is_small(head[0]):
        return _merge(map(summary, blocks))
    with threads() as run:
        return _merge(run(summary, blocks))


def _is_small(block: Block) -> bool:
    """Whether a block is done sooner than it is handed to a thread."""
    return getattr(block.X, "data", block.X).nbytes < 1 << 15


def _merge(parts: Iterable[S]) -> S:
    return functools.reduce(operator.add, parts)


def _reduce_dask(summary: Summary[S], parts: list[Any]) -> S:
    dask = require("dask")
    summarise, add = (
        dask.delayed(functools.partial(_summarise, summary)),
        dask.delayed(operator.add),
    )
    level = [summarise(part) for part in parts]
    if not level:
        raise ValueError("the Dask collection has no partition, so there is nothing to learn from")
    while len(level) > 1:
        pairs = [add(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(pairs) * 2 :]
    return level[0].compute()
