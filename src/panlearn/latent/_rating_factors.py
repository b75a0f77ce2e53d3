"""Both sides of a factorisation of ratings: what is fitted, and a pass of each solver over it.

Factors have the bias, if there is one, in a last column: beside it the other side has a one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from panlearn.core.threads import OrderedMap
from panlearn.latent._alternating import Entries, solve_side
from panlearn.latent._stochastic_factors import Diagonals

SPREAD = 0.1  # of the first factors


@dataclass(frozen=True)
class Loss:
    """What the observed entries mean: explicit ratings, less their mean, or implicit counts."""

    implicit: bool
    regularization: float
    alpha: float
    mean: float
    biased: bool

    def entries(self, X: Any) -> Entries:
        """The targets and weights of the rows of a CSR matrix."""
        data, kind = X.data, X.data.dtype
        if self.implicit:
            weight = np.abs(data) * kind.type(self.alpha)
            target = np.where(data > 0, 1 + weight, 0).astype(kind, copy=False)
            ridge = np.array([self.regularization, 0], dtype=kind)
        else:
            weight, target = np.ones_like(data), data - kind.type(self.mean)
            ridge = np.array([0, self.regularization], dtype=kind)
        # of a matrix that was dense they lie apart, for which the kernel would be compiled again
        indices = np.ascontiguousarray(X.indices)
        return Entries(X.indptr, indices, target, weight, ridge)

    def fixed(self, factors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What a side is to the other: its columns, its offset of the targets, its Gram matrix."""
        width = factors.shape[1]
        if self.implicit:
            return factors, np.zeros(len(factors), dtype=factors.dtype), factors.T @ factors
        gram, offset = np.zeros((width, width), dtype=factors.dtype), factors[:, -1].copy()
        if not self.biased:
            return factors, np.zeros_like(offset), gram
        columns = factors.copy()
        columns[:, -1] = 1
        return columns, offset, gram


class Alternation:
    """Alternating least squares: the users for the items at hand, then the items for the users."""

    def __init__(
        self, X: Any, loss: Loss, k: int, rng: np.random.Generator, *, exact: bool
    ) -> None:
        self._loss, self._exact = loss, exact
        self._by_user = loss.entries(X)
        self._by_item = loss.entries(sparse.csr_array(X.T.tocsr()))
        self.users, self.items = _start(X.shape, k, int(loss.biased), rng, X.dtype)
        self.users[:] = 0
        target = self._by_user.target.astype(float, copy=False)
        self.baseline = float(target.sum() if loss.implicit else target @ target)

    def iterate(self, share: OrderedMap) -> float:
        """One pass over both sides; returns the objective after it."""
        loss, exact = self._loss, self._exact
        solve_side(self._by_user, *loss.fixed(self.items), self.users, share, exact=exact)
        value, squares = solve_side(
            self._by_item, *loss.fixed(self.users), self.items, share, exact=exact
        )
        constant = self.baseline if loss.implicit else squares
        return value + constant + self._by_user.penalty(self.users)


class Stochastic:
    """Stochastic gradients of explicit ratings; there is a column of biases, if only of zeros."""

    def __init__(
        self, X: Any, loss: Loss, k: int, rng: np.random.Generator, learning_rate: float
    ) -> None:
        self._by_user, self._biased = loss.entries(X), loss.biased
        self._counts = np.bincount(X.indices, minlength=X.shape[1])
        self._entries = Diagonals(X, self._by_user.target)
        self._ridge = loss.regularization
        self._rates = np.array([learning_rate, 1 - learning_rate * self._ridge], dtype=X.dtype)
        self.users, self.items = _start(X.shape, k, 1, rng, X.dtype)
        target = self._by_user.target.astype(float, copy=False)
        self.baseline = float(target @ target)

    def iterate(self, share: OrderedMap) -> float:
        """One pass over the ratings; returns the objective with the errors that were met."""
        errors = self._entries.epoch(self.users, self.items, self._biased, self._rates, share)
        squares = np.einsum("ij,ij->i", self.items, self.items, dtype=float)
        penalty = self._by_user.penalty(self.users) + self._ridge * (self._counts @ squares)
        return errors + float(penalty)


def _start(
    shape: tuple[int, int], k: int, extra: int, rng: np.random.Generator, dtype: np.dtype
) -> list[np.ndarray]:
    """Small random factors, and columns of zeros after them."""
    sides = []
    for size in reversed(shape):
        side = np.zeros((size, k + extra), dtype=dtype)
        side[:, :k] = SPREAD * rng.standard_normal((size, k), dtype=dtype)
        sides.append(side)
    return sides[::-1]


def principal_axes(items: np.ndarray) -> np.ndarray:
    """The rotation of factors to the principal axes of the items, the strongest first.

    Products of users and items stay as they are. The largest entry of an axis is positive.
    """
    axes = linalg.eigh(items.T @ items)[1][:, ::-1]
    turned = items @ axes
    largest = np.take_along_axis(turned, np.abs(turned).argmax(axis=0)[None], axis=0)[0]
    return axes * np.where(largest < 0, -1, 1).astype(items.dtype)
