r"""Statistics of rows by class: keyed by label and merged by label.

The labels are found while the rows pass, so a stream need not say in advance which classes it will
bring. A class that one part has not seen has weight zero there.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, cast

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from panlearn.bayes._kernels import class_moments, sparse_class_sums
from panlearn.core.columns import ColumnMap, mapped
from panlearn.core.sources import ArrayRows, Block, Rows
from panlearn.core.statistics import LabelCounts, Statistic, _triangle, _two_sum


class Labelled(NamedTuple):
    """A block with its labels as codes: X, codes (n,), weights (n,), and the counted labels."""

    X: Any
    codes: np.ndarray
    weight: np.ndarray
    classes: LabelCounts

    @classmethod
    def of(cls, X: Any, y: Any, weight: np.ndarray | None) -> Self:
        """Find the labels of a block; rows of weight zero are absent, and so are their labels."""
        y = np.asarray(y)
        if weight is not None and not weight.all():
            keep = np.flatnonzero(weight)
            X, y, weight = X[keep], y[keep], weight[keep]
        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        labels, codes = np.unique(y, return_inverse=True)
        weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
        count = np.bincount(codes, weight, minlength=len(labels))
        return cls(X, codes, weight, LabelCounts(labels, count))

    @property
    def dense(self) -> np.ndarray:
        """The rows, dense, in float64, row after row in memory; a copy if they are not."""
        rows = self.X.toarray() if sparse.issparse(self.X) else self.X
        return np.ascontiguousarray(rows, dtype=float)

    def sum_by_class(self, rows: Any) -> np.ndarray:
        """Weighted sums of dense or sparse rows in each class, (k, d)."""
        if not sparse.issparse(rows):
            return self.membership @ rows
        total = np.zeros((len(self.classes.labels), rows.shape[1]))
        csr = (rows.data, rows.indices, rows.indptr)
        sparse_class_sums(*csr, self.codes, self.weight, total)
        return total

    @property
    def membership(self) -> sparse.csc_array:
        """The weight of each row in its class, (k, n)."""
        n, k = len(self.codes), len(self.classes.labels)
        return sparse.csc_array((self.weight, self.codes, np.arange(n + 1)), shape=(k, n))


@dataclass(frozen=True)
class ClassStatistic(Statistic):
    """A statistic with one row a class; abstract.

    Attributes
    ----------
    classes : LabelCounts
        The labels, sorted, and the weight of each.
    """

    classes: LabelCounts

    @abstractmethod
    def _placed(self, classes: LabelCounts, place: Callable[[np.ndarray], np.ndarray]) -> Self:
        """Move each class to its place among more classes; `place` moves an array's rows."""

    @abstractmethod
    def _merged(self, other: Any, classes: LabelCounts) -> Self:
        """Merge with a statistic that has the same classes; `classes` holds the sums."""

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if type(other) is not type(self):
            return NotImplemented
        classes = self.classes + other.classes
        return self._among(classes.labels)._merged(other._among(classes.labels), classes)

    def declare(self, labels: np.ndarray) -> Self:
        """Make room for classes that may come; they have weight zero so far."""
        named = LabelCounts(labels, np.zeros(len(labels)))
        return self._among((self.classes + named).labels)

    def _among(self, labels: np.ndarray) -> Self:
        if len(labels) == len(self.classes.labels):
            return self
        known = self.classes.labels
        at: Any = np.searchsorted(labels, known) if len(known) else []

        def place(values: np.ndarray) -> np.ndarray:
            out = np.zeros((len(labels), *values.shape[1:]))
            out[at] = values
            return out

        return self._placed(LabelCounts(labels, place(self.classes.count)), place)

    @property
    def weight(self) -> float:
        """The weight of all classes together."""
        return float(self.classes.count.sum())

    @property
    def is_finite(self) -> bool:
        """Whether every number in it is finite; labels need not be numbers."""
        values = [v for v in vars(self).values() if isinstance(v, np.ndarray)]
        return self.classes.is_finite and all(np.isfinite(v).all() for v in values)


