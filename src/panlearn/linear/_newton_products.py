r"""Multinomial logistic regression of many classes: Newton's steps from products with the Hessian.

The Hessian of k classes and d columns takes :math:`n d^2 k^2` operations and its product with a
vector as few as a pass, :math:`n d k`. So each step is found by conjugate gradients, to an accuracy
beside that of Newton's step itself, with the Kronecker product

.. math::
    M = \left( \frac1n \sum_i \mathrm{diag}\, p_i - p_i p_i^\top \right)
        \otimes \left( \frac1n \sum_i x_i x_i^\top \right) + R

and R the penalty for a preconditioner, whose inverse takes two small eigenvalue problems.
The products are in single precision: they bend the way to the minimum, and not the minimum, which
the gradient tells.

References
----------
R. S. Dembo, S. C. Eisenstat and T. Steihaug (1982). Inexact Newton methods. SIAM Journal on
Numerical Analysis 19(2). doi:10.1137/0719025

C.-J. Lin, R. C. Weng and S. S. Keerthi (2008). Trust region Newton method for large-scale logistic
regression. Journal of Machine Learning Research 9.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import linalg

from panlearn.core.columns import FAST
from panlearn.core.jit import jit
from panlearn.core.map_reduce import map_reduce
from panlearn.core.sources import ArrayRows
from panlearn.core.statistics import Sums
from panlearn.linear._logistic_loss import NO_WEIGHT, from_scores
from panlearn.linear._logistic_problem import LogisticProblem

# How well a step is known beside its length: the decrement itself, within these bounds. And the
# most products for one.
COARSE, FINE, PRODUCTS = 0.1, 1e-3, 200


class ManyClasses:
    """The problem for `minimise`, whose curvature is said by the point where it is."""

    patience = np.inf

    def __init__(self, problem: LogisticProblem) -> None:
        self._problem = problem
        self.penalty, self.epsilon = problem.penalty, problem.epsilon
        self.attributes = problem.attributes
        self._rows = problem.standard_rows()
        self._ridge = problem.ridge
        # the columns in which their scatter is the identity and the penalty is a diagonal
        scatter = problem.scatter() + 1e-9 * np.eye(problem.d + 1)
        self._shrinkage, self._basis = linalg.eigh(np.diag(self._ridge), scatter)

    def evaluate(
        self, x: np.ndarray, curved: bool = False
    ) -> tuple[float, np.ndarray, np.ndarray | None]:
        """Value and gradient at x, and x for the curvature: it costs nothing to say."""
        value, gradient, _ = self._problem.evaluate(x)
        return value, gradient, x

    def model(self, curvature: np.ndarray) -> ProductModel:
        """The quadratic model around the point."""
        point = curvature.reshape(self._problem.k, -1).astype(np.float32)
        p = from_scores(np.ascontiguousarray(self._rows.X @ point.T))
        rows = ArrayRows(self._rows.X, p, self._rows.weight)
        weighted = p if rows.weight is None else p * rows.weight[:, None]
        # p_a (1 - p_a) is the sum of p_a p_b over the other classes
        between = -(weighted.T @ p).astype(float) / self._problem.total
        np.fill_diagonal(between, 0.0)
        between[np.diag_indices(len(between))] -= between.sum(axis=1)
        spread, classes = linalg.eigh(between)
        # no gradient points where all scores shift alike
        spread[0] = spread[-1]
        curve = np.maximum(spread, 1e-9 * spread[-1])[:, None] + np.maximum(self._shrinkage, 0.0)
        return ProductModel(rows, self._problem.total, self._ridge, classes, self._basis, curve)


class ProductModel:
    """A quadratic model that is known by the products of its Hessian with vectors."""

    def __init__(
        self,
        rows: ArrayRows,
        total: float,
        ridge: np.ndarray,
        classes: np.ndarray,
        basis: np.ndarray,
        curve: np.ndarray,
    ) -> None:
        self._rows, self._total, self._ridge = rows, total, ridge
        self._classes, self._basis, self._curve = classes, basis, curve

    def step(self, x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Minus H^-1 g, by conjugate gradients."""
        r = -gradient.reshape(len(self._classes), -1)
        way, z = np.zeros_like(r), self._precondition(r)
        p, rz = z, np.sum(r * z)
        enough = np.clip(np.sqrt(rz), FINE, COARSE) ** 2 * rz
        for _ in range(PRODUCTS):
            if rz <= enough:
                break
            q = self._product(p)
            bend = np.sum(p * q)
            if bend <= 0:  # classes told apart to the last bit: nothing bends there
                break
            way += rz / bend * p
            r = r - rz / bend * q
            z = self._precondition(r)
            rz, last = np.sum(r * z), rz
            p = z + rz / last * p
        return way.ravel()

    def learn(self, step: np.ndarray, change: np.ndarray) -> None:
        """Nothing: the next point has its own products."""

    def _precondition(self, r: np.ndarray) -> np.ndarray:
        inner = (self._classes.T @ r @ self._basis) / self._curve
        return self._classes @ inner @ self._basis.T

    def _product(self, direction: np.ndarray) -> np.ndarray:
        product = functools.partial(Product.of, direction=direction.astype(np.float32))
        found = map_reduce(product, self._rows, require_finite=False)
        return found.product / self._total + self._ridge * direction


@dataclass(frozen=True)
class Product(Sums):
    """The product of the Hessian of some rows with a direction."""

    product: np.ndarray  # (k, d + 1)

    @classmethod
    def of(
        cls, X: np.ndarray, p: np.ndarray, weight: np.ndarray | None, direction: np.ndarray
    ) -> Self:
        """Of rows X, the last column of ones, with probabilities p (n, k)."""
        scores = X @ direction.T
        bend_scores(scores, p, NO_WEIGHT if weight is None else weight)
        return cls((X.T @ scores).T.astype(float))


@jit(fastmath=FAST)
def bend_scores(U: np.ndarray, p: np.ndarray, weight: np.ndarray) -> None:
    """Each row u becomes weight * (diag p - p p') u."""
    n, k = U.shape
    for i in range(n):
        top = 0
        for c in range(1, k):
            if p[i, c] > p[i, top]:
                top = c
        # from the likeliest class on, so that the small probabilities of others keep their digits
        away = U[i, top]
        mean = np.float32(0.0)
        for c in range(k):
            U[i, c] -= away
            mean += p[i, c] * U[i, c]
        s = weight[i] if len(weight) else np.float32(1.0)
        for c in range(k):
            U[i, c] = s * p[i, c] * (U[i, c] - mean)
