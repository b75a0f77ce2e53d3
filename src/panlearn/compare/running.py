"""Run one job for each model in a child process, and take whatever happens for its row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from panlearn.compare.preparation import preprocessor
from panlearn.compare.scoring import Row, reason
from panlearn.compare.timed import JobCrashedError, TimedWorker

Progress = Callable[[str, int, int], None]


def silent(name: str, done: int, total: int) -> None:
    """Show no progress."""


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
        The data, which travel to the child process once.
    job : callable
        Of the data, the name, the pipeline and `arguments`; runs in the child process.
    arguments : tuple
        What every job gets.
    columns : data frame
        What the pipelines prepare.
    time_limit : float or None
        Seconds for a job.
    progress : callable
        Called before each.
    finish : callable
        Makes what is compared of a pipeline of preparation and model.
    """
    rows: list[Row] = []
    interrupted = False
    with TimedWorker(*shared) as worker:
        for done, (name, model) in enumerate(chosen.items()):
            progress(name, done, len(chosen))
            if isinstance(model, str):
                rows.append(Row(name, None, error=model))
                continue
            plain = Pipeline([("prepare", preprocessor(columns, model)), ("model", model)])
            pipeline = finish(plain)
            if interrupted:
                rows.append(Row(name, pipeline, error="not run: interrupted"))
                continue
            try:
                rows.append(worker.run(job, name, pipeline, *arguments, limit=time_limit))
            except (TimeoutError, JobCrashedError) as error:
                rows.append(Row(name, pipeline, error=str(error)))
            except KeyboardInterrupt:
                interrupted = True
                rows.append(Row(name, pipeline, error="interrupted"))
            except Exception as error:
                rows.append(Row(name, pipeline, error=reason(error)))
    return rows, interrupted
