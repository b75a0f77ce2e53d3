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

from panlearn.compare.table import N_BINS, tidy_column
from panlearn.core.errors import DataError, did_you_mean


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
