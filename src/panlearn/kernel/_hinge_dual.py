r"""Linear support vector machines by coordinate descent on the dual, for rows with many features.

.. math::
    \min_\alpha \; \tfrac12 \Big\| \sum_i \alpha_i y_i x_i \Big\|^2
    + \tfrac12 \sum_i q_i \alpha_i^2 - \sum_i \alpha_i
    \quad \text{with} \quad 0 \le \alpha_i \le h_i, \;\; \sum_i \alpha_i y_i = 0

The hinge has h = c and q = 0, its square no bound and q = 1 / (2c). One variable cannot move alone
under the sum, so the sum enters as an augmented Lagrangian,
:math:`b \sum_i \alpha_i y_i + \tfrac{\sigma}{2} (\sum_i \alpha_i y_i)^2`, whose multiplier b is the
intercept: it is moved by :math:`\sigma \sum_i \alpha_i y_i` after each pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from panlearn.core.jit import jit


class Dual:
    """Passes over the rows in random order, which leave out those that stay at a bound."""

    def __init__(
        self,
        X: Any,
        y: np.ndarray,
        c: np.ndarray,
        *,
        squared: bool,
        fit_intercept: bool,
        tol: float,
        rng: np.random.Generator,
    ) -> None:
        self._X, self._y, self._tol, self._rng = X, y, tol, rng
        self._high = np.full(len(y), np.inf) if squared else c
        self._q = 1 / (2 * c) if squared else np.zeros(len(y))
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sparse.issparse(X) else None
        squares = np.einsum("ij,ij->i", X, X) if squares is None else squares
        # less binds the sum too loosely, more couples the rows and slows them down
        self._sigma = 0.1 * float(squares.mean()) if fit_intercept else 0.0
        self._curvature = squares + self._q + self._sigma
        self._curvature[self._curvature == 0] = 1.0  # a row of zeros moves nothing
        self._alpha: np.ndarray = np.zeros(len(y))
        self.w: np.ndarray = np.zeros(X.shape[1])
        self.b = 0.0
        self.change = np.inf
        self._start_over()

    def _start_over(self) -> None:
        self._active, self._top, self._bottom = np.arange(len(self._y)), np.inf, -np.inf

    def step(self) -> bool:
        """Go over the active rows; if nothing is left to do there, over all of them."""
        whole = len(self._active) == len(self._y)
        self.change = self._pass()
        if self.change <= self._tol and not whole:
            self._start_over()
            self.change = self._pass()
        return True

    def _pass(self) -> float:
        """One pass; returns the largest violation that it met."""
        order = self._active
        _shuffle(order, int(self._rng.integers(1, 1 << 63)))
        before = self._alpha @ self._y
        state = (self._y, self._q, self._high, self._curvature, self._alpha, self.w)
        rest = (self.b, self._sigma, before, self._top, self._bottom)
        if sparse.issparse(self._X):
            csr = (self._X.data, self._X.indices, self._X.indptr)
            top, bottom, kept = sparse_pass(*csr, order, *state, *rest)
        else:
            top, bottom, kept = dense_pass(self._X, order, *state, *rest)
        # a limit of the wrong sign would leave out rows that may yet move
        self._top, self._bottom = (top if top > 0 else np.inf), (bottom if bottom < 0 else -np.inf)
        self._active = order[:kept]
        shift = self._sigma * (self._alpha @ self._y)
        self.b += shift
        return float(max(top, 0) - min(bottom, 0) + abs(shift))

    @property
    def objective(self) -> float:
        """The dual value, negated: Σα − ½‖w‖² − ½Σqα²."""
        return float(self._alpha.sum() - 0.5 * (self.w @ self.w + self._q @ self._alpha**2))


@jit(inline="always")
def _move(
    slope: float, alpha: float, high: float, curvature: float, top: float, bottom: float
) -> tuple[float, float, bool]:
    """The new variable, its projected derivative, and whether it may be left out from now on."""
    if alpha == 0:
        out, projected = slope > top, min(slope, 0.0)
    elif alpha == high:
        out, projected = slope < bottom, max(slope, 0.0)
    else:
        out, projected = False, slope
    new = alpha if projected == 0 else min(max(alpha - slope / curvature, 0.0), high)
    return new, projected, out


@jit
def _shuffle(order: np.ndarray, seed: int) -> None:
    """Bring rows into a random order, by numbers of Marsaglia's generator."""
    state = np.uint64(seed)
    for k in range(len(order) - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        other = ((state >> np.uint64(32)) * np.uint64(k + 1)) >> np.uint64(32)
        order[k], order[other] = order[other], order[k]


@jit(fastmath={"reassoc", "contract", "nsz"})
def dense_pass(
    X: np.ndarray,
    order: np.ndarray,
    y: np.ndarray,
    q: np.ndarray,
    high: np.ndarray,
    curvature: np.ndarray,
    alpha: np.ndarray,
    w: np.ndarray,
    b: float,
    sigma: float,
    total: float,
    top: float,
    bottom: float,
) -> tuple[float, float, int]:
    """One pass over dense rows; those that stay active are brought to the front of `order`."""
    largest, smallest, kept = -np.inf, np.inf, 0
    for k in range(len(order)):
        i = order[k]
        score = b + sigma * total
        for j in range(len(w)):
            score += X[i, j] * w[j]
        slope = y[i] * score - 1 + q[i] * alpha[i]
        new, projected, out = _move(slope, alpha[i], high[i], curvature[i], top, bottom)
        if out:
            continue
        order[kept] = i
        kept += 1
        largest, smallest = max(largest, projected), min(smallest, projected)
        change = (new - alpha[i]) * y[i]
        if change != 0:
            alpha[i] = new
            total += change
            for j in range(len(w)):
                w[j] += change * X[i, j]
    return largest, smallest, kept


@jit
def sparse_pass(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    order: np.ndarray,
    y: np.ndarray,
    q: np.ndarray,
    high: np.ndarray,
    curvature: np.ndarray,
    alpha: np.ndarray,
    w: np.ndarray,
    b: float,
    sigma: float,
    total: float,
    top: float,
    bottom: float,
) -> tuple[float, float, int]:
    """The same over sparse rows."""
    largest, smallest, kept = -np.inf, np.inf, 0
    for k in range(len(order)):
        i = order[k]
        score = b + sigma * total
        for p in range(indptr[i], indptr[i + 1]):
            score += data[p] * w[indices[p]]
        slope = y[i] * score - 1 + q[i] * alpha[i]
        new, projected, out = _move(slope, alpha[i], high[i], curvature[i], top, bottom)
        if out:
            continue
        order[kept] = i
        kept += 1
        largest, smallest = max(largest, projected), min(smallest, projected)
        change = (new - alpha[i]) * y[i]
        if change != 0:
            alpha[i] = new
            total += change
            for p in range(indptr[i], indptr[i + 1]):
                w[indices[p]] += change * data[p]
    return largest, smallest, kept
