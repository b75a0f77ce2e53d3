"""From a CSV or Parquet file, or arrays, to a feature table and a target that models accept.

Everything that is done to the data is said in `Table.notes`. Columns end up in two groups:
numbers (dates among them, as days) and categories (strings), each with scikit-learn's transformers.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from pandas.api import types
from sklearn import datasets
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.utils import get_tags

from panlearn.cli.errors import DataError, count, did_you_mean

Task = Literal["auto", "classification", "regression"]

BUILT_IN = {
    "breast_cancer": datasets.load_breast_cancer,
    "diabetes": datasets.load_diabetes,
    "digits": datasets.load_digits,
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
}
GENERATED = {
    "friedman": lambda: datasets.make_friedman1(600, noise=1.0, random_state=0),
    "moons": lambda: datasets.make_moons(600, noise=0.3, random_state=0),
    "needles": lambda: datasets.make_classification(
        600, 40, n_informative=4, n_redundant=0, n_clusters_per_class=2, random_state=0
    ),
}
CSV, PARQUET = {".csv", ".tsv", ".txt"}, {".parquet", ".pq"}
N_BINS = 8
MOST_CLASSES = 20  # whole numbers with more distinct values are a quantity, not a label
LARGE = 10_000_000  # cells; beyond this a comparison of every model takes minutes
DAY = pd.Timedelta(days=1)


@dataclass(frozen=True)
class Table:
    """Features, target, the task, and a sentence on each thing done to the data."""

    X: pd.DataFrame
    y: np.ndarray
    task: Literal["classification", "regression"]
    target: str
    notes: tuple[str, ...] = field(default=())


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a CSV (any of ``, ; tab |``) or Parquet file; ``attrs["notes"]`` says what was met."""
    path = Path(path)
    suffix = path.suffix.lower()
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty")
    if suffix in PARQUET:
        frame, notes = _read_parquet(path)
    elif suffix in CSV:
        frame, notes = _read_csv(path)
    else:
        raise DataError(f"{path} is neither CSV (.csv, .tsv, .txt) nor Parquet (.parquet)")
    if not len(frame):
        raise DataError(f"{path} has a header and no rows")
    for name in [c for c in frame.columns if c.startswith("Unnamed: ")]:
        if np.array_equal(frame[name], np.arange(len(frame))):
            frame = frame.drop(columns=name)
            notes.append("dropped the first column: it only numbers the rows")
    frame.attrs["notes"] = notes
    return frame


def _read_csv(path: Path) -> tuple[pd.DataFrame, list[str]]:
    notes = []
    encoding = "utf-8-sig"
    with path.open("rb") as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            encoding = "utf-16"
            notes.append("the file is not UTF-8: read as UTF-16")
    try:
        with path.open(encoding=encoding) as text:
            for _ in text:
                pass
    except UnicodeError:
        encoding = "cp1252"
        notes.append("the file is not UTF-8: read as Windows-1252")
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        sample = file.read(100_000)
    first = sample.partition("\n")[0]
    fields = {s: next(csv.reader([first], delimiter=s), []) for s in ",;\t|"}
    separator = max(fields, key=lambda s: len(fields[s]))
    options: dict[str, Any] = {}
    if separator != ",":
        options["sep"] = separator
        notes.append(f"columns are separated by {separator!r}")
    if separator == ";" and re.search(r"\d,\d", sample) and not re.search(r"\d\.\d", sample):
        options["decimal"] = ","
        notes.append("decimal commas read as points")
    try:
        frame = pd.read_csv(path, encoding=encoding, encoding_errors="replace", **options)
    except pd.errors.EmptyDataError:
        raise DataError(f"{path} is empty") from None
    except pd.errors.ParserError as error:
        raise DataError(f"{path} is not a regular table: {' '.join(str(error).split())}") from None
    header = [h.strip() for h in fields[separator]]
    frame.columns = [str(c).strip() for c in frame.columns]
    notes += _name_twins(header)
    return frame, notes


