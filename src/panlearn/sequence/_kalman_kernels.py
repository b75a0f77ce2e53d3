r"""The recursions of a linear Gaussian state space, on square roots of covariances.

A covariance is kept as a lower triangular factor, :math:`P = S S^\top`, so that it can be neither
indefinite nor asymmetric. Every step is one triangularisation: an array is rotated from the right,
which leaves its product with its own transpose as it is, until it is lower triangular. With o the
components that are observed,

.. math::
    \begin{pmatrix} R_o^{1/2} & H_o S^- \\ 0 & S^- \end{pmatrix} \to
    \begin{pmatrix} L & 0 \\ G & S \end{pmatrix}, \qquad
    \begin{pmatrix} F S & Q^{1/2} \\ S & 0 \end{pmatrix} \to
    \begin{pmatrix} S^-_+ & 0 \\ \bar C & D \end{pmatrix}

give the factor L of the covariance of the innovation, the gain :math:`G L^{-1}`, the smoothing gain
:math:`C = \bar C (S^-_+)^{-1}` and the factor D of what is left of a state once the next is known.

Covariances may be singular. A row that depends on those above it then takes no column: the upper
left block is in echelon form, as many columns wide as its rank, and the next block begins right
after. L and S are inverted on the rows that have a pivot, which is a generalised inverse, and all
that is ever multiplied by it lies in the range, where every generalised inverse is the same.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from panlearn.core.jit import jit
from panlearn.sequence._echelon import clear, divide, rank_of, sizes, triangularise
from panlearn.sequence._kalman_work import Work, put, put_matrix

# Two covariances in a row that differ by less are the fixed point of the recursion.
SETTLED = 2e-15
LOG_2_PI = math.log(2 * math.pi)
PATIENCE = 2.0  # seconds; to compile takes longer


def _forward_cost(Y: np.ndarray, F: np.ndarray, *rest: Any) -> float:
    """About the microseconds that Python takes; covariances come to rest soon if all is seen."""
    (T, G, m), n = Y.shape, F.shape[-1]
    moving = T if len(F) > 1 or np.isnan(Y[:, 0]).any() else min(T, 30)
    return G * T * (10 + m * n + n * n) + moving * (30 + 0.6 * (m + n) ** 3)


def _backward_cost(means: np.ndarray, *rest: Any) -> float:
    T, G, n = means.shape
    return G * T * (2 + 0.5 * n * n) + T * (3 + n * n)


@jit(_nrt=False)
def _times_factor(M: np.ndarray, S: np.ndarray, out: np.ndarray, top: int, left: int) -> None:
    """out[top:, left:] = M S with S lower triangular."""
    for i in range(M.shape[0]):
        for j in range(S.shape[0]):
            out[top + i, left + j] = 0.0
        for k in range(S.shape[0]):
            value = M[i, k]
            for j in range(k + 1):
                out[top + i, left + j] += value * S[k, j]


@jit(_nrt=False)
def update(y: np.ndarray, H: np.ndarray, R_root: np.ndarray, S: np.ndarray, work: Work) -> int:
    """Take in one observation: S becomes that after it.

    Returns how many of its components were seen; their factor L and the matrix G are left in the A
    of the work space.
    """
    m, n = H.shape
    A, scale, size = work.A, work.scale, work.size
    for i in range(m + n):
        scale[i] = 0.0
    sizes(S, size)
    seen = 0
    for i in range(m):
        if np.isnan(y[i]):
            continue
        for j in range(m):
            A[seen, j] = R_root[i, j]
            scale[seen] += abs(R_root[i, j])
        for j in range(n):
            A[seen, m + j] = 0.0
            scale[seen] += abs(H[i, j]) * size[j]
        for k in range(n):
            for j in range(k + 1):
                A[seen, m + j] += H[i, k] * S[k, j]
        seen += 1
    if seen == 0:
        return 0
    for i in range(n):
        scale[seen + i] = size[i]
        for j in range(m):
            A[seen + i, j] = 0.0
        for j in range(n):
            A[seen + i, m + j] = S[i, j]
    triangularise(A, seen + n, m + n, scale)
    rank = rank_of(A, seen)
    clear(A, n, seen, rank, scale)
    for i in range(n):
        for j in range(n):
            S[i, j] = A[seen + i, rank + j] if j <= i else 0.0
    return seen


@jit(_nrt=False)
def see(
    y: np.ndarray, H: np.ndarray, mean: np.ndarray, A: np.ndarray, innovation: np.ndarray
) -> float:
    """Move a mean by an observation, with the L and G of `update`; the log-density of that."""
    seen = 0
    for i in range(len(y)):
        if not np.isnan(y[i]):
            value = y[i]
            for j in range(len(mean)):
                value -= H[i, j] * mean[j]
            innovation[seen] = value
            seen += 1
    return move(mean, A, innovation, seen)


@jit(_nrt=False)
def move(mean: np.ndarray, A: np.ndarray, innovation: np.ndarray, seen: int) -> float:
    """Add the gain times the innovation to the mean, and give the innovation's log-density.

    A component that those before it determine has no density, and tells nothing new.
    """
    total, rank = 0.0, 0
    for i in range(seen):
        value = innovation[i]
        for j in range(rank):
            value -= A[i, j] * innovation[j]
        if A[i, rank] > 0.0:
            value /= A[i, rank]
            total -= 0.5 * (value * value + LOG_2_PI) + math.log(A[i, rank])
            innovation[rank] = value  # of the component that the column belongs to
            rank += 1
    for k in range(len(mean)):
        for i in range(rank):
            mean[k] += A[seen + k, i] * innovation[i]
    return total


@jit(_nrt=False)
def predict(
    F: np.ndarray, Q_root: np.ndarray, S: np.ndarray, work: Work, C: np.ndarray, D: np.ndarray
) -> None:
    """Go one step ahead, and keep the smoothing gain C and the factor D if these have rows."""
    n = len(S)
    back = len(C) > 0
    A, S_ahead, scale, size = work.A, work.S_ahead, work.scale, work.size
    for i in range(2 * n):
        scale[i] = 0.0
    sizes(S, size)
    _times_factor(F, S, A, 0, 0)
    for i in range(n):
        scale[n + i] = size[i]
        for j in range(n):
            A[i, n + j] = Q_root[i, j]
            scale[i] += abs(F[i, j]) * size[j] + abs(Q_root[i, j])
            if back:
                A[n + i, j] = S[i, j]
                A[n + i, n + j] = 0.0
    triangularise(A, 2 * n if back else n, 2 * n, scale)
    clear(A, n, 0, 0, scale)
    for i in range(n):
        for j in range(n):
            S_ahead[i, j] = A[i, j] if j <= i else 0.0
    if back:
        rank = rank_of(A, n)
        clear(A, n, n, rank, scale)
        for i in range(n):
            for j in range(n):
                D[i, j] = A[n + i, rank + j] if j <= i else 0.0
        divide(A[n:], S_ahead, C, work.pivots)


@jit(_nrt=False)
def _same(S: np.ndarray, T: np.ndarray) -> bool:
    largest, difference = 0.0, 0.0
    for i in range(len(S)):
        for j in range(i + 1):
            largest = max(largest, abs(S[i, j]))
            difference = max(difference, abs(S[i, j] - T[i, j]))
    return difference <= SETTLED * largest


@jit(_nrt=False, plain=_forward_cost, patience=PATIENCE)
def forward(
    Y: np.ndarray,
    F: np.ndarray,
    offset: np.ndarray,
    Q_root: np.ndarray,
    H: np.ndarray,
    R_root: np.ndarray,
    S_first: np.ndarray,
    log_likelihood: np.ndarray,
    means: np.ndarray,
    factors: np.ndarray,
    ahead: np.ndarray,
    C: np.ndarray,
    D: np.ndarray,
    settled: np.ndarray,
    work: Work,
) -> None:
    """Filter series of which the same is missing; matrices have one entry, or one for each step.

    Series, means and offsets have an axis of steps, or one for all, and then one of series, or one
    for all. The means ahead of the first step are given. Fills the filtered means and factors, the
    other means ahead of an observation, and, if these have entries, the smoothing gains and their
    factors; adds to the log-likelihoods. Once a covariance has come to rest, and while every
    component is seen, it is not computed again, and the step is marked as settled.
    """
    T, G, m = Y.shape
    n, S = len(S_first), work.S
    put_matrix(S_first, work.S_ahead)
    back = len(C) > 0
    constant = len(F) == len(Q_root) == len(H) == len(R_root) == 1
    rest, known = False, False  # whether the factor before is of a step in which all was seen
    for t in range(T):
        for i in range(m):
            rest = rest and not np.isnan(Y[t, 0, i])
        gain = work.gain if rest else work.A
        if rest:
            settled[t] = True
            put_matrix(factors[t - 1], factors[t])
        else:
            put_matrix(work.S_ahead, S)
            seen = update(Y[t, 0], H[t % len(H)], R_root[t % len(R_root)], S, work)
            put_matrix(S, factors[t])
            rest = constant and seen == m and known and _same(S, work.before)
            known = constant and seen == m
            if known:
                put_matrix(work.A, work.gain)
                put_matrix(S, work.before)
        for g in range(G):
            put(ahead[t, g], means[t, g])
            log_likelihood[g] += see(Y[t, g], H[t % len(H)], means[t, g], gain, work.innovation)
        if t + 1 == T:
            break
        for g in range(G):
            for i in range(n):
                value = offset[t % len(offset), g % offset.shape[1], i]
                for j in range(n):
                    value += F[t % len(F), i, j] * means[t, g, j]
                ahead[t + 1, g, i] = value
        if not settled[t]:
            predict(
                F[t % len(F)],
                Q_root[t % len(Q_root)],
                S,
                work,
                C[t] if back else work.none,
                D[t] if back else work.none,
            )
        elif back:
            put_matrix(C[t - 1], C[t])
            put_matrix(D[t - 1], D[t])


@jit(_nrt=False, plain=_backward_cost, patience=PATIENCE)
def backward(
    means: np.ndarray,
    factors: np.ndarray,
    ahead: np.ndarray,
    C: np.ndarray,
    D: np.ndarray,
    settled: np.ndarray,
    work: Work,
) -> None:
    """Smooth series in place: filtered means and factors become smoothed ones."""
    T, G, n = means.shape
    A = work.A
    rest = False
    for t in range(T - 2, -1, -1):
        for g in range(G):
            for i in range(n):
                for j in range(n):
                    means[t, g, i] += C[t, i, j] * (means[t + 1, g, j] - ahead[t + 1, g, j])
        if rest and settled[t]:
            put_matrix(factors[t + 1], factors[t])
            continue
        _times_factor(C[t], factors[t + 1], A, 0, 0)
        for i in range(n):
            for j in range(n):
                A[i, n + j] = D[t, i, j]
        triangularise(A, n, 2 * n, work.exact)
        for i in range(n):
            for j in range(n):
                factors[t, i, j] = A[i, j] if j <= i else 0.0
        rest = settled[t] and settled[t + 1] and _same(factors[t], factors[t + 1])
