"""A linear Gaussian state space: its parameters, its two walks, and the two steps of its EM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from panlearn.core.sources import Sequences
from panlearn.core.statistics import Sums
from panlearn.sequence._kalman_kernels import backward, forward

# The variance of a diffuse start, beside that of what moves the state and blurs the observations.
DIFFUSE = 1e7
# The least eigenvalue of a learned covariance, beside its largest and that of its start.
FLOOR = 1e-10


def root(covariance: np.ndarray) -> np.ndarray:
    """A lower triangular S with S Sᵀ = P, of each positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(covariance)
    half = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
    R = np.linalg.qr(np.swapaxes(half, -1, -2), mode="r")
    sign = np.where(np.diagonal(R, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    return np.ascontiguousarray(np.swapaxes(R * sign[..., :, None], -1, -2))


@dataclass(frozen=True)
class Walk:
    """What one series says of its states: means, factors of covariances, and the way back."""

    means: np.ndarray
    factors: np.ndarray
    gains: np.ndarray
    log_likelihood: float

    @property
    def covariances(self) -> np.ndarray:
        """Of each state, S Sᵀ."""
        return self.factors @ np.swapaxes(self.factors, -1, -2)


class Seen(NamedTuple):
    """Observations, how they show the state, and what of their log-likelihood is known already."""

    Y: np.ndarray
    H: np.ndarray
    R_root: np.ndarray
    log_likelihood: float


class Collapse(NamedTuple):
    r"""Whitened observations in the space that the states show: the rest tells nothing of them.

    With :math:`R = L L^\top` and :math:`L^{-1} H = B T`, the state is seen in
    :math:`B^\top L^{-1} y = T x + v`, v of unit covariance.
    """

    factor: np.ndarray
    basis: np.ndarray
    show: np.ndarray

    def of(self, Y: np.ndarray) -> Seen:
        """Collapse the observations of one series, none of them missing."""
        white = linalg.solve_triangular(self.factor, Y.T, lower=True).T
        kept = np.ascontiguousarray(white @ self.basis)
        rest = white - kept @ self.basis.T
        (m, n), T = self.basis.shape, len(Y)
        value = -0.5 * np.vdot(rest, rest) - T * np.log(np.diag(self.factor)).sum()
        value -= 0.5 * T * (m - n) * np.log(2 * np.pi)
        return Seen(kept, self.show[None], np.eye(n)[None], float(value))


@dataclass(frozen=True)
class StateSpace:
    r"""The matrices of :math:`x_{t+1} = F x_t + B u_t + w_t`, :math:`y_t = H x_t + d + v_t`.

    F, B, H and the covariances Q and R have a first axis of time: one entry, or one a step.
    """

    F: np.ndarray
    B: np.ndarray
    Q: np.ndarray
    H: np.ndarray
    d: np.ndarray
    R: np.ndarray
    start: str
    mean: np.ndarray
    covariance: np.ndarray

    @cached_property
    def _roots(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return root(self.Q), root(self.R), root(self.first[1])

    @cached_property
    def _collapse(self) -> Collapse | None:
        """A way to as few observations as there are states, where there are more."""
        m, n = self.H.shape[1:]
        if m <= n or len(self.H) > 1 or len(self.R) > 1:
            return None
        try:
            factor = linalg.cholesky(self.R[0], lower=True)
        except linalg.LinAlgError:
            return None
        basis, show = linalg.qr(
            linalg.solve_triangular(factor, self.H[0], lower=True), mode="economic"
        )
        return Collapse(factor, basis, show)

    @cached_property
    def first(self) -> tuple[np.ndarray, np.ndarray]:
        """The law of the first state, before anything is seen."""
        n = self.F.shape[-1]
        if self.start == "known":
            return self.mean, self.covariance
        if self.start == "diffuse":
            H2 = np.maximum((self.H[0] ** 2).sum(axis=0), 1e-300)
            scale = max(float(np.abs(self.Q).max()), float(np.abs(self.R).max() / H2.max()))
            return self.mean, DIFFUSE * scale * np.eye(n)
        if np.abs(np.linalg.eigvals(self.F[0])).max() >= 1:
            raise ValueError(
                "the transition has an eigenvalue of size 1 or more, so there is no stationary law "
                'to start from; set start="diffuse" or "known"'
            )
        return np.zeros(n), linalg.solve_discrete_lyapunov(self.F[0], self.Q[0])

    def offsets(self, U: np.ndarray | None) -> np.ndarray:
        """What the control adds to the next state, of shape (1 or T, n)."""
        if U is None or not self.B.shape[-1]:
            return np.zeros((1, self.F.shape[-1]))
        if len(self.B) == 1:
            return U @ self.B[0].T
        return np.einsum("tij,tj->ti", self.B[: len(U)], U[: len(self.B)])

    def _centre(self, Y: np.ndarray, pushes: np.ndarray) -> np.ndarray:
        """The mean of the first state; of a diffuse one the nearest that shows the first row seen.

        In the limit of no prior any mean gives the same. Short of it, one far from the observations
        would draw them towards it; and a later row would be a look ahead.
        """
        mean = self.first[0]
        some = np.flatnonzero(~np.isnan(Y).all(axis=1))
        if self.start != "diffuse" or not len(some):
            return mean
        reach, ahead = np.eye(len(mean)), mean
        for t in range(some[0]):
            F = self.F[t % len(self.F)]
            reach, ahead = F @ reach, F @ ahead + pushes[t % len(pushes)]
        H, left = self.H[some[0] % len(self.H)], Y[some[0]] - self.d
        left, seen = left - H @ ahead, ~np.isnan(left)
        move = np.linalg.lstsq(H[seen], left[seen])[0]
        return mean + np.linalg.lstsq(reach, move)[0]

    def walk(self, Y: np.ndarray, U: np.ndarray | None, *, back: bool) -> Walk:
        """Filter one series, and smooth it if asked."""
        T, n = len(Y), self.F.shape[-1]
        self._require_steps(T)
        Q_root, R_root, S_first = self._roots
        means, factors, ahead = np.empty((T, n)), np.empty((T, n, n)), np.empty((T, n))
        C, D = np.empty((2, T if back else 0, n, n))
        settled = np.zeros(T, np.bool_)
        pushes = self.offsets(U)
        seen = Seen(np.ascontiguousarray(Y - self.d, dtype=float), self.H, R_root, 0.0)
        if self._collapse is not None and not np.isnan(Y).any():
            seen = self._collapse.of(seen.Y)
        value = seen.log_likelihood + forward(
            *(seen.Y, self.F, pushes, Q_root, seen.H, seen.R_root),
            *(self._centre(Y, pushes), S_first, means, factors, ahead, C, D, settled),
        )
        if back:
            backward(means, factors, ahead, C, D, settled)
        return Walk(means, factors, C, value)

    def _require_steps(self, T: int) -> None:
        for name, matrix, needed in (
            ("transition", self.F, T - 1),
            ("transition_covariance", self.Q, T - 1),
            ("control", self.B, T - 1),
            ("observation", self.H, T),
            ("observation_covariance", self.R, T),
        ):
            if 1 < len(matrix) < needed:
                raise ValueError(f"{name} has {len(matrix)} steps, and the series has {T}")


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
    for s in range(len(X)):
        values = np.asarray(X.values[X.offsets[s] : X.offsets[s + 1]], dtype=float)
        moments = _moments(at, values)
        total = total + (moments if weight is None else moments * float(weight[s]))
    return total


def _moments(at: StateSpace, values: np.ndarray) -> StateMoments:
    m = at.H.shape[1]
    Y, U = values[:, :m], values[:, m:]
    walk = at.walk(Y, U, back=True)
    M, S, T = walk.means, walk.factors, len(Y)
    rows = np.swapaxes(S, 0, 1).reshape(S.shape[1], -1)  # so that Σ S Sᵀ is one product
    n = M.shape[1]
    second = M.T @ M + rows @ rows.T
    last = np.outer(M[-1], M[-1]) + S[-1] @ S[-1].T
    first = np.outer(M[0], M[0]) + S[0] @ S[0].T
    across = M[1:].T @ M[:-1] + np.einsum("tij,tkj->ik", walk.covariances[1:], walk.gains[: T - 1])
    Z = np.hstack([M, U])
    before = Z[:-1].T @ Z[:-1]
    before[:n, :n] = second - last
    observed, shown, shower = _observation_moments(at, Y, walk)
    return StateMoments(
        weight=float(T),
        log_likelihood=walk.log_likelihood,
        starts=1.0,
        first=M[0],
        first_second=first,
        moves=float(T - 1),
        following=second - first,
        across=np.hstack([across, M[1:].T @ U[:-1]]),
        before=before,
        seen=float(T),
        observed=observed,
        shown=shown,
        shower=shower,
    )


def _observation_moments(
    at: StateSpace, Y: np.ndarray, walk: Walk
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Moments of y, with q = (x, 1), where what is missing is y = A x + b + noise of covariance W.

    Rows with the same components missing share A and W.
    """
    m, n = at.H.shape[1:]
    H, d, R = at.H[0], at.d, at.R[0]
    hidden = np.isnan(Y)
    observed, shown, shower = np.zeros((m, m)), np.zeros((m, n + 1)), np.zeros((n + 1, n + 1))
    patterns, which = np.unique(hidden, axis=0, return_inverse=True)
    for k, gone in enumerate(patterns):
        here = which.ravel() == k
        M, S = walk.means[here], walk.factors[here]
        rows = np.swapaxes(S, 0, 1).reshape(n, -1)
        second = np.empty((n + 1, n + 1))
        second[:n, :n] = M.T @ M + rows @ rows.T
        second[:n, n] = second[n, :n] = M.sum(axis=0)
        second[n, n] = len(M)
        known = ~gone
        A, W, b = np.zeros((m, n)), np.zeros((m, m)), np.where(gone, 0.0, Y[here])
        if gone.any():
            link = np.zeros((gone.sum(), known.sum()))
            if known.any():
                inverse = np.linalg.pinv(R[np.ix_(known, known)], hermitian=True)  # R may be zero
                link = R[np.ix_(gone, known)] @ inverse
            A[gone] = H[gone] - link @ H[known]
            W[np.ix_(gone, gone)] = R[np.ix_(gone, gone)] - link @ R[np.ix_(known, gone)]
            b[:, gone] = d[gone] + (b[:, known] - d[known]) @ link.T
        Q = np.hstack([M, np.ones((len(M), 1))])
        shown += A @ second[:n] + b.T @ Q
        cross = A @ M.T @ b
        observed += A @ second[:n, :n] @ A.T + cross + cross.T + b.T @ b + len(M) * W
        shower += second
    return observed, shown, shower


class Learner:
    """The maximisation: what is free moves, what is not stays as it is in the start."""

    def __init__(self, model: StateSpace, free: Mapping[str, np.ndarray]) -> None:
        self._model, self._free = model, free
        start = {
            "transition_covariance": model.Q,
            "observation_covariance": model.R,
            "initial_covariance": model.covariance,
        }
        self._scales = {name: float(np.abs(value).max()) for name, value in start.items()}

    def maximise(self, s: StateMoments) -> StateSpace:
        """The parameters that the expected moments ask for."""
        at, free = self._model, self._free
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
            move = _regress(move, mask, s.across, s.before, at.Q[0])
            left = _residual(move, s.following, s.across, s.before) / s.moves
            changed["F"], changed["B"] = move[None, :, :n].copy(), move[None, :, n:].copy()
            changed["Q"] = self._part("transition_covariance", left, at.Q[0])[None]
        if len(at.H) == len(at.R) == 1:
            n = at.H.shape[-1]
            show = np.column_stack([at.H[0], at.d])
            mask = np.column_stack([free["observation"], free["observation_offset"]])
            show = _regress(show, mask, s.shown, s.shower, at.R[0])
            left = _residual(show, s.observed, s.shown, s.shower) / s.seen
            changed["H"], changed["d"] = show[None, :, :n].copy(), show[:, n].copy()
            changed["R"] = self._part("observation_covariance", left, at.R[0])[None]
        self._model = replace(at, **changed)
        return self._model

    def _part(self, name: str, found: np.ndarray, given: np.ndarray) -> np.ndarray:
        """A covariance whose free block, or free diagonal, is the one found."""
        free = self._free[name]
        if not free.any():
            return given
        if not free.all():
            found = np.where(free, found, 0.0)
        values, vectors = np.linalg.eigh((found + found.T) / 2)
        least = FLOOR * max(float(values.max()), self._scales[name])
        lifted = (vectors * np.maximum(values, least)) @ vectors.T
        return np.where(free, (lifted + lifted.T) / 2, given)


def _regress(
    given: np.ndarray, free: np.ndarray, across: np.ndarray, before: np.ndarray, noise: np.ndarray
) -> np.ndarray:
    """The free entries of the matrix Θ that minimises tr N⁻¹ (Θ G Θᵀ - 2 Θ Aᵀ), others as given."""
    if not free.any():
        return given
    before = before + FLOOR * np.diag(np.maximum(np.diag(before), 1e-300))
    if free.all():
        return linalg.solve(before, across.T, assume_a="pos").T
    precision = np.linalg.pinv(noise, hermitian=True)
    fixed = np.where(free, 0.0, given)
    target = (precision @ (across - fixed @ before)).ravel()
    chosen = np.flatnonzero(free.ravel())
    system = np.kron(precision, before)[np.ix_(chosen, chosen)]
    out = fixed.ravel()
    out[chosen] = linalg.lstsq(system, target[chosen])[0]
    return out.reshape(given.shape)


def _residual(
    matrix: np.ndarray, second: np.ndarray, across: np.ndarray, before: np.ndarray
) -> np.ndarray:
    """Σ E (x - Θ z)(x - Θ z)ᵀ."""
    cross = matrix @ across.T
    return second - cross - cross.T + matrix @ before @ matrix.T