@dataclass(frozen=True)
class ClassSums(ClassStatistic):
    r"""Weighted sums :math:`\sum_{i: y_i = c} w_i x_i` of the rows of each class.

    Attributes
    ----------
    classes : LabelCounts
    total : ndarray of shape (n_classes, d)
    """

    total: np.ndarray

    @classmethod
    def of(cls, X: Any, y: Any, weight: np.ndarray | None = None) -> Self:
        """Sum the rows of a block, dense or sparse, by class."""
        block = Labelled.of(X, y, weight)
        return cls(block.classes, block.sum_by_class(block.X))

    def _placed(self, classes: LabelCounts, place: Callable[[np.ndarray], np.ndarray]) -> Self:
        return type(self)(classes, place(self.total))

    def _merged(self, other: Any, classes: LabelCounts) -> Self:
        return type(self)(classes, self.total + other.total)

    def __mul__(self, factor: float) -> Self:
        return type(self)(factor * self.classes, factor * self.total)


@dataclass(frozen=True)
class LongBlocks:
    """Sparse rows in memory, cut by what they store and not by their width.

    Their sums are dense, so that merging those of many short blocks would cost more than the sums.
    """

    rows: ArrayRows

    def __iter__(self) -> Iterator[Block]:
        X, y, weight = self.rows.X.tocsr(), self.rows.y, self.rows.weight
        n, d = X.shape
        step = max(256, max(1 << 20, 16 * d) * n // max(X.nnz, 1))
        for start in range(0, n, step):
            part = slice(start, start + step)
            block = _csr_rows(X, start, start + step)
            yield Block(block, *(None if a is None else a[part] for a in (y, weight)))

    def reject_non_finite(self) -> None:
        """Raise an error that names X if it holds NaN or infinity."""
        self.rows.reject_non_finite()


def long_blocks(rows: Rows) -> Rows:
    """Cut sparse rows in memory into long blocks; leave any others as they are."""
    if isinstance(rows, ArrayRows) and sparse.issparse(rows.X):
        return cast(Rows, LongBlocks(rows))
    return rows


def _csr_rows(X: Any, start: int, stop: int) -> Any:
    """Rows of a CSR matrix as views; indexing would copy them, and so would the constructor."""
    indptr = X.indptr[start : stop + 1]
    stored = slice(indptr[0], indptr[-1])
    rows = type(X)((len(indptr) - 1, X.shape[1]), dtype=X.dtype)
    rows.data, rows.indices, rows.indptr = X.data[stored], X.indices[stored], indptr - indptr[0]
    return rows


@dataclass(frozen=True)
class ClassMoments(ClassStatistic):
    r"""Weight and mean of each class, the mean in two parts as in `Moments`; abstract.

    Attributes
    ----------
    classes : LabelCounts
    mean : ndarray of shape (n_classes, d)
    rest : ndarray of shape (n_classes, d)
        The mean to more digits than one float has is ``mean + rest``.
    """

    mean: np.ndarray
    rest: np.ndarray

    def _merged_means(self, other: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Means in two parts, and the rows sqrt(w_a w_b / w) (mean_b - mean_a) of Chan's update."""
        a, b = self.classes.count[:, None], other.classes.count[:, None]
        share = b / np.where(a + b > 0, a + b, 1.0)
        delta = (other.mean - self.mean) + (other.rest - self.rest)
        mean, rest = _two_sum(self.mean, self.rest + share * delta)
        mean = np.where(a == 0, other.mean, np.where(b == 0, self.mean, mean))
        rest = np.where(a == 0, other.rest, np.where(b == 0, self.rest, rest))
        return mean, rest, np.sqrt(a * share) * delta


def _centre(block: Labelled) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means of the classes in two parts, and the rows less those, in a new array.

    The means are subtracted twice: at a large offset the first are off by their rounding.
    """
    rows, weight, membership = block.dense, block.classes.count[:, None], block.membership
    mean = membership @ rows / weight
    rows = rows - mean[block.codes]
    correction = membership @ rows / weight
    rows -= correction[block.codes]
    return *_two_sum(mean, correction), rows


@dataclass(frozen=True)
class ClassVariances(ClassMoments):
    r"""Weight, mean and scatter of each column in each class, merged by Chan's update.

    .. math::
        S_{cj} = \sum_{i: y_i = c} w_i (x_{ij} - \mu_{cj})^2

    Attributes
    ----------
    classes : LabelCounts
    mean : ndarray of shape (n_classes, d)
    rest : ndarray of shape (n_classes, d)
    scatter : ndarray of shape (n_classes, d)
    """

    scatter: np.ndarray

    @classmethod
    def of(cls, X: Any, y: Any, weight: np.ndarray | None = None) -> Self:
        """Summarise a block."""
        block = Labelled.of(X, y, weight)
        mean, correction, scatter = class_moments(
            block.dense, block.codes, block.weight, block.classes.count
        )
        return cls(block.classes, *_two_sum(mean, correction), scatter)

    def _placed(self, classes: LabelCounts, place: Callable[[np.ndarray], np.ndarray]) -> Self:
        return type(self)(classes, place(self.mean), place(self.rest), place(self.scatter))

    def _merged(self, other: Any, classes: LabelCounts) -> Self:
        mean, rest, shift = self._merged_means(other)
        return type(self)(classes, mean, rest, self.scatter + other.scatter + shift**2)

    def __mul__(self, factor: float) -> Self:
        return replace(self, classes=factor * self.classes, scatter=factor * self.scatter)


@dataclass(frozen=True)
class ClassRoots(ClassMoments):
    r"""Weight, mean and a factor of the scatter of each class, :math:`S_c = R_c^\top R_c`.

    As in `RootMoments` the factor comes from the centred rows by QR and never by squaring them.
    Rows gather until there are three times as many as columns before they are factorised, so that
    merging many small parts costs little more than one factorisation of them all.

    Attributes
    ----------
    classes : LabelCounts
    mean : ndarray of shape (n_classes, d)
    rest : ndarray of shape (n_classes, d)
    roots : tuple of n_classes ndarrays of shape (at most 3 d, d)
    """

    roots: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, X: Any, y: Any, weight: np.ndarray | None = None) -> Self:
        """Summarise a block."""
        block = Labelled.of(X, y, weight)
        mean, rest, rows = _centre(block)
        if weight is not None:
            rows *= np.sqrt(block.weight)[:, None]
        order = np.argsort(block.codes, kind="stable")
        ends = np.cumsum(np.bincount(block.codes, minlength=len(mean)))
        parts = np.split(rows[order], ends[:-1]) if len(mean) else []
        return cls(block.classes, mean, rest, tuple(map(_squeeze, parts)))

    def _placed(self, classes: LabelCounts, place: Callable[[np.ndarray], np.ndarray]) -> Self:
        at = place(1.0 + np.arange(len(self.roots))).astype(int)  # 0 for a class not seen here
        mean = place(self.mean)
        roots = (np.zeros((0, mean.shape[1])), *self.roots)
        return type(self)(classes, mean, place(self.rest), tuple(roots[i] for i in at))

    def _merged(self, other: Any, classes: LabelCounts) -> Self:
        mean, rest, shift = self._merged_means(other)
        stacked = (
            np.vstack([a, b, row]) if len(a) and len(b) else (a if len(a) else b)
            for a, b, row in zip(self.roots, other.roots, shift[:, None], strict=True)
        )
        return type(self)(classes, mean, rest, tuple(map(_squeeze, stacked)))

    def __mul__(self, factor: float) -> Self:
        roots = tuple(np.sqrt(factor) * root for root in self.roots)
        return replace(self, classes=factor * self.classes, roots=roots)

    @property
    def is_finite(self) -> bool:
        """Whether every number in it, and in the scatter, is finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            return super().is_finite and all(np.isfinite(np.sum(r**2)) for r in self.roots)

    def covariances(self) -> np.ndarray:
        """Maximum-likelihood covariance of each class, (k, d, d); zero for one not seen."""
        weight = np.maximum(self.classes.count, np.finfo(float).tiny)
        return np.stack([r.T @ r / w for r, w in zip(self.roots, weight, strict=True)])


def _squeeze(rows: np.ndarray) -> np.ndarray:
    """Replace many rows by the triangle of their QR decomposition."""
    return rows if len(rows) <= 3 * rows.shape[1] else _triangle(rows)


@mapped.register
def _(statistic: ClassVariances, by: ColumnMap) -> ClassVariances:
    mean, rest = by.rows(statistic.mean, shifted=True), by.rows(statistic.rest, shifted=False)
    spread = by.rows(np.sqrt(statistic.scatter), shifted=False)
    return ClassVariances(statistic.classes, mean, rest, spread**2)


@mapped.register
def _(statistic: ClassRoots, by: ColumnMap) -> ClassRoots:
    mean, rest = by.rows(statistic.mean, shifted=True), by.rows(statistic.rest, shifted=False)
    roots = tuple(by.rows(root, shifted=False) for root in statistic.roots)
    return ClassRoots(statistic.classes, mean, rest, roots)
