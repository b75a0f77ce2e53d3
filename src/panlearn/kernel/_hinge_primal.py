r"""Linear support vector machines by Newton steps, for rows with few features.

.. math:: \min_{w, b} \; \tfrac12 \|w\|^2 + \sum_i c_i \, \ell(y_i (x_i^\top w + b))

A column of ones makes b the last entry of u = (w, b); D is the identity with 0 for b. Each step
costs one weighted product :math:`X^\top \Theta X`, so :math:`O(n d^2)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, sparse

BLOCK = 1 << 17
"""Entries of the rows whose product is taken at a time."""
FLAT = 0.1
"""The slope at the end of a line, beside that at its start: a finer search saves few steps."""
ROUNDING = 4 * np.finfo(float).eps
Solver = Callable[[np.ndarray], np.ndarray]
"""What takes the right-hand side of a linear system to its solution."""


class _Affine:
    """What the last entry of u is: the intercept, if it is not penalised."""

    u: np.ndarray
    _penalised: np.ndarray

    @property
    def w(self) -> np.ndarray:
        """The weights."""
        return self.u if self._penalised[-1] else self.u[:-1]

    @property
    def b(self) -> float:
        """The intercept."""
        return 0.0 if self._penalised[-1] else float(self.u[-1])


class SquaredHinge(_Affine):
    r"""Newton's method with a line search on :math:`\ell(t) = \max(0, 1 - t)^2`.

    The loss is quadratic in pieces, so that steps are exact once they find the rows inside the
    margin. Rows and margins come multiplied by :math:`\sqrt{2 c}`, which leaves
    :math:`\tfrac12 u^\top D u + \tfrac12 \sum_i \max(0, t_i)^2` with t = margin - y Xu to minimise.
    At the start u = 0 every row is inside, whatever its sign: `solve` is for all of them, and the
    machines of several classes share it.
    """

    def __init__(
        self, X: Any, y: np.ndarray, margin: np.ndarray, penalised: np.ndarray, solve: Solver
    ) -> None:
        self._X, self._y, self._penalised = X, y, penalised
        self._solve: Solver | None = solve
        self._first = 0.0
        self._move(np.zeros(X.shape[1]), margin)
        self._first, self.change = self._size, float(self._size > 0)

    def _move(self, u: np.ndarray, missing: np.ndarray) -> None:
        """Go to u, where the rows miss the margin by t."""
        self.u, self._missing = u, missing
        loss, shrunk = np.maximum(missing, 0), self._penalised * u
        self.objective = 0.5 * float(shrunk @ u + loss @ loss)
        self._gradient = shrunk - self._X.T @ (self._y * loss)
        self._size = float(np.abs(self._gradient).max())
        # the largest derivative, beside that at the start
        self.change = self._size / self._first if self._first > 0 else 0.0

    def step(self) -> bool:
        """Go one step; False if the objective can fall no further in these floats."""
        u, missing, objective, size = self.u, self._missing, self.objective, self._size
        inside = missing > 0
        solve = self._solve or factor_normal(
            self._X, self._penalised, lambda rows, at: _chosen(rows, inside[at])
        )
        self._solve = None
        direction = -solve(self._gradient)
        along = self._y * (self._X @ direction)
        shrunk = self._penalised * direction
        pull, shrinkage = float(shrunk @ u), float(shrunk @ direction)
        enough = FLAT * abs(float(self._gradient @ direction))
        # the derivative along the line grows in straight pieces: Newton's method between bounds
        low, length, high = 0.0, 1.0, np.inf
        for _ in range(40):
            there = missing - length * along
            slope = pull + length * shrinkage - float(np.maximum(there, 0) @ along)
            if abs(slope) <= enough:
                self._move(u + length * direction, there)
                level = self.objective <= objective * (1 + ROUNDING) and self._size < size
                if self.objective < objective or level:
                    return True
            low, high = (length, high) if slope < 0 else (low, length)
            length -= slope / (shrinkage + float(((there > 0) * along) @ along))
            if not low < length < high:
                length = (low + high) / 2 if high < np.inf else 2 * low
        self._move(u, missing)
        return False


class Hinge(_Affine):
    r"""An interior point method with predictor and corrector on :math:`\ell(t) = \max(0, 1 - t)`.

    Multipliers :math:`0 < \alpha < c` with :math:`w = \sum_i \alpha_i y_i x_i` and
    :math:`\sum_i \alpha_i y_i = 0` are dual feasible throughout, so that the gap is a bound on
    what is missing. Slacks: :math:`y f + \xi - s = 1`, :math:`\alpha s = 0`,
    :math:`(c - \alpha) \xi = 0`.
    """

    def __init__(self, X: Any, y: np.ndarray, c: np.ndarray, penalised: np.ndarray) -> None:
        self._X, self._y, self._c, self._penalised = X, y, c, penalised
        above = y > 0
        least = min(c[above].sum(), c[~above].sum())
        self._alpha = c / 2
        if not penalised.all():
            self._alpha = self._alpha * least / np.where(above, c[above].sum(), c[~above].sum())
        self.u = penalised * (X.T @ (self._alpha * y))
        self._xi, self._s = np.full(len(y), 1.5), np.full(len(y), 0.5)
        self._evaluate()

    def _evaluate(self) -> None:
        self._f = self._X @ self.u
        ridge = _ridge(self.u, self._penalised)
        self.objective = ridge + self._c @ np.maximum(1 - self._y * self._f, 0)
        self._dual = self._alpha.sum() - ridge

    @property
    def change(self) -> float:
        """The gap between primal and dual, beside the primal value."""
        return float(max(self.objective - self._dual, 0) / max(abs(self.objective), 1e-300))

    def step(self) -> bool:
        """Go one step; False if the gap can close no further in these floats."""
        alpha, s, xi = self._alpha, self._s, self._xi
        eta = self._c - alpha
        theta = 1 / (xi / eta + s / alpha)
        if not (np.isfinite(theta).all() and (theta > 0).any()):
            return False
        missing = 1 - self._y * self._f - xi + s
        dual = self._penalised * self.u - self._X.T @ (alpha * self._y)
        root = np.sqrt(theta)[:, None]
        solve = factor_normal(self._X, self._penalised, lambda rows, at: _scaled(rows, root[at]))

        def direction(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, ...]:
            """The step to α s = α s + first and η ξ = η ξ + second, linearised."""
            rho = missing - second / eta + first / alpha
            du = solve(self._X.T @ (self._y * theta * rho) - dual)
            da = theta * (rho - self._y * (self._X @ du))
            return du, da, (first - s * da) / alpha, (second + xi * da) / eta

        _, da, ds, dxi = direction(-alpha * s, -eta * xi)
        size = _longest((alpha, da), (eta, -da), (s, ds), (xi, dxi))
        mu = (alpha @ s + eta @ xi) / (2 * len(s))
        after = (alpha + size * da) @ (s + size * ds) + (eta - size * da) @ (xi + size * dxi)
        target = mu * (after / (2 * len(s)) / mu) ** 3
        du, da, ds, dxi = direction(target - alpha * s - da * ds, target - eta * xi + da * dxi)
        size = 0.995 * _longest((alpha, da), (eta, -da), (s, ds), (xi, dxi))
        if not (np.isfinite(du).all() and size > 1e-8):
            return False
        before = self.u, self._alpha, self._s, self._xi, self.change
        self.u, self._alpha = self.u + size * du, alpha + size * da
        self._s, self._xi = s + size * ds, xi + size * dxi
        self._evaluate()
        if self.change > 1e3 * before[4]:  # rounding has taken over
            self.u, self._alpha, self._s, self._xi, _ = before
            self._evaluate()
            return False
        return True


def _ridge(u: np.ndarray, penalised: np.ndarray) -> float:
    return 0.5 * float((penalised * u) @ u)


def _longest(*pairs: tuple[np.ndarray, np.ndarray]) -> float:
    """The largest step up to 1 that keeps positive what is positive."""
    size = 1.0
    for value, change in pairs:
        falling = change < 0
        size = min(size, float((-value[falling] / change[falling]).min(initial=1.0)))
    return size


def _scaled(rows: Any, factors: np.ndarray) -> Any:
    """Each row times its factor, of a column of them."""
    return rows.multiply(factors).tocsr() if sparse.issparse(rows) else rows * factors


def _chosen(rows: Any, which: np.ndarray) -> Any:
    """The rows that are marked."""
    return rows[which] if sparse.issparse(rows) else rows.compress(which, axis=0)


def factor_normal(X: Any, penalised: np.ndarray, weighted: Callable[[Any, slice], Any]) -> Solver:
    """The solver of (Bᵀ B + D) u = r.

    B has what `weighted` makes of some rows and of their place among all.
    """
    if sparse.issparse(X):
        B = weighted(X, slice(None))
        H = (B.T @ B).toarray()
    else:
        H = np.zeros((X.shape[1], X.shape[1]))
        step = max(1, BLOCK // X.shape[1])
        for i in range(0, len(X), step):  # a block at a time stays in the processor's memory
            B = weighted(X[i : i + step], slice(i, i + step))
            H += B.T @ B
    diagonal = np.einsum("ii->i", H)  # a view
    diagonal += penalised
    diagonal *= 1 + 1e-14
    # LAPACK itself: the checks of scipy.linalg take longer than a small matrix
    factor, fails = linalg.lapack.dpotrf(H.T, lower=1)
    if not fails:
        return lambda r: linalg.lapack.dpotrs(factor, r, lower=1)[0]
    scale = np.sqrt(np.maximum(diagonal, np.finfo(float).tiny))
    H /= scale[:, None]
    H /= scale
    diagonal += 1e-10
    factors = linalg.lu_factor(H, check_finite=False)
    return lambda r: linalg.lu_solve(factors, r / scale, check_finite=False) / scale
