"""Constraints on hyper-parameters, read from the annotations of an estimator's fields.

A field states name, type, default and constraint once::

    alpha: NonNegative[float] = 1.0
    solver: Literal["auto", "newton"] = "auto"
    max_iter: Positive[int] = 100

and `check_parameters` holds the values against them when `fit` is called.
"""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")


class InvalidParameterError(ValueError, TypeError):
    """A hyper-parameter has a type or a value that its field does not allow."""


@dataclass(frozen=True)
class Bounds:
    """An interval of numbers; an end is open unless it is said to be closed."""

    low: float = -np.inf
    high: float = np.inf
    closed_low: bool = False
    closed_high: bool = False

    def __contains__(self, value: float) -> bool:
        above = value >= self.low if self.closed_low else value > self.low
        below = value <= self.high if self.closed_high else value < self.high
        return bool(above and below)

    def __str__(self) -> str:
        left, right = "[" if self.closed_low else "(", "]" if self.closed_high else ")"
        return f"in {left}{self.low:g}, {self.high:g}{right}"


Positive = Annotated[T, Bounds(0)]
"""Finite and above zero."""
NonNegative = Annotated[T, Bounds(0, closed_low=True)]
"""Finite and at least zero."""
Fraction = Annotated[T, Bounds(0, 1, closed_low=True, closed_high=True)]
"""From zero to one, both included."""
BelowOne = Annotated[float, Bounds(0, 1, closed_low=True)]
"""From zero to below one, such as a rate of dropout."""
Count = Annotated[int, Bounds(1, 10**6, closed_low=True, closed_high=True)]
"""A number of units, rows or passes that is tried in earnest."""
PositiveOrInf = Annotated[T, Bounds(0, closed_high=True)]
"""Above zero; infinity is allowed."""

Jobs = None | Positive[int] | Literal[-1]
"""Threads: None for one, -1 for one a core."""
RandomState = None | NonNegative[int] | np.random.Generator | np.random.RandomState
"""What seeds a method: None for fresh entropy, or an int, or a generator."""


def check_parameters(estimator: Any) -> None:
    """Raise `InvalidParameterError` if a field of `estimator` breaks its annotation."""
    cls: Any = type(estimator)
    for name, annotation, is_allowed in _checks(cls):
        value = getattr(estimator, name)
        if not is_allowed(value):
            raise InvalidParameterError(
                f"The {name!r} parameter of {cls.__name__} must be "
                f"{describe(annotation)}; got {value!r}."
            )


@functools.cache
def _annotations(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls, include_extras=True)
    return {f.name: hints[f.name] for f in fields(cls)}


@functools.cache
def _checks(cls: type) -> list[tuple[str, Any, Callable[[Any], bool]]]:
    """Read what each field allows, once: it takes as long as a small fit."""
    return [(name, allowed, _predicate(allowed)) for name, allowed in _annotations(cls).items()]


def allows(annotation: Any, value: Any) -> bool:
    """Whether `value` belongs to the set that `annotation` describes."""
    return _predicate(annotation)(value)


def _predicate(annotation: Any) -> Callable[[Any], bool]:
    """A function that tells what belongs to the set that `annotation` describes."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return lambda value: True
    if annotation is None or annotation is types.NoneType:
        return lambda value: value is None
    if origin is Annotated:
        is_kind, constraints = _predicate(arguments[0]), arguments[1:]
        return lambda value: is_kind(value) and all(value in c for c in constraints)
    if origin in (Union, types.UnionType):
        parts = [_predicate(a) for a in arguments]
        return lambda value: any(part(value) for part in parts)
    if origin is Literal:
        return lambda value: isinstance(value, _PLAIN) and value in arguments
    if origin is Callable or annotation is Callable:
        return callable
    known = {bool: _is_bool, int: _is_int, float: _is_number, np.ndarray: _is_array}
    kind = origin or annotation
    return known.get(annotation, lambda value: isinstance(value, kind))


_PLAIN = (str, bool, int, types.NoneType)
_NUMBER = (float, int, np.floating, np.integer)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_int(value: Any) -> bool:
    return isinstance(value, Integral) and not _is_bool(value)


def _is_array(value: Any) -> bool:
    """Whether it is anything array-like but a scalar."""
    return not isinstance(value, np.generic) and (
        isinstance(value, list | tuple | np.ndarray) or hasattr(value, "__array__")
    )


def _is_number(value: Any) -> bool:
    # not numbers.Real: NumPy has no square root of a Fraction
    if not isinstance(value, _NUMBER) or isinstance(value, bool):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:  # an int beyond the floats
        return False


def describe(annotation: Any) -> str:
    """Say in words what `annotation` allows."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is None or annotation is types.NoneType:
        return "None"
    if origin is Annotated:
        kind, *constraints = arguments
        return " ".join([describe(kind), *map(str, constraints)])
    if origin in (Union, types.UnionType):
        return " or ".join(describe(a) for a in arguments)
    if origin is Literal:
        return "one of " + ", ".join(map(repr, arguments))
    words = {bool: "a bool", int: "an int", float: "a float", str: "a str"}
    if annotation in words:
        return words[annotation]
    if annotation is np.ndarray:
        return "array-like"
    if origin is Callable or annotation is Callable:
        return "a callable"
    return f"a {inspect.formatannotation(origin or annotation)}"
