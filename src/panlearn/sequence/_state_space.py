"""A linear Gaussian state space: its parameters, and its walks forth and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from panlearn.sequence import _diffuse
from panlearn.sequence._diffuse import Vague, unbounded
from panlearn.sequence._kalman_kernels import backward, forward, make_work


def root(covariance: np.ndarray) -> np.ndarray:
    """A lower triangular S with S Sᵀ = P, of each positive semidefinite matrix.

    Directions whose share of the correlations is rounding get nothing: their root would be half as
    many digits above it.
    """
    size = np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0.0))
    unit = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(covariance / unit[..., :, None] / unit[..., None, :])
    least = 10 * values.shape[-1] * np.finfo(float).eps
    spread = np.sqrt(np.where(values > least, values, 0.0))
    half = size[..., :, None] * vectors * spread[..., None, :]
    R = np.linalg.qr(np.swapaxes(half, -1, -2), mode="r")
    sign = np.where(np.diagonal(R, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    return np.ascontiguousarray(np.swapaxes(R * sign[..., :, None], -1, -2))


def is_singular(factor: np.ndarray) -> bool:
    """Whether a triangular factor of a covariance leaves a component determined by others."""
    return bool((np.diag(factor) <= 1e-7 * np.linalg.norm(factor, axis=1)).any())


@dataclass(frozen=True)
class Walk:
    """What one series says of its states: means, factors of covariances, and the way back.

    After a diffuse start the first steps have directions of infinite variance.
    """

    means: np.ndarray
    factors: np.ndarray
    gains: np.ndarray
    log_likelihood: float
    directions: list[np.ndarray]

    @property
    def covariances(self) -> np.ndarray:
        """Of each state, S Sᵀ, with infinities where a direction is not known at all."""
        found = self.factors @ np.swapaxes(self.factors, -1, -2)
        for t, B in enumerate(self.directions):
            found[t] = unbounded(found[t], B)
        return found

    @property
    def last(self) -> Vague:
        """The law of the last state."""
        n = self.means.shape[1]
        open_still = len(self.directions) == len(self.means)
        B = self.directions[-1] if open_still else np.zeros((n, 0))
        return Vague(self.means[-1], self.factors[-1], B)


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
    start: str | tuple[str, ...]
    mean: np.ndarray
    covariance: np.ndarray

    @cached_property
    def _roots(self) -> tuple[np.ndarray, np.ndarray]:
        return root(self.Q), root(self.R)

    @cached_property
    def _collapse(self) -> Collapse | None:
        """A way to as few observations as there are states, where there are more."""
        m, n = self.H.shape[1:]
        if m <= n or len(self.H) > 1 or len(self.R) > 1:
            return None
        factor = self._roots[1][0]
        if is_singular(factor):
            return None
        basis, show = linalg.qr(
            linalg.solve_triangular(factor, self.H[0], lower=True), mode="economic"
        )
        return Collapse(factor, basis, show)

    @cached_property
    def first(self) -> Vague:
        """The law of the first state, before anything is seen."""
        n = self.F.shape[-1]
        kinds = np.array([self.start] * n if isinstance(self.start, str) else self.start)
        known, still = np.flatnonzero(kinds == "known"), np.flatnonzero(kinds == "stationary")
        mean, covariance = np.where(kinds == "stationary", 0.0, self.mean), np.zeros((n, n))
        covariance[np.ix_(known, known)] = self.covariance[np.ix_(known, known)]
        if len(still):
            covariance[np.ix_(still, still)] = _stationary(self.F[0], self.Q[0], still)
        return Vague(mean, root(covariance), np.eye(n)[:, kinds == "diffuse"])

    def offsets(self, U: np.ndarray | None) -> np.ndarray:
        """What the control adds to the next state, of shape (1 or T, n)."""
        if U is None or not self.B.shape[-1]:
            return np.zeros((1, self.F.shape[-1]))
        if len(self.B) == 1:
            return U @ self.B[0].T
        return np.einsum("tij,tj->ti", self.B[: len(U)], U[: len(self.B)])

    def walk(self, Y: np.ndarray, U: np.ndarray | None, *, back: bool) -> Walk:
        """Filter one series, and smooth it if asked."""
        T, n = len(Y), self.F.shape[-1]
        self._require_steps(T)
        Q_root, R_root = self._roots
        means, factors, ahead = np.empty((T, n)), np.empty((T, n, n)), np.empty((T, n))
        C, D = np.empty((2, T if back else 0, n, n))
        settled = np.zeros(T, np.bool_)
        seen = Seen(np.ascontiguousarray(Y - self.d, dtype=float), self.H, R_root, 0.0)
        if self._collapse is not None and not np.isnan(Y).any():
            seen = self._collapse.of(seen.Y)
        matrices = (self.F, self.offsets(U), Q_root, seen.H, seen.R_root)
        kept, value, directions = (means, factors, ahead, C, D), seen.log_likelihood, []
        opening = _diffuse.Opening(0, self.first, [], [], 0.0)
        if self.first.B.shape[1]:
            opening = _diffuse.forth(seen.Y, matrices, self.first, kept)
            value, directions = value + opening.log_likelihood, opening.directions
        t = opening.steps
        if t < T:
            later = [M[t:] if len(M) > t else M[-1:] for M in matrices]
            work = make_work(seen.Y.shape[1], n)
            rest = (*(part[t:] for part in kept), settled[t:], work)
            run: Any = forward
            value += run(seen.Y[t:], *later, *opening.after[:2], *rest)
            if back:
                backward(*rest)
        if back and t:
            directions = _diffuse.back(opening, kept)
        return Walk(means, factors, C, value, directions)

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


def _stationary(F: np.ndarray, Q: np.ndarray, of: np.ndarray) -> np.ndarray:
    """The covariance that states have at all times, if the others have no part in them."""
    inner = F[np.ix_(of, of)]
    if np.delete(F[of], of, axis=1).any():
        raise ValueError("states that start as stationary must not move with those that do not")
    if np.abs(np.linalg.eigvals(inner)).max() >= 1:
        raise ValueError(
            "the transition has an eigenvalue of size 1 or more, so there is no stationary law "
            'to start from; set start="diffuse" or "known"'
        )
    return linalg.solve_discrete_lyapunov(inner, Q[np.ix_(of, of)])
