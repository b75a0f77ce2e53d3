"""Threads: one ordered map for all families, the same bits for any number of threads."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any, ClassVar, Protocol, TypeVar

from joblib import cpu_count, effective_n_jobs
from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")


class OrderedMap(Protocol):
    """What `threads` gives."""

    def __call__(self, function: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]:
        """Map as `map` does: nothing happens until the results are asked for."""


def n_threads(n_jobs: int | None = -1) -> int:
    """Count the threads that `n_jobs` asks for.

    Parameters
    ----------
    n_jobs : int or None, default=-1
        -1 for the cores of this process, or fewer if OMP_NUM_THREADS says so; None for one, or
        what `joblib.parallel_config` says.

    Returns
    -------
    int
    """
    if n_jobs != -1:
        return effective_n_jobs(n_jobs)
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(_cores(), int(limit) if limit.isdigit() else _cores()))


@functools.cache
def _cores() -> int:
    """Ask once: the answer is read from files of the system, which takes a millisecond."""
    return cpu_count()


@contextlib.contextmanager
def threads(n_jobs: int | None = -1) -> Iterator[OrderedMap]:
    """A map on so many threads, for as long as the context lasts; BLAS has one thread inside.

    Its results come in the order of the items. With one thread, or of one item, it maps in the
    thread that calls it. All items of a list are handed out at once; those of an iterator are
    fetched as threads get free, so that a stream needs bounded memory. NumPy's error state is that
    of the caller in every thread.

    The first error in the order of the items comes out where its result is asked for; an exception
    that leaves the context, KeyboardInterrupt too, ends it when the calls under way are done, and
    no other call begins.

    Parameters
    ----------
    n_jobs : int or None, default=-1
        How many threads, see `n_threads`.

    Yields
    ------
    OrderedMap
        Called as `map` is, and as lazy.
    """
    crew = _Crew(n_threads(n_jobs))
    with one_blas_thread():
        try:
            yield crew.map
        finally:
            crew.leave()


class _Crew:
    """The threads of a context: those that the last of as many has left, or new ones.

    To start a thread takes up to a millisecond, as long as a whole answer about many rows.
    """

    spare: ClassVar[dict[int, ThreadPoolExecutor]] = {}

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ThreadPoolExecutor | None = None  # till it is needed
        self._under_way: list[deque[Future]] = []

    def map(self, function: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]:
        """See `threads`."""
        ahead = len(items) if isinstance(items, Sized) else self._count
        if self._count == 1 or ahead < 2:
            yield from map(function, items)
            return
        if self._pool is None:  # nobody else has it meanwhile, so that maps within maps do not wait
            self._pool = self.spare.pop(self._count, None) or ThreadPoolExecutor(self._count)
        under_way: deque[Future[R]] = deque()
        self._under_way = [*filter(None, self._under_way), under_way]  # what is done is forgotten
        for item in items:
            under_way.append(self._pool.submit(copy_context().run, function, item))
            if len(under_way) > ahead:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()

    def leave(self) -> None:
        """Wait for the calls under way, begin no other, and leave the threads to the next."""
        if self._pool is None:
            return
        left = [future for futures in self._under_way for future in futures]
        for future in left:
            future.cancel()
        wait(left)
        if self.spare.setdefault(self._count, self._pool) is not self._pool:
            self._pool.shutdown(wait=False)


if hasattr(os, "register_at_fork"):  # a child has none of the threads
    os.register_at_fork(after_in_child=_Crew.spare.clear)


_blas_lock = threading.Lock()
_blas_holds: list[list[int]] = []


@contextlib.contextmanager
def one_blas_thread(when: bool = True) -> Iterator[None]:
    """Hold BLAS to one thread; of several fits at once the first sets it, the last lifts it.

    The setting belongs to the process: if each fit restored what it found, one that started in
    the middle of another would restore 1 for good.

    Parameters
    ----------
    when : bool, default=True
        Whether to: of small matrices, where two threads wait for one another longer than one
        works, and on a busy machine many times as long.
    """
    if not when:
        yield
        return
    with _blas_lock:
        _blas_holds.append([library.get_num_threads() for library in _blas()])
        if len(_blas_holds) == 1:
            _set_blas_threads([1] * len(_blas()))
    try:
        yield
    finally:
        with _blas_lock:
            before = _blas_holds[0]
            _blas_holds.pop()
            if not _blas_holds:
                _set_blas_threads(before)


def _set_blas_threads(counts: list[int]) -> None:
    for library, count in zip(_blas(), counts, strict=True):
        # By itself threadpoolctl obeys only the first thread that ever set a number, and a fit in
        # another would neither hold nor lift; here the lock and the count of the holds keep order.
        getattr(library, "_real_set_num_threads", library.set_num_threads)(count)


@functools.cache
def _blas() -> list[Any]:
    """Find the BLAS libraries of this process once: the search takes milliseconds."""
    return ThreadpoolController().select(user_api="blas").lib_controllers
