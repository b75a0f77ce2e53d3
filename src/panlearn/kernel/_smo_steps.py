"""Steps of sequential minimal optimisation on the rows that are at hand: compiled, and by NumPy."""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit

MORE, CONVERGED, MISSING, STALLED = range(4)
FLAT = 1e-12
"""The curvature that stands for none."""
CHUNK = 512
"""Entries that are searched for their largest in one go, which the machine does several at once."""


def _descend(
    cache: np.ndarray,
    slot: np.ndarray,
    used: np.ndarray,
    clock: int,
    diagonal: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    beta: np.ndarray,
    gradient: np.ndarray,
    rise: np.ndarray,
    fall: np.ndarray,
    m: int,
    tol: float,
    steps: int,
) -> tuple[int, int, int, float]:
    """The steps of `descend`, by NumPy."""
    g, rise, fall, diagonal = gradient[:m], rise[:m], fall[:m], diagonal[:m]
    for step in range(steps + 1):
        up, down = g + rise, g + fall
        i = int(up.argmax())
        top = up[i]
        violation = top - down.min()
        if violation <= tol:
            return CONVERGED, -1, step, violation
        if step == steps:
            break
        if slot[i] < 0:
            return MISSING, i, step, violation
        row = cache[slot[i], :m].astype(np.float64)
        used[slot[i]] = clock + step
        difference = np.maximum(top - down, 0.0)
        curvature = np.maximum(diagonal[i] + diagonal - 2 * row, FLAT)
        gain = difference * difference / curvature
        j = int(gain.argmax())
        if gain[j] == 0:
            return STALLED, -1, step, violation
        if slot[j] < 0:
            return MISSING, j, step, violation
        used[slot[j]] = clock + step
        delta = _step(i, j, (top - g[j]) / curvature[j], low, high, beta, rise, fall)
        g -= delta * (row - cache[slot[j], :m])
    return MORE, -1, steps, violation


@jit(error_model="numpy", fastmath={"nnan", "nsz"})
def _step(
    i: int,
    j: int,
    delta: float,
    low: np.ndarray,
    high: np.ndarray,
    beta: np.ndarray,
    rise: np.ndarray,
    fall: np.ndarray,
) -> float:
    """Move β_i up and β_j down by delta, or as far as they may; returned is how far."""
    room_i, room_j = high[i] - beta[i], beta[j] - low[j]
    delta = min(delta, room_i, room_j)
    # on a bound exactly, so that the variable is known to be there
    beta[i] = high[i] if delta == room_i else beta[i] + delta
    beta[j] = low[j] if delta == room_j else beta[j] - delta
    for t in (i, j):
        rise[t] = 0.0 if beta[t] < high[t] else -np.inf
        fall[t] = 0.0 if beta[t] > low[t] else np.inf
    return delta


@jit(
    error_model="numpy",
    fastmath={"nnan", "nsz"},
    _nrt=False,
    plain=lambda *given: given[-1] * (25 + 0.01 * given[-3]),
    instead=_descend,
)
def descend(
    cache: np.ndarray,
    slot: np.ndarray,
    used: np.ndarray,
    clock: int,
    diagonal: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    beta: np.ndarray,
    gradient: np.ndarray,
    rise: np.ndarray,
    fall: np.ndarray,
    m: int,
    tol: float,
    steps: int,
) -> tuple[int, int, int, float]:
    """Up to `steps` steps on the first m variables, while the rows that they need are there.

    i has the largest g among those that may rise, j the largest gain of second order,
    (g_i − g_j)² / (K_ii + K_jj − 2 K_ij), among those that may fall. `rise` and `fall` are 0
    where a variable may, else an infinity that takes it out of the search. Returns the state, the
    row that is missing, the steps made, and max g − min g.
    """
    row_i = row_j = cache[0]
    delta = 0.0
    for step in range(steps + 1):
        # move g, and find its largest and smallest
        top, bottom, where = -np.inf, np.inf, 0
        for start in range(0, m, CHUNK):
            stop = min(start + CHUNK, m)
            high_here, low_here = -np.inf, np.inf
            if delta != 0:
                for t in range(start, stop):
                    gradient[t] -= delta * (np.float64(row_i[t]) - np.float64(row_j[t]))
            for t in range(start, stop):
                up, down = gradient[t] + rise[t], gradient[t] + fall[t]
                high_here = up if up > high_here else high_here
                low_here = down if down < low_here else low_here
            if high_here > top:
                top, where = high_here, start
            bottom = low_here if low_here < bottom else bottom
        delta = 0.0
        if top - bottom <= tol:
            return CONVERGED, -1, step, top - bottom
        if step == steps:
            return MORE, -1, step, top - bottom
        i = where
        while gradient[i] + rise[i] != top:
            i += 1
        if slot[i] < 0:
            return MISSING, i, step, top - bottom
        row_i = cache[slot[i]]
        used[slot[i]] = clock + step
        best, where = 0.0, -1
        for start in range(0, m, CHUNK):
            stop = min(start + CHUNK, m)
            best_here = 0.0
            for t in range(start, stop):
                gain = _gain(top - (gradient[t] + fall[t]), diagonal[i] + diagonal[t], row_i[t])
                best_here = gain if gain > best_here else best_here
            if best_here > best:
                best, where = best_here, start
        if where < 0:
            return STALLED, -1, step, top - bottom
        j = where
        while _gain(top - (gradient[j] + fall[j]), diagonal[i] + diagonal[j], row_i[j]) != best:
            j += 1
        if slot[j] < 0:
            return MISSING, j, step, top - bottom
        row_j = cache[slot[j]]
        used[slot[j]] = clock + step
        curvature = max(diagonal[i] + diagonal[j] - 2 * row_i[j], FLAT)
        delta = _step(i, j, (top - gradient[j]) / curvature, low, high, beta, rise, fall)
    return MORE, -1, steps, top - bottom


@jit(error_model="numpy", fastmath={"nnan", "nsz"}, inline="always")
def _gain(difference: float, diagonals: float, k: float) -> float:
    """(g_i − g_j)² / (K_ii + K_jj − 2 K_ij), or 0 if g_i is not above."""
    difference = difference if difference > 0 else 0.0
    curvature = diagonals - 2 * np.float64(k)
    return difference * difference / (curvature if curvature > FLAT else FLAT)
