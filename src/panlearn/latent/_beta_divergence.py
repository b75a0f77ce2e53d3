r"""Multiplicative steps of a non-negative factorisation for any beta-divergence.

.. math::
    d_\beta(x \mid \hat x) = \frac{x^\beta + (\beta - 1) \hat x^\beta - \beta x \hat x^{\beta - 1}}
    {\beta (\beta - 1)}, \qquad d_0 = \frac{x}{\hat x} - \log \frac{x}{\hat x} - 1

of which half the square (2) and the Kullback-Leibler divergence (1) have steps of their own.

References
----------
C. Févotte and J. Idier (2011). Algorithms for nonnegative matrix factorization with the
beta-divergence. Neural Computation 23(9). doi:10.1162/NECO_a_00168
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panlearn.latent._nonnegative import MOST_SWEEPS, Penalty, Problem


@dataclass(frozen=True)
class BetaDivergence:
    """The divergence of one beta, for dense rows."""

    beta: float

    @property
    def power(self) -> float:
        """Of the ratio by which a factor is multiplied, so that the divergence never rises."""
        if self.beta < 1:
            return 1 / (2 - self.beta)
        return 1 / (self.beta - 1) if self.beta > 2 else 1.0

    def step(self, problem: Problem, W: np.ndarray, Ht: np.ndarray) -> float:
        """Multiply W, then H; returns the objective between the two."""

        def pass_over(part: slice, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
            rows = W[part]
            above, below, _ = self._slopes(X, rows, Ht)
            self._multiply(rows, above @ Ht, below @ Ht, problem.penalty_W)
            above, below, fitted = self._slopes(X, rows, Ht)
            weighted = rows * problem.weight[part, None]
            loss = float(problem.weight[part] @ self._divergences(X, fitted))
            return above.T @ weighted, below.T @ weighted, loss

        numerator, denominator, loss = problem.sums(pass_over)
        objective = loss + problem.penalty(W, Ht)
        self._multiply(Ht, numerator, denominator, problem.penalty_H)
        return objective

    def loss(self, problem: Problem, W: np.ndarray, Ht: np.ndarray) -> float:
        """The divergence of WH from X."""

        def pass_over(part: slice, X: np.ndarray) -> tuple[float]:
            divergences = self._divergences(X, _fitted(W[part], Ht))
            return (float(problem.weight[part] @ divergences),)

        return max(problem.sums(pass_over)[0], 0.0)

    def solve(self, X: np.ndarray, Ht: np.ndarray, penalty: Penalty) -> np.ndarray:
        """The W of rows for a fixed H: multiplied till none moves by a root of a rounding."""
        tol = float(np.sqrt(np.finfo(X.dtype).eps))
        share = X.sum(axis=1, keepdims=True) / max(float(Ht.sum()), np.finfo(X.dtype).tiny)
        W = np.repeat(share.astype(X.dtype), Ht.shape[1], axis=1)
        moving = np.arange(len(X))
        for _ in range(MOST_SWEEPS):
            rows = W[moving]
            above, below, _ = self._slopes(X[moving], rows, Ht)
            self._multiply(rows, above @ Ht, below @ Ht, penalty)
            ends = np.abs(rows - W[moving]).max(axis=1) <= tol * rows.max(axis=1)
            W[moving] = rows
            moving = moving[~ends]
            if not len(moving):
                break
        return W

    def _slopes(
        self, X: np.ndarray, W: np.ndarray, Ht: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""The two parts of the gradient, :math:`x \hat x^{\beta-2}` and its like, and the fit."""
        fitted = _fitted(W, Ht)
        slope = fitted ** (self.beta - 1)
        return X * slope / fitted, slope, fitted

    def _multiply(
        self, rows: np.ndarray, above: np.ndarray, below: np.ndarray, penalty: Penalty
    ) -> None:
        below = below + penalty.l1 + penalty.l2 * rows
        ratio = np.where(below > 0, above / np.where(below > 0, below, 1), 0)
        rows *= ratio**self.power

    def _divergences(self, X: np.ndarray, fitted: np.ndarray) -> np.ndarray:
        """The divergence of each row."""
        beta, X, fitted = self.beta, X.astype(float), fitted.astype(float)
        if beta == 0:
            ratio = X / fitted
            return (ratio - np.log(ratio) - 1).sum(axis=1)
        ends = X**beta + (beta - 1) * fitted**beta
        return ((ends - beta * X * fitted ** (beta - 1)) / (beta * (beta - 1))).sum(axis=1)


def _fitted(W: np.ndarray, Ht: np.ndarray) -> np.ndarray:
    """WH, no smaller than what has powers in these floats."""
    fitted = W @ Ht.T
    return np.maximum(fitted, fitted.dtype.type(np.finfo(fitted.dtype).tiny ** 0.25), out=fitted)
