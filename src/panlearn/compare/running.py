"""Run one job for each model in child processes, and take whatever happens for its row."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from panlearn.compare.preparation import preprocessor
from panlearn.compare.scoring import Row, reason
from panlearn.compare.timed import JobCrashedError, TimedWorker
from panlearn.core.errors import count
from panlearn.core.threads import n_threads

Progress = Callable[[str, int, int], None]
NOT_RUN = "not run: interrupted"
MOST_AT_ONCE = 4  # models; each holds the data, and may take as much memory again


def silent(name: str, done: int, total: int) -> None:
    """Show no progress."""


def at_once(time_limit: float | None) -> tuple[int, int]:
    """How many models are run at a time, and how many threads each of them has.

    Most methods leave a second core idle for most of their time, so two of them on a core each are
    done sooner than one after the other on both.
    """
    cores = n_threads()
    many = 1 if time_limit is None else min(MOST_AT_ONCE, cores)
    return many, cores // many


def said_of_threads(time_limit: float | None) -> list[str]:
    """What times mean where several models run at a time."""
    many, threads = at_once(time_limit)
    if many == 1:
        return []
    return [f"{many} models at a time: seconds are those of a model on {count(threads, 'core')}"]


def run_each(
    chosen: dict[str, BaseEstimator | str],
    shared: tuple[Any, ...],
    job: Callable[..., Row],
    arguments: tuple[Any, ...],
    *,
    columns: pd.DataFrame,
    time_limit: float | None,
    progress: Progress,
    finish: Callable[[Pipeline], Pipeline] = lambda pipeline: pipeline,
) -> tuple[list[Row], bool]:
    """Give each model's row, and whether Ctrl-C ended it early.

    Parameters
    ----------
    chosen : dict
        Models by name; a string is the reason why there is none.
    shared : tuple
        The data, which travel to a child process once.
    job : callable
        Of the data, the name, the pipeline and `arguments`; runs in a child process.
    arguments : tuple
        What every job gets.
    columns : data frame
        What the pipelines prepare.
    time_limit : float or None
        Seconds for a job; if None, they run in this process, one after the other.
    progress : callable
        Called before each, one call at a time.
    finish : callable
        Makes what is compared of a pipeline of preparation and model.
    """
    pipelines = {
        name: finish(Pipeline([("prepare", preprocessor(columns, model)), ("model", model)]))
        for name, model in chosen.items()
        if not isinstance(model, str)
    }
    rows = {
        name: Row(name, None, error=model)
        for name, model in chosen.items()
        if isinstance(model, str)
    }
    begun: list[str] = []
    interrupted = False
    stopped, speaking = threading.Event(), threading.Lock()
    idle: queue.SimpleQueue[TimedWorker] = queue.SimpleQueue()

    def run(name: str) -> None:
        if stopped.is_set():
            return
        with speaking:
            progress(name, len(rows), len(chosen))
            begun.append(name)
        worker, error = idle.get(), ""
        try:
            row = worker.run(job, name, pipelines[name], *arguments, limit=time_limit)
        except (TimeoutError, JobCrashedError) as failure:
            error = str(failure)
        except Exception as failure:
            error = reason(failure)
        finally:
            idle.put(worker)
        if not stopped.is_set():
            rows[name] = Row(name, pipelines[name], error=error) if error else row

    many, threads = at_once(time_limit)
    with ExitStack() as stack:
        workers = [stack.enter_context(TimedWorker(*shared, threads=threads)) for _ in range(many)]
        for worker in workers:
            idle.put(worker)
        pool = stack.enter_context(ThreadPoolExecutor(many))
        try:
            list(map(run, pipelines) if many == 1 else pool.map(run, pipelines))
        except KeyboardInterrupt:
            interrupted = True
        finally:
            stopped.set()
            for worker in workers:
                worker.kill()
    for name in [name for name in chosen if name not in rows]:
        why = "interrupted" if name in begun else NOT_RUN
        rows[name] = Row(name, pipelines[name], error=why)
    return [rows[name] for name in chosen], interrupted
