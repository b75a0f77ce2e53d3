"""What stands before a model in a pipeline, and new rows brought into the columns it was given."""

from __future__ import annotations

from typing import Any

import pandas as pd
from pandas.api import types
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.utils import get_tags

from panlearn.compare.cells import NOTHING, SHARE
from panlearn.compare.table import N_BINS, N_WORDS, kind_of, tidy_column
from panlearn.core.errors import DataError, did_you_mean
from panlearn.text import TfidfVectorizer

# Models whose solution is not unique if columns are collinear, as all indicators of a column are
# beside an intercept.
UNPENALISED = (
    "HuberRegressor",
    "LeastAbsoluteDeviations",
    "LinearDiscriminantAnalysis",
    "LinearRegression",
    "QuadraticDiscriminantAnalysis",
    "RecursiveLeastSquares",
)


def preprocessor(X: pd.DataFrame, model: Any) -> ColumnTransformer:
    """Build scikit-learn's usual transformers for the columns, of the kind that the model takes."""
    kinds = {name: kind_of(X[name]) for name in X.columns}
    numbers, categories, texts = (
        [name for name, kind in kinds.items() if kind == wanted]
        for wanted in ("number", "category", "text")
    )
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
            drop="first" if type(model).__name__ in UNPENALISED else None,
        )
        parts.append(("category", make_pipeline(fill, encode), categories))
    if not get_tags(model).input_tags.categorical:  # which has no use for weights of words
        for place, name in enumerate(texts):
            parts.append((f"text{place}", TfidfVectorizer(max_features=N_WORDS), name))
    return ColumnTransformer(parts, sparse_threshold=0.0)


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
    kinds: dict[str, str] = {}
    for part, _, names in model[0].transformers_:
        kinds |= dict.fromkeys([names] if isinstance(names, str) else names, part)
    styles = getattr(model, "column_styles_", {})
    columns = {}
    for name in wanted:
        if kinds.get(name) == "number":
            columns[name], done = _numbers(frame[name], name, styles.get(name))
            notes += done
            continue
        texts = frame[name].astype(object).map(str, na_action="ignore").astype(object)
        columns[name] = texts if kinds.get(name) == "category" else texts.fillna("")
    return pd.DataFrame(columns, index=frame.index), notes


def _numbers(column: pd.Series, name: str, style: str | None) -> tuple[pd.Series, list[str]]:
    """A column that the model takes for numbers, read as it was then; what is none is blamed."""
    tidy = tidy_column(column, style)
    values: Any = tidy.values
    if not types.is_numeric_dtype(values):
        present = values.dropna()
        if len(present):
            _blame(name, column, present.index[0], "no number or date")
        return values.astype("float64"), []
    lost = values.isna() & column.notna()
    if lost.sum() > (1 - SHARE) * len(column) and style is not None:
        kind = style.split()[0]
        said = column[lost].astype(str).str.strip().str.lower()
        bad = said[~said.isin(NOTHING)]
        if len(bad) > (1 - SHARE) * len(column):
            _blame(name, column, bad.index[0], f"no {kind}")
    return values, [f"{name!r}: {note}" for note in tidy.notes]


def _blame(name: str, column: pd.Series, row: Any, what: str) -> None:
    place = column.index.get_loc(row) + 1
    raise DataError(
        f"{name!r} has to be a number or a date; row {place} has {column[row]!r}, {what}"
    )
