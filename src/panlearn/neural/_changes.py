"""Another objective for an estimator while a wrapper around it fits it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Change = Callable[[Any, Any], tuple[Any, Any]]
"""Objective and data of a training in, those to train with out."""

_current: ContextVar[tuple[Any, Change] | None] = ContextVar("change", default=None)


@contextmanager
def changing(estimator: Any, change: Change) -> Iterator[None]:
    """Let one estimator train with what a function makes of its objective and its data."""
    token = _current.set((estimator, change))
    try:
        yield
    finally:
        _current.reset(token)


def changed(estimator: Any, objective: Any, data: Any) -> tuple[Any, Any]:
    """What an estimator trains with: what it says itself, unless it is being changed."""
    current = _current.get()
    if current is None or current[0] is not estimator:
        return objective, data
    return current[1](objective, data)
