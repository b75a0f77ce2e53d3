"""A child process that holds the data, runs one job at a time and is killed when one overruns."""

from __future__ import annotations

import os
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import Any, Self

import numpy as np
from joblib.externals.loky import ProcessPoolExecutor

from panlearn.core.jit import watchers

START_LIMIT = 300.0  # seconds; for a process that never comes up, or compiles without end
LOOK = 0.05  # seconds, the least between two looks at the clock

_held: tuple[Any, ...] = ()


class JobCrashedError(RuntimeError):
    """The child process died in the middle of a job."""


class TimedWorker:
    """Run jobs on shared data with a limit in seconds that a hung compiled loop cannot outlive.

    The data travel once, when the process starts; neither starting nor importing nor compiling is
    charged to a job. A new process starts after a kill. Without a limit, jobs run in this process.

    Parameters
    ----------
    *shared : Any
        What every job gets as its first arguments.
    """

    def __init__(self, *shared: Any) -> None:
        self._shared = shared
        self._pool: ProcessPoolExecutor | None = None
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._file = str(Path(self._folder.name, "compiling"))
        self._compiling = Stopwatch(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._folder.cleanup()

    def run(self, job: Callable[..., Any], *arguments: Any, limit: float | None) -> Any:
        """Return ``job(*shared, *arguments)`` or raise TimeoutError after ``limit`` seconds."""
        if limit is None:
            return job(*self._shared, *arguments)
        if self._pool is None:
            self._compiling(False)
            initial = (os.getpid(), self._file, *self._shared)
            self._pool = ProcessPoolExecutor(1, initializer=_hold, initargs=initial)
        finished = False
        try:
            with warnings.catch_warnings():
                # a child that has grown, as by importing torch, is replaced by a fresh one
                warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
                result = self._finish(job, arguments, limit)
            finished = True
            return result
        except FutureTimeoutError:
            raise TimeoutError(f"stopped after {limit:g} s") from None
        except BrokenExecutor:
            raise JobCrashedError("the process died, killed or out of memory") from None
        finally:
            if not finished:
                self.kill()

    def _finish(self, job: Callable[..., Any], arguments: tuple[Any, ...], limit: float) -> Any:
        assert self._pool is not None
        # Reading the job in the child imports what it needs, which is not its fault.
        self._pool.submit(_read, job, arguments).result(timeout=START_LIMIT)
        start, before = time.monotonic(), self._compiling.seconds()

        def left() -> float:
            compiled = min(self._compiling.seconds() - before, START_LIMIT)
            return limit + compiled - (time.monotonic() - start)

        future = self._pool.submit(_run, job, arguments)
        while True:
            try:
                return future.result(timeout=max(left(), LOOK))
            except FutureTimeoutError:
                if future.done() or left() <= 0:
                    raise

    def kill(self) -> None:
        """End the child process and whatever it started."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
            self._pool = None


class Stopwatch:
    """How long a process has been compiling, in a small file that another one can read.

    Parameters
    ----------
    file : str
        Its name; the file is made if it is not there.
    """

    def __init__(self, file: str) -> None:
        mode: Any = "r+" if os.path.exists(file) else "w+"
        self._spent_and_begun = np.memmap(file, np.float64, mode, shape=2)

    def __call__(self, compiling: bool) -> None:
        """Start, or stop."""
        spent, begun = self._spent_and_begun
        now = time.monotonic()
        if begun:
            spent += now - begun
        self._spent_and_begun[:] = spent, now if compiling else 0.0

    def seconds(self) -> float:
        """Read it."""
        spent, begun = self._spent_and_begun
        return float(spent + (time.monotonic() - begun if begun else 0.0))


def _hold(parent: int, file: str, *shared: Any) -> None:
    """Keep the data, and keep a chatty model off the terminal."""
    global _held
    _held = shared
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    watchers.append(Stopwatch(file))
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)


def _follow(parent: int) -> None:
    """End with the process that started this one, however that one ended."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


def _read(job: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Do nothing: unpickling the arguments has imported their modules."""


def _run(job: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return job(*_held, *arguments)
