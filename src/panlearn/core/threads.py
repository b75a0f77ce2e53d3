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
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from joblib import cpu_count, effective_n_jobs
from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")

FEW = 4  # parts that are done before threads have gained anything
IN_CACHE = 1 << 18  # numbers that stay there
WORTH, MOST = 256, 1 << 22
"""Rows that a matrix is worth reading again for, if they are not of more numbers than these."""
LITTLE, READ = 1 << 28, 128
"""Multiplications that take one thread some ten milliseconds; to read a number is so many."""


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


def in_parts(call: Callable[[slice], R], n: int, size: int) -> list[R]:
    """Call for stretches of n rows, on threads if there are many; what came of them, in order.

    Parameters
    ----------
    call : callable
        Of the stretch, a slice.
    n : int
        How many rows.
    size : int
        How many rows at a time: so many that a call takes some tenths of a millisecond, and so few
        that what it makes stays in the cache.

    Returns
    -------
    list
    """
    parts = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    if len(parts) <= FEW:
        return list(map(call, parts))
    with threads() as run:
        return list(run(call, parts))


def rows_together(width: int) -> int:
    """How many rows to multiply at a time that are, with their products, so many numbers each."""
    return max(IN_CACHE // width, min(WORTH, MOST // width), 1)


class _Crew:
    """The threads of a context: those that the last of as many has left, or new ones.

    To start a thread takes up to a millisecond, as long as a whole answer about many rows. Of a
    list the thread that asks does a share itself: if it slept, the system might wake two others on
    the core that it left, and leave them there for longer than their work takes.
    """

    spare: ClassVar[dict[int, ThreadPoolExecutor]] = {}

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ThreadPoolExecutor | None = None  # till it is needed
        self._under_way: list[deque[Future]] = []
        self._open: list[deque[_Call]] = []

    def map(self, function: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]:
        """See `threads`."""
        if self._count == 1 or (isinstance(items, Sized) and len(items) < 2):
            yield from map(function, items)
            return
        if self._pool is None:  # nobody else has it meanwhile, so that maps within maps do not wait
            self._pool = self.spare.pop(self._count, None) or ThreadPoolExecutor(self._count)
        under_way: deque[Future] = deque()
        self._under_way = [*filter(None, self._under_way), under_way]  # what is done is forgotten
        if isinstance(items, Sized):
            yield from self._share(self._pool, function, items, under_way)
            return
        for item in items:
            under_way.append(self._pool.submit(copy_context().run, function, item))
            if len(under_way) > self._count:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()

    def _share(
        self,
        pool: ThreadPoolExecutor,
        function: Callable[[T], R],
        items: Iterable[T],
        helpers: deque[Future],
    ) -> Iterator[R]:
        """Do all calls with the help of as many threads less one."""
        calls = deque(_Call(function, item) for item in items)
        todo = deque(calls)
        self._open = [*filter(None, self._open), todo]
        helpers.extend(pool.submit(_help, todo) for _ in range(min(self._count, len(calls)) - 1))
        while calls:
            first = calls.popleft()
            while not first.result.done():
                if not _take(todo, Exception):
                    wait([first.result])
            yield first.result.result()
        helpers.clear()

    def leave(self) -> None:
        """Wait for the calls under way, begin no other, and leave the threads to the next."""
        if self._pool is None:
            return
        for todo in self._open:
            todo.clear()
        left = [future for futures in self._under_way for future in futures]
        for future in left:
            future.cancel()
        wait(left)
        if self.spare.setdefault(self._count, self._pool) is not self._pool:
            self._pool.shutdown(wait=False)


class _Call(Generic[T, R]):
    """A function of an item, for whichever thread takes it, and what came of it."""

    def __init__(self, function: Callable[[T], R], item: T) -> None:
        self._context, self._function, self._item = copy_context(), function, item
        self.result: Future[R] = Future()

    def run(self, caught: type[BaseException]) -> bool:
        """Call it, and tell whether it went well; what is not caught comes out here."""
        try:
            self.result.set_result(self._context.run(self._function, self._item))
        except caught as error:
            self.result.set_exception(error)
            return False
        return True


def _take(todo: deque[_Call], caught: type[BaseException]) -> bool:
    """Make the next call that no thread has; after an error nobody asks for those behind it."""
    try:
        call = todo.popleft()
    except IndexError:
        return False
    if not call.run(caught):
        todo.clear()
    return True


def _help(todo: deque[_Call]) -> None:
    """Make calls until there are none left."""
    while _take(todo, BaseException):
        pass


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


def is_little(X: Any, most: int) -> bool:
    """Whether products of rows are so small that BLAS is done sooner with one thread.

    NumPy and SciPy have a BLAS each. For milliseconds after a call the threads of one wait for the
    next on cores that those of the other want: fits of a few milliseconds take ten times as long.

    Parameters
    ----------
    X : array-like
        The rows.
    most : int
        How many there may be.
    """
    shape: tuple = getattr(X, "shape", ())
    if len(shape) != 2 or not all(isinstance(side, int) for side in shape):
        return False  # not known before it is read
    n, d = shape  # for a row alone BLAS has one thread anyway
    return 1 < n <= most and n * d * max(min(n, d), READ) <= LITTLE


def _set_blas_threads(counts: list[int]) -> None:
    for library, count in zip(_blas(), counts, strict=True):
        # By itself threadpoolctl obeys only the first thread that ever set a number, and a fit in
        # another would neither hold nor lift; here the lock and the count of the holds keep order.
        getattr(library, "_real_set_num_threads", library.set_num_threads)(count)


@functools.cache
def _blas() -> list[Any]:
    """Find the BLAS libraries of this process once: the search takes milliseconds."""
    return ThreadpoolController().select(user_api="blas").lib_controllers
