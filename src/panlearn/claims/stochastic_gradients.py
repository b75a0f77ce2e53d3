"""Stochastic gradients: what a batch of rows says about all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, claim, equal
from panlearn.claims.problems import Logistic, noisy_logistic
from panlearn.optimize import stochastic_gradient_descent


@dataclass
class _Listener:
    """An update rule that stays where it is and keeps the gradients that it is given."""

    heard: list[np.ndarray] = field(default_factory=list)

    def init(self, x: np.ndarray) -> Any:
        """No memory."""
        return None

    def update(self, k: int, gradient: np.ndarray, memory: Any) -> tuple[np.ndarray, Any]:
        """No step."""
        self.heard.append(gradient)
        return np.zeros_like(gradient), memory


def _unbiased(seed: int, n: int, size: int) -> Iterator[Evidence]:
    """Gradients that stochastic descent sees at one point, and the full one."""
    loss, rule = noisy_logistic(seed, n=n, d=3), _Listener()
    w, batches = np.random.default_rng(seed).normal(size=3), []

    def part(rows: Any) -> Logistic:
        return Logistic(loss.X[rows], loss.y[rows])

    def jac(x: np.ndarray, rows: Any) -> np.ndarray:
        if not isinstance(rows, slice):
            batches.append(tuple(sorted(rows.tolist())))
        return part(rows).gradient(x)

    stochastic_gradient_descent(
        lambda x, rows: part(rows).value(x),
        w,
        jac=jac,
        n_samples=n,
        batch_size=size,
        epochs=300,
        rule=rule,
        tol=0.0,
        random_state=seed,
        keep_path=False,
    )
    full = [b for b in zip(batches, rule.heard, strict=True) if len(b[0]) == size]
    seen, subsets = dict(full), list(combinations(range(n), size))
    yield equal(f"batches of {size} that are drawn", sorted(seen), subsets)
    mean = np.mean([seen[rows] for rows in subsets], axis=0)
    yield equal(f"mean over batches of {size} and full gradient", mean, loss.gradient(w), 1e-12)
    epoch = -(-n // size)
    shares = np.array([len(rows) for rows in batches[:epoch]]) / n
    yield equal("mean over an epoch", shares @ rule.heard[:epoch], loss.gradient(w), 1e-12)


@claim("A7")
def minibatches_are_unbiased() -> Iterator[Evidence]:
    """A minibatch gradient is unbiased.

    Its average over all subsets of one size is the full gradient; so is that over an epoch, which
    deals out every row once.
    """
    yield from _unbiased(0, 8, 3)


@claim("B99")
def stochastic_gradients_are_unbiased() -> Iterator[Evidence]:
    """Single-row and minibatch gradients are unbiased.

    Their mean over all rows, or all subsets of one size, is the full gradient. (The text's
    estimate for the perceptron lacks a minus sign.)
    """
    for size in (1, 2):
        yield from _unbiased(11, 6, size)
