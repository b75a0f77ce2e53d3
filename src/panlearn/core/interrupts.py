"""Ctrl-C: a loop ends after the pass under way and keeps what it has; a second one is raised.

Raised in the middle of a pass it would leave what is learned between two states.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from panlearn.core.warning import warn

_asked: ContextVar[threading.Event | None] = ContextVar("asked", default=None)


@contextlib.contextmanager
def interruption() -> Iterator[threading.Event]:
    """Note the first Ctrl-C instead of raising it; the second is a KeyboardInterrupt as ever.

    What runs inside, on the threads of `panlearn.core.threads` too, shares the event: a loop within
    a loop ends with it. Ctrl-C goes to the main thread; elsewhere, or where somebody else listens
    for it, nothing is changed and the event is never set.
    """
    outer = _asked.get()
    if outer is not None:
        yield outer
        return
    asked = threading.Event()

    def note(number: int, frame: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    ours = threading.current_thread() is threading.main_thread()
    ours = ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    token = _asked.set(asked)
    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield asked
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        _asked.reset(token)


def interrupted() -> bool:
    """Tell whether Ctrl-C was pressed in the `interruption` around this."""
    asked = _asked.get()
    return asked is not None and asked.is_set()


def passes(estimator: Any, count: int) -> Iterator[int]:
    """Count passes as `range` does; Ctrl-C ends them after the one under way, with a warning."""
    with interruption() as asked:
        for i in range(count):
            yield i
            if asked.is_set() and i + 1 < count:
                warn(
                    f"{type(estimator).__name__} was interrupted after {i + 1} of {count} passes "
                    "and keeps what it has learned so far; fit again for the rest",
                    ConvergenceWarning,
                )
                return
