"""Stochastic gradient steps on the entries of a matrix, the same for any number of threads.

Users and items are cut into as many groups each; the entries of a user group and an item group
touch no factor that another pair of groups touches, if the pairs lie on a diagonal. So the pairs of
a diagonal run side by side, whatever thread takes them, and one diagonal follows the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from panlearn.core.jit import jit
from panlearn.core.threads import OrderedMap

GROUPS = 8
FEW = 20_000  # entries that are sooner done than handed to threads


class Diagonals:
    """The entries of a CSR matrix, sorted into pairs of groups, users in order within each."""

    def __init__(self, X: Any, target: np.ndarray) -> None:
        n, m = X.shape
        self.count = max(1, min(GROUPS, n, m))
        share = np.linspace(0, X.nnz, self.count + 1)
        columns = np.bincount(X.indices, minlength=m)
        # groups of about as many entries: the last user of a group is where its share is full
        user_group = np.searchsorted(share[1:-1], X.indptr[1:], side="left")
        item_group = np.searchsorted(share[1:-1], np.cumsum(columns), side="left")
        users = np.repeat(np.arange(n, dtype=X.indices.dtype), np.diff(X.indptr))
        pair = (user_group[users] * self.count + item_group[X.indices]).astype(np.uint8)
        order = np.argsort(pair, kind="stable")
        self.edges = np.searchsorted(pair[order], np.arange(self.count**2 + 1))
        self.users, self.items, self.target = users[order], X.indices[order], target[order]

    def epoch(
        self,
        users: np.ndarray,
        items: np.ndarray,
        biased: bool,
        rates: np.ndarray,
        share: OrderedMap,
    ) -> float:
        """One step an entry, in place; returns the sum of the squared errors that were met."""
        total, run = 0.0, share if len(self.target) > FEW else map
        for shift in range(self.count):
            pairs = [g * self.count + (g + shift) % self.count for g in range(self.count)]
            total += sum(run(lambda pair: self._run(pair, users, items, biased, rates), pairs))
        return total

    def _run(
        self, pair: int, users: np.ndarray, items: np.ndarray, biased: bool, rates: np.ndarray
    ) -> float:
        part = slice(self.edges[pair], self.edges[pair + 1])
        entries = self.users[part], self.items[part], self.target[part]
        return _steps(*entries, users, items, biased, rates)


@jit(fastmath={"reassoc", "contract"})
def _steps(
    user: np.ndarray,
    item: np.ndarray,
    target: np.ndarray,
    users: np.ndarray,  # (n, k + 1): factors, then the bias
    items: np.ndarray,
    biased: bool,
    rates: np.ndarray,  # the learning rate η and 1 - ηλ
) -> float:
    """Add rate (e q - λ p) to p, rate (e p - λ q) to q and rate (e - λ b) to the biases b."""
    k = users.shape[1] - 1
    rate, keep, squares = rates[0], rates[1], 0.0
    for at in range(len(target)):
        p, q = users[user[at]], items[item[at]]
        error = target[at] - p[k] - q[k]
        for f in range(k):
            error -= p[f] * q[f]
        squares += error * error
        step = rate * error
        for f in range(k):
            old = p[f]
            p[f] = keep * old + step * q[f]
            q[f] = keep * q[f] + step * old
        if biased:
            p[k] = keep * p[k] + step
            q[k] = keep * q[k] + step
    return squares
