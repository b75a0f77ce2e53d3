"""The loop of an iterative fit: it counts, records, reports, and stops.

Progress bars and monitors are scikit-learn's callbacks (``model.set_callbacks(ProgressBar())``);
this module only calls their hooks once an iteration, so there is no second protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.interrupts import interruption
from panlearn.core.sources import ArrayRows, Rows
from panlearn.core.warning import warn

_LISTENERS = frozenset({"_skl_callbacks", "_parent_callback_ctx"})
"""Attributes of an estimator whose fit is followed, by its own callbacks or those around it."""


class Iterative(CallbackSupportMixin):
    """What an estimator mixes in to have ``set_callbacks`` and an `Iterations` loop.

    Its fit sets ``n_iter_``, ``converged_`` and ``history_``.
    """


class Iterations:
    """The iterations of one fit.

    Parameters
    ----------
    estimator : Iterative
        Receives ``n_iter_``, ``converged_`` and ``history_`` when the loop ends.
    max_iter : int
        The most iterations to run.
    tol : float
        The loop converges when a recorded change does not exceed it.
    rows : Rows, default=None
        The training data, which callbacks may ask for.
    remedy : str
        What the warning advises if the loop does not converge.

    Notes
    -----
    Ctrl-C ends the loop after the iteration under way. A second one ends it at once and keeps the
    state of the last whole iteration; before the first one is through it is raised as ever.

    Examples
    --------
    The loop of an estimator's ``fit`` reads::

        with Iterations(self, max_iter=self.max_iter, tol=self.tol, rows=rows) as loop:
            for _ in loop:
                x, previous = step(x), x
                loop.record(change=abs(x - previous), objective=f(x))
    """

    def __init__(
        self,
        estimator: Any,
        *,
        max_iter: int,
        tol: float,
        rows: Rows | None = None,
        remedy: str = "raise max_iter, scale the features, or accept a larger tol",
    ) -> None:
        self._estimator, self._max_iter, self._tol, self._remedy = estimator, max_iter, tol, remedy
        self.history: dict[str, list[float]] = {}
        self.n_iter, self.converged, self._change = 0, False, float("nan")
        self._stopped, self._begun = "", 0
        self._root: Any = None
        self._task: Any = None
        self._attributes: Callable[[], dict[str, Any]] | None = None
        self._data: dict[str, Any] = {}
        self._context = ExitStack()
        if isinstance(rows, ArrayRows):
            self._data = {"X": rows.X, "y": rows.y, "metadata": {"sample_weight": rows.weight}}

    def __enter__(self) -> Self:
        # nobody is told of what nobody listens to: the contexts take longer than a small iteration
        if not _LISTENERS.isdisjoint(vars(self._estimator)):
            self._root = self._estimator._init_callback_context(max_subtasks=self._max_iter)
            self._root.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        self._asked = self._context.enter_context(interruption())
        return self

    def __iter__(self) -> Iterator[int]:
        for iteration in range(self._max_iter):
            self._begun = self.n_iter
            if self._root is not None:
                self._task = self._root.subcontext(task_name="iteration")
                self._task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
            yield iteration
            if self._end_task():
                self._stopped = "a callback asked to stop"
            if self._asked.is_set() and not self.converged:
                self._stopped = "it was interrupted"
            if self._stopped or self.converged:
                return

    def _end_task(self) -> bool:
        task, self._task = self._task, None
        return task is not None and task.call_on_fit_task_end(
            estimator=self._estimator, reconstruction_attributes=self._attributes, **self._data
        )

    def record(
        self,
        *,
        change: float,
        attributes: Callable[[], dict[str, Any]] | None = None,
        **values: float,
    ) -> None:
        """Note an iteration: how much it changed, what it measured, and the model so far.

        Parameters
        ----------
        change : float
            Compared with the tolerance, and kept in the history.
        attributes : callable, default=None
            Returns the fitted attributes as of now; called only if a callback wants a model.
        **values : float
            Further columns of the history, such as the objective.
        """
        self._change, self._attributes = float(change), attributes
        for name, value in {**values, "change": change}.items():
            self.history.setdefault(name, []).append(float(value))
        self.n_iter += 1
        self.converged = self._change <= self._tol

    def stop(self, reason: str) -> None:
        """End the loop after this iteration because it can do no better; the warning says why."""
        self._stopped = reason

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self._context.close()
        if kind is KeyboardInterrupt and self.n_iter:
            self._stopped = "it was interrupted"
        elif kind is not None:
            return False
        if self.n_iter > self._begun:  # left by break, after record
            self._end_task()
        estimator = self._estimator
        estimator.n_iter_, estimator.converged_ = self.n_iter, self.converged
        estimator.history_ = self.history
        if self._root is not None:
            self._root.call_on_fit_task_end(
                estimator=estimator, reconstruction_attributes=self._attributes, **self._data
            )
        if not self.converged:
            self._warn()
        return True

    def _warn(self) -> None:
        why = self._stopped or f"max_iter={self._max_iter} was reached"
        warn(
            f"{type(self._estimator).__name__} did not converge: {why} at iteration {self.n_iter} "
            f"with a change of {self._change:.3g} above tol={self._tol:.3g}; {self._remedy}",
            ConvergenceWarning,
        )
