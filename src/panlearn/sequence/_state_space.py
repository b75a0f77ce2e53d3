"""A linear Gaussian state space: its parameters, and its walks forth and back."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from panlearn.core.sources import Sequences
from panlearn.sequence import _diffuse
from panlearn.sequence._diffuse import Vague, unbounded
from panlearn.sequence._kalman_kernels import backward, forward
from panlearn.sequence._kalman_work import make_work

# Series that share their covariances are walked together while they have no more steps than this.
STEPS = 2**14
# The least pivot of correlations whose range is not looked at.
FULL = 1e-3


def root(covariance: np.ndarray) -> np.ndarray:
    """A lower triangular S with S Sᵀ = P, of each positive semidefinite matrix.

    Directions whose share of the correlations is rounding get nothing: their root would be half as
    many digits above it.
    """
    size = np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0.0))
    unit = np.where(size > 0, size, 1.0)
    correlation = covariance / unit[..., :, None] / unit[..., None, :]
    with contextlib.suppress(np.linalg.LinAlgError):
        factor = np.linalg.cholesky(correlation)
        if np.diagonal(factor, axis1=-2, axis2=-1).min(initial=1.0) > FULL:  # far from singular
            return size[..., :, None] * factor
    values, vectors = np.linalg.eigh(correlation)
    least = 10 * values.shape[-1] * np.finfo(float).eps
    spread = np.sqrt(np.where(values > least, values, 0.0))
    half = size[..., :, None] * vectors * spread[..., None, :]
    R = np.linalg.qr(np.swapaxes(half, -1, -2), mode="r")
    sign = np.where(np.diagonal(R, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    return np.ascontiguousarray(np.swapaxes(R * sign[..., :, None], -1, -2))


def is_singular(factor: np.ndarray) -> bool:
    """Whether a triangular factor of a covariance leaves a component determined by others."""
    return bool((np.diag(factor) <= 1e-7 * np.linalg.norm(factor, axis=1)).any())


def alike(X: Sequences, m: int) -> Iterator[np.ndarray]:
    """Put series together that share their covariances: indices of as long ones.

    Of the first m columns they miss the same entries.
    """
    holes = np.isnan(X.values[:, :m])
    some = holes.any()
    groups: dict[tuple[int, bytes], list[int]] = {}
    for s, (a, b) in enumerate(itertools.pairwise(X.offsets.tolist())):
        groups.setdefault((b - a, holes[a:b].tobytes() if some else b""), []).append(s)
    for (length, _), members in groups.items():
        at_once = max(1, STEPS // max(1, length))
        for i in range(0, len(members), at_once):
            yield np.array(members[i : i + at_once])


def stacked(X: Sequences, members: np.ndarray) -> np.ndarray:
    """Series of one length as an array, with axes of steps, series and components."""
    start, stop = X.offsets[members[0]], X.offsets[members[0] + 1]
    rows = np.arange(stop - start)[:, None] + X.offsets[members]
    return np.asarray(X.values[rows], dtype=float)


@dataclass(frozen=True)
class Walk:
    """What series say of their states: means, factors of covariances, and the way back.

    Means have axes of steps, series and components; covariances are those of every series.
    After a diffuse start the first steps have directions of infinite variance.
    """

    means: np.ndarray
    factors: np.ndarray
    gains: np.ndarray
    log_likelihood: np.ndarray
    directions: list[np.ndarray]

    def __iter__(self) -> Iterator[Walk]:
        """Give the walk of each series, without an axis of them."""
        for g, value in enumerate(self.log_likelihood):
            yield replace(self, means=self.means[:, g].copy(), log_likelihood=value)

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
    log_likelihood: np.ndarray


class Collapse(NamedTuple):
    r"""Whitened observations in the space that the states show: the rest tells nothing of them.

    With :math:`R = L L^\top` and :math:`L^{-1} H = B T`, the state is seen in
    :math:`B^\top L^{-1} y = T x + v`, v of unit covariance.
    """

    factor: np.ndarray
    basis: np.ndarray
    show: np.ndarray

    def of(self, Y: np.ndarray) -> Seen:
        """Collapse the observations of series, none of them missing."""
        (T, _, m), n = Y.shape, len(self.show)
        white = np.linalg.solve(self.factor, Y.reshape(-1, m).T).T
        kept = white @ self.basis
        rest = (white - kept @ self.basis.T).reshape(Y.shape)
        value = -0.5 * np.einsum("tgi,tgi->g", rest, rest) - T * np.log(np.diag(self.factor)).sum()
        value -= 0.5 * T * (m - n) * np.log(2 * np.pi)
        return Seen(kept.reshape(T, -1, n), self.show[None], np.eye(n)[None], value)


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
    def roots(self) -> tuple[np.ndarray, np.ndarray]:
        """Factors of Q and R."""
        return root(self.Q), root(self.R)

    @cached_property
    def _collapse(self) -> Collapse | None:
        """A way to as few observations as there are states, where there are more."""
        m, n = self.H.shape[1:]
        if m <= n or len(self.H) > 1 or len(self.R) > 1:
            return None
        factor = self.roots[1][0]
        if is_singular(factor):
            return None
        basis, show = np.linalg.qr(np.linalg.solve(factor, self.H[0]))
        return Collapse(factor, basis, show)

    @cached_property
    def first(self) -> Vague:
        """The law of the first state, before anything is seen."""
        n = self.F.shape[-1]
        if self.start == "known":
            return Vague(self.mean, root(self.covariance), np.zeros((n, 0)))
        kinds = np.array([self.start] * n if isinstance(self.start, str) else self.start)
        known, still = np.flatnonzero(kinds == "known"), np.flatnonzero(kinds == "stationary")
        mean, covariance = np.where(kinds == "stationary", 0.0, self.mean), np.zeros((n, n))
        covariance[np.ix_(known, known)] = self.covariance[np.ix_(known, known)]
        if len(still):
            covariance[np.ix_(still, still)] = _stationary(self.F[0], self.Q[0], still)
        return Vague(mean, root(covariance), np.eye(n)[:, kinds == "diffuse"])

    def offsets(self, U: np.ndarray) -> np.ndarray:
        """What the control adds to the next states, of shape (T, G, n), or (1, 1, n) of nothing."""
        if not self.B.shape[-1]:
            return np.zeros((1, 1, self.F.shape[-1]))
        if len(self.B) == 1:
            return U @ self.B[0].T
        return np.einsum("tij,tgj->tgi", self.B[: len(U)], U[: len(self.B)])

    def walk(self, Y: np.ndarray, U: np.ndarray, *, back: bool) -> Walk:
        """Filter series that are `alike`, and smooth them if asked."""
        (T, G, _), n = Y.shape, self.F.shape[-1]
        self._require_steps(T)
        Q_root, R_root = self.roots
        means, factors, ahead = np.empty((T, G, n)), np.empty((T, n, n)), np.empty((T, G, n))
        C, D = np.empty((2, T if back else 0, n, n))
        settled = np.zeros(T, np.bool_)
        seen = Seen(Y - self.d, self.H, R_root, np.zeros(G))
        if self._collapse is not None and not np.isnan(Y[:, 0]).any():
            seen = self._collapse.of(seen.Y)
        matrices = (self.F, self.offsets(U), Q_root, seen.H, seen.R_root)
        kept, value, directions = (means, factors, ahead, C, D), seen.log_likelihood, []
        opening = _diffuse.Opening(0, self.first, [], [], value)
        if self.first.B.shape[1]:
            opening = _diffuse.forth(seen.Y, matrices, self.first, kept)
            value, directions = value + opening.log_likelihood, opening.directions
        t = opening.steps
        if t < T:
            later = [M[t:] if len(M) > t else M[-1:] for M in matrices]
            ahead[t], S = opening.after[:2]
            rest = (*(part[t:] for part in kept), settled[t:], make_work(seen.Y.shape[-1], n))
            run: Any = forward
            run(seen.Y[t:], *later, S, value, *rest)
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
