r"""Binary logistic regression with l1 on many columns, of which many stay.

Each outer step minimises the quadratic model of the loss

.. math::
    m(s) = g^\top s + \tfrac12 \sum_i c_i (x_i^\top s)^2 + \tfrac12 \alpha \|s\|^2
    + \lambda \|w + s\|_1

without a matrix of curvatures: coordinate descent, which costs the entries of a column, finds the
support and the signs, and conjugate gradients on that support go to the minimum for these signs,
where coordinate descent would take long.

References
----------
G.-X. Yuan, C.-H. Ho and C.-J. Lin (2012). An improved GLMNET for l1-regularized logistic
regression. Journal of Machine Learning Research 13.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy import sparse
from scipy.special import expit

from panlearn.core.columns import FAST
from panlearn.core.jit import jit
from panlearn.linear._logistic_problem import LogisticProblem
from panlearn.linear._quasi_newton import ARMIJO, Loop

# Sweeps of coordinate descent before conjugate gradients, and how often the two take turns.
SWEEPS, ROUNDS = 30, 100
# A column at zero rests if its slope is below this part of the penalty.
RESTS = 0.9
# How well a model is minimised, beside where it starts; and conjugate gradients beside theirs.
ACCURACY, FORCING, PRODUCTS = 0.1, 1e-3, 200


def minimise_by_columns(
    problem: LogisticProblem, x: np.ndarray, loop: Loop, *, tol: float
) -> np.ndarray:
    """Walk from x to the minimum; the unknowns are those of the problem."""
    design = problem.columns()
    X, y, share = design.X, design.y, design.weight / problem.total
    transpose = X.T  # rows of it are columns of X, nothing is copied
    penalty, ridge = np.full((2, X.shape[1]), [[problem.l1], [problem.alpha]])
    penalty[problem.d :] = ridge[problem.d :] = 0.0
    w = design.unknowns(problem, x)
    scores = X @ w

    def objective(scores: np.ndarray, w: np.ndarray) -> float:
        loss = np.logaddexp(0.0, np.where(y, -scores, scores))
        return float(share @ loss + penalty @ np.abs(w) + 0.5 * ridge @ (w * w))

    value = objective(scores, w)
    for _ in loop:
        p = expit(scores)
        gradient = transpose @ (share * (p - y)) + ridge * w
        model = _Model(X, gradient, share * p * (1 - p), ridge, penalty, w)
        move, along = model.minimise(tol)
        decrease = -(gradient @ move + penalty @ (np.abs(w + move) - np.abs(w)))
        decrement = float(np.sqrt(max(decrease, 0.0)))
        here = functools.partial(design.attributes, problem, w)
        loop.record(change=decrement, objective=value, attributes=here)
        if loop.converged:
            w = w + move
            continue  # the loop closes this iteration, and ends
        size, slack = 1.0, problem.epsilon * abs(value)
        while (after := objective(scores + size * along, w + size * move)) > (
            value - ARMIJO * size * decrease + slack
        ):
            size *= 0.5
            if size < 1e-10:  # a step of any length is lost in rounding: as good as it gets
                loop.converged = True
                break
        w, scores, value = w + size * move, scores + size * along, after
    return design.point(problem, w)


class _Model:
    """The quadratic model around w, and the way to its minimum."""

    def __init__(
        self,
        X: sparse.csc_array,
        gradient: np.ndarray,
        curve: np.ndarray,
        ridge: np.ndarray,
        penalty: np.ndarray,
        w: np.ndarray,
    ) -> None:
        self.X, self.gradient, self.curve = X, gradient, curve
        self.ridge, self.penalty, self.w = ridge, penalty, w
        squares = column_squares(X.indptr, X.indices, X.data, curve)
        self.diagonal = squares + ridge + 1e-12 * max(squares.max(), 1e-300)

    def minimise(self, tol: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the move and what it adds to the scores."""
        X, w = self.X, self.w
        slope = np.abs(self.gradient + self.penalty * np.sign(w))
        excess = np.where(w != 0, slope, np.maximum(np.abs(self.gradient) - self.penalty, 0.0))
        start = float(np.sum(excess**2 / self.diagonal))
        accuracy = max(ACCURACY**2 * start, (0.3 * tol) ** 2)
        move, pull = np.zeros_like(w), np.zeros(X.shape[0])
        # of a column that rests at zero the gradient tells, without a look at its entries
        rests = (w == 0) & (np.abs(self.gradient) < RESTS * self.penalty)
        order = np.argsort(rests, kind="stable")
        active = int(np.count_nonzero(~rests))
        for _ in range(ROUNDS):
            swept = sweep_columns(
                X.indptr,
                X.indices,
                X.data,
                self.curve,
                self.gradient,
                self.ridge,
                self.penalty,
                self.diagonal,
                w,
                move,
                pull,
                order,
                active,
                SWEEPS,
                accuracy,
            )
            if swept < SWEEPS:
                break
            move += self._along_support(move, pull, accuracy)
            pull, active = self.curve * (X @ move), len(w)
        return move, X @ move

    def _along_support(self, move: np.ndarray, pull: np.ndarray, accuracy: float) -> np.ndarray:
        """The way to the minimum for these signs, up to where the first sign would change."""
        here = self.w + move
        free = np.flatnonzero((here != 0) | (self.penalty == 0))
        part, sign = self.X[:, free], np.sign(here[free])
        ridge, scale = self.ridge[free], 1 / self.diagonal[free]
        r = -(self.gradient[free] + part.T @ pull + ridge * move[free] + self.penalty[free] * sign)
        way, z = np.zeros(len(free)), scale * r
        p, rz = z, r @ z
        enough = max(FORCING**2 * rz, 0.1 * accuracy)
        for _ in range(PRODUCTS):
            q = part.T @ (self.curve * (part @ p)) + ridge * p
            bend = p @ q
            if rz <= enough or bend <= 0:  # the latter a null direction of dependent columns
                break
            way += rz / bend * p
            r = r - rz / bend * q
            z = scale * r
            rz, last = r @ z, rz
            p = z + rz / last * p
        reach = np.full(len(free), np.inf)
        crosses = (way * sign < -np.abs(here[free])) & (self.penalty[free] > 0)
        reach[crosses] = np.abs(here[free][crosses] / way[crosses])
        step = np.zeros_like(move)
        step[free] = min(1.0, reach.min(initial=np.inf)) * way
        if crosses.any():
            first = free[reach.argmin()]
            step[first] = -here[first]
        return step


