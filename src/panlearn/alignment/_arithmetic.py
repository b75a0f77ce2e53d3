"""Arithmetic in texts: worked out in fractions by two stacks, so that no code of a text is run."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from fractions import Fraction

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_TOKEN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?|[-+*/()])")
_SIGNS = str.maketrans({"\u00d7": "*", "\u00f7": "/", "\u2212": "-"})
_RUN = re.compile(r"[-+*/().= 0-9]+")
_BETWEEN = re.compile(r"(?<=[0-9)]) +(?=[0-9(])")  # where one equation ends and the next begins
_BULLET = re.compile(r"\s*[-*+]\s+")
_LONGEST = 4000  # digits: Python refuses to read longer numbers

_OPERATIONS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_RANK = {"+": 1, "-": 1, "*": 2, "/": 2, "negative": 3}


def value_of(text: str) -> Fraction | None:
    """The value of sums, products, quotients and brackets; None if it is nothing of the kind.

    There are no powers: what they give may be longer than any memory, and here the work is bounded
    by the length of the text. There is no recursion either: brackets may be as deep as they like.
    """
    tokens = _tokens(text.translate(_SIGNS))
    if not tokens:
        return None
    values: list[Fraction] = []
    waiting: list[str] = []
    after_value = False
    try:
        for token in tokens:
            if token[0].isdigit():
                if after_value:
                    return None
                values.append(Fraction(token))
                after_value = True
            elif token == "(":
                if after_value:
                    return None
                waiting.append(token)
            elif token == ")":
                if not after_value:
                    return None
                while waiting[-1] != "(":
                    _apply(waiting.pop(), values)
                waiting.pop()
            elif after_value:
                while waiting and _RANK.get(waiting[-1], 0) >= _RANK[token]:
                    _apply(waiting.pop(), values)
                waiting.append(token)
                after_value = False
            elif token == "-":
                waiting.append("negative")
            elif token != "+":
                return None
        if not after_value or "(" in waiting:
            return None
        while waiting:
            _apply(waiting.pop(), values)
    except (IndexError, ZeroDivisionError):  # a bracket that was not opened, a quotient by zero
        return None
    return values[0]


def _apply(operation: str, values: list[Fraction]) -> None:
    last = values.pop()
    values.append(-last if operation == "negative" else _OPERATIONS[operation](values.pop(), last))


def _tokens(text: str) -> list[str]:
    """Numbers, signs and brackets; nothing if there is anything else."""
    found, at, text = [], 0, text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or len(match[1]) > _LONGEST:
            return []
        found.append(match[1])
        at = match.end()
    return found


def equations(text: str) -> list[bool]:
    """Whether each equation that stands in a text holds; ``1 + 1 = 2 = 4 / 2`` is one."""
    found = []
    for line in text.translate(_SIGNS).splitlines():
        for run in _RUN.findall(line[_begin(line) :]):
            for part in _BETWEEN.split(run.rstrip(". ")):
                values = [value_of(side) for side in part.split("=")]
                if len(values) > 1 and all(value is not None for value in values):
                    found.append(len(set(values)) == 1)
    return found


def _begin(line: str) -> int:
    """Where a line begins after the mark of a list."""
    match = _BULLET.match(line)
    return match.end() if match else 0


def same(one: str, other: str) -> bool:
    """Whether two answers are the same text, blanks aside, or the same number."""
    one, other = " ".join(one.split()), " ".join(other.split())
    if one == other:
        return True
    values = [_number(text) for text in (one, other)]
    return values[0] is not None and values[0] == values[1]


def _number(text: str) -> Fraction | None:
    """The number that a text is: an integer, a decimal or a quotient of two."""
    text = text.removeprefix("$").removesuffix("$").strip()
    parts = [part.strip().lstrip("+-") for part in text.split("/")]
    plain = len(parts) <= 2 and all(_NUMBER.fullmatch(part) for part in parts)
    return value_of(text) if plain else None
