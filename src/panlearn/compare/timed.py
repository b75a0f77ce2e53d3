"""A child process that holds the data, runs one job at a time and is killed when one overruns."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from joblib.externals.loky.backend.reduction import dumps  # which takes a user's own classes, too

from panlearn.core.jit import watchers

START_LIMIT = 300.0  # seconds; for a process that never comes up, or compiles without end
LOOK = 0.05  # seconds, the least between two looks at the clock
CHILD = ("-P", "-c", "from panlearn.compare.timed import serve; serve()")
# Where OpenMP, BLAS, Numba, PyTorch and the library itself look how many threads they may have.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class JobCrashedError(RuntimeError):
    """The child process died in the middle of a job."""


@dataclass(frozen=True)
class Failure:
    """The answer of a job that raised."""

    error: BaseException


class TimedWorker:
    """Run jobs on shared data with a limit in seconds that a hung compiled loop cannot outlive.

    The data travel once, when the process starts; neither starting nor importing nor compiling is
    charged to a job. A new process starts after a kill. Without a limit, jobs run in this process.

    Parameters
    ----------
    *shared : Any
        What every job gets as its first arguments.
    threads : int, optional
        How many a job may use; as many as there are cores if None.
    """

    def __init__(self, *shared: Any, threads: int | None = None) -> None:
        self._shared = shared
        self._threads = {} if threads is None else dict.fromkeys(THREADS, str(threads))
        self._process: Process | None = None
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
        finished = False
        try:
            answer = self._finish(job, arguments, limit)
            finished = True
        except queue.Empty:
            raise TimeoutError(f"stopped after {limit:g} s") from None
        except (EOFError, BrokenPipeError):
            raise JobCrashedError("the process died, killed or out of memory") from None
        finally:
            if not finished:
                self.kill()
        if isinstance(answer, Failure):
            raise answer.error
        return answer

    def _finish(self, job: Callable[..., Any], arguments: tuple[Any, ...], limit: float) -> Any:
        question = dumps((job, arguments))
        process = self._process
        if process is None:
            self._compiling(False)
            process = self._process = Process(self._threads)
            process.send(dumps((os.getpid(), self._file, self._shared)))
        process.send(question)
        # Reading the job in the child imports what it needs, which is not its fault.
        ready = process.receive(START_LIMIT)
        if isinstance(ready, Failure):
            return ready
        start, before = time.monotonic(), self._compiling.seconds()

        def left() -> float:
            compiled = min(self._compiling.seconds() - before, START_LIMIT)
            return limit + compiled - (time.monotonic() - start)

        while True:
            try:
                return process.receive(max(left(), LOOK))
            except queue.Empty:
                if left() <= 0:
                    raise

    def kill(self) -> None:
        """End the child process and whatever it started."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()


class Process:
    """A Python of its own, which is sent pickles and answers with some, and says nothing else.

    It is in a session of its own: Ctrl-C is for the process that started it, which then kills it.

    Parameters
    ----------
    environment : dict of {str: str}
        Variables that differ from those of this process.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self._child: Any = subprocess.Popen(
            [sys.executable, *CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
            start_new_session=True,
        )
        self._answers: queue.SimpleQueue = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def send(self, pickled: Any) -> None:
        """Write what is pickled, as one piece."""
        _write(self._child.stdin, pickled)

    def receive(self, timeout: float) -> Any:
        """Wait for an answer; queue.Empty if none comes in time, EOFError if none can come."""
        pickled = self._answers.get(timeout=timeout)
        if pickled is None:
            raise EOFError
        try:
            return pickle.loads(pickled)
        except Exception as error:
            return Failure(error)

    def kill(self) -> None:
        """End it, and what it started."""
        with contextlib.suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(self._child.pid, signal.SIGKILL)
            else:
                self._child.kill()
        self._child.wait()
        self._listener.join(timeout=1.0)
        for stream in (self._child.stdin, self._child.stdout):
            with contextlib.suppress(OSError):
                stream.close()

    def _listen(self) -> None:
        """Put each answer where `receive` waits for it; the last is None, for there is no more."""
        try:
            while True:
                self._answers.put(pickle.load(self._child.stdout))
        except Exception:
            self._answers.put(None)


def _write(stream: Any, pickled: Any) -> None:
    """Wrap a pickle into another, so that one that cannot be read does not spoil the next."""
    pickle.dump(bytes(pickled), stream, protocol=5)
    stream.flush()


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


def serve() -> None:
    """Answer questions from standard input on standard output: the whole life of a child."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for place in (0, 1):  # keeps a chatty model off the answers, and one that asks from waiting
        os.dup2(nothing, place)
    with contextlib.suppress(EOFError):  # the parent is gone
        parent, file, shared = pickle.loads(pickle.load(questions))
        threading.Thread(target=_follow, args=(parent, file), daemon=True).start()
        watchers.append(Stopwatch(file))
        while True:
            _answer(pickle.load(questions), shared, answers)
    os._exit(0)  # whatever threads a model has left


def _answer(question: bytes, shared: tuple[Any, ...], answers: Any) -> None:
    """Say that the question is read, then what comes of it."""
    try:
        job, arguments = pickle.loads(question)
        _write(answers, dumps(None))
        answer = dumps(job(*shared, *arguments))
    except BaseException as error:
        answer = dumps(Failure(error))
    _write(answers, answer)


def _follow(parent: int, file: str) -> None:
    """End with the process that started this one, however that one ended, and tidy up after it."""
    while os.getppid() == parent:
        time.sleep(0.2)
    shutil.rmtree(Path(file).parent, ignore_errors=True)
    os._exit(1)
