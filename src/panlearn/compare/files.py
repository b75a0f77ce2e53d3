"""Tables from a file, from standard input, or from scikit-learn's data sets."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
import zlib
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
CSV, PARQUET, LINES = {".csv", ".tsv", ".txt"}, {".parquet", ".pq"}, {".jsonl", ".ndjson"}
KINDS = "CSV (.csv, .tsv, .txt), JSON lines (.jsonl) nor Parquet (.parquet)"


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a table from a file, or from standard input if it is called ``-``.

    CSV (any of ``, ; tab |``), JSON lines and Parquet, the first two also with ``.gz`` at the end.
    ``attrs["notes"]`` says what was met.
    """
    source = _Source(path)
    if source.kind == "parquet":
        frame, notes = _read_parquet(source)
    elif source.kind == "lines":
        frame, notes = _read_lines(source)
    else:
        frame, notes = _read_csv(source)
    if not len(frame):
        raise DataError(f"{source.name} has a header and no rows")
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


class _Source:
    """Bytes that can be opened again and again: a file as it lies there, all else in memory."""

    def __init__(self, path: str | Path) -> None:
        self.name, self._path = str(path), Path(path)
        self._data: bytes | None = None
        if self.name == "-":
            self.name = "standard input"
            if sys.stdin is None:
                raise DataError("standard input is closed: pipe a table into it")
            self._data = sys.stdin.buffer.read()
            if self._data.startswith(b"\x1f\x8b"):
                self._data = self._unzipped(self._data)
        elif self._path.suffix.lower() == ".gz":
            self._data = self._unzipped(self._path.read_bytes())
        with self.open() as file:
            start = file.read(64)
        if not start:
            raise DataError(f"{self.name} is empty")
        self.kind = self._kind(start)

    def _unzipped(self, data: bytes) -> bytes:
        try:
            return gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self.name} is not a readable gzip file: {error}") from None

    def _kind(self, start: bytes) -> str:
        if self.name == "standard input":
            kinds = {b"PAR1": "parquet", b"{": "lines"}
            return next((k for mark, k in kinds.items() if start.lstrip().startswith(mark)), "csv")
        suffixes = [s.lower() for s in self._path.suffixes if s.lower() != ".gz"]
        suffix = suffixes[-1] if suffixes else ""
        for kind, known in (("parquet", PARQUET), ("lines", LINES), ("csv", CSV)):
            if suffix in known:
                return kind
        raise DataError(f"{self.name} is neither {KINDS}")

    def open(self) -> Any:
        """A binary file at its beginning."""
        return self._path.open("rb") if self._data is None else io.BytesIO(self._data)

    def text(self, encoding: str, **options: Any) -> Any:
        """A text file at its beginning."""
        return io.TextIOWrapper(self.open(), encoding=encoding, newline="", **options)


def _read_lines(source: _Source) -> tuple[pd.DataFrame, list[str]]:
    try:
        with source.text("utf-8-sig") as file:
            rows = [json.loads(line) for line in file if line.strip()]
    except (ValueError, UnicodeError) as error:
        raise DataError(f"{source.name} does not hold one JSON object a line: {error}") from None
    if not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{source.name} does not hold one JSON object a line")
    frame = pd.DataFrame(rows)
    frame.columns = [str(c).strip() for c in frame.columns]
    return frame, []


def _read_csv(source: _Source) -> tuple[pd.DataFrame, list[str]]:
    notes = []
    encoding = "utf-8-sig"
    with source.open() as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            encoding = "utf-16"
            notes.append("the file is not UTF-8: read as UTF-16")
    try:
        with source.text(encoding) as text:
            for _ in text:
                pass
    except UnicodeError:
        encoding = "cp1252"
        notes.append("the file is not UTF-8: read as Windows-1252")
    with source.text(encoding, errors="replace") as file:
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
    header = [h.strip() for h in fields[separator]]
    if _trailing(source, sample, header, separator):
        options |= {"index_col": False, "usecols": range(len(header))}
        notes.append("an empty field at the end of each row is left out")
    try:
        with source.open() as file:
            frame = pd.read_csv(file, encoding=encoding, encoding_errors="replace", **options)
    except pd.errors.EmptyDataError:
        raise DataError(f"{source.name} is empty") from None
    except pd.errors.ParserError as error:
        words = " ".join(str(error).split())
        raise DataError(f"{source.name} is not a regular table: {words}") from None
    frame.columns = [str(c).strip() for c in frame.columns]
    notes += _name_twins(header)
    return frame, notes


def _trailing(source: _Source, sample: str, header: list[str], separator: str) -> bool:
    """Whether rows end in a separator too many; other rows longer than the header are refused."""
    rows = csv.reader(sample.splitlines()[:-1] or sample.splitlines(), delimiter=separator)
    next(rows, None)
    row = next((row for row in rows if row), [])
    if len(row) <= len(header):
        return False
    if any(field.strip() for field in row[len(header) :]):
        raise DataError(
            f"{source.name} is not a regular table: its header names {len(header)} columns and the "
            f"first row has {len(row)} fields; name every column"
        )
    return len(row) == len(header) + 1


def _read_parquet(source: _Source) -> tuple[pd.DataFrame, list[str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with source.open() as file:
            table = pq.read_table(file)
    except (pa.ArrowInvalid, OSError) as error:
        words = f"{source.name} is not a readable Parquet file: {error}"
        raise DataError(words.splitlines()[0]) from None
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
