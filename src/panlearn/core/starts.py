"""Where iterative methods start: a sample of the rows, and centres spread over it.

The sample is a function of the rows and the seed alone, not of their order, their cut into batches
or their machine, so that a method with random starts gives the same model from any source.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Self, TypeVar

import numpy as np
from scipy import sparse

from panlearn.core.interrupts import interruption
from panlearn.core.map_reduce import map_reduce
from panlearn.core.parameters import Bounds
from panlearn.core.sources import ArrayRows, Rows
from panlearn.core.splitmix import mixed
from panlearn.core.statistics import Statistic
from panlearn.core.threads import threads

Starts = Annotated[int, Bounds(0, 1000, closed_high=True)]
"""How often an estimator may start."""
Start = TypeVar("Start")
Result = TypeVar("Result")


@dataclass(frozen=True)
class RowSample(Statistic):
    """The distinct rows with the smallest keys, a salted hash of their values, and their weights.

    A row among the smallest of the whole is among the smallest of any part that holds it, so its
    weight, the sum over its copies, is exact: the sample is uniform over distinct rows.

    Attributes
    ----------
    key : ndarray of shape (m,)
        Sorted.
    rows : ndarray of shape (m, d)
    weight_of : ndarray of shape (m,)
    size : int
        The most rows to keep.
    """

    key: np.ndarray
    rows: np.ndarray
    weight_of: np.ndarray
    size: int

    @classmethod
    def of(cls, X: Any, weight: np.ndarray | None = None, *, salt: int = 0, size: int) -> Self:
        """Sample the rows of a batch."""
        rows = np.asarray(X.toarray() if sparse.issparse(X) else X)
        weight = np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=float)
        if not weight.all():
            rows, weight = rows[weight > 0], weight[weight > 0]
        return cls(_keys(rows, salt), rows, weight, size)._kept()

    def _kept(self) -> Self:
        """Merge copies, and drop the largest keys."""
        key, first, code = np.unique(self.key, return_index=True, return_inverse=True)
        weight = np.bincount(code, self.weight_of, minlength=len(key))
        kept = slice(self.size)
        return type(self)(key[kept], self.rows[first[kept]].astype(float), weight[kept], self.size)

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if not isinstance(other, RowSample):
            return NotImplemented
        return type(self)(
            np.concatenate([self.key, other.key]),
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.weight_of, other.weight_of]),
            min(self.size, other.size),
        )._kept()

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.key, self.rows, factor * self.weight_of, self.size)

    @property
    def weight(self) -> float:
        """The weight of the rows in the sample."""
        return float(self.weight_of.sum())

    @property
    def mean(self) -> np.ndarray:
        """The mean of the rows in the sample; missing entries do not count."""
        seen = ~np.isnan(self.rows)
        total = self.weight_of @ seen
        return (self.weight_of @ np.where(seen, self.rows, 0.0)) / np.where(total > 0, total, 1)

    @property
    def variance(self) -> np.ndarray:
        """The variance of each column about the mean; missing entries do not count."""
        seen = ~np.isnan(self.rows)
        total = self.weight_of @ seen
        centred = np.where(seen, self.rows - self.mean, 0.0)
        return (self.weight_of @ centred**2) / np.where(total > 0, total, 1)


def sample_rows(rows: Rows, rng: np.random.Generator, size: int, **options: Any) -> RowSample:
    """Draw a sample of the rows, wherever they are."""
    salt = int(rng.integers(2**62))
    return map_reduce(
        lambda X, y, weight: RowSample.of(X, weight, salt=salt, size=size), rows, **options
    )


def require_values(sample: RowSample, every_column: bool = True) -> None:
    """Refuse numbers without bounds, and columns (or else all of them) without a number."""
    if np.isinf(sample.rows).any():
        raise ValueError("Input X contains infinity or a value too large for its dtype")
    missing = np.isnan(sample.rows).all(axis=0)
    empty = np.flatnonzero(missing)
    if missing.any() if every_column else missing.all():
        raise ValueError(
            f"column {', '.join(map(str, empty))} of X is NaN in every row; drop it, or learn from "
            "rows that have it"
        )


def _keys(rows: np.ndarray, salt: int) -> np.ndarray:
    """A hash of each row that sorts by its values in float32 first, so that float32 rows agree."""
    draws = np.random.default_rng(salt).integers(2**63, size=rows.shape[1], dtype=np.uint64)
    by_column = np.bitwise_or(draws, np.uint64(1))
    with np.errstate(over="ignore"):
        single, double = (_hash(rows.astype(kind), by_column) for kind in ("f4", "f8"))
    low = np.uint64(2**24 - 1)
    return (single & ~low) | (double & low)


def _hash(rows: np.ndarray, by_column: np.ndarray) -> np.ndarray:
    """The bits of a row's numbers, mixed, weighed by column, summed, and mixed again."""
    values = rows.astype(np.float64) + 0.0  # -0.0 is 0.0
    values[np.isnan(values)] = np.nan  # any NaN is the same
    return mixed((mixed(values.view(np.uint64)) * by_column).sum(axis=1, dtype=np.uint64))


