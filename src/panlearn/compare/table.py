"""From a frame or arrays to a feature table and a target that models accept.

Everything that is done to the data is said in `Table.notes`. Columns end up in three groups:
numbers (dates among them, as days), categories and sentences (strings), each with transformers of
its own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from pandas.api import types

from panlearn.compare.cells import Reading, read_cells
from panlearn.core.errors import DataError, count, did_you_mean

Task = Literal["auto", "classification", "regression"]

WORDS = 3.0  # in a cell, on average: with fewer it is a name and no sentence
N_WORDS = 200  # of a column of text, for a model
N_BINS = 8  # of a number, for models of categories
MOST_CLASSES = 20  # whole numbers with more distinct values are a quantity, not a label
LARGE = 10_000_000  # cells; beyond this a comparison of every model takes minutes
DAY = pd.Timedelta(days=1)


@dataclass(frozen=True)
class Table:
    """Features, target, the task, a sentence on each thing done, how cells were read, and places.

    ``places`` are those of the rows among all that were given, if not all are here.
    """

    X: pd.DataFrame
    y: np.ndarray
    task: Literal["classification", "regression", "density"]
    target: str
    notes: tuple[str, ...] = field(default=())
    styles: dict[str, str] = field(default_factory=dict)
    places: np.ndarray | None = None

    def row_number(self, k: int) -> int:
        """Which row of what was given, counted from 1, is the one at place `k`."""
        return int(k if self.places is None else self.places[k]) + 1


def prepare(
    frame: pd.DataFrame,
    target: str | None = None,
    task: Task = "auto",
    rows: int | None = None,
    random_state: int = 0,
) -> Table:
    """Split a frame into features and target (the last column unless named) and tidy both.

    With ``rows``, a random sample of so many rows is used.
    """
    notes = list(frame.attrs.get("notes", []))
    frame = frame.reset_index(drop=True)
    places = np.arange(len(frame))
    if target is None:
        target = str(frame.columns[-1])
        notes.append(f"no target named: the last column, {target!r}, is taken")
    if target not in frame.columns:
        raise DataError(f"no column {target!r}; {did_you_mean(target, list(frame.columns))}")
    if frame.shape[1] < 2:
        raise DataError(f"{target!r} is the only column: there is nothing to predict it from")
    if rows is not None and rows < len(frame):
        notes.append(f"{rows:,} of {count(len(frame), 'row')}, drawn with seed {random_state}")
        frame = frame.sample(rows, random_state=random_state)
        places = frame.index.to_numpy()
    elif frame.size > LARGE:
        notes.append(f"large: {len(frame):,} rows by {frame.shape[1]} columns; fewer with --rows")
    table = as_table(frame.drop(columns=target), frame[target], task)
    places = places if table.places is None else places[table.places]
    notes += table.notes
    return Table(table.X, table.y, table.task, target, tuple(notes), table.styles, places)


def twins(names: list[str]) -> list[str]:
    """Names that come more than once, sorted."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


def as_table(X: Any, y: Any, task: Task = "auto") -> Table:
    """Tidy features and a target that are already apart; tidying twice changes nothing."""
    X = pd.DataFrame(X).reset_index(drop=True)
    names = [f"x{c}" if isinstance(c, int) else str(c) for c in X.columns]
    X.columns = names
    if repeated := twins(names):
        raise DataError(f"column names must differ; these repeat: {', '.join(repeated)}")
    name = str(getattr(y, "name", None) or "target")
    y, notes = _read_target(pd.Series(np.asarray(y, dtype=object), dtype=object), name)
    if len(X) != len(y):
        raise DataError(f"the features have {len(X)} rows and the target {len(y)}")
    places = np.flatnonzero(y.notna())
    if missing := int(y.isna().sum()):
        notes.append(f"dropped {count(missing, 'row')} whose target is missing")
        X, y = X.iloc[places].reset_index(drop=True), y.dropna().reset_index(drop=True)
    if not len(y):
        raise DataError(f"the target {name!r} is missing in every row")
    y, decided, why = _tidy_target(y.infer_objects(), name, task)
    notes.append(why)
    X, done, styles = _tidy_features(X)
    if not X.shape[1]:
        raise DataError("no usable feature column is left: " + "; ".join(done))
    return Table(X, y, decided, name, (*notes, *done), styles, places)


