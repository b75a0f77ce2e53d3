"""Tables of labels: the labels of each column, counted, and the place of each entry among them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Number
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import validate_data

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.columns import ColumnMap
from panlearn.core.labels import missing
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.mergeable import Mergeable
from panlearn.core.sources import Rows
from panlearn.core.statistics import LabelCounts, Statistic
from panlearn.core.validation import read_rows, reject_hidden


@dataclass(frozen=True)
class TableCounts(Statistic):
    r"""The distinct labels of each column with their weighted counts, and how many are missing.

    Attributes
    ----------
    weight : float
        Of all rows.
    columns : tuple of d LabelCounts
    missing : ndarray of shape (d,)
        The weight of the rows in which an entry is NaN or None.
    """

    weight: float
    columns: tuple[LabelCounts, ...]
    missing: np.ndarray

    @classmethod
    def of(cls, X: Any, weight: np.ndarray | None = None) -> Self:
        """Count the labels of a block."""
        X = np.asarray(X)
        weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
        X, weight = X[weight > 0], weight[weight > 0]
        gaps = [missing(column) for column in X.T]
        columns = tuple(
            _counted(column[~gap], weight[~gap], j)
            for j, (column, gap) in enumerate(zip(X.T, gaps, strict=True))
        )
        return cls(float(weight.sum()), columns, np.array([weight[gap].sum() for gap in gaps]))

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if not isinstance(other, TableCounts):
            return NotImplemented
        columns = tuple(a + b for a, b in zip(self.columns, other.columns, strict=True))
        return type(self)(self.weight + other.weight, columns, self.missing + other.missing)

    def __mul__(self, factor: float) -> Self:
        columns = tuple(factor * column for column in self.columns)
        return type(self)(factor * self.weight, columns, factor * self.missing)

    @property
    def is_finite(self) -> bool:
        """Labels need not be numbers; their counts are finite if the weights are."""
        return np.isfinite(self.weight) and bool(np.isfinite(self.missing).all())

    def categories(self, j: int) -> np.ndarray:
        """The labels of a column, sorted, and last NaN if entries are missing."""
        labels = self.columns[j].labels[self.columns[j].count > 0]
        if not self.missing[j]:
            return labels
        kind = float if labels.dtype.kind in "biuf" else object
        return np.append(labels.astype(kind), np.array([np.nan], dtype=kind))


def _counted(column: np.ndarray, weight: np.ndarray, j: int) -> LabelCounts:
    _refuse_objects(column, j)
    try:
        return LabelCounts.of(column, weight)
    except TypeError as error:
        kinds = sorted({type(value).__name__ for value in column.tolist()})
        raise TypeError(
            f"the labels of column {j} do not sort: they are of types {kinds}; argument must be a "
            "string or a number throughout a column"
        ) from error


def _refuse_objects(column: np.ndarray, j: int) -> None:
    if column.dtype.kind == "f" and np.isinf(column).any():
        raise ValueError(f"column {j} of X contains infinity; a label is finite, or missing (NaN)")
    objects = column[~missing(column)].tolist() if column.dtype.kind == "O" else []
    if strange := [v for v in objects if not isinstance(v, str | Number)]:
        raise TypeError(
            f"column {j} holds the object {strange[0]!r}; argument must be a string or a number"
        )


def place_of(column: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The place of each entry among the labels, -1 where it is none of them."""
    gap, none = missing(column), missing(labels)
    codes = np.full(len(column), -1, dtype=np.int64)
    if none.any():
        codes[gap] = int(np.flatnonzero(none)[0])
    known, entries = labels[~none], column[~gap]
    numbers = known.dtype.kind in "biuf" and entries.dtype.kind in "biuf"
    if numbers and len(known):
        order = np.argsort(known)
        at = order[np.searchsorted(known, entries, sorter=order).clip(max=len(known) - 1)]
        codes[~gap] = np.where(known[at] == entries, at, -1)
    else:
        place = {label: code for code, label in enumerate(known.tolist())}
        codes[~gap] = [place.get(entry, -1) for entry in entries.tolist()]
    return codes


class LabelEncoder(Mergeable):
    """An encoder of columns of labels that are learned from the rows or given; abstract."""

    learned = shapes(categories_="n_features of (n_categories_i,)")

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, partial_fit="exact", missing=True)

    categories: Literal["auto"] | list
    categories_: list[np.ndarray]

    @property
    @abstractmethod
    def _unknown_passes(self) -> bool:
        """Whether an entry that is no category is taken."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _read_training(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        return read_rows(self, X, None, sample_weight, reset=reset, numeric=False)

    def _summarise(self, rows: Rows) -> TableCounts:
        return map_reduce(_table_counts, rows)

    def _solve(self, statistic: TableCounts, rows: Rows) -> None:
        d = len(statistic.columns)
        found = [statistic.categories(j) for j in range(d)]
        if isinstance(self.categories, str):
            for j, column in enumerate(statistic.columns):
                if not column.count.any():
                    raise ValueError(
                        f"every entry of column {j} is missing (NaN or None), so that it has no "
                        "labels; drop the column, or name its labels in categories"
                    )
            self.categories_ = found
            return
        if len(self.categories) != d:
            raise ValueError(
                f"categories has lists for {len(self.categories)} columns, and X has {d}"
            )
        self.categories_ = [np.asarray(given) for given in self.categories]
        if not self._unknown_passes:
            for j, labels in enumerate(found):
                self._places(labels, j)

    def _codes(self, X: Any) -> tuple[np.ndarray, np.dtype]:
        """The place of each entry among the categories, and the floats to answer in."""
        self._require_fitted()
        reject_hidden(X=X)
        X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite="allow-nan")
        codes = np.column_stack([self._places(column, j) for j, column in enumerate(X.T)])
        return codes, np.dtype(np.float32 if X.dtype == np.float32 else np.float64)

    def _places(self, column: np.ndarray, j: int) -> np.ndarray:
        _refuse_objects(column, j)
        codes = place_of(column, self.categories_[j])
        if not self._unknown_passes and (codes < 0).any():
            label = column[codes < 0].tolist()[0]
            known = self.categories_[j]
            shown = [*known[:5].tolist(), *(["..."] if len(known) > 5 else [])]
            names = getattr(self, "feature_names_in_", None)
            raise ValueError(
                f"{label!r} is no category of column {j if names is None else names[j]!r}, which "
                f"has {shown}; set handle_unknown, or name all of them in categories"
            )
        return codes

    def _refuse_new(self, before: Any, why: str) -> None:
        raise ValueError(
            f"new categories came, {why}, and the model behind {type(self).__name__} cannot follow "
            "that; name all categories in its parameter categories"
        )

    def _category_change(self, before: Any) -> list[np.ndarray]:
        """The new place of each category that was known before, column by column."""
        pairs = zip(before.categories_, self.categories_, strict=True)
        return [place_of(old, new) for old, new in pairs]

    @abstractmethod
    def _column_change(self, before: Any, change: ColumnMap | None) -> ColumnMap | None:
        """How encoded columns moved since `before`."""


def _table_counts(X: Any, y: Any, weight: Any) -> TableCounts:
    return TableCounts.of(X, weight)
