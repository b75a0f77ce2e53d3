"""The moments of each column by itself, and what becomes of moments when columns are rescaled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, Self

import numpy as np
from scipy import sparse

from panlearn.core.jit import jit
from panlearn.core.statistics import Moments, RootMoments, Statistic, _merge_means, _two_sum

# What lets a dot product use the vector units; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


@dataclass(frozen=True)
class Columns(Statistic):
    r"""Weight, mean and centred sum of squares of each column.

    .. math:: S_j = \sum_i w_i (x_{ij} - \mu_j)^2

    Two summaries merge by Chan's update, as `Moments` do.

    Attributes
    ----------
    weight : float
    mean : ndarray of shape (d,)
    squares : ndarray of shape (d,)
    rest : ndarray of shape (d,)
        The mean to more digits than one float has is ``mean + rest``.
    """

    weight: float
    mean: np.ndarray
    squares: np.ndarray
    rest: np.ndarray | float = 0.0

    @classmethod
    def of(cls, X: Any, weight: np.ndarray | None = None) -> Self:
        """Describe the columns of X, dense or sparse."""
        some = np.ones(X.shape[0], X.dtype) if weight is None else weight
        total = float(some.sum(dtype=float))
        if sparse.issparse(X):
            mean, squares = some @ X, some @ X.multiply(X)
            mean = np.asarray(mean, dtype=float) / (total or 1.0)
            squares = np.asarray(squares, dtype=float) - total * mean * mean
            rest = np.zeros_like(mean)
        else:
            mean, squares, rest = column_moments(np.ascontiguousarray(X), some)
            mean, rest = _two_sum(mean, rest)
        return cls(total, mean, np.maximum(squares, 0), rest)

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if not isinstance(other, Columns):
            return NotImplemented
        if other.weight == 0 or self.weight == 0:
            return self if other.weight == 0 else type(self)(*vars(other).values())
        weight, mean, rest, shift = _merge_means(self, other)
        return type(self)(weight, mean, self.squares + other.squares + shift * shift, rest)

    def __mul__(self, factor: float) -> Self:
        return replace(self, weight=factor * self.weight, squares=factor * self.squares)


@jit(fastmath=FAST)
def column_moments(X: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weighted mean, centred sum of squares, and what the mean's rounding took from each column."""
    n, d = X.shape
    mean, squares, drift = np.zeros(d), np.zeros(d), np.zeros(d)
    if n == 0:
        return mean, squares, drift
    shift, total = X[0].astype(np.float64), 0.0
    for i in range(n):
        s = np.float64(weight[i])
        total += s
        for j in range(d):
            mean[j] += s * (X[i, j] - shift[j])
    if total > 0:
        for j in range(d):
            mean[j] = shift[j] + mean[j] / total
    for i in range(n):
        s = np.float64(weight[i])
        for j in range(d):
            delta = X[i, j] - mean[j]
            drift[j] += s * delta
            squares[j] += s * delta * delta
    if total > 0:  # at a large offset the mean is off by its rounding: take that out
        for j in range(d):
            squares[j] -= drift[j] * (drift[j] / total)
            drift[j] /= total
    return mean, squares, drift


@dataclass(frozen=True)
class ColumnMap:
    r"""New columns as the old ones, each rescaled, shifted and put in a new place.

    .. math:: u'_{p(j)} = a_j u_j + b_{p(j)}

    A new column that no old one goes to is constant, :math:`u'_k = b_k`.

    Attributes
    ----------
    place : ndarray of shape (d_old,)
        The new column :math:`p(j)` of each old one.
    scale : ndarray of shape (d_old,)
        The factors a.
    shift : ndarray of shape (d_new,)
        The constants b.
    """

    place: np.ndarray
    scale: np.ndarray
    shift: np.ndarray

    def beside(self, more: int) -> ColumnMap:
        """The same with so many columns at the end, such as targets, that stay as they are."""
        end = len(self.shift) + np.arange(more)
        return ColumnMap(
            np.concatenate([self.place, end]),
            np.concatenate([self.scale, np.ones(more)]),
            np.concatenate([self.shift, np.zeros(more)]),
        )

    def rows(self, values: np.ndarray, *, shifted: bool) -> np.ndarray:
        """Values of the last axis in the new columns, with the shift or without."""
        size = len(self.shift)
        new = np.zeros((*values.shape[:-1], size))
        new[..., self.place] = self.scale * values
        return new + self.shift if shifted else new


@singledispatch
def mapped(statistic: Any, by: ColumnMap) -> Any:
    """What a statistic would be had the rows come in other columns; None if it cannot be told.

    Columns behind those of the map, where targets lie, stay as they are.
    """
    return None


@mapped.register
def _(statistic: Columns, by: ColumnMap) -> Columns:
    squares = by.rows(np.sqrt(statistic.squares), shifted=False) ** 2
    rest = by.rows(statistic.rest + np.zeros_like(statistic.mean), shifted=False)
    return Columns(statistic.weight, by.rows(statistic.mean, shifted=True), squares, rest)


@mapped.register
def _(statistic: Moments, by: ColumnMap) -> Moments:
    by = by.beside(len(statistic.mean) - len(by.place))
    half = by.rows(statistic.scatter, shifted=False)
    scatter = by.rows(half.T, shifted=False)
    rest = by.rows(statistic.rest + np.zeros_like(statistic.mean), shifted=False)
    return Moments(statistic.weight, by.rows(statistic.mean, shifted=True), scatter, rest)


@mapped.register
def _(statistic: RootMoments, by: ColumnMap) -> RootMoments:
    by = by.beside(len(statistic.mean) - len(by.place))
    rest = by.rows(statistic.rest + np.zeros_like(statistic.mean), shifted=False)
    mean, root = (
        by.rows(statistic.mean, shifted=True),
        by.rows(statistic.root, shifted=False),
    )
    return RootMoments(statistic.weight, mean, root, rest)