def _read_target(y: pd.Series, name: str) -> tuple[pd.Series, list[str]]:
    """A target of numbers that were written as text, as numbers; dates are refused."""
    texts = y.dropna()
    if not len(texts) or not texts.map(lambda v: isinstance(v, str)).any():
        return y, []
    found = read_cells(y)
    if found is None:
        return y, []
    if found.is_date:
        raise DataError(f"the target {name!r} holds dates; turn them into a number first")
    return found.values.astype(object), [f"{name!r}: {note}" for note in found.notes]


def _tidy_target(y: pd.Series, name: str, task: Task) -> tuple[np.ndarray, Any, str]:
    """Decide between classes and a quantity and say why; a date is neither."""
    if types.is_datetime64_any_dtype(y) or y.map(lambda v: hasattr(v, "isoformat")).any():
        raise DataError(f"the target {name!r} holds dates; turn them into a number first")
    distinct = y.nunique()
    if distinct < 2:
        raise DataError(f"the target {name!r} has a single value, {y.iloc[0]!r}: nothing to learn")
    numeric = types.is_numeric_dtype(y) and not types.is_bool_dtype(y)
    # beyond 2⁵³ not every whole number is a float: a quantity
    whole = numeric and bool(np.all(np.abs(y) <= 2**53) and np.all(np.mod(y, 1) == 0))
    if task == "auto":
        labels = not numeric or (whole and distinct <= min(MOST_CLASSES, max(2, len(y) // 10)))
        task = "classification" if labels else "regression"
        kind = "distinct whole numbers" if whole else "distinct numbers" if numeric else "labels"
        why = f"{task}, because the target {name!r} has {distinct:,} {kind} (--task overrides)"
    else:
        why = f"{task}, as asked"
    if task == "regression":
        if not numeric:
            raise DataError(f"regression needs a number as target; {name!r} holds {y.iloc[0]!r}")
        values = y.to_numpy(dtype=float)
        if not np.isfinite(values).all():
            raise DataError(f"the target {name!r} holds infinite values")
        return values, task, why
    if distinct > len(y) / 2:
        raise DataError(
            f"classification with {distinct:,} classes in {len(y):,} rows: "
            f"is {name!r} an identifier, or a quantity (--task regression)?"
        )
    if whole:
        return y.to_numpy(dtype=np.int64), task, why
    return y.to_numpy() if types.is_bool_dtype(y) else y.to_numpy(dtype=str), task, why


def _tidy_features(X: pd.DataFrame) -> tuple[pd.DataFrame, list[str], dict[str, str]]:
    """Numbers as floats, dates as days, all else as strings; hopeless columns dropped."""
    columns: dict[str, pd.Series] = {}
    dropped: dict[str, list[str]] = {}
    styles: dict[str, str] = {}
    notes = []
    for name in X.columns:
        tidy = tidy_column(X[name])
        if reason := _hopeless(X[name], tidy):
            dropped.setdefault(reason, []).append(name)
            continue
        columns[name] = tidy.values
        notes += [f"{name!r}: {note}" for note in tidy.notes]
        if tidy.style:
            styles[name] = tidy.style
    for reason, names in dropped.items():
        notes.append(f"dropped {', '.join(map(repr, names))}: {reason}")
    table = pd.DataFrame(columns, index=X.index)
    return table, [*notes, *_said(table)], styles


def _said(tidy: pd.DataFrame) -> list[str]:
    """What models are given of each kind of column, and what is missing."""
    kinds = [kind_of(tidy[name]) for name in tidy.columns]
    notes = [
        f"{count(kinds.count('number'), 'numeric column')}: gaps filled with the median, "
        f"standardised; from 0 to 1 or in {N_BINS} bins for models of counts or of categories"
    ]
    if categories := kinds.count("category"):
        notes.append(
            f"{count(categories, 'categorical column')}: an indicator for each category; "
            "those under 1 % of the rows, or beyond the 50 most frequent, share one"
        )
    if texts := kinds.count("text"):
        notes.append(f"{count(texts, 'column')} of text: tf-idf of the {N_WORDS} commonest words")
    gaps: Any = tidy.isna().sum()
    for name, gap in gaps[gaps > 0].items():
        notes.append(f"{name!r}: {count(gap, 'missing value')} ({gap / len(tidy):.1%})")
    return notes


def kind_of(column: pd.Series) -> str:
    """Whether a tidy column holds numbers, categories or sentences."""
    if types.is_numeric_dtype(column):
        return "number"
    present = column.dropna()
    present = present[present != ""]
    distinct = present.nunique()
    words = present.head(1000).str.split().str.len().mean() if len(present) else 0
    return "text" if words >= WORDS and distinct > max(20, len(present) / 2) else "category"


def _hopeless(column: pd.Series, tidy: Reading) -> str:
    """Why no model can use a column, or nothing."""
    present = tidy.values.dropna()
    if not len(present):
        return "every value is missing"
    if types.is_object_dtype(column) and not column.dropna().map(np.isscalar).all():
        if not column.dropna().map(lambda v: hasattr(v, "isoformat") or isinstance(v, str)).all():
            return "its values are neither numbers nor text"
    if types.is_complex_dtype(column):
        return "complex numbers"
    distinct = present.nunique()
    if distinct == 1 and len(present) == len(column):
        return "constant"
    category = kind_of(tidy.values) == "category"
    if category and distinct > max(20, 0.95 * len(present)):
        return "nearly every value is different (an identifier)"
    return ""


def tidy_column(column: pd.Series, style: str | None = None) -> Reading:
    """One column as floats or as strings with NaN for missing, and a word on what was done."""
    if types.is_complex_dtype(column):
        return Reading(column.astype(object).map(str), "", ())
    if types.is_bool_dtype(column) or not types.is_numeric_dtype(column):
        found = _days(column) or read_cells(column, style)
        if found is not None:
            return found
        texts = column.astype(object).map(str, na_action="ignore").astype(object)
        return Reading(texts.fillna("") if kind_of(texts) == "text" else texts, "", ())
    values = column.astype("float64")
    if infinite := int(np.isinf(values).sum()):
        finite = values.replace([np.inf, -np.inf], np.nan)
        return Reading(finite, "", (f"{count(infinite, 'infinite value')}, taken as missing",))
    return Reading(values, "", ())


def _days(column: pd.Series) -> Reading | None:
    """Days since 1970 of a column of dates or spans, else None."""
    if types.is_timedelta64_dtype(column):
        return Reading(column / DAY, "", ())
    stamped = types.is_datetime64_any_dtype(column)
    if not stamped:
        present = column.dropna()
        if not len(present) or not present.map(lambda v: hasattr(v, "isoformat")).all():
            return None
    notes = ["dates, turned into days since 1970-01-01"]
    texts = column.dropna().map(lambda v: v.isoformat())
    far = texts[texts.str.match(r"(0001|9999)-")]
    if len(far):
        notes.append(
            f"{count(len(far), 'cell')} with dates at the end of time, taken as missing: "
            f"{far.iloc[0][:10]!r}"
        )
        column = column.mask(column.index.isin(far.index))
    stamps = pd.to_datetime(column, errors="coerce", utc=True)
    return Reading((stamps - pd.Timestamp(0, tz="UTC")) / DAY, "", tuple(notes))
