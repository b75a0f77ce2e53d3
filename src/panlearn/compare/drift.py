"""How far the columns of one table are from those of another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from pandas.api import types
from scipy import stats

from panlearn.compare.sections import Section
from panlearn.core.errors import count

DRIFTED = 0.1  # the largest difference of two distributions that is let pass


def drift(X: pd.DataFrame, other: pd.DataFrame, answers: tuple[pd.Series, pd.Series]) -> Section:
    """The largest difference between the distributions of each column, and of the predictions."""
    rows: list[tuple[Any, ...]] = []
    pairs: Iterable[tuple[str, Any, Any]] = [
        *((str(name), X[name], other[name]) for name in X.columns),
        ("prediction", *answers),
    ]
    for name, here, there in pairs:
        distance, p = difference(here, there)
        gaps = here.isna().mean(), there.isna().mean()
        rows.append((name, distance, p, *(float(g) for g in gaps)))
    rows.sort(key=lambda row: -row[1])
    moved = [r for r in rows if r[1] > DRIFTED and r[2] < 0.01]
    listed = ", ".join(repr(r[0]) for r in moved[:5])
    words = (
        f"{count(len(moved), 'column')} drifted from the reference: {listed}."
        if moved
        else "No column drifted from the reference."
    )
    head = ("column", "distance", "p-value", "missing", "missing in reference")
    return Section("Drift", words, head, rows)


def difference(here: pd.Series, there: pd.Series) -> tuple[float, float]:
    """A distance between 0 and 1 of two columns, and how likely chance is to make it.

    Of numbers the largest difference of the distribution functions, of categories the total
    variation, with the tests of Kolmogorov and Smirnov and of chi squared.
    """
    first, second = here.dropna(), there.dropna()
    if not len(first) or not len(second):
        return (0.0, 1.0) if len(first) == len(second) else (1.0, 0.0)
    if types.is_numeric_dtype(first) and types.is_numeric_dtype(second):
        found: Any = stats.ks_2samp(first.astype(float), second.astype(float))
        return float(found.statistic), float(found.pvalue)
    counts = pd.DataFrame(
        {"a": first.astype(str).value_counts(), "b": second.astype(str).value_counts()}
    ).fillna(0)
    shares = counts / counts.sum()
    distance = float((shares["a"] - shares["b"]).abs().sum() / 2)
    if len(counts) < 2:
        return distance, 1.0
    return distance, float(stats.chi2_contingency(counts).pvalue)
