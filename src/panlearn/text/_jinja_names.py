"""What a chat template may call by name: comparisons, tests, filters, methods and functions.

Each is charged for the text it makes before it makes it, so that no template outgrows its budget.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

BUDGET = 3 * 10**7
"""Characters that a rendering may make; an item counts as 20, a part of the template as 100."""


class TemplateError(ValueError):
    """A chat template cannot be read, asks for what is not known, or refuses the messages."""


class Undefined:
    """What a name stands for that was not given: false, empty, and nothing when written."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __len__(self) -> int:
        return 0

    def __contains__(self, item: object) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Undefined)

    __hash__ = None  # type: ignore[assignment]


class Namespace(dict):
    """What ``namespace()`` makes: names that keep what a loop sets."""

    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__  # those that hold each other are compared in no time


class Meter:
    """The budget of a rendering."""

    def __init__(self) -> None:
        self.left = BUDGET

    def spend(self, cost: int) -> None:
        """Pay, or end the rendering."""
        self.left -= cost
        if self.left < 0:
            raise TemplateError("the chat template makes too much text, or does not end")

    def hold(self, value: Any) -> None:
        """Pay for what is gone through or copied."""
        self.spend(len(value) if isinstance(value, str) else 0)
        self.spend(20 * len(value) if isinstance(value, list | tuple | Mapping) else 0)

    def text(self, value: Any) -> str:
        """Write a value as text."""
        if isinstance(value, Undefined):
            return ""
        if not isinstance(value, str | int | float | None):
            raise TemplateError(
                f"the chat template writes a {type(value).__name__} as it is; text and numbers "
                "can be written, and others by tojson"
            )
        written = value if isinstance(value, str) else str(value)
        self.spend(len(written))
        return written

    def items(self, value: Any) -> list[Any]:
        """List what is gone through."""
        if isinstance(value, Undefined):
            return []
        if not isinstance(value, str | list | tuple | Mapping):
            raise TypeError(f"a {type(value).__name__} cannot be gone through")
        self.spend(20 * len(value))
        return list(value)


def look_up(table: Mapping[str, Callable[..., Any]], name: str, kind: str) -> Callable[..., Any]:
    """Find what is called, or refuse it by its name."""
    if name not in table:
        raise TemplateError(f"the chat template uses the {kind} {name!r}, which is not known here")
    return table[name]


def entry(held: Any, key: Any) -> Any:
    """One entry of what is held; what is not there is undefined."""
    if isinstance(held, Undefined):
        raise TypeError(f"{held.name!r} is not given, so it has no {key!r}")
    if isinstance(held, Mapping):
        return held[key] if key in held else Undefined(str(key))
    if isinstance(held, str | list | tuple) and isinstance(key, int):
        return held[key] if -len(held) <= key < len(held) else Undefined(str(key))
    return Undefined(str(key))


def plain(value: Any) -> Any:
    """What a list or mapping may hold: no lists, which could hold each other without end."""
    if isinstance(value, list | tuple | Namespace):
        raise TemplateError("the chat template puts a list into another, which is not known here")
    return value


def number(value: Any) -> Any:
    """What is counted with: text would be formatted, to any length."""
    if not isinstance(value, int | float):
        raise TypeError(f"{type(value).__name__} is no number")
    return value


def _refuse(meter: Meter, message: str) -> NoReturn:
    raise TemplateError(f"the chat template refuses these messages: {message}")


def _range(meter: Meter, *bounds: int) -> list[int]:
    numbers = range(*bounds)
    meter.spend(20 * len(numbers))
    return list(numbers)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "namespace": lambda meter, **named: Namespace(named),
    "raise_exception": _refuse,
    "range": _range,
}

COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "lteq": operator.le,
    "gt": operator.gt,
    "gteq": operator.ge,
    "in": lambda left, right: left in right,
    "notin": lambda left, right: left not in right,
}


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


TESTS: dict[str, Callable[..., bool]] = {
    "defined": lambda value: not isinstance(value, Undefined),
    "undefined": _is(Undefined),
    "none": lambda value: value is None,
    "true": lambda value: value is True,
    "false": lambda value: value is False,
    "boolean": _is(bool),
    "string": _is(str),
    "number": _is(int, float),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "mapping": _is(Mapping),
    "sequence": _is(str, list, tuple, Mapping, Undefined),
    "iterable": _is(str, list, tuple, Mapping, Undefined),
    "equalto": operator.eq,
    "eq": operator.eq,
    "==": operator.eq,
    "ne": operator.ne,
    "!=": operator.ne,
    "in": COMPARED["in"],
}


