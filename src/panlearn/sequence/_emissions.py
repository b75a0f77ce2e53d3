"""What the states of a hidden Markov chain emit: the interface, and symbols."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from panlearn.core.jit import jit
from panlearn.core.statistics import Statistic, Sums


class Emission(ABC):
    """The law of a step in each of k states; it is fixed, and `maximise` gives the next."""

    @abstractmethod
    def log_densities(self, values: np.ndarray) -> np.ndarray:
        """Log p(x_t | state), of shape (n, k)."""

    @abstractmethod
    def densities(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The densities of each step over the largest of them, and the logarithm of that."""

    @abstractmethod
    def expect(self, values: np.ndarray, share: np.ndarray) -> Statistic:
        """What steps add to each state, given the shares (n, k) that the states have in them."""

    @abstractmethod
    def maximise(self, seen: Any) -> Self:
        """The law that makes the expected log-likelihood largest."""

    @abstractmethod
    def sample(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a step in each of these states."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """How many numbers are free."""


@dataclass(frozen=True)
class SymbolCounts(Sums):
    """Expected counts of each symbol, and of missing ones last, in each state."""

    count: np.ndarray


class CategoricalEmission(Emission):
    """Symbols 0, ..., m - 1 with probabilities (k, m); -1 is missing, and says nothing."""

    def __init__(self, probability: np.ndarray, prior: Any, support: np.ndarray) -> None:
        self.probability, self.prior, self.support = probability, prior, support
        top = probability.max(axis=0)
        safe = np.where(top > 0, top, 1)
        # the code -1 finds the last row, which is of missing symbols
        self._table = np.ascontiguousarray(
            np.vstack([(probability / safe).T, np.ones(len(probability))])
        )
        self._shift = np.append(np.log(safe), 0.0)

    def log_densities(self, values: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.take(np.log(self._table) + self._shift[:, None], values, axis=0)

    def densities(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.take(self._table, values, axis=0), np.take(self._shift, values)

    def expect(self, values: np.ndarray, share: np.ndarray) -> SymbolCounts:
        count = np.zeros_like(self._table)
        add_shares(values, share, count)
        return SymbolCounts(count)

    def maximise(self, seen: SymbolCounts) -> CategoricalEmission:
        count = seen.count[:-1].T
        probability = posterior_mode(count, self.prior, self.support, self.probability)
        return CategoricalEmission(probability, self.prior, self.support)

    def sample(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        uniform, out = rng.random(len(states)), np.empty(len(states), dtype=np.int64)
        for j, law in enumerate(np.cumsum(self.probability, axis=1)):
            here = states == j
            found = np.searchsorted(law, uniform[here] * law[-1], side="right")
            out[here] = np.minimum(found, len(law) - 1)
        return out

    @property
    def n_parameters(self) -> int:
        return int((self.probability > 0).sum() - len(self.probability))


def posterior_mode(
    count: np.ndarray, prior: Any, support: np.ndarray, otherwise: np.ndarray
) -> np.ndarray:
    """Rows of n + prior - 1 over their sum, zero off the support; without any, as it was."""
    raised = np.where(support, count + np.asarray(prior, dtype=float) - 1, 0.0)
    total = raised.sum(axis=-1, keepdims=True)
    return np.where(total > 0, raised / np.where(total > 0, total, 1.0), otherwise)


@jit(plain=lambda codes, share, count: share.size)
def add_shares(codes: np.ndarray, share: np.ndarray, count: np.ndarray) -> None:
    """Add the shares of each step to the row of its symbol."""
    for t in range(len(codes)):
        for j in range(share.shape[1]):
            count[codes[t], j] += share[t, j]
