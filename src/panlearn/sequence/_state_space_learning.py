"""The two steps of EM for a linear Gaussian state space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from panlearn.core.gaussian import by_pattern
from panlearn.core.sources import Sequences
from panlearn.core.statistics import Sums
from panlearn.core.threads import one_blas_thread
from panlearn.sequence._state_space import StateSpace, Walk, alike, is_singular, root, stacked

# The least eigenvalue of a learned covariance, beside its largest and that of its start.
FLOOR = 1e-10
# On series of fewer numbers the threads of BLAS wait for each other longer than they work.
SHORT = 2**14


@dataclass(frozen=True)
class StateMoments(Sums):
    """Expected second moments of states, controls and observations, summed over the steps."""

    weight: float
    log_likelihood: float
    starts: float
    first: np.ndarray  # Σ E x_1
    first_second: np.ndarray  # Σ E x_1 x_1ᵀ
    moves: float
    following: np.ndarray  # Σ E x_{t+1} x_{t+1}ᵀ
    across: np.ndarray  # Σ E x_{t+1} z_tᵀ, z = (x, u)
    before: np.ndarray  # Σ E z_t z_tᵀ
    seen: float
    observed: np.ndarray  # Σ E y yᵀ
    shown: np.ndarray  # Σ E y qᵀ, q = (x, 1)
    shower: np.ndarray  # Σ E q qᵀ


def expect(at: StateSpace, X: Sequences, y: Any, weight: Any) -> StateMoments:
    """The moments of a block of series, whose columns are observations and then controls."""
    total: Any = 0
    short = len(X) > 0 and np.diff(X.offsets).max() * X.values.shape[1] < SHORT
    with one_blas_thread(short):
        for members in alike(X, at.H.shape[1]):
            weights = np.ones(len(members)) if weight is None else weight[members].astype(float)
            total = total + _moments(at, stacked(X, members), weights)
    return total


def _moments(at: StateSpace, values: np.ndarray, weight: np.ndarray) -> StateMoments:
    """The moments of series that are alike, each with its weight."""
    m, n = at.H.shape[1:]
    Y, U = values[..., :m], values[..., m:]
    walk = at.walk(Y, U, back=True)
    if any(B.shape[1] for B in walk.directions):
        raise ValueError(
            "a series leaves part of its diffuse first state open, so nothing can be learned from "
            'it: leave it out, or set start="known"'
        )
    M, S, T, count = walk.means, walk.factors, len(Y), float(weight.sum())
    weighted = weight[:, None] * M
    first, last = (weighted[t].T @ M[t] + count * S[t] @ S[t].T for t in (0, -1))
    observed, shown, shower = _observation_moments(at, Y, walk, weight)
    second = shower[:n, :n]
    Z = np.concatenate([M, U], axis=2)[:-1]
    before = _product(weight[:, None] * Z, Z)
    before[:n, :n] = second - last
    across = _product(weighted[1:], Z)
    across[:, :n] += count * np.einsum("tij,tkj->ik", walk.covariances[1:], walk.gains[: T - 1])
    return StateMoments(
        weight=count * T,
        log_likelihood=float(weight @ walk.log_likelihood),
        starts=count,
        first=weight @ M[0],
        first_second=first,
        moves=count * (T - 1),
        following=second - first,
        across=across,
        before=before,
        seen=count * T,
        observed=observed,
        shown=shown,
        shower=shower,
    )


def _product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Σ a bᵀ over the steps of series."""
    return A.reshape(-1, A.shape[-1]).T @ B.reshape(-1, B.shape[-1])


