"""What a command says when it is given something that it cannot use."""

from __future__ import annotations

import re
from difflib import get_close_matches

# control characters but the tab, and those that turn the direction of writing
_UNSEEN = re.compile("[\0-\x08\n-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


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


def visible(text: str, *, lines: bool = False) -> str:
    """Write a text as a terminal or a page can have it: nothing in it that would command them.

    Parameters
    ----------
    text : str
        From data, such as a label or the name of a column.
    lines : bool, default=False
        Whether ends of lines stay.
    """
    text = text.encode(errors="replace").decode()
    return _UNSEEN.sub(
        lambda c: c[0] if lines and c[0] == "\n" else "\N{REPLACEMENT CHARACTER}", text
    )
