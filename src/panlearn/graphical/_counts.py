"""The counts behind the tables of a network: complete rows at once, the others by expectation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from panlearn.core.statistics import Sums
from panlearn.graphical import _kernels
from panlearn.graphical.clique_tree import CliqueTree


class Tables(NamedTuple):
    """All conditional tables, one after another."""

    flat: np.ndarray


@dataclass(frozen=True)
class FamilyCounts(Sums):
    """Expected counts of all families, with the weight and the log-likelihood of the rows."""

    weight: float
    log_likelihood: float
    count: np.ndarray


@dataclass(frozen=True)
class Families:
    """Each variable with its parents: where its table starts, and how rows find their cells."""

    parents: Sequence[Sequence[int]]
    sizes: Sequence[int]
    starts: np.ndarray

    @classmethod
    def of(cls, parents: Sequence[Sequence[int]], sizes: Sequence[int]) -> Families:
        """Lay out the tables of a graph."""
        cells = [math.prod(sizes[v] for v in (*p, j)) for j, p in enumerate(parents)]
        return cls(parents, sizes, np.concatenate([[0], np.cumsum(cells)]))

    @property
    def _layout(self) -> tuple[Any, Any, Any, Any]:
        """The variables of all tables in a row, where each table's end, sizes and starts."""
        scopes = [[*above, j] for j, above in enumerate(self.parents)]
        members = np.array([v for scope in scopes for v in scope], dtype=np.int64)
        ends = np.concatenate([[0], np.cumsum([len(scope) for scope in scopes])])
        return members, ends, np.asarray(self.sizes, dtype=np.int64), self.starts

    def start(
        self, codes: np.ndarray, weight: np.ndarray, alpha: float, rng: np.random.Generator
    ) -> Tables:
        """Tables from the rows that have all entries of a family; random where no row has."""
        flat = np.zeros(self.starts[-1])
        _kernels.count_families(codes, weight, *self._layout, flat)
        # a little everywhere: no cell is impossible before EM has seen the other rows
        flat += max(alpha, 1e-3)
        hidden = (codes < 0).sum(axis=0) == len(codes)
        for j, above in enumerate(self.parents):
            if hidden[[*above, j]].any():  # equal tables would be a saddle point of EM
                part = slice(self.starts[j], self.starts[j + 1])
                flat[part] = rng.exponential(size=self.starts[j + 1] - self.starts[j])
        return self.normalise(flat, 0.0)

    def expect(
        self, at: Tables, X: np.ndarray, y: Any = None, weight: np.ndarray | None = None
    ) -> FamilyCounts:
        """Expected counts of a block of rows of codes, where -1 is missing."""
        weight = np.ones(len(X)) if weight is None else weight
        partial = (X < 0).any(axis=1)
        count = np.zeros(self.starts[-1])
        _kernels.count_families(X[~partial], weight[~partial], *self._layout, count)
        seen = count > 0
        value = float(count[seen] @ np.log(at.flat[seen]))
        if partial.any():
            tree = self.tree(at.flat)
            value += _kernels.expected_counts(*tree._compiled, X[partial], weight[partial], count)
        return FamilyCounts(float(weight.sum()), value, count)

    def tree(self, flat: np.ndarray) -> CliqueTree:
        """The clique tree of all tables."""
        tables = self.split(flat)
        factors = [([*above, j], tables[j]) for j, above in enumerate(self.parents)]
        return CliqueTree(dict(enumerate(self.sizes)), factors)

    def normalise(self, count: np.ndarray, alpha: float) -> Tables:
        """Conditional tables from counts; without any count and prior a row is uniform."""
        flat = np.empty(self.starts[-1])
        for j, size in enumerate(self.sizes):
            part = slice(self.starts[j], self.starts[j + 1])
            rows = count[part].reshape(-1, size) + alpha
            total = rows.sum(axis=1, keepdims=True)
            rows = np.where(total > 0, rows, 1.0)
            flat[part] = (rows / rows.sum(axis=1, keepdims=True)).ravel()
        return Tables(flat)

    def log_probability(self, codes: np.ndarray, flat: np.ndarray) -> np.ndarray:
        """Log probabilities of rows; NaN for those with missing entries."""
        with np.errstate(divide="ignore"):
            return _kernels.sum_families(codes, np.log(flat), *self._layout)

    def split(self, flat: np.ndarray) -> list[np.ndarray]:
        """The tables, each with one axis a parent and a last one for the variable."""
        shapes = [[self.sizes[v] for v in (*p, j)] for j, p in enumerate(self.parents)]
        parts = np.split(flat, self.starts[1:-1])
        return [p.reshape(s) for p, s in zip(parts, shapes, strict=True)]

    def join(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """All tables one after another."""
        return np.concatenate([t.ravel() for t in tables])
