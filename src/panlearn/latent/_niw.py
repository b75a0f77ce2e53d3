"""Gaussian clusters under a normal-inverse-Wishart prior, with their parameters integrated out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import gammaln

from panlearn.core.jit import jit


@dataclass(frozen=True)
class Prior:
    """The law of a cluster: Σ ~ W⁻¹(scale, freedom), μ ~ N(0, Σ / precision)."""

    precision: float
    freedom: float
    scale: np.ndarray

    def posterior(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and scale matrix given the rows of one cluster."""
        n = len(X)
        centre = X.sum(axis=0) / max(n, 1)
        about = X - centre
        pull = self.precision * n / (self.precision + n)
        return (
            centre * n / (self.precision + n),
            self.scale + about.T @ about + pull * np.outer(centre, centre),
        )

    def log_evidence(self, count: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Log p(X) of the rows of each cluster, parameters integrated out."""
        d = len(self.scale)
        nu, kappa = self.freedom + count, self.precision + count
        log_det = 2 * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
        halves = np.arange(d) / 2
        gammas = gammaln(nu[:, None] / 2 - halves) - gammaln(self.freedom / 2 - halves)
        first = self.freedom / 2 * np.linalg.slogdet(self.scale)[1]
        ratio = d / 2 * np.log(self.precision / kappa) - count * d / 2 * np.log(np.pi)
        return gammas.sum(axis=1) + first - nu / 2 * log_det + ratio

    def constants(self, n: int) -> np.ndarray:
        """What the log predictive density holds beside the data, for clusters of 0 to n rows."""
        d = len(self.scale)
        kappa, nu = self.precision + np.arange(n + 1), self.freedom + np.arange(n + 1)
        gammas = gammaln((nu + 1) / 2) - gammaln((nu + 1 - d) / 2)
        return gammas - d / 2 * np.log(np.pi * (kappa + 1) / kappa)


class Clusters(NamedTuple):
    """Counts, means and Cholesky factors of the scales; room for more than there are."""

    size: np.ndarray
    mean: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(cls, prior: Prior, X: np.ndarray, labels: np.ndarray, room: int) -> Clusters:
        """Statistics of the rows with each label from 0 on; empty clusters have those of none."""
        d = X.shape[1]
        size = np.bincount(labels[labels >= 0], minlength=room)
        first = linalg.cholesky(prior.scale, lower=True)
        made = cls(size, np.zeros((len(size), d)), np.tile(first, (len(size), 1, 1)))
        for k in np.flatnonzero(size):
            made.mean[k], scale = prior.posterior(X[labels == k])
            made.factor[k] = linalg.cholesky(scale, lower=True)
        return made

    def log_weights(self, constant: np.ndarray) -> np.ndarray:
        """What a cluster weighs beside the place of a row: log n_k, constants, -log det of L."""
        logs = np.log(np.maximum(self.size, 1)) + constant[self.size]
        return logs - np.log(np.diagonal(self.factor, axis1=1, axis2=2)).sum(axis=1)

    def log_predictive(self, prior: Prior, X: np.ndarray) -> np.ndarray:
        """Log p(x | cluster) of each row and cluster, of shape (n, n_clusters)."""
        out = np.empty((len(X), len(self.size)))
        constant = prior.constants(int(self.size.max(initial=0)))
        for k, n in enumerate(self.size):
            z = linalg.solve_triangular(self.factor[k], (X - self.mean[k]).T, lower=True)
            kappa, nu = prior.precision + n, prior.freedom + n
            spread = np.log1p(kappa / (kappa + 1) * (z**2).sum(axis=0))
            out[:, k] = constant[n] - np.log(np.diag(self.factor[k])).sum()
            out[:, k] -= (nu + 1) / 2 * spread
        return out


@jit(_nrt=False, error_model="numpy")
def move(
    X: np.ndarray,
    i: int,
    k: int,
    sign: int,
    count: np.ndarray,
    mean: np.ndarray,
    factor: np.ndarray,
    base: np.ndarray,
    constant: np.ndarray,
    precision: float,
    gap: np.ndarray,
) -> None:
    """Row i into cluster k, or out of it if the sign is -1.

    With x the row less the mean, times a root, the Cholesky factor of A becomes that of A ± x x'.
    """
    d = len(gap)
    kappa = precision + count[k]
    root = math.sqrt(kappa / (kappa + sign))
    for a in range(d):
        x = X[i, a] - mean[k, a]
        gap[a] = root * x
        mean[k, a] += sign * x / (kappa + sign)
    count[k] += sign
    total = math.log(count[k]) + constant[count[k]]
    for a in range(d):
        old, x = factor[k, a, a], gap[a]
        new = math.sqrt(old * old + sign * x * x)
        c, s = new / old, x / old
        factor[k, a, a] = new
        total -= math.log(new)
        for b in range(a + 1, d):
            factor[k, b, a] = (factor[k, b, a] + sign * s * gap[b]) / c
            gap[b] = c * gap[b] - s * factor[k, b, a]
    base[k] = total


@jit(_nrt=False, error_model="numpy")
def sweep(
    X: np.ndarray,
    labels: np.ndarray,
    count: np.ndarray,
    mean: np.ndarray,
    factor: np.ndarray,
    base: np.ndarray,
    clusters: int,
    first: int,
    alone: np.ndarray,
    constant: np.ndarray,
    precision: float,
    freedom: float,
    coins: np.ndarray,
    weight: np.ndarray,
    gap: np.ndarray,
) -> int:
    """Draw the label of each row from `first` on given all others; a label of -1 is no seat yet.

    Returns the first row that was not reached, for want of room for a further cluster. The factor
    behind the last cluster is that of an empty one; `alone` is what a new one weighs for each row,
    `weight` and `gap` are memory for a number a cluster and a number a column.
    """
    n, d = X.shape
    for i in range(first, n):
        if clusters + 1 >= len(count):
            return i
        k = labels[i]
        if k >= 0 and count[k] > 1:
            move(X, i, k, -1, count, mean, factor, base, constant, precision, gap)
        elif k >= 0:  # the last cluster takes the empty place
            clusters -= 1
            count[k], base[k], count[clusters] = count[clusters], base[clusters], 0
            for a in range(d):
                mean[k, a], mean[clusters, a] = mean[clusters, a], 0.0
                for b in range(d):  # not by slices, whose shapes are compiled for long
                    factor[k, a, b] = factor[clusters, a, b]
                    factor[clusters, a, b] = factor[clusters + 1, a, b]
            for j in range(n):
                if labels[j] == clusters:
                    labels[j] = k
        labels[i] = -1
        top = weight[clusters] = alone[i]
        for k in range(clusters):
            square = 0.0
            for a in range(d):
                z = X[i, a] - mean[k, a]
                for b in range(a):
                    z -= factor[k, a, b] * gap[b]
                gap[a] = z / factor[k, a, a]
                square += gap[a] * gap[a]
            kappa = precision + count[k]
            spread = math.log1p(kappa / (kappa + 1) * square)
            weight[k] = base[k] - 0.5 * (freedom + count[k] + 1) * spread
            top = weight[k] if weight[k] > top else top
        total = 0.0
        for k in range(clusters + 1):
            total += math.exp(weight[k] - top)
            weight[k] = total
        k = 0
        while k < clusters and weight[k] < coins[i] * total:
            k += 1
        if k == clusters:
            clusters += 1
        move(X, i, k, 1, count, mean, factor, base, constant, precision, gap)
        labels[i] = k
    return n


def agreements(one: np.ndarray, other: np.ndarray) -> int:
    """How many ordered pairs of rows are together in both partitions."""
    together = np.bincount(one * np.int64(other.max() + 1) + other)
    return int(together @ together)
