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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import linalg

from panlearn.core.columns import FAST
from panlearn.core.jit import jit
from panlearn.core.map_reduce import map_reduce
from panlearn.core.short_rows import first_largest
from panlearn.core.statistics import Sums
from panlearn.linear._logistic_loss import NO_WEIGHT, from_scores
from panlearn.linear._logistic_problem import LogisticProblem

# How well a step is known beside its length: the decrement itself, within these bounds. And the
# most products for one.
COARSE, FINE, PRODUCTS = 0.1, 1e-3, 200


import os
DEBUG='DEB' in os.environ
FACTOR=float(os.environ.get('FACTOR',1)); COARSE=float(os.environ.get('COARSE',COARSE)); FINE=float(os.environ.get('FINE',FINE))
class ManyClasses:
    """The problem for `minimise`, whose curvature is said by the point where it is."""

    patience = np.inf

    def __init__(self, problem: LogisticProblem, tol: float) -> None:
        self._problem, self._accuracy = problem, 0.01 * tol
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
        point = self._padded(curvature.reshape(self._problem.k, -1))
        p = from_scores(self._rows.X @ point.T)
        weight = self._rows.weight
        weighted = p if weight is None else p * weight[:, None]
        # p_a (1 - p_a) is the sum of p_a p_b over the other classes
        between = -(weighted.T @ p).astype(float) / self._problem.total
        np.fill_diagonal(between, 0.0)
        between[np.diag_indices(len(between))] -= between.sum(axis=1)
        spread, classes = linalg.eigh(between)
        # no gradient points where all scores shift alike
        spread[0] = spread[-1]
        curve = np.maximum(spread, 1e-9 * spread[-1])[:, None] + np.maximum(self._shrinkage, 0.0)
        product = functools.partial(Product.of, p=p, top=first_largest(p))
        
        return ProductModel(functools.partial(self._product, product), classes, self._basis, curve, self._accuracy)

    def _product(self, product: Any, direction: np.ndarray) -> np.ndarray:
        summary = functools.partial(product, direction=self._padded(direction))
        found = map_reduce(summary, self._rows, require_finite=False)
        return found.product[:, : self._problem.d + 1] / self._problem.total + self._ridge * direction

    def _padded(self, x: np.ndarray) -> np.ndarray:
        """In single precision, with a zero for each column that fills the rows up."""
        padded = np.zeros((self._problem.k, self._rows.n_features), np.float32)
        padded[:, : self._problem.d + 1] = x
        return padded


class ProductModel:
    """A quadratic model that is known by the products of its Hessian with vectors."""

    def __init__(
        self,
        product: Callable[[np.ndarray], np.ndarray],
        classes: np.ndarray,
        basis: np.ndarray,
        curve: np.ndarray,
        accuracy: float,
    ) -> None:
        self._product, self._accuracy = product, accuracy
        self._classes, self._basis, self._curve = classes, basis, curve

    def step(self, x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Minus H^-1 g, by conjugate gradients."""
        r = -gradient.reshape(len(self._classes), -1)
        way, z = np.zeros_like(r), self._precondition(r)
        p, rz = z, np.sum(r * z)
        forcing = np.clip(FACTOR * np.sqrt(rz), FINE, COARSE)
        enough = max(forcing * np.sqrt(rz), self._accuracy) ** 2
        for _ in range(PRODUCTS):
            q = self._product(p)
            bend = np.sum(p * q)
            if bend <= 0:  # classes told apart to the last bit: nothing bends there
                break
            way += rz / bend * p
            r = r - rz / bend * q
            z = self._precondition(r)
            rz, last = np.sum(r * z), rz
            if rz <= enough:
                break
            p = z + rz / last * p
        if DEBUG: print(_, "%.1e"%enough, end=" ")
        return way.ravel()

    def learn(self, step: np.ndarray, change: np.ndarray) -> None:
        """Nothing: the next point has its own products."""

    def _precondition(self, r: np.ndarray) -> np.ndarray:
        inner = (self._classes.T @ r @ self._basis) / self._curve
        return self._classes @ inner @ self._basis.T


@dataclass(frozen=True)
class Product(Sums):
    """The product of the Hessian of some rows with a direction."""

    product: np.ndarray  # (k, d + 1)

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        places: np.ndarray,
        weight: np.ndarray | None,
        direction: np.ndarray,
        p: np.ndarray,
        top: np.ndarray,
    ) -> Self:
        """Of rows X, which are those at `places` of the probabilities and their largest ones."""
        here = slice(places[0], places[-1] + 1)
        scores = X @ direction.T
        bend_scores(scores, p[here], top[here], NO_WEIGHT if weight is None else weight)
        return cls((X.T @ scores).T.astype(float))


@jit(fastmath=FAST)
def bend_scores(U: np.ndarray, p: np.ndarray, top: np.ndarray, weight: np.ndarray) -> None:
    """Each row u becomes weight * (diag p - p p') u; `top` is where p is largest."""
    n, k = U.shape
    for i in range(n):
        # from the likeliest class on, so that the small probabilities of others keep their digits
        away = U[i, top[i]]
        mean = np.float32(0.0)
        for c in range(k):
            U[i, c] -= away
            mean += p[i, c] * U[i, c]
        for c in range(k):
            U[i, c] = p[i, c] * (U[i, c] - mean)
        if len(weight):
            for c in range(k):
                U[i, c] *= weight[i]