def _replace(meter: Meter, held: Any, old: str, new: str) -> str:
    text = meter.text(held)
    meter.spend((len(text) + 1 if old == "" else text.count(old)) * len(new))
    return text.replace(old, new)


def _json(
    meter: Meter,
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: Any = None,
    sort_keys: bool = False,
) -> str:
    if indent is not None and not 0 <= number(indent) <= 16:
        raise TypeError(f"tojson indents by {indent}; known are 0 to 16")
    encoder = json.JSONEncoder(
        ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )
    return "".join(map(meter.text, encoder.iterencode(value)))


def _join(meter: Meter, value: Any, between: str = "", attribute: Any = None) -> str:
    items = meter.items(value)
    if attribute is not None:
        items = [entry(item, attribute) for item in items]
    meter.spend(len(between) * len(items))
    return between.join(map(meter.text, items))


def _pairs(meter: Meter, value: Any) -> list[Any]:
    if isinstance(value, Undefined):
        return []
    if not isinstance(value, Mapping):
        raise TypeError(f"a {type(value).__name__} has no pairs")
    return list(zip(meter.items(value), value.values(), strict=True))


def _default(meter: Meter, value: Any, other: Any = "", boolean: bool = False) -> Any:
    return other if isinstance(value, Undefined) or (boolean and not value) else value


def _chosen(keep: bool, by_attribute: bool) -> Callable[..., list[Any]]:
    def choose(meter: Meter, value: Any, *given: Any) -> list[Any]:
        attribute, *test = given if by_attribute else (None, *given)
        holds: Callable[..., Any] = look_up(TESTS, test[0], "test") if test else bool
        items = meter.items(value)
        looked_at = [entry(item, attribute) for item in items] if by_attribute else items
        return [
            item
            for item, looked in zip(items, looked_at, strict=True)
            if bool(holds(looked, *test[1:])) == keep
        ]

    return choose


def _mapped(meter: Meter, value: Any, name: str | None = None, *, attribute: Any = None) -> Any:
    if name is None:
        return [entry(item, attribute) for item in meter.items(value)]
    return [look_up(FILTERS, name, "filter")(meter, item) for item in meter.items(value)]


def _of_text(name: str) -> Callable[..., Any]:
    """A method of str whose result is no longer than what it is given."""
    return lambda meter, held, *given, **named: getattr(meter.text(held), name)(*given, **named)


_SHORT = ("strip", "lstrip", "rstrip", "upper", "lower", "title", "capitalize")
_LOOKS = ("startswith", "endswith", "split", "rsplit", "splitlines", "find", "removeprefix")

TEXT: dict[str, Callable[..., Any]] = {
    **{name: _of_text(name) for name in (*_SHORT, *_LOOKS, "removesuffix", "count")},
    "replace": _replace,
    "join": lambda meter, held, value: _join(meter, value, held),
}

MAPPING: dict[str, Callable[..., Any]] = {
    "get": lambda meter, held, key, other=None: held.get(key, other),
    "items": _pairs,
    "keys": lambda meter, held: meter.items(held),
    "values": lambda meter, held: [value for _, value in _pairs(meter, held)],
}

FILTERS: dict[str, Callable[..., Any]] = {
    **{name: TEXT[name] for name in ("upper", "lower", "title", "capitalize", "replace")},
    "trim": TEXT["strip"],
    "string": lambda meter, value: meter.text(value),
    "safe": lambda meter, value: value,
    "int": lambda meter, value: int(value),
    "length": lambda meter, value: len(value),
    "count": lambda meter, value: len(value),
    "first": lambda meter, value: entry(meter.items(value), 0),
    "last": lambda meter, value: entry(meter.items(value), -1),
    "reverse": lambda meter, value: meter.items(value)[::-1],
    "list": lambda meter, value: meter.items(value),
    "items": _pairs,
    "join": _join,
    "tojson": _json,
    "default": _default,
    "d": _default,
    "select": _chosen(True, False),
    "reject": _chosen(False, False),
    "selectattr": _chosen(True, True),
    "rejectattr": _chosen(False, True),
    "map": _mapped,
}