def k_means_plus_plus(
    X: np.ndarray, weight: np.ndarray, k: int, rng: np.random.Generator, trials: int | None = None
) -> np.ndarray:
    r"""Indices of k rows, each drawn with a chance in proportion to its squared distance.

    .. math:: p(i) \propto w_i \min_{j \text{ chosen}} \|x_i - x_j\|^2

    Of a few candidates a step the one that lowers the sum most is taken. When every row lies on a
    chosen one, the last ones are the first again.
    """
    trials = 2 + int(np.log(k)) if trials is None else trials
    chosen = [int(_draw(weight, rng.random(1))[0])]
    nearest = _squared_distances(X, X[chosen])[0]
    for _ in range(1, k):
        potential = weight * nearest
        if not potential.sum() > 0:
            chosen.append(chosen[0])
            continue
        candidates = _draw(potential, rng.random(trials))
        closer = np.minimum(nearest, _squared_distances(X, X[candidates]))
        best = int(np.argmin(closer @ weight))
        chosen.append(int(candidates[best]))
        nearest = closer[best]
    return np.array(chosen)


def _draw(weight: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Indices with chances in proportion to `weight`; never one of weight zero."""
    total = np.cumsum(weight / weight.max())
    return np.minimum(np.searchsorted(total, uniform * total[-1], side="right"), len(weight) - 1)


def _squared_distances(X: np.ndarray, points: np.ndarray) -> np.ndarray:
    """From differences, so that a row is at distance exactly zero from itself."""
    return np.stack([np.einsum("ij,ij->i", X - p, X - p) for p in points])


def best_of(
    estimator: Any,
    rows: Rows,
    starts: Iterable[Start],
    run: Callable[[Any, Start], Result],
    value: Callable[[Result], float],
) -> Result:
    """Run from each start; the estimator gets the record of the run with the highest value.

    Of rows that fill many blocks each run keeps all threads busy; runs over a single block go side
    by side. Callbacks follow a single run; of several they would not know which they see.
    """
    starts = list(starts)
    if len(starts) == 1:
        return run(estimator, starts[0])

    def one(start: Start) -> tuple[Result, Any]:
        twin = copy.copy(estimator)
        twin.set_callbacks()
        return run(twin, start), twin

    with interruption():  # of one run it ends all
        if isinstance(rows, ArrayRows) and len(list(islice(rows, 2))) < 2:
            with threads() as run_all:
                results = list(run_all(one, starts))
        else:
            results = [one(start) for start in starts]
    best, twin = max(results, key=lambda pair: value(pair[0]))
    for name in ("n_iter_", "converged_", "history_"):
        setattr(estimator, name, getattr(twin, name))
    return best
