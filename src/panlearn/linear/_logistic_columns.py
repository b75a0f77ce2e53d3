"""Logistic regression of two classes seen by columns, for steps that go along them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

from panlearn.core.sources import ArrayRows

if TYPE_CHECKING:
    from panlearn.linear._logistic_problem import LogisticProblem


@dataclass(frozen=True)
class ColumnDesign:
    """Two classes in memory by columns, the last one of ones; dense columns are centred."""

    X: sparse.csc_array
    y: np.ndarray
    weight: np.ndarray
    centre: np.ndarray

    @classmethod
    def of(cls, rows: ArrayRows, mean: np.ndarray, *, fit_intercept: bool) -> Self:
        """The columns of X and one of ones if there is an intercept, as a sparse matrix."""
        assert rows.y is not None  # the codes of the classes
        n, d = rows.X.shape
        if sparse.issparse(rows.X):
            X, centre = sparse.csc_array(rows.X), np.zeros(d)
        else:
            centre = mean
            data = np.subtract(rows.X, centre, dtype=float).ravel(order="F")
            places = np.tile(np.arange(n, dtype=np.int32), d)
            X = sparse.csc_array((data, places, np.arange(0, n * d + 1, n)))
        if fit_intercept:
            X = sparse.hstack([X, np.ones((n, 1))], format="csc")
        weight = np.ones(n) if rows.weight is None else rows.weight.astype(float)
        return cls(X, rows.y.astype(float), weight, centre)

    def unknowns(self, problem: LogisticProblem, x: np.ndarray) -> np.ndarray:
        """Weights of the columns at the point x of the problem."""
        coef, intercept = problem.coefficients(x)
        return np.append(coef, intercept + coef @ self.centre)[: self.X.shape[1]]

    def point(self, problem: LogisticProblem, w: np.ndarray) -> np.ndarray:
        """The point of the problem with these weights."""
        coef = w[None, : problem.d]
        intercept = w[problem.d :].sum() - coef @ self.centre
        return problem.start(coef, intercept)

    def attributes(self, problem: LogisticProblem, w: np.ndarray) -> dict[str, Any]:
        """The fitted attributes of an estimator with these weights."""
        return problem.attributes(self.point(problem, w))
