r"""The first steps after a start of which nothing is known, exactly.

While some directions of the state have an infinite variance, its law is the limit of

.. math:: x \sim \mathcal{N}(m, \; S S^\top + \kappa B B^\top), \qquad \kappa \to \infty

and is kept as the mean, the factor S and the directions B. What the state is seen through, or moved
to, is :math:`M x + N \epsilon`; in the limit a component of that in which a direction shows fixes
the direction, whatever the noise, and is otherwise used up: it is eliminated from all others. What
is left has a finite law, and is conditioned on as ever.

References
----------
J. Durbin and S. J. Koopman (2012). Time Series Analysis by State Space Methods, chapter 5. Oxford
University Press. doi:10.1093/acprof:oso/9780199641178.001.0001
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from panlearn.sequence._echelon import triangularise
from panlearn.sequence._kalman_kernels import LOG_2_PI


class Vague(NamedTuple):
    """A law with infinite variances: mean (n,), factor (n, n) and infinite directions (n, d).

    Of several series that share the factor and the directions the means are (G, n).
    """

    mean: np.ndarray
    S: np.ndarray
    B: np.ndarray


class Conditioned(NamedTuple):
    """What a state is once M x + N e is known: gain (n, v), factor and directions that are left."""

    gain: np.ndarray
    S: np.ndarray
    B: np.ndarray
    log_density: np.ndarray


def echelon(A: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """A factor with the same square in echelon form, without columns of zeros."""
    A = np.ascontiguousarray(A)
    triangularise(A, len(A), A.shape[1], scale)
    return A[:, A.any(axis=0)]


def lower(A: np.ndarray) -> np.ndarray:
    """The first n columns of a form that has no more, or fewer and then zeros."""
    n = len(A)
    return np.hstack([A[:, :n], np.zeros((n, max(n - A.shape[1], 0)))])


def unbounded(P: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A covariance with infinities where the directions B reach."""
    reach, size = B @ B.T, np.linalg.norm(B, axis=1)
    there = np.abs(reach) > 1e-13 * np.outer(size, size)
    return np.where(there, np.copysign(np.inf, reach), P)


def condition(
    M: np.ndarray, S: np.ndarray, B: np.ndarray, N: np.ndarray, V: np.ndarray
) -> Conditioned:
    """Condition a state of mean zero on M x + N e = V, for each column of V.

    The log-densities are those of the columns: with log(kappa) / 2 added for each direction that
    is fixed, the limits.
    """
    (rows, n), size, width = M.shape, np.linalg.norm(S, axis=1), np.linalg.norm(B, axis=1)
    wild = np.vstack([M @ B, B])
    tame = np.vstack([np.hstack([M @ S, N]), np.hstack([S, np.zeros((n, N.shape[1]))])])
    values = np.vstack([V, np.zeros((n, V.shape[1]))])
    scale = np.append(np.abs(M) @ size + np.abs(N).sum(axis=1), size)
    triangularise(wild, len(wild), wild.shape[1], np.append(np.abs(M) @ width, width))
    left, log_density, used = [], np.zeros(V.shape[1]), 0
    for i in range(rows):
        if used == B.shape[1] or wild[i, used] == 0:
            left.append(i)
            continue
        factor = wild[i + 1 :, used] / wild[i, used]
        tame[i + 1 :] -= np.outer(factor, tame[i])
        values[i + 1 :] -= np.outer(factor, values[i])
        scale[i + 1 :] += np.abs(factor) * scale[i]
        log_density -= np.log(wild[i, used]) + 0.5 * LOG_2_PI
        used += 1
    k, gain = len(left), -values[rows:]
    tame = np.vstack([tame[left], tame[rows:]])
    triangularise(tame, len(tame), tame.shape[1], np.append(scale[left], scale[rows:]))
    white, rank = np.zeros((k, V.shape[1])), 0
    for i in range(k):
        value = values[left[i]] - tame[i, :rank] @ white[:rank]
        if tame[i, rank] > 0:
            white[rank] = value / tame[i, rank]
            log_density -= 0.5 * (white[rank] ** 2 + LOG_2_PI) + np.log(tame[i, rank])
            rank += 1
    gain = gain + tame[k:, :rank] @ white[:rank]
    B = wild[rows:, used:]
    return Conditioned(gain, lower(tame[k:, rank:]), B[:, B.any(axis=0)], log_density)


