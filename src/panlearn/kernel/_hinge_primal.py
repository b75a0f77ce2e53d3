r"""Linear support vector machines by Newton steps, for rows with few features.

.. math:: \min_{w, b} \; \tfrac12 \|w\|^2 + \sum_i c_i \, \ell(y_i (x_i^\top w + b))

A column of ones makes b the last entry of u = (w, b); D is the identity with 0 for b. Each step
costs one weighted product :math:`X^\top \Theta X`, so :math:`O(n d^2)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

BLOCK = 1 << 17
"""Entries of the rows whose product is taken at a time."""


class _Affine:
    """What the last entry of u is: the intercept, if it is not penalised."""

    u: np.ndarray
    _penalised: np.ndarray

    @property
    def w(self) -> np.ndarray:
        """The weights."""
        return self.u[self._penalised > 0]

    @property
    def b(self) -> float:
        """The intercept."""
        return 0.0 if self._penalised.all() else float(self.u[-1])


class SquaredHinge(_Affine):
    r"""Newton's method with a line search on :math:`\ell(t) = \max(0, 1 - t)^2`.

    The loss is quadratic in pieces, so that steps are exact once they find the rows inside the
    margin.
    """

    def __init__(self, X: Any, y: np.ndarray, c: np.ndarray, penalised: np.ndarray) -> None:
        self._X, self._y, self._c, self._penalised = X, y, c, penalised
        self.u: np.ndarray = np.zeros(X.shape[1])
        self._f: np.ndarray = np.zeros(len(y))
        self._evaluate()
        self._first = self._size()

    def _evaluate(self) -> None:
        gap = np.maximum(1 - self._y * self._f, 0)
        self.objective = _ridge(self.u, self._penalised) + self._c @ gap**2
        self._gradient = self._penalised * self.u - self._X.T @ (2 * self._c * self._y * gap)

    def _size(self) -> float:
        return float(np.abs(self._gradient).max())

    @property
    def change(self) -> float:
        """The largest derivative, beside that at the start."""
        return self._size() / self._first if self._first > 0 else 0.0

    def step(self) -> bool:
        """Go one step; False if the objective can fall no further in these floats."""
        curvature = np.where(self._y * self._f < 1, 2 * self._c, 0)
        direction = -factor_normal(self._X, curvature, self._penalised)(self._gradient)
        along, slope = self._X @ direction, float(self._gradient @ direction)
        size = self._line(along, direction, slope)
        before = self.u, self._f, self.objective, self._size()
        self.u, self._f = self.u + size * direction, self._f + size * along
        self._evaluate()
        if self.objective < before[2] or self._size() < before[3]:
            return True
        self.u, self._f = before[:2]
        self._evaluate()
        return False

    def _line(self, along: np.ndarray, direction: np.ndarray, slope: float) -> float:
        """A step with a sufficient decrease, to rounding, from 1 downwards."""
        size, rounding = 1.0, 4 * np.finfo(float).eps * self.objective
        while size > 1e-10:
            gap = np.maximum(1 - self._y * (self._f + size * along), 0)
            value = _ridge(self.u + size * direction, self._penalised) + self._c @ gap**2
            if value <= self.objective + 1e-4 * size * slope + rounding:
                break
            size /= 2
        return size


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
        solve = factor_normal(self._X, theta, self._penalised)

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


def factor_normal(X: Any, theta: np.ndarray, penalised: np.ndarray) -> Any:
    """The solver of (Xᵀ Θ X + D) u = r, scaled to a unit diagonal."""
    if sparse.issparse(X):
        H = (X.T @ X.multiply(theta[:, None])).toarray()
    else:
        H, root = np.zeros((X.shape[1], X.shape[1])), np.sqrt(theta)
        step = max(1, BLOCK // X.shape[1])
        for i in range(0, len(X), step):  # a block at a time stays in the processor's memory
            here = slice(i, i + step)
            some = np.flatnonzero(root[here])
            block = X[here][some] * root[here][some, None]
            H += block.T @ block
    H.flat[:: len(H) + 1] += penalised
    scale = np.sqrt(np.maximum(H.diagonal(), np.finfo(float).tiny))
    H /= scale[:, None]
    H /= scale
    H.flat[:: len(H) + 1] += 1e-14
    try:
        factor = linalg.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        H.flat[:: len(H) + 1] += 1e-10
        factor = linalg.lu_factor(H, check_finite=False)
        return lambda r: linalg.lu_solve(factor, r / scale, check_finite=False) / scale
    return lambda r: linalg.cho_solve(factor, r / scale, check_finite=False) / scale
