r"""Rows of a non-negative factorisation for the other factor as it is, each by itself; compiled.

.. math:: \min_{w \ge 0} \tfrac{1}{2} w^\top G w - c^\top w
    + \lambda_1 \sum_t w_t + \tfrac{1}{2} \lambda_2 \|w\|^2

Kept up as w moves is the slope :math:`G w - c + \lambda_1`, the gradient but its last term.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from panlearn.core.jit import jit

FAST = {"reassoc", "contract"}
ROUNDS = 250
ABREAST = 64  # rows that go side by side
GROUP, GROUPS = 8, 4  # sweeps before it is looked which rows have ended, and how often it is
DEPENDENT = 1e4  # roundings that a pivot is above: below, a solution has few digits left


def minimise_rows(cross: np.ndarray, gram: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """The w of each row of c, till no coordinate moves by more than roundings.

    Mostly sweeps get there, of rows side by side; Newton's steps do for the rows that are left, and
    rows that are not there after many of these, for G is nearly singular, are solved exactly.
    """
    W, tol = np.zeros_like(cross), 100 * float(np.finfo(cross.dtype).eps)
    ended = settle_rows(W, cross, gram, penalty, GROUPS, tol)
    solve_rows(W, cross, gram, penalty, ROUNDS, tol, ended)
    for i in np.flatnonzero(~ended):
        ridge = penalty[1] * np.eye(len(gram), dtype=W.dtype)
        W[i] = active_set(cross[i] - penalty[0], gram + ridge)
    return W


def active_set(c: np.ndarray, G: np.ndarray) -> np.ndarray:
    r"""Minimise :math:`\tfrac{1}{2} w^\top G w - c^\top w` over w ≥ 0, as Lawson and Hanson do.

    Coordinates are freed one by one, that of the steepest descent first; when the solution of the
    free ones leaves the domain, w goes as far as it may and the one that stops it is held again.
    """
    w, free = np.zeros_like(c), np.zeros(len(c), dtype=bool)
    small = 10 * np.finfo(c.dtype).eps * np.abs(c).max(initial=0)
    for _ in range(3 * len(c)):
        descent = np.where(free, -np.inf, c - G @ w)
        if descent.max() <= small:
            break
        free[descent.argmax()] = True
        while True:
            goal = np.zeros_like(w)
            goal[free] = linalg.lstsq(G[np.ix_(free, free)], c[free], lapack_driver="gelsy")[0]
            stops = free & (goal <= 0)
            if not stops.any():
                break
            ratio = np.where(stops, w / np.where(stops & (w > goal), w - goal, 1), np.inf)
            first = ratio.argmin()
            w += ratio[first] * (goal - w)
            w[first] = 0
            free &= w > 0
            w[~free] = 0
        w = goal
    return w


def _descend_all(
    rows: np.ndarray, cross: np.ndarray, gram: np.ndarray, penalty: np.ndarray, sweeps: int
) -> None:
    """The sweeps of `descend_rows`, by NumPy with all rows side by side."""
    w, c = rows.T.copy(), cross.T - penalty[0]
    curvature = gram.diagonal() + penalty[1]
    for _ in range(sweeps):
        for t in np.flatnonzero(curvature > 0):
            inverse = 1 / np.sqrt(curvature[t])
            descent = c[t] - penalty[1] * w[t]
            for q in range(len(w)):  # a product of matrices would add in another order
                descent -= gram[t, q] * w[q]
            w[t] = np.maximum(w[t] + descent * inverse * inverse, 0)
    rows[:] = w.T


def _plain(
    rows: np.ndarray, cross: np.ndarray, gram: np.ndarray, penalty: np.ndarray, sweeps: int
) -> float:
    n, k = rows.shape
    return sweeps * k * (8 + (2 + 0.001 * n) * k)


@jit(error_model="numpy", plain=_plain, instead=_descend_all)
def descend_rows(
    rows: np.ndarray, cross: np.ndarray, gram: np.ndarray, penalty: np.ndarray, sweeps: int
) -> None:
    """So many sweeps of coordinate descent over each row, `ABREAST` rows side by side."""
    n, k = rows.shape
    l1, l2 = penalty[0], penalty[1]
    w, c = np.empty((k, ABREAST), rows.dtype), np.empty((k, ABREAST), rows.dtype)
    descent = np.empty(ABREAST, rows.dtype)
    for start in range(0, n, ABREAST):
        size = min(ABREAST, n - start)
        _stand_abreast(rows, start, size, 0.0, w)
        _stand_abreast(cross, start, size, l1, c)
        for _ in range(sweeps):
            _sweep_abreast(w, c, gram, l2, size, descent)
        for i in range(size):
            for t in range(k):
                rows[start + i, t] = w[t, i]


@jit(error_model="numpy")
def settle_rows(
    rows: np.ndarray,
    cross: np.ndarray,
    gram: np.ndarray,
    penalty: np.ndarray,
    groups: int,
    tol: float,
) -> np.ndarray:
    """As many groups of sweeps as a row needs; returned is which rows moved by `tol` no more.

    Rows that stand side by side go on till all have ended.
    """
    n, k = rows.shape
    l1, l2 = penalty[0], penalty[1]
    w, c = np.empty((k, ABREAST), rows.dtype), np.empty((k, ABREAST), rows.dtype)
    before, descent = np.empty((k, ABREAST), rows.dtype), np.empty(ABREAST, rows.dtype)
    ended = np.zeros(n, dtype=np.bool_)
    for start in range(0, n, ABREAST):
        size = min(ABREAST, n - start)
        _stand_abreast(rows, start, size, 0.0, w)
        _stand_abreast(cross, start, size, l1, c)
        for _ in range(groups):
            for _ in range(GROUP - 1):
                _sweep_abreast(w, c, gram, l2, size, descent)
            for t in range(k):
                for i in range(size):
                    before[t, i] = w[t, i]
            _sweep_abreast(w, c, gram, l2, size, descent)
            left = size
            for i in range(size):
                moved, largest = w[0, i] * 0, w[0, i]
                for t in range(k):
                    moved, largest = max(moved, abs(w[t, i] - before[t, i])), max(largest, w[t, i])
                ended[start + i] = moved <= tol * largest
                left -= ended[start + i]
            if left == 0:
                break
        for i in range(size):
            for t in range(k):
                rows[start + i, t] = w[t, i]
    return ended


@jit
def _stand_abreast(
    rows: np.ndarray, start: int, size: int, less: float, columns: np.ndarray
) -> None:
    """Some rows, less a number, as the first columns."""
    for i in range(size):
        for t in range(rows.shape[1]):
            columns[t, i] = rows[start + i, t] - less


@jit(error_model="numpy")
def _sweep_abreast(
    w: np.ndarray, c: np.ndarray, gram: np.ndarray, l2: float, size: int, descent: np.ndarray
) -> None:
    """Each coordinate of the columns of w to its minimum in turn, or to zero if that is below."""
    zero, one = w.dtype.type(0), w.dtype.type(1)
    for t in range(len(gram)):
        curvature = gram[t, t] + l2
        if curvature <= 0:
            continue
        inverse = one / np.sqrt(curvature)  # of its root, since its own may overflow
        for i in range(size):
            descent[i] = c[t, i] - l2 * w[t, i]
        for q in range(len(gram)):
            entry = gram[t, q]
            for i in range(size):
                descent[i] -= entry * w[q, i]
        for i in range(size):
            w[t, i] = max(w[t, i] + descent[i] * inverse * inverse, zero)


@jit(fastmath=FAST)
def solve_rows(
    rows: np.ndarray,
    cross: np.ndarray,
    gram: np.ndarray,
    penalty: np.ndarray,
    rounds: int,
    tol: float,
    ended: np.ndarray,
) -> None:
    """Sweeps find which coordinates are free, a Newton step takes these to their minimum.

    A row ends when no coordinate moves by more than `tol` of the largest; `ended` says which did,
    and which had before.
    """
    n, k = rows.shape
    slope, step = np.empty(k, dtype=rows.dtype), np.empty(k, dtype=rows.dtype)
    factor, free = np.empty((k, k), dtype=rows.dtype), np.empty(k, np.int64)
    for i in range(n):
        if ended[i]:
            continue
        slope_of(rows[i], cross[i], gram, penalty[0], slope)
        for _ in range(rounds):
            for _ in range(1 + k // 8):  # about the cost of a step
                sweep(rows[i], slope, gram, penalty[1])
            newton(rows[i], slope, gram, penalty[1], factor, free, step)
            moved, largest = sweep(rows[i], slope, gram, penalty[1])
            if moved <= tol * largest:
                ended[i] = True
                break


@jit(fastmath=FAST)
def slope_of(w: np.ndarray, c: np.ndarray, gram: np.ndarray, l1: float, slope: np.ndarray) -> None:
    """Fill the slope at w."""
    for t in range(len(w)):
        slope[t] = l1 - c[t]
    for t in range(len(w)):
        if w[t] != 0:
            for q in range(len(w)):
                slope[q] += w[t] * gram[t, q]


@jit(fastmath=FAST)
def sweep(w: np.ndarray, slope: np.ndarray, gram: np.ndarray, l2: float) -> tuple[float, float]:
    r"""Each :math:`w_t` to :math:`\max(0, w_t - g_t / (G_{tt} + \lambda_2))` in turn.

    Returned are the largest move and the largest coordinate.
    """
    zero = w.dtype.type(0)
    moved, largest = zero, zero
    for t in range(len(w)):
        curvature = gram[t, t] + l2
        if curvature <= 0:
            continue
        new = max(w[t] - (slope[t] + l2 * w[t]) / curvature, zero)
        step = new - w[t]
        if step != 0:
            w[t] = new
            for q in range(len(w)):
                slope[q] += step * gram[t, q]
        moved, largest = max(moved, abs(step)), max(largest, new)
    return moved, largest


@jit(fastmath=FAST)
def newton(
    w: np.ndarray,
    slope: np.ndarray,
    gram: np.ndarray,
    l2: float,
    factor: np.ndarray,
    free: np.ndarray,
    step: np.ndarray,
) -> None:
    """The coordinates above zero to their minimum, or as far as none of them gets below zero."""
    m, least = 0, DEPENDENT * np.finfo(w.dtype).eps
    for t in range(len(w)):
        if w[t] > 0:
            free[m] = t
            m += 1
    for a in range(m):
        step[a] = -(slope[free[a]] + l2 * w[free[a]])
        for b in range(a + 1):
            total = gram[free[a], free[b]] + (l2 if a == b else 0 * l2)
            for c in range(b):
                total -= factor[a, c] * factor[b, c]
            if b < a:
                factor[a, b] = total / factor[b, b]
                step[a] -= factor[a, b] * step[b]
            elif total > least * (gram[free[a], free[a]] + l2):
                factor[a, a] = np.sqrt(total)
                step[a] /= factor[a, a]
            else:
                return
    for a in range(m - 1, -1, -1):
        for b in range(a + 1, m):
            step[a] -= factor[b, a] * step[b]
        step[a] /= factor[a, a]
    reach, first = w.dtype.type(1), -1
    for a in range(m):
        if w[free[a]] + reach * step[a] < 0:
            reach, first = w[free[a]] / -step[a], a
    for a in range(m):
        t = free[a]
        new = w[t] * 0 if a == first else max(w[t] + reach * step[a], w[t] * 0)
        move = new - w[t]
        w[t] = new
        for q in range(len(w)):
            slope[q] += move * gram[t, q]
