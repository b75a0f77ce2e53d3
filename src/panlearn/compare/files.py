"""Tables from a CSV or Parquet file, or from scikit-learn's data sets."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

from panlearn.compare.table import twins
from panlearn.core.errors import DataError, did_you_mean
from panlearn.core.files import replacing

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


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a CSV (any of ``, ; tab |``) or Parquet file; ``attrs["notes"]`` says what was met."""
    path = Path(path)
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty")
    check_kind(path)
    read = _read_parquet if path.suffix.lower() in PARQUET else _read_csv
    frame, notes = read(path)
    if not len(frame):
        raise DataError(f"{path} has a header and no rows")
    for name in [c for c in frame.columns if c.startswith("Unnamed: ")]:
        if np.array_equal(frame[name], np.arange(len(frame))):
            frame = frame.drop(columns=name)
            notes.append("dropped the first column: it only numbers the rows")
    frame.attrs["notes"] = notes
    return frame


def check_kind(path: str | Path) -> None:
    """Refuse a file whose name says neither CSV nor Parquet."""
    if Path(path).suffix.lower() not in CSV | PARQUET:
        raise DataError(f"{path} is neither CSV (.csv, .tsv, .txt) nor Parquet (.parquet)")


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a CSV or Parquet file, all of it or nothing."""
    kind = Path(path).suffix.lower()
    with replacing(path) as temporary:
        if kind in PARQUET:
            frame.to_parquet(temporary, index=False)
        else:
            frame.to_csv(temporary, index=False, sep="\t" if kind == ".tsv" else ",")


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
        for name in twins(header)
        if name
    ]


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
