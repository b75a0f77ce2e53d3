"""A child process that holds the data, runs one job at a time and is killed when one overruns."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, Self

from joblib.externals.loky import ProcessPoolExecutor

START_LIMIT = 300.0  # seconds; for a process that never comes up

_held: tuple[Any, ...] = ()


class JobCrashedError(RuntimeError):
    """The child process died in the middle of a job."""


class TimedWorker:
    """Run jobs on shared data with a limit in seconds that a hung compiled loop cannot outlive.

    The data travel once, when the process starts; neither starting nor importing is charged to a
    job. A new process starts after a kill. Without a limit, jobs run in this process.

    Parameters
    ----------
    *shared : Any
        What every job gets as its first arguments.
    """

    def __init__(self, *shared: Any) -> None:
        self._shared = shared
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def run(self, job: Callable[..., Any], *arguments: Any, limit: float | None) -> Any:
        """Return ``job(*shared, *arguments)`` or raise TimeoutError after ``limit`` seconds."""
        if limit is None:
            return job(*self._shared, *arguments)
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                1, initializer=_hold, initargs=(os.getpid(), *self._shared)
            )
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
        return self._pool.submit(_run, job, arguments).result(timeout=limit)

    def kill(self) -> None:
        """End the child process and whatever it started."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
            self._pool = None


def _hold(parent: int, *shared: Any) -> None:
    """Keep the data, and keep a chatty model off the terminal."""
    global _held
    _held = shared
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
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