@jit(fastmath=FAST)
def column_squares(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, curve: np.ndarray
) -> np.ndarray:
    """Sum of curve_i x_ij^2 over the rows, for each column."""
    total = np.zeros(len(indptr) - 1)
    for j in range(len(total)):
        for e in range(indptr[j], indptr[j + 1]):
            total[j] += curve[indices[e]] * data[e] * data[e]
    return total


@jit(fastmath=FAST)
def sweep_columns(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    curve: np.ndarray,
    gradient: np.ndarray,
    ridge: np.ndarray,
    penalty: np.ndarray,
    diagonal: np.ndarray,
    w: np.ndarray,
    move: np.ndarray,
    pull: np.ndarray,
    order: np.ndarray,
    active: int,
    sweeps: int,
    accuracy: float,
) -> int:
    """Coordinate descent on the model, in place; pull is curve * (X @ move).

    Columns that rest at zero are left out until the others are done, then all are looked at; at
    first the others are as many as `active`, the first in `order`. The order is shuffled in each
    sweep, by a generator of its own. Returns the number of sweeps, or `sweeps` if these were not
    enough for the squared violation to fall to the accuracy.
    """
    whole = active == len(w)
    state = np.uint64(88172645463325252)
    for sweep in range(sweeps):
        for s in range(active - 1, 0, -1):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            t = np.int64(((state >> np.uint64(32)) * np.uint64(s + 1)) >> np.uint64(32))
            order[s], order[t] = order[t], order[s]
        violation = 0.0
        s = 0
        while s < active:
            j = order[s]
            slope = gradient[j] + ridge[j] * move[j]
            for e in range(indptr[j], indptr[j + 1]):
                slope += data[e] * pull[indices[e]]
            here = w[j] + move[j]
            if here == 0.0:
                excess = max(abs(slope) - penalty[j], 0.0)
                if abs(slope) < RESTS * penalty[j] and not whole:
                    active -= 1
                    order[s], order[active] = order[active], order[s]
                    continue
            else:
                excess = slope + (penalty[j] if here > 0 else -penalty[j])
            violation += excess * excess / diagonal[j]
            target = here - slope / diagonal[j]
            size = max(abs(target) - penalty[j] / diagonal[j], 0.0)
            delta = (size if target > 0 else -size) - here
            if delta != 0.0:
                move[j] += delta
                for e in range(indptr[j], indptr[j + 1]):
                    pull[indices[e]] += delta * data[e] * curve[indices[e]]
            s += 1
        if violation > accuracy:
            whole = False
        elif whole:
            return sweep
        else:
            whole, active = True, len(w)
    return sweeps
