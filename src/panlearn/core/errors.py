"""What a command says when it is given something that it cannot use."""

from __future__ import annotations

from difflib import get_close_matches


class DataError(ValueError):
    """What was given cannot be used as asked; the message is one line and names a fix."""


def did_you_mean(name: str, known: list[str]) -> str:
    """Words that point to the nearest known name, or to the first few."""
    by_lower = {k.lower(): k for k in known}
    if close := get_close_matches(name.lower(), by_lower, n=1):
        return f"did you mean {by_lower[close[0]]!r}?"
    shown = ", ".join(map(repr, known[:8]))
    return f"there are {shown}{', ...' if len(known) > 8 else ''}"


def count(number: int, thing: str) -> str:
    """Write a number of things: 1 row, 2,000 rows."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def listed(names: list[str]) -> str:
    """Write names as a person lists them: a, b and c."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
