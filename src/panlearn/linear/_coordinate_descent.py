r"""Elastic nets by coordinate descent and Newton steps on a working set of features.

.. math:: \min_b \tfrac12 \|y - Zb\|^2 + \lambda_1 \|b\|_1 + \tfrac12 \lambda_2 \|b\|^2

One iteration is an inexact Newton step on the present support and signs, which a badly
conditioned Z does not slow down, and an epoch of coordinate descent, which corrects the support
and the signs. Both work on the quadratic form Q = ZᵀZ of the features that matter, kept and grown
along a path; for dense features it is a Gram matrix, so that their cost does not depend on the
number of rows. One product with all of Zᵀ then certifies the result by its duality gap or names
the features that are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from panlearn.linear._design import Problem
from panlearn.linear._quadratic import Quadratic

_FORCING = 0.3  # accuracy of an inexact Newton step: more is undone by the next change of support
_INNER_TOLERANCE = 0.3  # share of the tolerance for the working set; the rest is for what it omits
_DIRECT = 256  # size of a system that is factorised at once
_FACES = 3  # Newton steps in an iteration, at most: from more wrong faces epochs find the way
_PATIENCE = 10  # iterations without progress
_SLOPE = 0.25  # of the pull of a feature that is about to enter, along a path
_MIN_GROWTH = 100  # features


@dataclass(frozen=True)
class Penalty:
    r"""The penalty :math:`\lambda_1\|b\|_1 + \tfrac12\lambda_2\|b\|^2`, perhaps with b ≥ 0."""

    l1: float
    l2: float = 0.0
    positive: bool = False

    def value(self, coef: np.ndarray) -> float:
        """The penalty of coef."""
        size = float(np.abs(coef).sum(dtype=np.float64))
        return self.l1 * size + self.l2 / 2 * _dot(coef, coef)

    def pull(self, correlations: np.ndarray) -> np.ndarray:
        """What must not exceed l1 at a coefficient of zero: |xᵀr|, or xᵀr where b ≥ 0."""
        return correlations if self.positive else np.abs(correlations)

    def gap(self, coef: np.ndarray, correlations: np.ndarray, ry: float, rr: float) -> float:
        r"""Primal minus dual objective at b, from :math:`Z^\top r`, :math:`r^\top y`, ‖r‖².

        The dual point of a lasso is :math:`s r`, shrunk until no feature pulls more than l1. An
        elastic net is the lasso on the rows of Z and :math:`\sqrt{\lambda_2} I`; its own dual,
        with :math:`(|x_j^\top r| - \lambda_1)_+^2 / 2 \lambda_2` for a feature, also serves.
        Rounding may make the difference negative.
        """
        augmented = rr + self.l2 * _dot(coef, coef)
        primal = rr / 2 + self.value(coef)
        largest = float(self.pull(correlations - self.l2 * coef).max(initial=0.0))
        # a residual that points away from y would ask for a negative scale, at which a feature that
        # pulls the other way may pull too much: zero is always feasible
        scale = max(ry / augmented, 0.0) if augmented > 0 else 1.0
        if scale * largest > self.l1:
            scale = self.l1 / largest
        dual = scale * ry - scale**2 * augmented / 2
        if self.l2 > 0:
            with np.errstate(over="ignore"):  # beyond the floats it is no use
                excess = np.maximum(self.pull(correlations) - self.l1, 0) / np.sqrt(2 * self.l2)
                dual = max(dual, ry - rr / 2 - _dot(excess, excess))
        return primal - dual


def newton_direction(
    quadratic: Quadratic, l2: float, support: np.ndarray, gradient: np.ndarray
) -> np.ndarray:
    """Solve (Q + l2 I) d = gradient on the support, by conjugate gradients or Cholesky.

    A large system is solved no better than the next change of support deserves, unless so slowly
    that a factorisation is cheaper.
    """
    size = int(np.count_nonzero(support))
    if size > _DIRECT:
        budget = 20 + quadratic.products_per_factor(size)
        direction, accurate = _conjugate_gradients(quadratic, l2, support, gradient, budget)
        if accurate:
            return direction
    active = np.flatnonzero(support)
    face = quadratic.face(active)
    face[np.diag_indices(size)] += l2
    (posv,) = get_lapack_funcs(("posv",), (face,))
    _, solution, info = posv(face, gradient[active], lower=True, overwrite_a=True)
    if info != 0 or not np.all(np.isfinite(solution)):  # dependent columns
        return _conjugate_gradients(quadratic, l2, support, gradient, 20 + size)[0]
    direction = np.zeros_like(gradient)
    direction[active] = solution
    return direction


def _conjugate_gradients(
    quadratic: Quadratic, l2: float, support: np.ndarray, gradient: np.ndarray, max_iter: int
) -> tuple[np.ndarray, bool]:
    """Conjugate gradients on the support, scaled by the diagonal; and whether they sufficed."""
    scale = np.zeros_like(gradient)
    scale[support] = 1 / (quadratic.diagonal[support] + l2)
    x = np.zeros_like(gradient)
    r = gradient * support
    z = scale * r
    p = z.copy()
    rz = first = r @ z
    for _ in range(max_iter):
        q = quadratic.product(p)
        q += l2 * p
        q *= support
        curvature = p @ q
        if curvature <= 0:  # a null direction of dependent columns
            break
        step = rz / curvature
        x += step * p
        r -= step * q
        z = scale * r
        rz, last = r @ z, rz
        if rz <= _FORCING**2 * first:
            return x, True
        p *= rz / last
        p += z
    return x, False


def improve(
    quadratic: Quadratic, xy: np.ndarray, penalty: Penalty, coef: np.ndarray, gradient: np.ndarray
) -> None:
    """One iteration in place: Newton steps on the face of coef, then an epoch of descent."""
    # a step cut short means a wrong face: a small one is left by a few further steps, from others
    # epochs find the way at less cost
    large = np.count_nonzero(coef) > _DIRECT
    cut_short = False
    for _ in range(1 if large else _FACES):
        cut_short = _newton_step(quadratic, xy, penalty, coef, gradient)
        if not cut_short:
            break
    l1, l2 = coef.dtype.type(penalty.l1), coef.dtype.type(penalty.l2)
    epochs = quadratic.epochs_for(coef.size) if cut_short else quadratic.epochs_at_once(coef.size)
    quadratic.descend(l1, l2, penalty.positive, coef, gradient, epochs)


def _newton_step(
    quadratic: Quadratic, xy: np.ndarray, penalty: Penalty, coef: np.ndarray, gradient: np.ndarray
) -> bool:
    """Step to the minimum on the face of coef, in place; return whether to go on from there.

    The face ends where a coefficient changes its sign. Either all that would are set to zero and
    the others take the whole step, or, where that is worse, as with almost dependent columns, the
    step ends at the minimum along its line and the next starts on the face that was reached.
    """
    if not coef.any():
        return False
    l1, l2 = coef.dtype.type(penalty.l1), coef.dtype.type(penalty.l2)
    signs = np.sign(coef)
    slope = gradient - l1 * signs
    direction = newton_direction(quadratic, l2, coef != 0, slope)
    whole = coef + direction
    crossed = whole * signs < 0
    whole[crossed] = 0
    whole_gradient = xy - quadratic.product(whole) - l2 * whole
    value = _objective(xy, whole, whole_gradient, penalty)
    now = _objective(xy, coef, gradient, penalty)
    eps = np.finfo(coef.dtype).eps
    if crossed.any():
        turned = quadratic.product(direction) + l2 * direction
        step = _line_minimum(coef, direction, slope @ direction, direction @ turned, penalty)
        part = coef + step * direction
        part[np.abs(part) <= 4 * eps * np.abs(coef)] = 0
        part_gradient = gradient - step * turned
        part_value = _objective(xy, part, part_gradient, penalty)
        if part_value < min(value, now):
            coef[:], gradient[:] = part, part_gradient
            return now - part_value > eps * abs(now)
    if value <= now + eps * abs(now):
        coef[:], gradient[:] = whole, whole_gradient
    return False


def _line_minimum(
    coef: np.ndarray, direction: np.ndarray, descent: float, curvature: float, penalty: Penalty
) -> np.floating:
    """The step that minimises the objective along a direction, across changes of sign.

    Its derivative, curvature t − descent, jumps by 2 l1 |d_j| where coefficient j passes zero, or
    without bound if it must not.
    """
    passing = np.flatnonzero(coef * direction < 0)
    times = -coef[passing] / direction[passing]
    if penalty.positive:
        return times.min()
    order = np.argsort(times)
    times, jumps = times[order], 2 * coef.dtype.type(penalty.l1) * np.abs(direction[passing[order]])
    after = curvature * times - descent + np.cumsum(jumps)
    if curvature <= 0:  # along dependent columns the objective turns at a change of sign only
        return times[np.argmax(after >= 0) if after[-1] >= 0 else -1]
    if after[-1] < 0:
        return times[-1] - after[-1] / curvature
    first = np.argmax(after >= 0)
    return times[first] - max(after[first] - jumps[first], 0) / curvature


def _objective(xy: np.ndarray, coef: np.ndarray, gradient: np.ndarray, penalty: Penalty) -> float:
    """The objective less ‖y‖²/2, since (Q + l2 I) coef = xy − gradient."""
    lasso = penalty.l1 * float(np.abs(coef).sum(dtype=np.float64))
    return lasso - (_dot(xy, coef) + _dot(gradient, coef)) / 2


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    """The product aᵀb in double precision, since gaps are small differences of such."""
    return float(a.astype(np.float64, copy=False) @ b.astype(np.float64, copy=False))


def _eps(coef: np.ndarray) -> float:
    return float(np.finfo(coef.dtype).eps)


def _largest_fit(quadratic: Quadratic, coef: np.ndarray) -> float:
    """The norm of Zb if all its terms pointed one way."""
    return _dot(np.sqrt(quadratic.diagonal), np.abs(coef))


class ElasticNetSolver:
    r"""One target's problem, solved for one penalty after another from where the last one ended.

    Attributes
    ----------
    coef : ndarray of shape (n_features,)
        The coefficients so far.
    objective : float
        Their objective.
    gap : float
        The last duality gap that was certified on all features.
    """

    def __init__(self, problem: Problem, target: int = 0, start: np.ndarray | None = None) -> None:
        self._set = problem.working_set
        self._y: Any = None if problem.targets is None else problem.targets[target]
        self._xy = self._correlations = problem.xy[target]
        self._ry = self._rr = self.yy = float(problem.yy[target])
        self._rounding = 0.0  # of a gap that is found from these
        self.coef = np.zeros_like(self._xy)
        self.gap = self.objective = np.inf
        self._stale = False  # whether coef has changed since the correlations were found
        if start is not None and start.any():
            self.coef[:] = start
            self._set.add(np.flatnonzero(start))
            self._stale = True

    def strongest(self, penalty: Penalty) -> float:
        """The largest pull of a feature on the residual: the l1 above which nothing enters."""
        return float(penalty.pull(self._correlations).max(initial=0.0))

    def run(self, penalty: Penalty, tol: float) -> Iterator[None]:
        """Yield after each iteration until the gap is at most tol ‖y‖² or cannot get smaller."""
        wanted = tol * self.yy
        self.certify(penalty)
        if self.gap <= wanted:
            yield
            return
        # by the strong rule a pull changes by no more than l1 does; mostly by much less
        slack = _SLOPE * (self.strongest(penalty) - penalty.l1)
        self._grow(penalty, penalty.l1 - slack)
        inside, quadratic, xy, coef, gradient = self._load(penalty)
        best, idle, least, kept = np.inf, 0, np.inf, coef
        while True:
            if len(inside) < len(self._set):
                inside, quadratic, xy, coef, gradient = self._load(penalty)
                best, idle, least, kept = np.inf, 0, np.inf, coef
            improve(quadratic, xy, penalty, coef, gradient)
            self.objective = self.yy / 2 + _objective(xy, coef, gradient, penalty)
            rounding = self._rounding_of_products(quadratic, coef) + _eps(coef) * self.yy
            at_most = self.objective + rounding
            fell = least - at_most > _eps(coef) * self.yy
            if at_most < least:
                least, kept = at_most, coef.copy()
            ry = self.yy - _dot(xy, coef)
            correlations = gradient + coef.dtype.type(penalty.l2) * coef
            gap = penalty.gap(coef, correlations, ry, ry - _dot(correlations, coef))
            gap = max(gap, rounding)
            # the gap still falls after the objective, its square, has reached its last digit
            idle = idle + 1 if not fell and gap > best / 2 else 0
            best, stalled = min(best, gap), idle >= _PATIENCE
            # among almost dependent columns rounding may lead astray: back to where it did not
            self.coef[inside], self._stale = kept if stalled else coef, True
            if stalled or gap <= _INNER_TOLERANCE * wanted:
                self.certify(penalty)
                if self.gap > wanted and self._grow(penalty, penalty.l1):
                    stalled = False
            yield
            if self.gap <= wanted or stalled:
                return

    def _load(
        self, penalty: Penalty
    ) -> tuple[np.ndarray, Quadratic, np.ndarray, np.ndarray, np.ndarray]:
        """The working set as it is now, and Zᵀy, the coefficients and the gradient on it."""
        inside, quadratic = self._set.features, self._set.quadratic
        xy, coef = self._xy[inside], self.coef[inside]
        gradient = xy - quadratic.product(coef) - coef.dtype.type(penalty.l2) * coef
        return inside, quadratic, xy, coef, gradient

    def certify(self, penalty: Penalty) -> None:
        """Set the objective and the gap on all features for the present coefficients."""
        if self._stale:
            self._correlate()
        self.objective = self._rr / 2 + penalty.value(self.coef)
        gap = penalty.gap(self.coef, self._correlations, self._ry, self._rr)
        self.gap = max(gap, self._rounding)

    def _correlate(self) -> None:
        """Set Zᵀr, rᵀy and ‖r‖² for the present coefficients, and what their rounding hides."""
        features, quadratic = self._set.features, self._set.quadratic
        coef = self.coef[features]
        if self._y is None:  # only the moments are known
            self._correlations = np.empty_like(self._xy)
            inner = self._xy[features] - quadratic.product(coef)
            self._correlations[features] = inner
            self._ry = self.yy - _dot(self._xy, self.coef)
            self._rr = max(self._ry - _dot(inner, coef), 0.0)
            self._rounding = self._rounding_of_products(quadratic, coef)
        else:
            residual = self._y - self._set.fitted(self.coef)
            self._correlations = self._set.design.correlations(residual)
            self._ry, self._rr = _dot(residual, self._y), _dot(residual, residual)
            self._rounding = _eps(coef) * _largest_fit(quadratic, coef) * np.sqrt(self._rr)
        self._stale = False

    def _rounding_of_products(self, quadratic: Quadratic, coef: np.ndarray) -> float:
        """What ‖y - Zb‖² may lose if it is found as ‖y‖² - 2 bᵀZᵀy + bᵀQb."""
        fit = _largest_fit(quadratic, coef)
        return _eps(coef) * fit * (2 * np.sqrt(self.yy) + fit)

    def _grow(self, penalty: Penalty, threshold: float) -> bool:
        """Take in the features outside that pull most and more than the threshold, if any."""
        pull = penalty.pull(self._correlations)
        candidates = np.flatnonzero((pull > threshold) & ~self._set.inside)
        most = max(_MIN_GROWTH, 2 * int(np.count_nonzero(self.coef)))
        if len(candidates) > most:
            order = np.argpartition(-pull[candidates], most)[:most]
            candidates = candidates[np.sort(order)]
        self._set.add(candidates)
        return len(candidates) > 0
