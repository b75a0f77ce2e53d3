"""Numbers and dates out of columns of text: money, percent, thousands, the common orders of a date.

A column is taken for numbers or dates if nine in ten of its cells read as such; the others are
missing then, and named. How it was read is a *style*, a word or two that a model keeps, so that new
rows are read in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from panlearn.core.errors import count

SHARE = 0.9
NOTHING = {
    *("", "?", "-", "--", "–", "—", ".", "*", "n/a", "#n/a", "na", "nan", "none", "null", "(null)"),
    *("nil", "unknown", "missing"),
}
MONEY = r"(?:[$€£¥₹]|USD|EUR|GBP|CHF)"
PLACEHOLDER = r"(?:^|\D)(?:0001|9999)(?:\D|$)"
TIME = r"[T ,]+(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?\s*([AaPp][Mm])?Z?$"
FORMATS = {
    "ISO8601": "year-month-day",
    "%d/%m/%Y": "day/month/year",
    "%m/%d/%Y": "month/day/year",
    "%Y/%m/%d": "year/month/day",
    "%d.%m.%Y": "day.month.year",
    "%d-%m-%Y": "day-month-year",
    "%m-%d-%Y": "month-day-year",
    "%d %b %Y": "day month year",
    "%d %B %Y": "day month year",
    "%b %d, %Y": "month day, year",
    "%B %d, %Y": "month day, year",
}


@dataclass(frozen=True)
class Reading:
    """A column as floats, dates as days since 1970-01-01; how it was read, and what to say."""

    values: pd.Series
    style: str
    notes: tuple[str, ...]

    @property
    def is_date(self) -> bool:
        """Whether they are dates."""
        return self.style.startswith("date")


def read_cells(column: pd.Series, style: str | None = None) -> Reading | None:
    """Numbers or dates from a column of text, or None if it holds neither.

    With a style, which a column of the same name had once, cells are read by that alone.
    """
    if not (types.is_object_dtype(column) or types.is_string_dtype(column)):
        return None
    kinds = set(column.dropna().map(type))
    if str not in kinds or not kinds <= {str, int, float}:
        return None
    codes, distinct = pd.factorize(column)
    texts = pd.Series(distinct, dtype=object).astype(str).str.strip()
    weights = np.bincount(codes[codes >= 0], minlength=len(texts))
    present = (~texts.str.lower().isin(NOTHING)).to_numpy()
    if not present.any():
        return None
    candidates = _candidates(texts[present], weights[present], style)
    if candidates is None:
        return None
    chosen, parsed, more = candidates
    values = np.full(len(texts), np.nan)
    values[present] = parsed.to_numpy()
    lost = np.isnan(values) & (weights > 0)
    placeholders = lost & texts.str.contains(PLACEHOLDER).to_numpy() & chosen.startswith("date")
    total = int(weights[present & ~placeholders].sum())
    if style is None and weights[present & lost & ~placeholders].sum() > (1 - SHARE) * total:
        return None
    notes = [*more]
    for what, rows in (
        ("with dates at the end of time, taken as missing", placeholders),
        (f"with no {chosen.split()[0]}, taken as missing", lost & ~placeholders),
    ):
        if rows.any():
            shown = ", ".join(repr(t) for t in texts[rows].head(3))
            notes.append(f"{count(int(weights[rows].sum()), 'cell')} {what}: {shown}")
    cells = np.append(values, np.nan)[codes]  # the code of a missing cell is -1
    return Reading(pd.Series(cells, column.index, name=column.name), chosen, tuple(notes))


def _candidates(texts: pd.Series, weights: np.ndarray, style: str | None) -> Any:
    """The best style, what it makes of the texts, and notes; None if none reads most of them."""
    readers: dict[str, Callable[[pd.Series], pd.Series]] = {
        "number .": lambda t: numbers(t, "."),
        "number ,": lambda t: numbers(t, ","),
        **{f"date {form}": lambda t, form=form: days(t, form) for form in FORMATS},  # type: ignore[misc]
    }
    if style is not None:
        return style, readers[style](texts), ()
    head = slice(0, 1000)  # what is no number there is none: free text is not read twelve times
    scores = {
        name: float(weights[head] @ read(texts[head]).notna().to_numpy())
        for name, read in readers.items()
    }
    top = max(scores.values())
    if top < 0.5 * weights[head].sum() and not texts[head].str.contains(PLACEHOLDER).any():
        return None
    best = [name for name, score in scores.items() if score == top and top > 0]
    if not best:
        return None
    chosen = best[0]
    parsed = readers[chosen](texts)
    return chosen, parsed, _said(chosen, best, texts, parsed, readers)


def _said(chosen: str, best: list[str], texts: pd.Series, parsed: pd.Series, readers: Any) -> Any:
    """What was read, with an example, and whether it could be read in another way."""
    kind, form = chosen.split(" ", 1)
    if kind == "date":
        notes = [f"dates ({FORMATS[form]}), turned into days since 1970-01-01"]
        for other in best[1:]:
            if not readers[other](texts).equals(parsed):
                meant = FORMATS[other.split(" ", 1)[1]]
                notes.append(f"ambiguous: they could be {meant}; write year-month-day to be sure")
                break
        return notes
    plain = pd.to_numeric(texts, errors="coerce")
    written = texts[(plain != parsed) & parsed.notna()]
    if not len(written):
        return []
    example, value = written.iloc[0], parsed[written.index[0]]
    return [f"read as numbers, such as {example!r} as {value:.10g}"]


def numbers(texts: pd.Series, decimal: str) -> pd.Series:
    """Numbers as people write them, NaN for what is none.

    Money loses its sign, a percentage is a share, brackets are a minus; thousands may stand apart
    by the other mark, a blank or an apostrophe.
    """
    text = texts.str.strip().str.replace("−", "-", regex=False)
    text = text.str.replace(r"^\((.*)\)$", r"-\1", regex=True)
    percent = text.str.endswith("%")
    text = text.str.replace(rf"^([+-]?)\s*{MONEY}\s*", r"\1", regex=True)
    text = text.str.replace(rf"\s*(?:{MONEY}|%)$", "", regex=True)
    group = "." if decimal == "," else ","
    apart = rf"[{group}\s'’]"
    whole = rf"(?:\d{{1,3}}(?:({apart})\d{{3}})(?:\1\d{{3}})*|\d+)"
    right = text.str.fullmatch(
        rf"[+-]?(?:{whole}(?:[{decimal}]\d*)?|[{decimal}]\d+)(?:[eE][+-]?\d+)?"
    )
    plain = text.str.replace(apart, "", regex=True).str.replace(decimal, ".", regex=False)
    values = pd.to_numeric(plain.where(right.astype(bool)), errors="coerce").astype(float)
    return values.where(~percent.astype(bool), values / 100)


def days(texts: pd.Series, form: str) -> pd.Series:
    """Days since 1970-01-01, a time of day as a part of one; NaN for what is no such date."""
    known = ~texts.str.contains(PLACEHOLDER)
    if form == "ISO8601":
        known &= texts.str.match(r"\d{4}-\d{2}-\d{2}([T ]|$)")
        stamps = pd.to_datetime(texts.where(known), format=form, errors="coerce", utc=True)
        return (stamps - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    parts = texts.str.extract(TIME)
    hours = pd.to_numeric(parts[0]) % 12 + 12 * (parts[3].str.lower() == "pm")
    hours = hours.where(parts[3].notna(), pd.to_numeric(parts[0]))
    clock = hours / 24 + pd.to_numeric(parts[1]) / 1440 + pd.to_numeric(parts[2]).fillna(0) / 86400
    dates = texts.str.replace(TIME, "", regex=True).where(known)
    stamps = pd.to_datetime(dates, format=form, errors="coerce")
    return (stamps - pd.Timestamp(0)) / pd.Timedelta(days=1) + clock.fillna(0)
