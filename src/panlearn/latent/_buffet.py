"""Gibbs steps of the linear-Gaussian model with binary features, their loadings integrated out."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import gammaln

from panlearn.core.jit import jit
from panlearn.latent._restaurants import log_dishes_law

NEW = 30  # at most so many features of its own can a row have


class Dishes(NamedTuple):
    """Features and the posterior of their loadings, in arrays with room for more features.

    Z (n, room) says which row has which feature, `taken` (room,) how many rows have it; `mean`
    (room, d) and H (room, room) are as in `BuffetChain`. `gap` (d,), `gain` (room,) and `law` of
    how many features a row has alone are memory for the work on a row.
    """

    Z: np.ndarray
    taken: np.ndarray
    mean: np.ndarray
    H: np.ndarray
    gap: np.ndarray
    gain: np.ndarray
    law: np.ndarray


class Law(NamedTuple):
    """What the rows are drawn from: the mass α, the variance σ², and the ratio ρ = σ² / σ_A²."""

    concentration: float
    noise: float
    ratio: float


class BuffetChain:
    r"""The state of the sampler: features Z of the rows, and the scales.

    Given Z the loadings A of :math:`X = Z A + E` are Gaussian with mean :math:`H Z^\top X` and
    covariance :math:`\sigma^2 H` of each column, :math:`H = (Z^\top Z + \rho I)^{-1}` and
    :math:`\rho = \sigma^2 / \sigma_A^2`.
    """

    def __init__(
        self,
        X: np.ndarray,
        concentration: float,
        noise: float,
        loading: float,
        rng: np.random.Generator,
    ) -> None:
        self.X, self.rng = np.ascontiguousarray(X, dtype=float), rng
        self.Z = np.zeros((len(X), 0), dtype=np.int8)
        self.concentration, self.noise, self.loading = concentration, noise, loading
        self._energy = float(np.vdot(self.X, self.X))

    def posterior(self, Z: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Mean of the loadings, and H, given the features; by default those of the chain."""
        Z = (self.Z if Z is None else Z).astype(float)
        M = Z.T @ Z + self.noise / self.loading * np.eye(Z.shape[1])
        H = linalg.inv(M) if len(M) else M
        return H @ (Z.T @ self.X), (H + H.T) / 2

    def sweep(self) -> None:
        """Draw the features of each row given those of the others."""
        n, row = len(self.X), 0
        while row < n:
            dishes, k = self._laid(), self.Z.shape[1]
            law = Law(self.concentration, self.noise, self.noise / self.loading)
            coins = self.rng.random((n, len(dishes.taken) + 1))
            row, k = serve(self.X, dishes, law, k, row, coins)
            self.Z = dishes.Z[:, :k].copy()

    def _laid(self) -> Dishes:
        """The features and the posterior of their loadings, with room for as many again."""
        (n, d), k = self.X.shape, self.Z.shape[1]
        room = 2 * k + 3 * NEW
        Z = np.zeros((n, room), dtype=np.int8)
        Z[:, :k] = self.Z
        mean, H = np.zeros((room, d)), np.zeros((room, room))
        mean[:k], H[:k, :k] = self.posterior()
        memory = np.empty(d), np.empty(room), np.empty(NEW + 1)
        return Dishes(Z, Z.sum(axis=0, dtype=np.int64), mean, H, *memory)

    def recombine(self) -> None:
        """Propose for some pairs of features that one is the other's exclusive or with it.

        The proposal is its own reverse, so it is accepted by the ratio of the joint probabilities.
        It untangles features that each stand for a mixture of others, where a change of one row
        at a time is stuck.
        """
        k = self.Z.shape[1]
        if k < 2:
            return
        now = self._log_ordered(self.Z)
        for coin in self.rng.random(k):
            one, other = self.rng.choice(k, size=2, replace=False)
            Z = self.Z.copy()
            Z[:, one] ^= Z[:, other]
            if not Z[:, one].any():
                continue
            then = self._log_ordered(Z)
            if np.log(coin) < then - now:
                self.Z, now = Z, then

    def _log_ordered(self, Z: np.ndarray) -> float:
        """Log p(X, Z) but for what depends on the number of columns alone, these in order."""
        m = Z.sum(axis=0)
        law = gammaln(len(Z) - m + 1) + gammaln(m)
        return float(law.sum()) + self.log_likelihood(Z)

    def resample_scales(self, noise: bool, loading: bool) -> None:
        """Draw loadings, then the variances given them, with inverse-gamma priors."""
        mean, H = self.posterior()
        root = linalg.cholesky(H, lower=True) if len(H) else H
        A = mean + math.sqrt(self.noise) * root @ self.rng.standard_normal(mean.shape)
        if noise:
            left = ((self.X - self.Z @ A) ** 2).sum()
            self.noise = self._inverse_gamma(self.X.size, left, NOISE)
        if loading:
            self.loading = self._inverse_gamma(A.size, (A**2).sum(), LOADING)

    def _inverse_gamma(self, count: int, squares: float, prior: tuple[float, float]) -> float:
        shape, scale = prior
        return float((scale + squares / 2) / self.rng.gamma(shape + count / 2))

    def resample_concentration(self, mean: float) -> None:
        """Draw α given the number of features, with an exponential prior."""
        rate = 1 / mean + (1 / np.arange(1, len(self.X) + 1)).sum()
        self.concentration = float(self.rng.gamma(1 + self.Z.shape[1], 1 / rate))

    def log_joint(self) -> float:
        """Log p(Z) + log p(X | Z), Z without the order of its columns."""
        return log_dishes_law(self.Z, self.concentration) + self.log_likelihood(self.Z)

    def log_likelihood(self, Z: np.ndarray) -> float:
        """Log p(X | Z), loadings integrated out."""
        (n, d), k = self.X.shape, Z.shape[1]
        mean, H = self.posterior(Z)
        left = self._energy - np.vdot(mean, Z.astype(float).T @ self.X)
        return float(
            -n * d / 2 * math.log(2 * math.pi * self.noise)
            + k * d / 2 * math.log(self.noise / self.loading)
            + d / 2 * (np.linalg.slogdet(H)[1] if k else 0.0)
            - left / (2 * self.noise)
        )


