"""A saved model and the rows of a file, brought into its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from panlearn.core.errors import DataError, count

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from sklearn.pipeline import Pipeline

existing = click.Path(exists=True, dir_okay=False)
tabular = click.Path(exists=True, dir_okay=False, allow_dash=True)  # - is standard input


def open_table(model: str, file: str) -> tuple[Pipeline, pd.DataFrame, pd.DataFrame, list[str]]:
    """Load a model and bring the rows of a file into its columns."""
    import panlearn
    from panlearn.compare.files import read_table
    from panlearn.compare.preparation import conform
    from panlearn.core.persistence import ModelFileError

    try:
        pipeline = panlearn.load(model)
    except ModelFileError as error:
        raise DataError(str(error)) from None
    if not hasattr(pipeline, "feature_names_in_"):
        raise DataError(f"{model} was fitted to an array without names, not by `panlearn fit`")
    frame = read_table(file)
    truth = getattr(pipeline, "target_name_", None)
    X, notes = conform(frame.drop(columns=truth, errors="ignore"), pipeline)
    return pipeline, frame, X, [*frame.attrs["notes"], *notes]


def known_rows(
    pipeline: Pipeline,
    frame: pd.DataFrame,
    X: pd.DataFrame,
    target: str | None,
    file: str,
    model: str,
) -> tuple[pd.DataFrame, np.ndarray, list[str]]:
    """The rows whose target is known, these targets as the model has them, and notes."""
    from sklearn.base import is_classifier

    from panlearn.compare.cells import read_cells

    target = target or getattr(pipeline, "target_name_", None)
    if target is None:
        raise DataError(f"{model} does not say which column it predicts: name it with --target")
    if target not in frame.columns:
        raise DataError(f"{file} has no column {target!r} to compare with")
    truth: Any = frame[target]
    notes = []
    if not is_classifier(pipeline) and (read := read_cells(truth)) is not None:
        truth, notes = read.values, [f"{target!r}: {note}" for note in read.notes]
    known = truth.notna().to_numpy()
    if not known.any():
        raise DataError(f"{target!r} is missing in every row of {file}")
    if not known.all():
        notes.append(f"left out {count(int((~known).sum()), 'row')} whose {target!r} is missing")
    y: np.ndarray = truth[known].to_numpy()
    if is_classifier(pipeline):
        y = _as_classes(y, pipeline.classes_)
    elif y.dtype.kind not in "iuf":
        raise DataError(f"{target!r} holds {y[0]!r}, and the model predicts numbers")
    return X[known], y, notes


def identifiers(frame: pd.DataFrame, X: pd.DataFrame, pipeline: Pipeline) -> pd.DataFrame:
    """The columns that no model uses and that name each row, so that answers can be joined."""
    import pandas as pd

    target = getattr(pipeline, "target_name_", None)
    names = [
        name
        for name in frame.columns
        if name not in X and name not in (target, "prediction")
        if frame[name].is_unique and frame[name].dtype.kind != "f"
    ]
    return pd.DataFrame({name: frame[name].to_numpy() for name in names}, index=range(len(frame)))


def _as_classes(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Bring labels into the type of the classes; a class never seen is an error."""
    by_text = {str(c): c for c in classes.tolist()}
    labels = [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in y]
    if unknown := sorted(set(labels) - set(by_text)):
        raise DataError(f"the model does not know the class {unknown[0]!r}; has {list(by_text)}")
    return classes[[list(by_text).index(label) for label in labels]]