def _observation_moments(
    at: StateSpace, Y: np.ndarray, walk: Walk, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Moments of y, with q = (x, 1), where what is missing is y = A x + b + noise of covariance W.

    Steps with the same components missing share A and W.
    """
    m, n = at.H.shape[1:]
    H, d, R, count = at.H[0], at.d, at.R[0], weight.sum()
    observed, shown, shower = np.zeros((m, m)), np.zeros((m, n + 1)), np.zeros((n + 1, n + 1))
    for here, known in by_pattern(Y[:, 0]):
        M, S, b = walk.means[here], walk.factors[here], Y[here]
        rows = np.swapaxes(S, 0, 1).reshape(n, -1)  # so that Σ S Sᵀ is one product
        Q = np.concatenate([M, np.ones((*M.shape[:2], 1))], axis=2)
        weighted = weight[:, None] * Q
        second = _product(weighted, Q)
        second[:n, :n] += count * rows @ rows.T
        gone = ~known
        if gone.any():
            link = np.zeros((gone.sum(), known.sum()))
            if known.any():
                inverse = np.linalg.pinv(R[np.ix_(known, known)], hermitian=True)  # R may be zero
                link = R[np.ix_(gone, known)] @ inverse
            A, W = np.zeros((m, n)), np.zeros((m, m))
            A[gone] = H[gone] - link @ H[known]
            W[np.ix_(gone, gone)] = R[np.ix_(gone, gone)] - link @ R[np.ix_(known, gone)]
            b[..., gone] = d[gone] + (b[..., known] - d[known]) @ link.T
            shown += A @ second[:n]
            cross = A @ _product(weighted[..., :n], b)
            observed += A @ second[:n, :n] @ A.T + cross + cross.T + count * len(here) * W
        shown += _product(b, weighted)
        observed += _product(weight[:, None] * b, b)
        shower += second
    return observed, shown, shower


class Learner:
    """The maximisation: what is free moves, what is not stays as it is in the start.

    A direction without variance in the start has none at the end: nothing that is seen can tell
    that it should have some, and the density of what it leaves determined is another one.
    """

    def __init__(self, model: StateSpace, free: Mapping[str, np.ndarray]) -> None:
        self._free = free
        start = {
            "transition_covariance": model.Q[0],
            "observation_covariance": model.R[0],
            "initial_covariance": model.covariance,
        }
        self._scales = {name: float(np.abs(value).max()) for name, value in start.items()}
        self._ranges = {
            name: _range(root(np.where(free[name], value, 0.0))) for name, value in start.items()
        }

    def maximise(self, at: StateSpace, s: StateMoments) -> StateSpace:
        """The parameters that the expected moments ask for."""
        free = self._free
        changed: dict[str, Any] = {}
        if at.start == "known":
            mean = s.first / s.starts
            mean = np.where(free["initial_mean"], mean, at.mean)
            second = s.first_second - np.outer(s.first, mean) - np.outer(mean, s.first)
            spread = second / s.starts + np.outer(mean, mean)
            changed["mean"] = mean
            changed["covariance"] = self._part("initial_covariance", spread, at.covariance)
        if s.moves and len(at.F) == len(at.B) == len(at.Q) == 1:
            n = at.F.shape[-1]
            move = np.hstack([at.F[0], at.B[0]])
            mask = np.hstack([free["transition"], free["control"]])
            move = _regress(move, mask, s.across, s.before, at.roots[0][0])
            left = _residual(move, s.following, s.across, s.before) / s.moves
            changed["F"], changed["B"] = move[None, :, :n].copy(), move[None, :, n:].copy()
            changed["Q"] = self._part("transition_covariance", left, at.Q[0])[None]
        if len(at.H) == len(at.R) == 1:
            n = at.H.shape[-1]
            show = np.column_stack([at.H[0], at.d])
            mask = np.column_stack([free["observation"], free["observation_offset"]])
            show = _regress(show, mask, s.shown, s.shower, at.roots[1][0])
            left = _residual(show, s.observed, s.shown, s.shower) / s.seen
            changed["H"], changed["d"] = show[None, :, :n].copy(), show[:, n].copy()
            changed["R"] = self._part("observation_covariance", left, at.R[0])[None]
        return replace(at, **changed)

    def _part(self, name: str, found: np.ndarray, given: np.ndarray) -> np.ndarray:
        """A covariance whose free block, or free diagonal, is the one found."""
        free = self._free[name]
        if not free.any():
            return given
        if not free.all():
            found = np.where(free, found, 0.0)
        basis = self._ranges[name]
        inner = found if basis is None else basis.T @ found @ basis
        inner = (inner + inner.T) / 2
        values, vectors = np.linalg.eigh(inner)
        least = FLOOR * max(float(values.max(initial=0.0)), self._scales[name])
        if basis is not None or values.min(initial=least) < least:
            axes = vectors if basis is None else basis @ vectors
            inner = (axes * np.maximum(values, least)) @ axes.T
            inner = (inner + inner.T) / 2
        return np.where(free, inner, given)


def _range(factor: np.ndarray) -> np.ndarray | None:
    """An orthonormal basis of the range of a covariance, from its factor; None if that is all."""
    return linalg.orth(factor) if is_singular(factor) else None


def _regress(
    given: np.ndarray, free: np.ndarray, across: np.ndarray, before: np.ndarray, factor: np.ndarray
) -> np.ndarray:
    """The free entries of the matrix Θ that minimises tr N⁻¹ (Θ G Θᵀ - 2 Θ Aᵀ), others as given.

    The factor is that of the covariance N of the noise.
    """
    if not free.any():
        return given
    # a step from what is given, in units of the moments: where they say nothing, it stays
    size = np.sqrt(np.maximum(np.diag(before), 1e-300))
    across, before = (across - given @ before) / size, before / np.outer(size, size)
    basis = _range(factor)
    if free.all():
        found = across @ np.linalg.pinv(before, rcond=FLOOR, hermitian=True)
        return given + (found if basis is None else basis @ (basis.T @ found)) / size
    precision = np.linalg.pinv(factor @ factor.T, hermitian=True)
    chosen = np.flatnonzero(free.ravel())
    system = np.kron(precision, before)[np.ix_(chosen, chosen)]
    target = (precision @ across).ravel()[chosen]
    if basis is not None:  # what has no noise is exact, and may not move
        fixed = np.kron(np.eye(len(factor)) - basis @ basis.T, np.eye(len(before)))[:, chosen]
        ways = linalg.null_space(fixed)
        found = ways @ linalg.lstsq(ways.T @ system @ ways, ways.T @ target)[0]
    else:
        found = linalg.lstsq(system, target)[0]
    step = np.zeros(given.size)
    step[chosen] = found
    return given + step.reshape(given.shape) / size


def _residual(
    matrix: np.ndarray, second: np.ndarray, across: np.ndarray, before: np.ndarray
) -> np.ndarray:
    """Σ E (x - Θ z)(x - Θ z)ᵀ."""
    cross = matrix @ across.T
    return second - cross - cross.T + matrix @ before @ matrix.T
