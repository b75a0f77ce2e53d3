"""`map_reduce`: a statistic of all rows, wherever the rows are.

Arrays are walked in cache-sized blocks on the machine's threads, with BLAS held to one thread
each; streams pass through in bounded memory; a Dask collection gets one task a partition and a
tree of merges. The estimator does not know which.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

from panlearn.core.extras import require
from panlearn.core.sources import Block, DaskRows, Rows
from panlearn.core.statistics import Statistic

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


def n_threads() -> int:
    """Count the threads to use: the cores of this process, or fewer if OMP_NUM_THREADS says so."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(_cores(), int(limit) if limit.isdigit() else _cores()))


@functools.cache
def _cores() -> int:
    """Ask once: the answer is read from files of the system, which takes a millisecond."""
    return cpu_count()


def _summarise(summary: Summary[S], block: Block) -> S:
    # Bad values show in the result, which is looked at once; warnings for each block do not help.
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return summary(block.X, block.y, block.weight)


def _reduce_blocks(summary: Callable[[Block], S], blocks: Iterator[Block]) -> S:
    head, threads = list(islice(blocks, 2)), n_threads()
    if len(head) < 2 or threads == 1 or _is_small(head[0]):
        return _merge(map(summary, _chain(head, blocks)))
    with ThreadPoolExecutor(threads) as pool, one_blas_thread():
        return _merge(_in_order(pool, threads, summary, _chain(head, blocks)))


def _is_small(block: Block) -> bool:
    """Whether a block is done sooner than it is handed to a thread."""
    return getattr(block.X, "data", block.X).nbytes < 1 << 15


def _chain(head: list[Block], rest: Iterator[Block]) -> Iterator[Block]:
    yield from head
    yield from rest


def _in_order(
    pool: ThreadPoolExecutor,
    threads: int,
    summary: Callable[[Block], S],
    blocks: Iterable[Block],
) -> Iterator[S]:
    """Results in the order of the blocks, with a bounded number of blocks under way."""
    under_way: deque[Future[S]] = deque()
    try:
        for block in blocks:
            under_way.append(pool.submit(summary, block))
            if len(under_way) > threads:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        for future in under_way:
            future.cancel()


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


_blas_lock = threading.Lock()
_blas_holds: list[Any] = []


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread; of several fits at once the first sets it, the last lifts it.

    The setting belongs to the process: if each fit restored what it found, one that started in
    the middle of another would restore 1 for good.
    """
    with _blas_lock:
        limit = None if _blas_holds else _blas().limit(limits=1, user_api="blas")
        _blas_holds.append(limit)
    try:
        yield
    finally:
        with _blas_lock:
            limit = _blas_holds[0]
            _blas_holds.pop()
            if not _blas_holds:
                limit.restore_original_limits()


@functools.cache
def _blas() -> ThreadpoolController:
    """Find the BLAS libraries of this process once: the search takes milliseconds."""
    return ThreadpoolController()
