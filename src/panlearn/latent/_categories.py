r"""Categories of each feature, and the two steps of a mixture of products of categoricals.

The categories of all features lie side by side in one long axis. A row is a sparse row of ones on
it, one for each entry that it has, so both steps are products with a sparse matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from panlearn.core.statistics import Statistic, Sums

LOG_ZERO = -1e30  # stands for log 0: no evidence outweighs it, and sums with it stay finite


@dataclass(frozen=True)
class Values(Statistic):
    """The distinct values of each feature, with their weighted counts; NaN is missing.

    Attributes
    ----------
    weight : float
        Of all rows.
    column, value, count : ndarray of shape (m,)
        Sorted by column and value.
    n_columns : int
    """

    weight: float
    column: np.ndarray
    value: np.ndarray
    count: np.ndarray
    n_columns: int

    @classmethod
    def of(cls, X: Any, weight: Any = None) -> Self:
        """Collect a batch."""
        rows = _dense(X)
        w = np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=float)
        i, j = np.nonzero(~np.isnan(rows) & (w > 0)[:, None])
        return cls(float(w.sum()), j, rows[i, j], w[i], rows.shape[1])._merged()

    def _merged(self) -> Self:
        """Add up the counts of what is there more than once."""
        order = np.lexsort((self.value, self.column))
        column, value, count = self.column[order], self.value[order], self.count[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (column[1:] != column[:-1]) | (value[1:] != value[:-1])
        first = np.flatnonzero(new)
        total = np.add.reduceat(count, first) if len(first) else count
        return type(self)(self.weight, column[first], value[first], total, self.n_columns)

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if not isinstance(other, Values):
            return NotImplemented
        return type(self)(
            self.weight + other.weight,
            np.concatenate([self.column, other.column]),
            np.concatenate([self.value, other.value]),
            np.concatenate([self.count, other.count]),
            self.n_columns,
        )._merged()

    def __mul__(self, factor: float) -> Self:
        weight, count = factor * self.weight, factor * self.count
        return type(self)(weight, self.column, self.value, count, self.n_columns)

    def by_column(self, what: np.ndarray) -> list[np.ndarray]:
        """Cut one of the arrays into one a feature."""
        ends = np.cumsum(np.bincount(self.column, minlength=self.n_columns))
        return np.split(what, ends[:-1])


class Products(NamedTuple):
    """The parameters: values of each feature, weights (k,), log-probabilities (all values, k)."""

    categories: list[np.ndarray]
    weights: np.ndarray
    log_probabilities: np.ndarray


@dataclass(frozen=True)
class ExpectedCounts(Sums):
    """Expected weight of each component, and of each value in it."""

    weight: float
    log_likelihood: float
    component: np.ndarray
    count: np.ndarray


def starts_of(categories: list[np.ndarray]) -> np.ndarray:
    """Where the categories of each feature begin, and where the last end."""
    return np.cumsum([0, *map(len, categories)])


def codes_of(X: Any, categories: list[np.ndarray]) -> np.ndarray:
    """The category of each entry; -1 for a missing one, and for one that was never seen."""
    rows = _dense(X)
    codes = np.empty(rows.shape, dtype=np.int64)
    for j, known in enumerate(categories):
        place = np.minimum(np.searchsorted(known, rows[:, j]), len(known) - 1)
        codes[:, j] = np.where(known[place] == rows[:, j], place, -1)
    return codes


def ones_of(X: Any, categories: list[np.ndarray]) -> sparse.csr_array:
    """Rows as ones on the long axis of all categories."""
    codes, starts = codes_of(X, categories), starts_of(categories)
    seen = codes >= 0
    columns = (codes + starts[:-1])[seen]
    ends = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    return sparse.csr_array((np.ones(len(columns)), columns, ends), (len(codes), starts[-1]))


def posteriors(at: Products, ones: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Log probability of each row, and the probabilities (n, k) of its components."""
    joint = ones @ at.log_probabilities + np.log(at.weights)
    top = joint.max(axis=1, keepdims=True)
    odds = np.exp(joint - top)
    total = odds.sum(axis=1, keepdims=True)
    return (top + np.log(total))[:, 0], odds / total


def log_posteriors(at: Products, ones: sparse.csr_array) -> np.ndarray:
    """The log-probabilities (n, k) of the components of each row."""
    joint = ones @ at.log_probabilities + np.log(at.weights)
    return joint - logsumexp(joint, axis=1, keepdims=True)


def expect(
    at: Products, X: Any, y: Any = None, weight: Any = None, *, prior: float = 0.0
) -> ExpectedCounts:
    """Sum what the rows of a block are expected to add; `prior` is the prior's part for a row."""
    ones = ones_of(X, at.categories)
    w = np.ones(ones.shape[0]) if weight is None else weight.astype(float)
    log_density, responsibilities = posteriors(at, ones)
    shares = w[:, None] * responsibilities
    total = float(w.sum())
    log_likelihood = float(w @ log_density) + prior * total
    return ExpectedCounts(total, log_likelihood, shares.sum(axis=0), ones.T @ shares)


def maximise(categories: list[np.ndarray], seen: ExpectedCounts, alpha: float) -> Products:
    """Shares of the counts with `alpha` added to each; a component of no rows is uniform."""
    tables = np.split(seen.count + alpha, starts_of(categories)[1:-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.log(t / t.sum(axis=0)) for t in tables]
    uniform = [np.where(np.isnan(t), -np.log(len(t)), np.maximum(t, LOG_ZERO)) for t in logs]
    tiny = np.finfo(float).tiny  # a component that no row belongs to stays, without a say
    weights = np.maximum(seen.component / seen.component.sum(), tiny)
    return Products(categories, weights, np.concatenate(uniform))


def log_prior(at: Products, alpha: float) -> float:
    """The part of the prior: alpha times the sum of the log-probabilities."""
    return alpha * float(at.log_probabilities.sum()) if alpha > 0 else 0.0


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