NOISE, LOADING = (1.0, 0.1), (1.0, 1.0)  # shapes and scales, for rows of unit variance


@jit(_nrt=False)
def serve(
    X: np.ndarray, dishes: Dishes, law: Law, k: int, first: int, coins: np.ndarray
) -> tuple[int, int]:
    """Draw the features of the rows from `first` on, each given all other rows, in place.

    A row leaves (a downdate of the loadings' mean and H), its features are drawn, it comes back.
    Features that it has alone do not touch the others: they add one over the ratio to the
    variance, and only their number matters. Returns the first row that was not reached for want
    of room, and the number k of features.
    """
    for i in range(first, len(X)):
        if k + NEW >= len(dishes.taken):
            return i, k
        _shift(X[i], dishes.Z[i], dishes, k, -1.0)
        k, own = _leave(dishes, i, k)
        spread, square = _draw_shared(X[i], dishes, law, k, i, own, coins[i])
        own = _draw_own(square, spread, law, X.shape, coins[i, -1], dishes.law)
        k = _come_back(dishes, law, i, k, own)
        _shift(X[i], dishes.Z[i], dishes, k, 1.0)
    return len(X), k


@jit(_nrt=False)
def _leave(dishes: Dishes, i: int, k: int) -> tuple[int, int]:
    """Take row i out of the counts; forget the features of it alone, and keep their number."""
    Z, taken, mean, H = dishes.Z, dishes.taken, dishes.mean, dishes.H
    for a in range(k):
        taken[a] -= Z[i, a]
    own, a = 0, 0
    while a < k:
        if taken[a] > 0:
            a += 1
            continue
        own += Z[i, a]
        k -= 1  # the last feature takes the place
        for j in range(len(Z)):  # not by slices, of which the compiler checks the shapes at length
            Z[j, a], Z[j, k] = Z[j, k], 0
        taken[a] = taken[k]
        for b in range(mean.shape[1]):
            mean[a, b] = mean[k, b]
        for b in range(len(H)):
            H[a, b] = H[k, b]
        for b in range(len(H)):
            H[b, a] = H[b, k]
    return k, own