def advance(state: Vague, F: np.ndarray, offset: np.ndarray, N: np.ndarray) -> Vague:
    """The law of F x + offset + N e."""
    mean, S, B = state
    scale = np.abs(F) @ np.linalg.norm(S, axis=1) + np.abs(N).sum(axis=1)
    factor = echelon(np.hstack([F @ S, N]), scale)
    directions = echelon(F @ B, np.abs(F) @ np.linalg.norm(B, axis=1))
    return Vague(mean @ F.T + offset, lower(factor), directions)


def update(state: Vague, y: np.ndarray, H: np.ndarray, N: np.ndarray) -> tuple[Vague, np.ndarray]:
    """The law of the state once an observation is taken in, and the log-density of that.

    Of several series the rows of y are theirs, with the same entries missing.
    """
    mean, S, B = state
    innovation = np.atleast_2d(y - mean @ H.T)
    seen = ~np.isnan(innovation[0])
    if not seen.any():
        return state, np.zeros(len(innovation))
    found = condition(H[seen], S, B, N[seen], innovation[:, seen].T)
    gained = found.gain.T.reshape(*y.shape[:-1], -1)
    return Vague(mean + gained, found.S, found.B), found.log_density


class Opening(NamedTuple):
    """The first steps of series: how many, the law ahead of the next, and what they left open.

    `directions` are the infinite ones of each step, and `left` those that stay infinite once the
    following state is known, with the gain and the factor of the way back.
    """

    steps: int
    after: Vague
    directions: list[np.ndarray]
    left: list[np.ndarray]
    log_likelihood: np.ndarray


def forth(
    Y: np.ndarray, matrices: tuple[np.ndarray, ...], state: Vague, kept: tuple[np.ndarray, ...]
) -> Opening:
    """Filter until no variance is infinite; matrices and what is kept are those of `forward`."""
    F, offset, Q_root, H, R_root = matrices
    means, factors, ahead, C, D = kept
    directions: list[np.ndarray] = []
    left: list[np.ndarray] = []
    total, T = np.zeros(Y.shape[1]), len(Y)
    for t in range(T):
        ahead[t] = state.mean
        state, gained = update(state, Y[t], H[t % len(H)], R_root[t % len(R_root)])
        total += gained
        means[t], factors[t] = state.mean, state.S
        directions.append(state.B)
        if t + 1 == T:
            return Opening(T, state, directions, left, total)
        move, noise = F[t % len(F)], Q_root[t % len(Q_root)]
        if len(C):
            back = condition(move, state.S, state.B, noise, np.eye(len(move)))
            C[t], D[t] = back.gain, back.S
            left.append(back.B)
        state = advance(state, move, offset[t % len(offset)], noise)
        if not state.B.shape[1]:
            break
    return Opening(t + 1, state, directions, left, total)


def back(opening: Opening, kept: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    """Smooth the first steps in place, given the one that follows; their infinite directions."""
    means, factors, ahead, C, D = kept
    found: list[np.ndarray] = []
    T, _, n = means.shape
    directions = np.zeros((n, 0))
    if opening.steps == T:
        directions = opening.directions[-1]
        found.append(directions)
    for t in range(min(opening.steps, T - 1) - 1, -1, -1):
        means[t] += (means[t + 1] - ahead[t + 1]) @ C[t].T
        factors[t] = lower(echelon(np.hstack([C[t] @ factors[t + 1], D[t]]), np.zeros(n)))
        scale = np.abs(C[t]) @ np.linalg.norm(directions, axis=1)
        scale += np.abs(opening.left[t]).sum(axis=1)
        directions = echelon(np.hstack([C[t] @ directions, opening.left[t]]), scale)
        found.append(directions)
    return found[::-1]
