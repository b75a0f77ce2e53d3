"""Hooks: what a run calls as it goes."""

from __future__ import annotations

import sys
import time
from typing import Any


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
        """Run after each epoch."""

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
        left = "?" if rate == 0 else _clock((run.total_steps - run.step) / rate)
        line = f"epoch {run.epoch}, step {run.step}/{run.total_steps}, loss {run.loss:.4g}"
        if "validation_loss" in run.history:
            line += f", validation loss {run.history['validation_loss'][-1]:.4g}"
        line += f", {rate:.3g} steps/s, {left} left"
        start, end = ("\r", "\x1b[K") if sys.stderr.isatty() else ("", "\n")
        sys.stderr.write(start + line + end)
        sys.stderr.flush()


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