@jit(_nrt=False)
def _draw_shared(
    x: np.ndarray, dishes: Dishes, law: Law, k: int, i: int, own: int, coins: np.ndarray
) -> tuple[float, float]:
    r"""Draw the features of row i that other rows have, one given the rest.

    The odds are :math:`m / (n - m)` for a feature of m other rows, times the ratio of the densities
    :math:`N(x \mid z \, \mathrm{mean}, \sigma^2 (1 + z^\top H z + c / \rho) I)` with it and
    without it, for a row with c features of its own. Returns the spread
    :math:`1 + z^\top H z` and the squared gap :math:`|x - z \, \mathrm{mean}|^2` at the end.
    """
    Z, taken, mean, H, gap, gain, _ = dishes
    n, d = len(Z), len(x)
    spread = _residual(x, Z[i], dishes, k)
    extra = own / law.ratio
    for a in range(k):
        sign = 1.0 if Z[i, a] else -1.0
        here, there = 0.0, 0.0  # the row as it stands, and with the feature turned over
        for b in range(d):
            other = gap[b] + sign * mean[a, b]
            here += gap[b] * gap[b]
            there += other * other
        other_spread = spread - sign * 2 * gain[a] + H[a, a]
        log_odds = math.log(taken[a] / (n - taken[a]))
        stay = _log_density(here, spread + extra, law.noise, d)
        leave = _log_density(there, other_spread + extra, law.noise, d)
        log_odds += sign * (stay - leave)
        want = coins[a] * (1 + math.exp(-log_odds)) < 1 if log_odds > -700 else False
        if want != (Z[i, a] == 1):
            for b in range(d):
                gap[b] += sign * mean[a, b]
            spread = other_spread
            for b in range(k):
                gain[b] -= sign * H[b, a]
            Z[i, a] = 1 - Z[i, a]
    square = 0.0
    for b in range(d):
        square += gap[b] * gap[b]
    return spread, square


@jit(_nrt=False)
def _draw_own(
    square: float,
    spread: float,
    law: Law,
    shape: tuple[int, int],
    coin: float,
    log_own: np.ndarray,
) -> int:
    """Draw how many features a row has alone: Poisson(α / n) times the density of the row."""
    n, d = shape
    log_rate = math.log(law.concentration / n)
    top, total = -np.inf, 0.0
    for s in range(NEW + 1):
        prior = s * log_rate - math.lgamma(s + 1.0)
        log_own[s] = prior + _log_density(square, spread + s / law.ratio, law.noise, d)
        top = max(top, log_own[s])
    for s in range(NEW + 1):
        total += math.exp(log_own[s] - top)
        log_own[s] = total
    own = 0
    while own < NEW and log_own[own] < coin * total:
        own += 1
    return own


@jit(_nrt=False)
def _come_back(dishes: Dishes, law: Law, i: int, k: int, own: int) -> int:
    """Give row i its own features, of which nothing is known yet, and count it again."""
    Z, taken, mean, H = dishes.Z, dishes.taken, dishes.mean, dishes.H
    for _ in range(own):
        for j in range(len(Z)):
            Z[j, k] = 0
        Z[i, k] = 1
        taken[k] = 0
        for b in range(mean.shape[1]):
            mean[k, b] = 0.0
        for b in range(len(H)):
            H[k, b], H[b, k] = 0.0, 0.0
        H[k, k] = 1 / law.ratio
        k += 1
    for a in range(k):
        taken[a] += Z[i, a]
    return k


@jit(_nrt=False)
def _log_density(square: float, spread: float, noise: float, d: int) -> float:
    """Log N(gap; 0, noise spread I) up to a constant."""
    return -0.5 * (d * math.log(spread) + square / (noise * spread))


@jit(_nrt=False)
def _shift(x: np.ndarray, z: np.ndarray, dishes: Dishes, k: int, sign: float) -> None:
    """Add (1) or take away (-1) a row: H ∓ H z z'H / (1 ± z'H z), mean ± H z (x - z mean)'."""
    gap, gain = dishes.gap, dishes.gain
    spread = 1.0 + sign * (_residual(x, z, dishes, k) - 1.0)
    for a in range(k):
        for b in range(k):
            dishes.H[a, b] -= sign * gain[a] * gain[b] / spread
        for b in range(len(x)):
            dishes.mean[a, b] += sign * gain[a] * gap[b] / spread


@jit(_nrt=False)
def _residual(x: np.ndarray, z: np.ndarray, dishes: Dishes, k: int) -> float:
    """The spread 1 + z'H z; fills the gap x - z mean and the gain H z."""
    gap, gain, spread = dishes.gap, dishes.gain, 1.0
    for a in range(len(x)):
        gap[a] = x[a]
    for a in range(k):
        gain[a] = 0.0
    for b in range(k):
        if z[b]:
            for a in range(len(x)):
                gap[a] -= dishes.mean[b, a]
            for a in range(k):
                gain[a] += dishes.H[a, b]
    for a in range(k):
        if z[a]:
            spread += gain[a]
    return spread
