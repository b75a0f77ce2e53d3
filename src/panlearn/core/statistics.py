r"""Mergeable statistics: sums over rows, the currency of every way to fit.

A statistic is a frozen dataclass of arrays that forms a commutative monoid. ``S.of(rows, weight)``
summarises a batch, ``+`` merges two summaries, ``0`` is the identity (so `sum` works), and ``*``
by a number scales the weight of what was seen, which is forgetting. What is learned from the sum
of the parts is what is learned from the whole.

References
----------
T. F. Chan, G. H. Golub and R. J. LeVeque (1983). Algorithms for computing the sample variance:
analysis and recommendations. The American Statistician 37(3). doi:10.1080/00031305.1983.10483115
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from scipy import linalg, sparse

from panlearn.core.value import Value


@dataclass(frozen=True)
class Statistic(Value):
    """A summary of rows that can be merged with another of its kind."""

    @abstractmethod
    def __add__(self, other: Any) -> Self:
        """Merge with the summary of other rows; the number 0 is the identity."""

    @abstractmethod
    def __mul__(self, factor: float) -> Self:
        """Weigh everything that was seen by `factor`, as if each weight had been multiplied."""

    def __radd__(self, other: Any) -> Self:
        return self.__add__(other)  # not `self + other`: two kinds would ask each other for ever

    def __rmul__(self, factor: float) -> Self:
        return self.__mul__(factor)

    @property
    def is_finite(self) -> bool:
        """Whether every number in it is finite: one look instead of a pass over the rows."""
        return all(map(_is_finite, vars(self).values()))


def _is_finite(value: Any) -> bool:
    # of a plain number Python tells sooner
    return math.isfinite(value) if type(value) is float else bool(np.isfinite(value).all())


@dataclass(frozen=True)
class Sums(Statistic):
    """A statistic whose arrays are plain sums: merged and scaled entry by entry."""

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if type(other) is not type(self):
            return NotImplemented
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __mul__(self, factor: float) -> Self:
        return type(self)(*(factor * getattr(self, f.name) for f in fields(self)))


@dataclass(frozen=True)
class Counts(Sums):
    r"""Weighted counts :math:`c_k = \sum_{i: y_i = k} w_i` of integer codes.

    Attributes
    ----------
    count : ndarray of shape (n_codes,)

    Examples
    --------
    >>> from panlearn.core.statistics import Counts
    >>> (Counts.of([0, 2, 2], n_codes=3) + Counts.of([1], n_codes=3)).count
    array([1., 1., 2.])
    """

    count: np.ndarray

    @classmethod
    def of(cls, codes: Any, weight: np.ndarray | None = None, *, n_codes: int) -> Self:
        """Count the codes 0, ..., n_codes - 1 of a batch."""
        return cls(np.bincount(codes, weight, minlength=n_codes).astype(float))

    @classmethod
    def zero(cls, n_codes: int) -> Self:
        """Count nothing."""
        return cls(np.zeros(n_codes))


@dataclass(frozen=True)
class LabelCounts(Statistic):
    r"""The distinct labels of a batch, sorted, with their weighted counts.

    Attributes
    ----------
    labels : ndarray of shape (n_labels,)
        Of any type that sorts.
    count : ndarray of shape (n_labels,)

    Examples
    --------
    >>> from panlearn.core.statistics import LabelCounts
    >>> merged = LabelCounts.of(["b", "a"]) + LabelCounts.of(["b", "c"])
    >>> merged.labels.tolist(), merged.count.tolist()
    (['a', 'b', 'c'], [1.0, 2.0, 1.0])
    """

    labels: np.ndarray
    count: np.ndarray

    @classmethod
    def of(cls, y: Any, weight: np.ndarray | None = None) -> Self:
        """Collect the labels of a batch."""
        labels, codes = np.unique(np.asarray(y), return_inverse=True)
        return cls(labels, Counts.of(codes, weight, n_codes=len(labels)).count)

    @classmethod
    def zero(cls) -> Self:
        """Collect nothing."""
        return cls(np.zeros(0), np.zeros(0))

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if not isinstance(other, LabelCounts):
            return NotImplemented
        if not len(self.labels) or not len(other.labels):
            return self if not len(other.labels) else type(self)(other.labels, other.count)
        if (self.labels.dtype.kind in "OUS") != (other.labels.dtype.kind in "OUS"):
            raise TypeError(
                f"labels of type {self.labels.dtype} do not go with labels of type "
                f"{other.labels.dtype}; give one type in all batches"
            )
        labels, codes = np.unique(np.concatenate([self.labels, other.labels]), return_inverse=True)
        count = np.bincount(codes, np.concatenate([self.count, other.count]))
        return type(self)(labels, count)

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.labels, factor * self.count)

    @property
    def is_finite(self) -> bool:
        """Labels need not be numbers; their counts are finite if the weights are."""
        return bool(np.isfinite(self.count).all())


@dataclass(frozen=True)
class Moments(Statistic):
    r"""Weight, mean and centred scatter of rows :math:`z_i` with weights :math:`w_i`.

    .. math::
        w = \sum_i w_i, \qquad \mu = \frac1w \sum_i w_i z_i, \qquad
        S = \sum_i w_i (z_i - \mu)(z_i - \mu)^\top

    Two summaries merge by Chan's update, :math:`S = S_1 + S_2 + \frac{w_1 w_2}{w} \delta
    \delta^\top` with :math:`\delta = \mu_2 - \mu_1`. The mean is kept in two parts, itself and
    what its rounding took away, so data at an offset of 1e8 keep their digits. Several arrays are
    laid side by side: with ``Moments.of(X, y)`` the scatter holds the moments of X, those of y,
    and their cross-moments (`blocks` cuts it up).

    Attributes
    ----------
    weight : float
    mean : ndarray of shape (d,)
    scatter : ndarray of shape (d, d)
    rest : ndarray of shape (d,)
        The mean to more digits than one float has is ``mean + rest``.

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.core.statistics import Moments
    >>> rows = np.array([[1e8 + 1.0], [1e8 + 2.0], [1e8 + 6.0]])
    >>> float((Moments.of(rows[:1]) + Moments.of(rows[1:])).scatter[0, 0])
    14.0
    """

    weight: float
    mean: np.ndarray
    scatter: np.ndarray
    rest: np.ndarray | float = 0.0

    @classmethod
    def of(cls, *arrays: Any, weight: np.ndarray | None = None) -> Self:
        """Summarise the rows of one or more arrays, dense or sparse, laid side by side."""
        arrays = tuple(_two_dimensional(a) for a in arrays)
        if any(sparse.issparse(a) for a in arrays):
            return cls(*_sparse_moments(arrays, weight))
        if len(arrays) == 1 and weight is None and (mean := _small_mean(arrays[0])) is not None:
            rows, n = arrays[0], len(arrays[0])
            scatter = rows.T @ rows
            scatter -= np.outer(n * mean, mean)
            return cls(float(n), mean, scatter, np.zeros_like(mean))
        total, mean, rest, centred = _centre(arrays, weight)
        return cls(total, mean, centred.T @ centred, rest)

    @classmethod
    def zero(cls, d: int) -> Self:
        """Summarise no rows of d columns."""
        return cls(0.0, np.zeros(d), np.zeros((d, d)))

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if not isinstance(other, Moments):
            return NotImplemented
        if other.weight == 0 or self.weight == 0:
            return self if other.weight == 0 else type(self)(*vars(other).values())
        weight, mean, rest, shift = _merge_means(self, other)
        scatter = np.outer(shift, shift)  # and into it: another new array costs more than the sums
        scatter += self.scatter
        scatter += other.scatter
        return type(self)(weight, mean, scatter, rest)

    def __mul__(self, factor: float) -> Self:
        return type(self)(factor * self.weight, self.mean, factor * self.scatter, self.rest)

    def blocks(self, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cut the scatter after column d: within the first, across, within the second."""
        return self.scatter[:d, :d], self.scatter[:d, d:], self.scatter[d:, d:]

    @property
    def raw(self) -> np.ndarray:
        r"""Second moments about zero, :math:`S + w \mu \mu^\top`."""
        return self.scatter + self.weight * np.outer(self.mean, self.mean)


@dataclass(frozen=True)
class RootMoments(Statistic):
    r"""`Moments` in square-root form: a factor R of the scatter, :math:`S = R^\top R`.

    The factor is found by QR of the centred rows and never by squaring them, so it keeps twice the
    digits of S: what is solved from R is as accurate as what is solved from the rows. Two factors
    merge by QR of R_1 and R_2 stacked with the row
    :math:`\sqrt{w_1 w_2 / w}\,(\mu_2 - \mu_1)^\top`. It costs about three times as much as
    `Moments`. While there are fewer rows than columns R is the centred rows themselves.

    Attributes
    ----------
    weight : float
    mean : ndarray of shape (d,)
    root : ndarray of shape (min(rows, d), d)
    rest : ndarray of shape (d,)
        As in `Moments`.
    """

    weight: float
    mean: np.ndarray
    root: np.ndarray
    rest: np.ndarray | float = 0.0

    @classmethod
    def of(cls, *arrays: Any, weight: np.ndarray | None = None) -> Self:
        """Summarise the rows of one or more dense or sparse arrays laid side by side."""
        dense = tuple(_two_dimensional(a.toarray() if sparse.issparse(a) else a) for a in arrays)
        total, mean, rest, centred = _centre(dense, weight)
        return cls(total, mean, _triangle(centred), rest)

    @classmethod
    def zero(cls, d: int) -> Self:
        """Summarise no rows of d columns."""
        return cls(0.0, np.zeros(d), np.zeros((0, d)))

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if not isinstance(other, RootMoments):
            return NotImplemented
        if other.weight == 0 or self.weight == 0:
            return self if other.weight == 0 else type(self)(*vars(other).values())
        weight, mean, rest, shift = _merge_means(self, other)
        stacked = np.vstack([self.root, other.root, shift])
        return type(self)(weight, mean, _triangle(stacked), rest)

    def __mul__(self, factor: float) -> Self:
        root = np.sqrt(factor) * self.root
        return type(self)(factor * self.weight, self.mean, root, self.rest)

    @classmethod
    def from_moments(cls, moments: Moments) -> Self:
        """Take the square root of moments; it has no more digits than they have."""
        values, vectors = linalg.eigh(moments.scatter)
        root = np.sqrt(np.clip(values, 0, None))[:, None] * vectors.T
        return cls(moments.weight, moments.mean, root, moments.rest)

    @property
    def scatter(self) -> np.ndarray:
        r"""The centred scatter, :math:`R^\top R`."""
        return self.root.T @ self.root


def _two_dimensional(array: Any) -> Any:
    if sparse.issparse(array):
        return array
    array = np.asarray(array)
    return array[:, None] if array.ndim == 1 else array


def _small_mean(rows: np.ndarray) -> np.ndarray | None:
    """The mean, if squares about zero lose two digits at most: it is small beside the spread.

    A pass over the rows and a copy of them are saved. The first rows bound the spread from below.
    """
    if rows.dtype != np.float64 or len(rows) < 256:
        return None
    mean = np.full(len(rows), 1 / len(rows)) @ rows
    spread = np.square(rows[:64] - mean).mean(axis=0)
    return mean if (mean**2 <= 100 * spread).all() else None


def _centre(
    arrays: tuple[np.ndarray, ...], weight: np.ndarray | None
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Total weight, mean in two parts, and the rows sqrt(w_i) (z_i - mean), in one new array.

    The mean is subtracted first and the mean of what is left is subtracted again: at a large
    offset the first mean is off by its rounding, and the second step takes that out. float32 rows
    become float64 here, a block at a time: squaring them would lose the digits they have.
    """
    n, ends = arrays[0].shape[0], np.cumsum([0, *(a.shape[1] for a in arrays)])
    rows = np.empty((n, ends[-1]))
    total = float(n) if weight is None else float(weight.sum(dtype=float))
    if n == 0 or total == 0:
        return 0.0, np.zeros(ends[-1]), np.zeros(ends[-1]), rows[:0]
    share = np.full(n, 1 / n) if weight is None else weight / total
    mean = np.concatenate([share @ a for a in arrays])
    for array, start, stop in zip(arrays, ends, ends[1:], strict=False):
        np.subtract(array, mean[start:stop], out=rows[:, start:stop])
    correction = share @ rows
    rows -= correction
    if weight is not None:
        rows *= np.sqrt(weight, dtype=float)[:, None]
    return total, *_two_sum(mean, correction), rows


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded sum and what the rounding took away: together exactly a + b (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _sparse_moments(
    arrays: tuple[Any, ...], weight: np.ndarray | None
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Moments of sparse rows: raw second moments less those of the mean, no row made dense."""
    rows = sparse.hstack([sparse.csr_array(a) for a in arrays], format="csr")
    if rows.dtype != np.float64:
        rows = rows.astype(np.float64)
    if rows.nnz > 0.3 * np.prod(rows.shape):  # nothing to save, and centring keeps more digits
        total, mean, rest, centred = _centre((rows.toarray(),), weight)
        return total, mean, centred.T @ centred, rest
    weight = np.ones(rows.shape[0]) if weight is None else np.asarray(weight, dtype=float)
    total = float(weight.sum())
    if total == 0:
        d = rows.shape[1]
        return 0.0, np.zeros(d), np.zeros((d, d)), np.zeros(d)
    mean = (weight @ rows) / total
    scaled = rows.multiply(np.sqrt(weight)[:, None]).tocsr()
    scatter = (scaled.T @ scaled).toarray()
    scatter -= total * np.outer(mean, mean)
    return total, mean, scatter, np.zeros(rows.shape[1])


def _merge_means(a: Any, b: Any) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Total weight, mean in two parts, and the row sqrt(w_a w_b / w) (mean_b - mean_a) of Chan."""
    weight = a.weight + b.weight
    delta = (b.mean - a.mean) + (b.rest - a.rest)
    mean, rest = _two_sum(a.mean, a.rest + (b.weight / weight) * delta)
    return weight, mean, rest, np.sqrt(a.weight * (b.weight / weight)) * delta


def _triangle(rows: np.ndarray) -> np.ndarray:
    """The triangular factor of a QR decomposition, or the rows if there are fewer than columns."""
    if rows.shape[0] <= rows.shape[1]:
        return rows
    factor: Any = np.linalg.qr(rows, mode="r")  # SciPy's takes half as long again
    return factor


def with_fixed_signs(columns: np.ndarray) -> np.ndarray:
    """Make the largest entry of each column positive, so that the same rows give the same signs."""
    if not columns.size:
        return columns
    largest = columns[np.abs(columns).argmax(axis=0), np.arange(columns.shape[1])]
    return columns * np.sign(largest)
