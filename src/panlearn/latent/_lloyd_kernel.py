"""The loop of k-means over rows whose bounds do not settle where they belong, see `_lloyd`."""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit

CHUNK = 256  # rows whose scores against all centres stay in the cache
SLACK = 1e-12  # taken off a squared bound, so that rounding never makes it too high


@jit(fastmath={"reassoc", "contract", "nnan"})
def assign_open(
    X: np.ndarray,
    weight: np.ndarray,
    centres: np.ndarray,  # less the origin
    half: np.ndarray,
    origin: np.ndarray,
    moves: np.ndarray,
    count: np.ndarray,
    total: np.ndarray,
    labels: np.ndarray,  # -1 of rows that have not been assigned
    gaps: np.ndarray,  # how much nearer that centre is than any other: below 0 it is not known
) -> float:
    """argmin_j ½|c_j|² - x·c_j of the rows whose gap has closed; Σ w |x - c|²."""
    n, d = X.shape
    k = half.shape[0]
    loss = np.empty(k)
    _most_closed(moves, loss)
    # the longest centre has length 1 in single precision
    longest, short, short_half = 0.0, np.empty((k, d), np.float32), np.empty(k, np.float32)
    for j in range(k):
        longest = max(longest, np.sqrt(2 * half[j]))
    unit = 1 / longest if longest > 0 else 1.0
    for j in range(k):
        short_half[j] = unit * unit * half[j]
        for a in range(d):
            short[j, a] = unit * centres[j, a]
    back = 1 / (unit * unit)
    error = (d + 8) * 2.0**-23 * longest  # of a score in single precision, for a row of length 1
    rows, square, place = np.empty((CHUNK, d)), np.empty(CHUNK), np.empty(CHUNK, np.int64)
    open_rows, near, beyond = np.empty((CHUNK, d), np.float32), np.empty(CHUNK), np.empty(CHUNK)
    low, second = np.empty(CHUNK, np.float32), np.empty(CHUNK, np.float32)
    best, buffer, inertia = np.empty(CHUNK, np.int32), np.empty(k * CHUNK, np.float32), 0.0
    ahead = 0
    while ahead < n:
        m = 0
        while ahead < n and m < CHUNK:
            gaps[ahead] -= loss[labels[ahead]]
            place[m] = ahead
            m += not gaps[ahead] > 0
            ahead += 1
        for a in range(m):
            i, size2 = place[a], 0.0
            for j in range(d):
                value = X[i, j] - origin[j]
                rows[a, j] = value
                size2 += value * value
            square[a] = size2
            scale = unit if unit * unit * size2 < 1e30 else 0.0
            for j in range(d):
                open_rows[a, j] = scale * rows[a, j]
        if m > 0:
            scores = buffer[: k * m].reshape(k, m)  # a row a centre, so that m run side by side
            np.dot(short, open_rows[:m].T, scores)
            for a in range(m):
                best[a], low[a], second[a] = 0, short_half[0] - scores[0, a], np.inf
            for j in range(1, k):
                for a in range(m):
                    score = short_half[j] - scores[j, a]
                    best[a] = np.int32(j) if score < low[a] else best[a]
                    second[a] = min(second[a], max(low[a], score))
                    low[a] = min(low[a], score)
        for a in range(m):
            doubt = 2 * error * (np.sqrt(square[a]) + longest)
            first, other = np.float64(low[a]) * back, np.float64(second[a]) * back
            slack = SLACK * (square[a] + longest**2)
            near[a] = np.sqrt(max(square[a] + 2 * (first + doubt), 0.0) + slack)
            beyond[a] = np.sqrt(max(square[a] + 2 * (other - doubt) - slack, 0.0))
            if not other - first > doubt or not square[a] * unit * unit < 1e30:
                best[a] = -1
        for a in range(m):
            i, own, old = place[a], best[a], labels[place[a]]
            if own < 0:
                own, other = _in_double(rows[a], centres, half)
                slack = SLACK * (square[a] + longest**2)
                beyond[a] = np.sqrt(max(square[a] + 2 * other - slack, 0.0))
                near[a] = np.sqrt(_squared_distance(rows[a], centres[own]))
            labels[i], gaps[i] = own, beyond[a] - near[a] * (1 + SLACK)
            if own != old:
                w, distance = weight[i], _squared_distance(rows[a], centres[own])
                inertia += w * distance
                count[own] += w
                for j in range(d):
                    total[own, j] += w * rows[a, j]
                if old >= 0:
                    inertia -= w * _squared_distance(rows[a], centres[old])
                    count[old] -= w
                    for j in range(d):
                        total[old, j] -= w * rows[a, j]
    return inertia


@jit
def _most_closed(moves: np.ndarray, loss: np.ndarray) -> None:
    """For each centre the most that it and another can have come nearer to each other's rows."""
    first = second = 0.0
    for move in moves:
        if move > first:
            first, second = move, first
        elif move > second:
            second = move
    for j in range(len(moves)):
        loss[j] = (moves[j] + (first if moves[j] < first else second)) * (1 + SLACK)


@jit(fastmath={"reassoc", "contract"})
def _squared_distance(row: np.ndarray, centre: np.ndarray) -> float:
    distance = 0.0
    for j in range(len(row)):
        distance += (row[j] - centre[j]) ** 2
    return distance


@jit
def _in_double(row: np.ndarray, centres: np.ndarray, half: np.ndarray) -> tuple[int, float]:
    """The nearest centre of a row, the first of several, and the score of the next."""
    best, low, second = 0, np.inf, np.inf
    for j in range(len(half)):
        score = half[j]
        for i in range(len(row)):
            score -= row[i] * centres[j, i]
        if score < low:
            best, low, second = j, score, low
        elif score < second:
            second = score
    return best, second
