"""Hooks: what a run calls as it goes."""

from __future__ import annotations

import csv
import os
import sys
import time
from typing import Any

from panlearn.core.files import replacing


class Hook:
    r"""What watches a run, called after each step :math:`t` and epoch; derive and fill in.

    The run has ``module``, ``step``, ``epoch``, ``total_steps``, ``history`` and ``stop(reason)``.
    A method that returns True ends the run.

    References
    ----------
    Tietz, Fan, Nouri, Bossan (2017). skorch: a scikit-learn compatible neural network library that
    wraps PyTorch.

    Examples
    --------
    >>> from panlearn.neural import Hook
    >>> class Patient(Hook):
    ...     def on_step(self, run):
    ...         return run.step >= 100
    """

    def on_begin(self, run: Any) -> None:
        """Run before the first step."""

    def on_step(self, run: Any) -> bool | None:
        """Run after each step."""

    def on_epoch(self, run: Any) -> bool | None:
        """Run after each row of the history: an epoch, or `evaluate_every` steps."""

    def on_end(self, run: Any) -> None:
        """Run after the last step."""


class Progress(Hook):
    """A line on standard error at most once a second: steps, loss, rate and time left."""

    def on_begin(self, run: Any) -> None:
        """Start the clock."""
        self._began, self._first, self._shown = time.monotonic(), run.step, 0.0

    def on_step(self, run: Any) -> bool | None:
        """Show a line if a second has passed."""
        now = time.monotonic()
        if now - self._shown >= 1:
            self._shown = now
            self._show(run, now)
        return None

    def on_end(self, run: Any) -> None:
        """Show the last line."""
        self._show(run, time.monotonic())
        if sys.stderr.isatty():
            sys.stderr.write("\n")

    def _show(self, run: Any, now: float) -> None:
        took = max(now - self._began, 1e-9)
        rate = (run.step - self._first) / took
        total = run.total_steps
        left = "?" if rate == 0 or total is None else _clock((total - run.step) / rate)
        steps = run.step if total is None else f"{run.step}/{total}"
        line = f"epoch {run.epoch}, step {steps}, loss {run.loss:.4g}"
        if "validation_loss" in run.history:
            line += f", validation loss {run.history['validation_loss'][-1]:.4g}"
        line += f", {rate:.3g} steps/s, {left} left"
        start, end = ("\r", "\x1b[K") if sys.stderr.isatty() else ("", "\n")
        sys.stderr.write(start + line + end)
        sys.stderr.flush()


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


class CSVWriter(Hook):
    r"""A row of a table for each row of the history, :math:`(t, \ell_t, \ldots)`.

    Parameters
    ----------
    path : path
        The file; it is written anew when a run begins, with the rows that a resumed run has.

    References
    ----------
    Shafranovich (2005). Common format and MIME type for comma-separated values. RFC 4180.

    Examples
    --------
    >>> from panlearn.neural import CSVWriter, MLPClassifier
    >>> model = MLPClassifier(hooks=[CSVWriter("history.csv")])
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path

    def on_begin(self, run: Any) -> None:
        """Write the rows that are there."""
        self.on_epoch(run)

    def on_epoch(self, run: Any) -> bool | None:
        """Write the table: it is short, and may have gained a column."""
        if run.processes.rank == 0:
            names = list(run.history)
            n_rows = max(map(len, run.history.values()), default=0)
            with replacing(self.path) as temporary, open(temporary, "w", newline="") as file:
                table = csv.writer(file)
                table.writerow(["row", *names])
                for i in range(n_rows):
                    table.writerow([i, *(run.history[name][i] for name in names)])
        return None


class TensorBoardWriter(Hook):
    r"""The curves of the history for TensorBoard, :math:`(t, \ell_t)` for each name.

    Parameters
    ----------
    folder : path
        Where the event files go. The package tensorboard must be installed.

    References
    ----------
    Abadi et al. (2016). TensorFlow: a system for large-scale machine learning. OSDI.
    arXiv:1605.08695

    Examples
    --------
    >>> from panlearn.neural import MLPClassifier, TensorBoardWriter
    >>> model = MLPClassifier(hooks=[TensorBoardWriter("runs/first")])
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = folder

    def on_begin(self, run: Any) -> None:
        """Open the file."""
        self._writer = None
        if run.processes.rank == 0:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError as error:
                raise ImportError(
                    "TensorBoardWriter needs the package tensorboard: pip install tensorboard"
                ) from error
            self._writer = SummaryWriter(os.fspath(self.folder))

    def on_epoch(self, run: Any) -> bool | None:
        """Write the newest row."""
        if self._writer is not None:
            for name, values in run.history.items():
                self._writer.add_scalar(name, values[-1], run.step)
        return None

    def on_end(self, run: Any) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()