def _read_parquet(path: Path) -> tuple[pd.DataFrame, list[str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path} is not a readable Parquet file: {error}".splitlines()[0]) from None
    header = [str(name) for name in table.column_names]
    seen: dict[str, int] = {}
    unique = []
    for name in header:
        seen[name] = seen.get(name, -1) + 1
        unique.append(f"{name}.{seen[name]}" if seen[name] else name)
    frame = table.rename_columns(unique).to_pandas(ignore_metadata=True)
    return frame, _name_twins(header)


def _name_twins(header: list[str]) -> list[str]:
    return [
        f"several columns are called {name!r}: the later ones are '{name}.1', ..."
        for name in _twins(header)
        if name
    ]


def _twins(names: list[str]) -> list[str]:
    return sorted(name for name, times in Counter(names).items() if times > 1)


def built_in(name: str = "breast_cancer") -> pd.DataFrame:
    """Load or generate a data set of scikit-learn, its last column called ``target``."""
    if name in GENERATED:
        X, y = GENERATED[name]()
        frame = pd.DataFrame(X).add_prefix("x").assign(target=y)
        frame.attrs["notes"] = [f"{name} is generated by scikit-learn, always the same"]
        return frame
    if name not in BUILT_IN:
        known = [*BUILT_IN, *GENERATED]
        raise DataError(f"no built-in data set {name!r}; {did_you_mean(name, known)}")
    bunch = BUILT_IN[name](as_frame=True)
    frame = bunch.data.copy()
    labels = getattr(bunch, "target_names", None)
    frame["target"] = bunch.target if labels is None else np.asarray(labels)[bunch.target]
    frame.attrs["notes"] = [f"{name} is a data set that ships with scikit-learn"]
    return frame


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
    elif frame.size > LARGE:
        notes.append(f"large: {len(frame):,} rows by {frame.shape[1]} columns; fewer with --rows")
    table = as_table(frame.drop(columns=target), frame[target], task)
    return Table(table.X, table.y, table.task, target, (*notes, *table.notes))


def as_table(X: Any, y: Any, task: Task = "auto") -> Table:
    """Tidy features and a target that are already apart; tidying twice changes nothing."""
    X = pd.DataFrame(X).reset_index(drop=True)
    names = [f"x{c}" if isinstance(c, int) else str(c) for c in X.columns]
    X.columns = names
    if twins := _twins(names):
        raise DataError(f"column names must differ; these repeat: {', '.join(twins)}")
    name = str(getattr(y, "name", None) or "target")
    y = pd.Series(np.asarray(y, dtype=object), dtype=object)
    if len(X) != len(y):
        raise DataError(f"the features have {len(X)} rows and the target {len(y)}")
    notes = []
    if missing := int(y.isna().sum()):
        notes.append(f"dropped {count(missing, 'row')} whose target is missing")
        X, y = X[y.notna().to_numpy()].reset_index(drop=True), y.dropna().reset_index(drop=True)
    if not len(y):
        raise DataError(f"the target {name!r} is missing in every row")
    y, decided, why = _tidy_target(y.infer_objects(), name, task)
    notes.append(why)
    X, done = _tidy_features(X)
    if not X.shape[1]:
        raise DataError("no usable feature column is left: " + "; ".join(done))
    return Table(X, y, decided, name, (*notes, *done))


def _tidy_target(y: pd.Series, name: str, task: Task) -> tuple[np.ndarray, Any, str]:
    """Decide between classes and a quantity and say why."""
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
    if types.is_datetime64_any_dtype(y):
        raise DataError(f"the target {name!r} holds dates; turn them into a number first")
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


def _tidy_features(X: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Numbers as floats, dates as days, all else as strings; hopeless columns dropped."""
    columns: dict[str, pd.Series] = {}
    dropped: dict[str, list[str]] = {}
    notes = []
    for name in X.columns:
        column: Any = X[name]
        if reason := _hopeless(column):
            dropped.setdefault(reason, []).append(name)
            continue
        columns[name], done = tidy_column(column)
        notes += [f"{name!r}: {done}"] if done else []
    for reason, names in dropped.items():
        notes.append(f"dropped {', '.join(map(repr, names))}: {reason}")
    tidy = pd.DataFrame(columns, index=X.index)
    numbers = tidy.select_dtypes("number")
    notes.append(
        f"{count(numbers.shape[1], 'numeric column')}: gaps filled with the median, standardised; "
        f"from 0 to 1 or in {N_BINS} bins for models of counts or of categories"
    )
    if categories := tidy.shape[1] - numbers.shape[1]:
        notes.append(
            f"{count(categories, 'categorical column')}: an indicator for each category; "
            "those under 1 % of the rows, or beyond the 50 most frequent, share one"
        )
    gaps: Any = tidy.isna().sum()
    for name, gap in gaps[gaps > 0].items():
        notes.append(f"{name!r}: {count(gap, 'missing value')} ({gap / len(tidy):.1%})")
    return tidy, notes


def _hopeless(column: pd.Series) -> str:
    """Why no model can use a column, or nothing."""
    present = column.dropna()
    if not len(present):
        return "every value is missing"
    if types.is_object_dtype(column) and not present.map(np.isscalar).all():
        if not present.map(lambda v: hasattr(v, "isoformat") or isinstance(v, str)).all():
            return "its values are neither numbers nor text"
    if types.is_complex_dtype(column):
        return "complex numbers"
    distinct = present.nunique()
    if distinct == 1 and len(present) == len(column):
        return "constant"
    text = not types.is_numeric_dtype(column) and _days(column) is None
    if text and distinct > max(20, 0.95 * len(present)):
        return "nearly every value is different (an identifier or free text)"
    return ""


def tidy_column(column: pd.Series) -> tuple[pd.Series, str]:
    """One column as floats or as strings with NaN for missing, and a word on what was done."""
    if types.is_bool_dtype(column) or not types.is_numeric_dtype(column):
        days = _days(column)
        if days is not None:
            return days, "dates, turned into days since 1970-01-01"
        return column.astype(object).map(str, na_action="ignore").astype(object), ""
    values = column.astype("float64")
    if infinite := int(np.isinf(values).sum()):
        return values.replace(
            [np.inf, -np.inf], np.nan
        ), f"{count(infinite, 'infinite value')} as missing"
    return values, ""


def _days(column: pd.Series) -> pd.Series | None:
    """Days since 1970 if every present value is a date (ISO 8601 when text), else None."""
    if types.is_timedelta64_dtype(column):
        return column / DAY
    if not types.is_datetime64_any_dtype(column):
        sample = column.dropna().head(100).astype(str)
        if not len(sample) or not sample.str.match(r"\d{4}-\d{2}-\d{2}([T ]|$)").all():
            return None
    stamps = pd.to_datetime(column, format="ISO8601", errors="coerce", utc=True)
    if stamps.isna().sum() > column.isna().sum():
        return None
    return (stamps - pd.Timestamp(0, tz="UTC")) / DAY


def preprocessor(X: pd.DataFrame, model: Any) -> ColumnTransformer:
    """Build scikit-learn's usual transformers for the columns, of the kind that the model takes."""
    numbers = X.select_dtypes("number").columns.tolist()
    categories = X.columns.difference(numbers, sort=False).tolist()
    parts = []
    if numbers:
        impute = SimpleImputer(strategy="median", keep_empty_features=True)
        parts.append(("number", make_pipeline(impute, _scaler(model)), numbers))
    if categories:
        fill = SimpleImputer(strategy="constant", fill_value="missing", keep_empty_features=True)
        encode = OneHotEncoder(
            handle_unknown="infrequent_if_exist",
            min_frequency=0.01,
            max_categories=50,
            sparse_output=False,
        )
        parts.append(("category", make_pipeline(fill, encode), categories))
    return ColumnTransformer(parts)


def _scaler(model: Any) -> Any:
    """Pick the transformer of numbers by what the model's tags say it takes."""
    wants = get_tags(model).input_tags
    if wants.categorical:
        return KBinsDiscretizer(N_BINS, encode="ordinal", strategy="uniform")
    return MinMaxScaler(clip=True) if wants.positive_only else StandardScaler()


def conform(frame: pd.DataFrame, model: Any) -> tuple[pd.DataFrame, list[str]]:
    """Bring new rows into the columns that a fitted pipeline was given, and say what differs."""
    wanted = [str(c) for c in model.feature_names_in_]
    if missing := [c for c in wanted if c not in frame.columns]:
        near = [c for c in frame.columns if c not in wanted] or list(frame.columns)
        plural = "s" if len(missing) > 1 else ""
        raise DataError(
            f"the model needs the column{plural} {', '.join(map(repr, missing))}; "
            + did_you_mean(missing[0], near)
        )
    notes = []
    if extra := [c for c in frame.columns if c not in wanted]:
        notes.append(f"not used by the model: {', '.join(map(repr, extra))}")
    kinds = {c: part for part, _, names in model[0].transformers_ for c in names}
    columns = {}
    for name in wanted:
        column: Any = frame[name]
        if kinds.get(name) == "category":
            columns[name] = column.astype(object).map(str, na_action="ignore").astype(object)
            continue
        columns[name], done = tidy_column(column)
        if not types.is_numeric_dtype(columns[name]):
            present = columns[name].dropna()
            if len(present):
                raise DataError(f"{name!r} has to be a number or a date; got {present.iloc[0]!r}")
            columns[name] = columns[name].astype("float64")
        notes += [f"{name!r}: {done}"] if done else []
    return pd.DataFrame(columns, index=frame.index), notes
