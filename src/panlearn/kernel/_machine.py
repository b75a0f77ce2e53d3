"""A support vector machine for two classes, and the sigmoid of its scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from panlearn.kernel._platt import fit_sigmoid
from panlearn.kernel._rows import Rows
from panlearn.kernel._smo import BLOCK, Solution, solve


class Machine(NamedTuple):
    """Two classes: the rows, their signs, and the bound of each multiplier."""

    members: np.ndarray
    sign: np.ndarray
    C: np.ndarray

    def solve(self, rows: Rows, options: dict[str, Any]) -> Solution:
        """Solve the dual, 0 ≤ y_i β_i ≤ C_i."""
        # at a bound above this a score has no digits left, so that the bound stands for none
        hard = self.C * rows.diagonal.max() > 1 / np.finfo(np.float64).eps
        end = self.sign * np.where(hard, np.inf, self.C)
        return solve(rows, self.sign, np.minimum(end, 0), np.maximum(end, 0), **options)

    def sigmoid(
        self, rows: Rows, fold: np.ndarray, weight: np.ndarray, options: dict[str, Any]
    ) -> tuple[float, float]:
        """Platt's sigmoid of scores that each row gets from a machine that did not see it."""
        scores = np.empty(len(fold))
        for k in np.unique(fold):
            new, old = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
            both = rows.taken(np.concatenate([old, new]))
            if len(np.unique(self.sign[old])) < 2:
                scores[new] = self.sign[old].mean() if len(old) else 0.0
                continue
            part = Machine(old, self.sign[old], self.C[old])
            solution = part.solve(rows.taken(old), options)
            support = np.flatnonzero(solution.beta)
            scores[new] = solution.intercept
            step = max(1, BLOCK // len(new))
            for start in range(0, len(support), step):
                some = support[start : start + step]
                scores[new] += solution.beta[some] @ both(some, len(old), len(fold))
        return fit_sigmoid(scores, self.sign > 0, weight)


def folds(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One of five parts for each row, so that each class is spread over all of them."""
    fold = np.empty(len(codes), dtype=int)
    for code in np.unique(codes):
        members = rng.permutation(np.flatnonzero(codes == code))
        fold[members] = np.arange(len(members)) % 5
    return fold


def precision(diagonal: np.ndarray, C: np.ndarray, tol: float) -> type:
    """float32 if its rounding of the matrix moves a gradient by no more than half of tol."""
    rounding = np.finfo(np.float32).eps / 4 * np.abs(diagonal).max() * np.hypot.reduce(C)
    return np.float32 if rounding < tol / 2 else np.float64
