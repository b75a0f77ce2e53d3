r"""Multinomial logistic regression of many classes: Newton's steps from products with the Hessian.

The Hessian of k classes and d columns takes :math:`n d^2 k^2` operations, its product with a vector
:math:`n d k`, as few as a pass. So each step is found by conjugate gradients, the more
accurately the closer the minimum is, with

.. math::
    M = \left( \frac1n \sum_i \mathrm{diag}\, p_i - p_i p_i^\top \right)
        \otimes \left( \frac1n \sum_i x_i x_i^\top \right) + R

for a preconditioner, R the penalty: its inverse takes two small eigenvalue problems. The products
are in single precision: they bend the way to the minimum, but where it is the gradient tells.

References
----------
S. C. Eisenstat and H. F. Walker (1996). Choosing the forcing terms in an inexact Newton method.
SIAM Journal on Scientific Computing 17(1). doi:10.1137/0917003

C.-J. Lin, R. C. Weng and S. S. Keerthi (2008). Trust region Newton method for large-scale logistic
regression. Journal of Machine Learning Research 9.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy import linalg

from panlearn.core.columns import FAST
from panlearn.core.jit import jit
from panlearn.core.short_rows import first_largest
from panlearn.core.threads import OrderedMap, threads
from panlearn.linear._logistic_loss import from_scores
from panlearn.linear._logistic_problem import LogisticProblem

# A step may leave this power of the rate at which the decrement fell, within these bounds.
FORCING, FINE, COARSE = 1.5, 1e-3, 0.1
# The most products of a step.
PRODUCTS = 200
# Numbers in a block of rows, which threads share out.
BLOCK = 1 << 18


class ManyClasses:
    """The problem for `minimise`; the curvature of a point is said by the point."""

    patience = np.inf

    def __init__(self, problem: LogisticProblem, tol: float) -> None:
        self.penalty, self.epsilon = problem.penalty, problem.epsilon
        self.attributes = problem.attributes
        # the last decrement, and 1 for that before the first: a mean loss begins at about that
        self._accuracy, self._decrement = 0.03 * tol, 1.0
        self.ridge = problem.ridge
        self.X, self.share = problem.single_rows()
        rows = max(256, BLOCK // (self.X.shape[1] + problem.k))
        self.blocks = [slice(i, i + rows) for i in range(0, len(self.X), rows)]
        # columns in which the scatter is the identity and the penalty a diagonal
        scatter = problem.scatter() + 1e-9 * np.eye(problem.d + 1)
        self.shrinkage, self.columns = linalg.eigh(np.diag(self.ridge), scatter)
        self._problem = problem

    def evaluate(
        self, x: np.ndarray, curved: bool = False
    ) -> tuple[float, np.ndarray, np.ndarray | None]:
        """Value and gradient at x, and x."""
        value, gradient, _ = self._problem.evaluate(x)
        return value, gradient, x

    def model(self, curvature: np.ndarray) -> ProductModel:
        """The quadratic model around the point."""
        return ProductModel(self, curvature.reshape(self._problem.k, -1))

    def accuracy_beside(self, decrement: float) -> float:
        """What the next step may leave of a decrement: the less, the faster the steps converge."""
        shrinkage = (decrement / self._decrement) ** FORCING if self._decrement else 0.0
        self._decrement = decrement
        return max(float(np.clip(shrinkage, FINE, COARSE)) * decrement, self._accuracy)

    def single(self, x: np.ndarray) -> np.ndarray:
        """Unknowns (k, d + 1) in single precision, with zeros for the columns that fill up X."""
        filled = np.zeros((len(x), self.X.shape[1]), np.float32)
        filled[:, : x.shape[1]] = x
        return filled


class ProductModel:
    """A quadratic model whose Hessian is known by its products with vectors."""

    def __init__(self, problem: ManyClasses, point: np.ndarray) -> None:
        self._problem = problem
        k = len(point)
        self._p = np.empty((len(problem.X), k), np.float32)
        self._top = np.empty(len(problem.X), np.intp)
        with threads() as run:
            part = functools.partial(self._confusion, problem.single(point))
            between = -sum(run(part, problem.blocks), np.zeros((k, k)))
        # p_a (1 - p_a) is the sum of p_a p_b over the other classes
        np.fill_diagonal(between, 0.0)
        between[np.diag_indices(k)] -= between.sum(axis=1)
        spread, self._classes = linalg.eigh(between)
        spread[0] = spread[-1]  # that of a shift of all scores
        spread = np.maximum(spread, max(1e-9 * spread[-1], 1e-30))
        self._curve = spread[:, None] + np.maximum(problem.shrinkage, 0.0)

    def step(self, x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Minus H^-1 g, by conjugate gradients."""
        r = -gradient.reshape(len(self._classes), -1)
        way, z = np.zeros_like(r), self._precondition(r)
        p, rz = z, np.sum(r * z)
        enough = self._problem.accuracy_beside(np.sqrt(max(rz, 0.0))) ** 2
        with threads() as run:
            for _ in range(PRODUCTS):
                q = self._product(p, run)
                bend = np.sum(p * q)
                if bend <= 0:  # at rows that are told apart to the last bit nothing bends
                    way = way if way.any() else p
                    break
                way += rz / bend * p
                r = r - rz / bend * q
                z = self._precondition(r)
                rz, last = np.sum(r * z), rz
                if rz <= enough:
                    break
                p = z + rz / last * p
        return way.ravel()

    def learn(self, step: np.ndarray, change: np.ndarray) -> None:
        """Nothing: the next point has a model of its own."""

    def _precondition(self, r: np.ndarray) -> np.ndarray:
        """M^-1 r, less what shifts all scores alike, where rounding alone points."""
        columns = self._problem.columns
        inner = (self._classes.T @ r @ columns) / self._curve
        z = self._classes @ inner @ columns.T
        return z - z.mean(axis=0)

    def _product(self, direction: np.ndarray, run: OrderedMap) -> np.ndarray:
        """H times a direction."""
        part = functools.partial(self._bent, self._problem.single(direction))
        total = sum(run(part, self._problem.blocks), self._problem.ridge * direction)
        return np.asarray(total)

    def _confusion(self, point: np.ndarray, block: slice) -> np.ndarray:
        """Sum of p p' of a block, whose p are kept."""
        p = self._p[block] = from_scores(self._problem.X[block] @ point.T)
        self._top[block] = first_largest(p)
        return (p.T @ (p * self._problem.share[block, None])).astype(float)

    def _bent(self, direction: np.ndarray, block: slice) -> np.ndarray:
        """Sum of (diag p - p p') kron x x' of a block, times a direction."""
        X = self._problem.X[block]
        scores = X @ direction.T
        bend(scores, self._p[block], self._top[block], self._problem.share[block])
        width = len(self._problem.ridge)
        return (X.T @ scores)[:width].T.astype(float)


@jit(fastmath=FAST)
def bend(U: np.ndarray, p: np.ndarray, top: np.ndarray, share: np.ndarray) -> None:
    """Each row u becomes share * (diag p - p p') u; `top` is where p is largest."""
    n, k = U.shape
    for i in range(n):
        # beside the likeliest class, so that what others have of it keeps its digits
        most = U[i, top[i]]
        mean = np.float32(0.0)
        for c in range(k):
            U[i, c] -= most
            mean += p[i, c] * U[i, c]
        for c in range(k):
            U[i, c] = share[i] * p[i, c] * (U[i, c] - mean)
