"""Gibbs steps of the linear-Gaussian model with binary features, their loadings integrated out."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg import lapack
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
        n, row, own = len(self.X), 0, np.arange(NEW + 1)
        log_prior = own * np.log(self.concentration / n) - gammaln(own + 1)
        while row < n:
            dishes, k = self._laid(), self.Z.shape[1]
            coins = self.rng.random((n, len(dishes.taken) + 1))
            scales = self.noise, self.noise / self.loading
            row = serve(self.X, dishes, log_prior, *scales, k, row, coins)
            self.Z = dishes.Z[:, dishes.taken > 0]

    def _laid(self) -> Dishes:
        """The features and the posterior of their loadings, with room for as many again."""
        (n, d), k = self.X.shape, self.Z.shape[1]
        room = 2 * k + NEW + 8
        Z = np.zeros((n, room), dtype=np.int8)
        Z[:, :k] = self.Z
        mean, H = np.zeros((room, d)), self.loading / self.noise * np.eye(room)
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
        (n, d), Z, ratio = self.X.shape, Z.astype(float), self.noise / self.loading
        left, log_det = self._energy, 0.0
        if Z.shape[1]:  # of M = L L', by LAPACK itself: it is called some times for every sweep
            factor, _ = lapack.dpotrf(Z.T @ Z + ratio * np.eye(Z.shape[1]), lower=True)
            part, _ = lapack.dtrtrs(factor, Z.T @ self.X, lower=True)
            left -= float(np.vdot(part, part))
            log_det = 2 * float(np.log(factor.diagonal() / math.sqrt(ratio)).sum())
        return (
            -n * d / 2 * math.log(2 * math.pi * self.noise) - (d * log_det + left / self.noise) / 2
        )


NOISE, LOADING = (1.0, 0.1), (1.0, 1.0)  # shapes and scales, for rows of unit variance


@jit(_nrt=False, error_model="numpy")
def serve(
    X: np.ndarray,
    dishes: Dishes,
    log_prior: np.ndarray,
    noise: float,
    ratio: float,
    k: int,
    first: int,
    coins: np.ndarray,
) -> int:
    r"""Draw the features of the rows from `first` on, each given all other rows, in place.

    A row leaves (a downdate of the loadings' mean and H), its features are drawn, it comes back.
    The odds are :math:`m / (n - m)` for a feature of m other rows, times the ratio of the densities
    :math:`N(x \mid z \, \mathrm{mean}, \sigma^2 (1 + z^\top H z + c / \rho) I)` with it and
    without it, for a row with c features of its own. These do not touch the others: only their
    number matters, which is Poisson(α / n) by `log_prior`, times the density. k columns have
    features, if not all of them. Returns the first row that was not reached for want of room.
    """
    Z, taken, mean, H, gap, gain, log_own = dishes
    (n, d), own = X.shape, 0
    for i in range(first, n):
        if k + NEW >= len(taken):
            return i
        for sign in range(-1, 2):  # it leaves, is drawn, comes back
            for b in range(d):
                gap[b] = X[i, b]
            for a in range(k):
                gain[a] = 0.0
            for a in range(k):
                if Z[i, a]:
                    for b in range(d):
                        gap[b] -= mean[a, b]
                    for b in range(k):
                        gain[b] += H[a, b]
            spread, square = 1.0, 0.0
            for a in range(k):
                spread += Z[i, a] * gain[a]
            for b in range(d):
                square += gap[b] * gap[b]
            if sign != 0:
                # H ∓ H z z'H / (1 ± z'H z), mean ± H z (x - z mean)'
                spread = 1.0 + sign * (spread - 1.0)
                for a in range(k):
                    taken[a] += sign * Z[i, a]
                    step = sign * gain[a] / spread
                    for b in range(k):
                        H[a, b] -= step * gain[b]
                    for b in range(d):
                        mean[a, b] += step * gap[b]
                for a in range(k):
                    if taken[a] == 0 and Z[i, a]:  # of this row alone: it is forgotten
                        Z[i, a] = 0
                        own += 1
                        for b in range(d):
                            mean[a, b] = 0.0
                        for b in range(k):
                            H[a, b], H[b, a] = 0.0, 0.0
                        H[a, a] = 1 / ratio
                continue
            stay = _log_density(square, spread + own / ratio, noise, d)
            for a in range(k):
                if taken[a] == 0:
                    continue
                turn = 2.0 * Z[i, a] - 1.0
                other = 0.0  # the squared gap with the feature turned over
                for b in range(d):
                    other += (gap[b] + turn * mean[a, b]) * (gap[b] + turn * mean[a, b])
                other_spread = spread - turn * 2 * gain[a] + H[a, a]
                leave = _log_density(other, other_spread + own / ratio, noise, d)
                log_odds = math.log(taken[a] / (n - taken[a])) + turn * (stay - leave)
                want = coins[i, a] * (1 + math.exp(-log_odds)) < 1
                if want != (Z[i, a] == 1):
                    spread, square, stay = other_spread, other, leave
                    for b in range(d):
                        gap[b] += turn * mean[a, b]
                    for b in range(k):
                        gain[b] -= turn * H[a, b]
                    Z[i, a] = 1 - Z[i, a]
            top, total = -np.inf, 0.0
            for s in range(NEW + 1):
                log_own[s] = log_prior[s] + _log_density(square, spread + s / ratio, noise, d)
                top = log_own[s] if log_own[s] > top else top
            for s in range(NEW + 1):
                total += math.exp(log_own[s] - top)
                log_own[s] = total
            own, a = 0, 0
            while own < NEW and log_own[own] < coins[i, -1] * total:
                own += 1
            while own > 0:  # in columns that nobody has
                if taken[a] == 0:
                    Z[i, a] = 1
                    own -= 1
                a += 1
                k = a if a > k else k
    return n


@jit(_nrt=False, error_model="numpy")
def _log_density(square: float, spread: float, noise: float, d: int) -> float:
    """Log N(gap; 0, noise spread I) up to a constant."""
    return -0.5 * (d * math.log(spread) + square / (noise * spread))
