r"""Sequential minimal optimisation for the dual of a support vector machine.

.. math::
    \max_\beta \; y^\top \beta - \tfrac12 \beta^\top K \beta \quad \text{with} \quad
    \sum_i \beta_i = 0, \;\; l_i \le \beta_i \le h_i

With :math:`\beta_i = y_i \alpha_i` the labels stand in the linear term alone, and the gradient is
:math:`g = y - K \beta`. A step moves :math:`\beta_i` up and :math:`\beta_j` down by one amount; no
step helps when the largest g that may rise and the smallest that may fall are equal, and that
value is the intercept. The active variables are kept in front, so that loops run over a prefix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from panlearn.core.interrupts import interrupted
from panlearn.kernel._row_cache import RowCache
from panlearn.kernel._rows import Rows
from panlearn.kernel._smo_steps import CONVERGED, MISSING, MORE, descend

BLOCK = 1 << 17
"""Entries of the rows that are made at a time, if that is not too few rows."""
FEWEST = 10
"""Rows that are made at a time at the least, for a matrix product to pay; half in a full cache."""
PERIOD = 1000
"""Steps between looks at what can be left out."""


class Solution(NamedTuple):
    """What `solve` found."""

    beta: np.ndarray
    intercept: float
    objective: float
    n_iter: int
    violation: float


def solve(
    rows: Rows,
    y: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    cache_bytes: float,
    dtype: type,
    shrinking: bool = True,
) -> Solution:
    """Solve the dual until max g − min g is at most `tol`, or `max_iter` steps are made."""
    n = m = len(y)
    order = np.arange(n)
    cache = RowCache(n, cache_bytes, dtype)
    beta, gradient = np.zeros(n), y.astype(np.float64)
    rise, fall = np.where(high > 0, 0, -np.inf), np.where(low < 0, 0, np.inf)
    left_out: list[tuple[int, int, np.ndarray]] = []
    # to leave variables out: where rounding is coarser than tol they would come back for ever
    chances = 10 if shrinking else 0
    n_iter, due = 0, PERIOD
    while True:
        steps = min(due, max_iter - n_iter)
        state, row, made, violation = descend(
            *(cache.values, cache.slot, cache.used, n_iter, rows.diagonal, low, high),
            *(beta, gradient, rise, fall, m, tol, steps),
        )
        n_iter, due = n_iter + made, due - made
        # to make rows takes longer than the steps, so Ctrl-C is looked for here, too
        if state == MISSING and not (n_iter and interrupted()):
            count = min(max(FEWEST, BLOCK // m), max(cache.free(), FEWEST // 2), cache.room)
            likely = _likely(row, gradient, rise, fall, cache.slot, m, count)
            cache.fill(rows, likely, m, n_iter, (beta != 0) & (rise + fall != 0))
            continue
        if state == MORE and n_iter < max_iter and not interrupted():
            _refuse_inseparable(high - low, violation, n_iter, beta, gradient, y, rows.diagonal)
            due = PERIOD
            keep = _still_active(gradient, rise, fall, m)
            if chances and keep.sum() <= 0.8 * m:  # moving the rows for less would not pay
                move = np.concatenate([np.flatnonzero(keep), np.flatnonzero(~keep)])
                whole = np.concatenate([move, np.arange(m, n)])
                order, y, low, high = order[whole], y[whole], low[whole], high[whole]
                beta, gradient = beta[whole], gradient[whole]
                rise, fall, rows = rise[whole], fall[whole], rows.taken(whole)
                cache.move(whole, m)
                left_out = [(a, b, past[whole]) for a, b, past in left_out]
                left_out.append((int(keep.sum()), m, beta.copy()))
                m = int(keep.sum())
            continue
        if m == n:
            break
        _reconstruct(rows, cache, beta, gradient, left_out)
        left_out, m, due, chances = [], n, 1, chances - 1
        cache.forget_short()
        if state != CONVERGED:
            break
    violation = (gradient + rise).max() - (gradient + fall).min()
    free = (rise == 0) & (fall == 0)
    middle = ((gradient + rise).max() + (gradient + fall).min()) / 2
    intercept = float(gradient[free].mean() if free.any() else middle)
    objective = float(y @ beta + beta @ gradient) / 2
    result = np.empty(n)
    result[order] = beta
    return Solution(result, intercept, objective, n_iter, float(violation))


def _likely(
    row: int,
    gradient: np.ndarray,
    rise: np.ndarray,
    fall: np.ndarray,
    slot: np.ndarray,
    m: int,
    count: int,
) -> np.ndarray:
    """The row that is missing, and others that are not there and whose g is near an end."""
    absent = np.flatnonzero(slot[:m] < 0)
    if len(absent) <= count:
        return absent
    half = (count - 1) // 2
    if not half:
        return np.array([row])
    g = gradient[absent]
    ends = [np.argpartition(s, half)[:half] for s in (-(g + rise[absent]), g + fall[absent])]
    return np.union1d(absent[np.concatenate(ends)], row)


def _still_active(gradient: np.ndarray, rise: np.ndarray, fall: np.ndarray, m: int) -> np.ndarray:
    """Which variables could still be chosen: not those at a bound that their g presses them to."""
    g, up, down = gradient[:m], rise[:m] == 0, fall[:m] == 0
    return ~((~up & (g > g[up].max())) | (~down & (g < g[down].min())))


def _reconstruct(
    rows: Rows,
    cache: RowCache,
    beta: np.ndarray,
    gradient: np.ndarray,
    left_out: list[tuple[int, int, np.ndarray]],
) -> None:
    """Bring g of what was left out up to date with the variables that have moved since."""
    for start, stop, past in left_out:
        moved = np.flatnonzero(beta != past)
        step = max(1, BLOCK // (stop - start))
        for k in range(0, len(moved), step):
            block = moved[k : k + step]
            gradient[start:stop] -= (beta - past)[block] @ cache.get(rows, block, start, stop)


SEARCH = 100_000
"""Steps in which a hard margin is looked for, at the least."""


def _refuse_inseparable(
    width: np.ndarray,
    violation: float,
    n_iter: int,
    beta: np.ndarray,
    gradient: np.ndarray,
    y: np.ndarray,
    diagonal: np.ndarray,
) -> None:
    """Refuse a hard margin that cannot be, or is too thin to be found.

    While the scores do not separate the classes, max g − min g is at least 2, and a step adds at
    least 1 / (2 max K_ii) to the objective, whose value D bounds the margin by 1/√(2D).
    """
    if np.isfinite(width).all() or violation < 2:
        return
    bound = 1 / np.sqrt(y @ beta + beta @ gradient)
    if n_iter >= max(SEARCH, 10 * len(y)) or bound**2 < 1e-15 * diagonal.max():
        raise ValueError(
            "C=inf asks for a hard margin, as one so large with the weights of the rows does, and "
            f"the classes are not separable: after {n_iter} steps no margin above {bound:.2g} "
            "can exist in the feature space; give a finite C"
        )
