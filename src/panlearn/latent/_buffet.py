"""Gibbs steps of the linear-Gaussian model with binary features, their loadings integrated out."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from scipy import linalg
from scipy.special import gammaln

from panlearn.latent._restaurants import log_dishes_law

NEW = 30  # at most so many features of its own can a row have


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
            k = self.Z.shape[1]
            room = 2 * k + 3 * NEW
            Z = np.zeros((n, room), dtype=np.int8)
            Z[:, :k] = self.Z
            mean, H = np.zeros((room, self.X.shape[1])), np.zeros((room, room))
            mean[:k], H[:k, :k] = self.posterior()
            coins = self.rng.random((n, room + 1))
            row, k = serve(
                self.X,
                Z,
                Z.sum(axis=0, dtype=np.int64),
                mean,
                H,
                k,
                row,
                self.concentration,
                self.noise,
                self.noise / self.loading,
                coins,
            )
            self.Z = Z[:, :k].copy()

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


@njit(cache=True, nogil=True)
def serve(
    X: np.ndarray,
    Z: np.ndarray,
    taken: np.ndarray,
    mean: np.ndarray,
    H: np.ndarray,
    k: int,
    first: int,
    concentration: float,
    noise: float,
    ratio: float,
    coins: np.ndarray,
) -> tuple[int, int]:
    """Draw the features of the rows from `first` on, each given all other rows, in place.

    A row leaves (a downdate of the loadings' mean and H), its features are drawn, it comes back.
    Features that it has alone do not touch the others: they add one over the ratio to the
    variance, and only their number matters. Returns the first row that was not reached for want
    of room, and the number of features.
    """
    n, d = X.shape
    log_own = np.empty(NEW + 1)
    gain, gap = np.empty(len(taken)), np.empty(d)
    for i in range(first, n):
        if k + NEW >= len(taken):
            return i, k
        _shift(X[i], Z[i], mean, H, k, -1.0, gain, gap)
        own, j = 0, 0
        for a in range(k):
            taken[a] -= Z[i, a]
        while j < k:  # features that nobody else has: forget them, keep their number
            if taken[j] == 0:
                own += Z[i, j]
                k -= 1
                _move(Z, taken, mean, H, k, j)
            else:
                j += 1
        for a in range(d):
            gap[a] = X[i, a]
            for b in range(k):
                if Z[i, b]:
                    gap[a] -= mean[b, a]
        spread = 1.0
        for a in range(k):
            gain[a] = 0.0
            for b in range(k):
                if Z[i, b]:
                    gain[a] += H[a, b]
        for a in range(k):
            if Z[i, a]:
                spread += gain[a]
        for a in range(k):
            # here is the row as it stands, there is it with the feature turned over
            sign = 1.0 if Z[i, a] else -1.0
            here, there = 0.0, 0.0
            for b in range(d):
                other = gap[b] + sign * mean[a, b]
                here += gap[b] * gap[b]
                there += other * other
            other_spread = spread - sign * 2 * gain[a] + H[a, a]
            extra = own / ratio
            log_odds = math.log(taken[a] / (n - taken[a]))
            stay = _log_density(here, spread + extra, noise, d)
            leave = _log_density(there, other_spread + extra, noise, d)
            log_odds += sign * (stay - leave)
            want = coins[i, a] * (1 + math.exp(-log_odds)) < 1 if log_odds > -700 else False
            if want != (Z[i, a] == 1):
                for b in range(d):
                    gap[b] += sign * mean[a, b]
                spread = other_spread
                for b in range(k):
                    gain[b] -= sign * H[b, a]
                Z[i, a] = 1 - Z[i, a]
        square = 0.0
        for a in range(d):
            square += gap[a] * gap[a]
        rate = concentration / n
        top = -np.inf
        for s in range(NEW + 1):
            prior = s * math.log(rate) - math.lgamma(s + 1.0)
            log_own[s] = prior + _log_density(square, spread + s / ratio, noise, d)
            top = max(top, log_own[s])
        total = 0.0
        for s in range(NEW + 1):
            total += math.exp(log_own[s] - top)
            log_own[s] = total
        own = 0
        while own < NEW and log_own[own] < coins[i, -1] * total:
            own += 1
        for _ in range(own):
            Z[:, k] = 0
            Z[i, k] = 1
            taken[k] = 0
            mean[k] = 0.0
            H[k, :] = 0.0
            H[:, k] = 0.0
            H[k, k] = 1 / ratio
            k += 1
        for a in range(k):
            taken[a] += Z[i, a]
        _shift(X[i], Z[i], mean, H, k, 1.0, gain, gap)
    return n, k


@njit(cache=True, nogil=True)
def _log_density(square: float, spread: float, noise: float, d: int) -> float:
    """Log N(gap; 0, noise spread I) up to a constant."""
    return -0.5 * (d * math.log(spread) + square / (noise * spread))


@njit(cache=True, nogil=True)
def _shift(
    x: np.ndarray,
    z: np.ndarray,
    mean: np.ndarray,
    H: np.ndarray,
    k: int,
    sign: float,
    gain: np.ndarray,
    gap: np.ndarray,
) -> None:
    """Add (1) or take away (-1) a row: H ∓ H z z'H / (1 ± z'H z), mean ± H z (x - z mean)'."""
    spread = 1.0
    for a in range(k):
        gain[a] = 0.0
        for b in range(k):
            if z[b]:
                gain[a] += H[a, b]
    for a in range(k):
        if z[a]:
            spread += sign * gain[a]
    for a in range(len(x)):
        gap[a] = x[a]
        for b in range(k):
            if z[b]:
                gap[a] -= mean[b, a]
    for a in range(k):
        for b in range(k):
            H[a, b] -= sign * gain[a] * gain[b] / spread
        for b in range(len(x)):
            mean[a, b] += sign * gain[a] * gap[b] / spread


@njit(cache=True, nogil=True)
def _move(
    Z: np.ndarray, taken: np.ndarray, mean: np.ndarray, H: np.ndarray, source: int, target: int
) -> None:
    """Put the feature `source` in the place of `target`."""
    Z[:, target] = Z[:, source]
    Z[:, source] = 0
    taken[target] = taken[source]
    mean[target] = mean[source]
    H[target, :] = H[source, :]
    H[:, target] = H[:, source]
