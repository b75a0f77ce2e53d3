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
    """All conditional tables, one after another, and the tree of their product if it is needed."""

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

    def cells(self, codes: np.ndarray, j: int) -> np.ndarray:
        """The cell of each row in the table of variable j."""
        cell = np.zeros(len(codes), dtype=np.int64)
        for v in (*self.parents[j], j):
            cell = cell * self.sizes[v] + codes[:, v]
        return cell + self.starts[j]

    def start(
        self, codes: np.ndarray, weight: np.ndarray, alpha: float, rng: np.random.Generator
    ) -> Tables:
        """Tables from the rows that have all entries of a family; random where no row has."""
        flat = np.zeros(self.starts[-1])
        hidden = (codes < 0).all(axis=0)
        for j, above in enumerate(self.parents):
            part = flat[self.starts[j] : self.starts[j + 1]]
            if hidden[[*above, j]].any():  # equal tables would be a saddle point of EM
                part[:] = rng.exponential(size=len(part))
                continue
            whole = (codes[:, [*above, j]] >= 0).all(axis=1)
            cell = self.cells(codes[whole], j) - self.starts[j]
            # a little everywhere: no cell is impossible before EM has seen the other rows
            part[:] = np.bincount(cell, weight[whole], minlength=len(part)) + max(alpha, 1e-3)
        return self.normalise(flat, 0.0)

    def expect(
        self, at: Tables, X: np.ndarray, y: Any = None, weight: np.ndarray | None = None
    ) -> FamilyCounts:
        """Expected counts of a block of rows of codes, where -1 is missing."""
        weight = np.ones(len(X)) if weight is None else weight
        whole = (X >= 0).all(axis=1)
        rows, share = X[whole], weight[whole]
        count = np.zeros(self.starts[-1])
        value = 0.0
        for j in range(len(self.sizes)):
            cell = self.cells(rows, j)
            count += np.bincount(cell, share, minlength=len(count))
            seen = share > 0
            value += float(share[seen] @ np.log(at.flat[cell[seen]]))
        if not whole.all():
            tree = self.tree(at.flat)
            value += _kernels.expected_counts(
                tree._plan, tree._potentials, X[~whole], weight[~whole], count
            )
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
        """Log probabilities of rows without missing entries."""
        logs = np.zeros(len(codes))
        with np.errstate(divide="ignore"):
            log_flat = np.log(flat)
        for j in range(len(self.sizes)):
            logs += log_flat[self.cells(np.maximum(codes, 0), j)]
        return logs

    def split(self, flat: np.ndarray) -> list[np.ndarray]:
        """The tables, each with one axis a parent and a last one for the variable."""
        shapes = [[self.sizes[v] for v in (*p, j)] for j, p in enumerate(self.parents)]
        parts = np.split(flat, self.starts[1:-1])
        return [p.reshape(s) for p, s in zip(parts, shapes, strict=True)]

    def join(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """All tables one after another."""
        return np.concatenate([t.ravel() for t in tables])
