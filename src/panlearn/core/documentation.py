"""What several classes share is documented once, on the base that has it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_PARAMETER = re.compile(r"^(\w+) : (.*?), default=.*\n((?:    .*\n)+)", re.MULTILINE)
_ATTRIBUTE = re.compile(r"^(\w[\w, ]*) : .*\n(?:    .*\n)+", re.MULTILINE)
_SECTION = re.compile(r"\n(?=(?:Attributes|Returns|Yields|Notes|References|Examples)\n---)")


def inherit_documentation(cls: Any, root: type) -> None:
    """Write what a class inherits into its docstring: parameters with its defaults, attributes.

    It is what the bases from `root` on document, and comes last in its section. What the docstring
    already names is left to it.
    """
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    if _SECTION.search(text):
        bases = [base for base in cls.__mro__[1:] if issubclass(base, root)]
        cls.__doc__ = _with_attributes(
            _with_parameters(text, bases, {name: getattr(cls, name, None) for name in dir(cls)}),
            bases,
        )


def document_keywords(of: Any, **defaults: Any) -> Callable[[F], F]:
    """Write the fields of a class into the docstring and signature of a function of keywords."""

    def write(function: F) -> F:
        known = {field.name: field.default for field in fields(of)} | defaults
        text = inspect.cleandoc(function.__doc__ or "")
        function.__doc__ = _with_parameters(text, [of], known)
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind != p.VAR_KEYWORD]
        given = inspect.signature(of).parameters.values()
        keywords = [p.replace(kind=p.KEYWORD_ONLY, default=known[p.name]) for p in given]
        function.__signature__ = signature.replace(parameters=[*own, *keywords])  # type: ignore[attr-defined]
        return function

    return write


def _with_parameters(text: str, bases: list[Any], defaults: dict[str, Any]) -> str:
    """Put the parameters that bases document behind those that a text names."""
    found = _SECTION.search(text)
    cut = found.start() if found else len(text)
    head = text[:cut].rstrip()
    if "\nParameters\n------" not in head:
        head += "\n\nParameters\n----------"
    named = set(re.findall(r"^(\w+) : ", head, re.MULTILINE))
    entries: dict[str, str] = {}
    for base in bases:
        for name, kind, body in _PARAMETER.findall(inspect.cleandoc(base.__doc__ or "") + "\n"):
            if name not in named and name not in entries:
                value = repr(defaults[name]).replace("'", '"')
                entries[name] = f"{name} : {kind}, default={value}\n{body}"
    return head + "\n" + "".join(entries.values()) + text[cut:]


def _with_attributes(text: str, bases: list[Any]) -> str:
    """Put the attributes that bases document behind those that a text names."""
    head, own, tail = _attributes(text)
    entries = {match[1]: match[0] for match in _ATTRIBUTE.finditer(own)}
    named = {name for names in entries for name in names.split(", ")}
    for base in bases:
        for match in _ATTRIBUTE.finditer(_attributes(inspect.cleandoc(base.__doc__ or ""))[1]):
            if named.isdisjoint(names := match[1].split(", ")):
                entries[match[1]] = match[0]
                named |= set(names)
    if not entries:
        return text
    return f"{head.rstrip()}\n\nAttributes\n----------\n{''.join(entries.values())}{tail}"


def _attributes(text: str) -> tuple[str, str, str]:
    """What stands before the attributes, these, and what stands behind."""
    before, mark, after = text.partition("\nAttributes\n----------\n")
    if not mark:
        found = _SECTION.search(text)
        cut = found.start() if found else len(text)
        return text[:cut], "", text[cut:]
    found = _SECTION.search(after)
    cut = found.start() if found else len(after)
    return before, after[:cut].rstrip() + "\n", after[cut:]
