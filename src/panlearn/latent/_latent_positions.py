"""Covariances of Gaussian processes over latent positions, with gradients in the positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg


class Squared:
    r"""The RBF covariance :math:`s \exp(-\tfrac12 \|z - z'\|^2)`."""

    scaled = True  # s is learned

    def gram(self, Z: np.ndarray, other: np.ndarray, s: float) -> np.ndarray:
        """The covariances of positions."""
        K = (Z**2).sum(axis=1)[:, None] + (other**2).sum(axis=1)
        K -= 2 * Z @ other.T
        np.maximum(K, 0.0, out=K)
        K *= -0.5
        np.exp(K, out=K)
        K *= s
        return K

    def pull(self, C: np.ndarray, K: np.ndarray, Z: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Σ C ∂K/∂Z: the rows Σ_j C_ij K_ij (z'_j - z_i)."""
        weight = C * K
        return weight @ other - weight.sum(axis=1)[:, None] * Z

    def diagonal(self, Z: np.ndarray, s: float) -> tuple[np.ndarray, np.ndarray]:
        """k(z, z) and its gradient."""
        return np.full(len(Z), s), np.zeros_like(Z)


class Inner:
    r"""The linear covariance :math:`z^\top z'`; the positions carry its scale."""

    scaled = False

    def gram(self, Z: np.ndarray, other: np.ndarray, s: float) -> np.ndarray:
        """The covariances of positions."""
        return Z @ other.T

    def pull(self, C: np.ndarray, K: np.ndarray, Z: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Σ C ∂K/∂Z: C Z'."""
        return C @ other

    def diagonal(self, Z: np.ndarray, s: float) -> tuple[np.ndarray, np.ndarray]:
        """k(z, z) and its gradient."""
        return (Z**2).sum(axis=1), 2 * Z


Covariance = Squared | Inner
COVARIANCES: dict[str, Covariance] = {"rbf": Squared(), "linear": Inner()}


def log_likelihood(
    kernel: Covariance, Z: np.ndarray, s: float, noise: float, Y: np.ndarray
) -> tuple[float, np.ndarray, float, float]:
    r"""Log p(Y | Z) and its gradients in Z, log s and log noise.

    With :math:`G = \tfrac12 (K^{-1} Y Y^\top K^{-1} - d K^{-1})` they are :math:`2 G \partial K`
    and so on.
    """
    n, d = Y.shape
    K = kernel.gram(Z, Z, s)
    A = K.copy()
    A.flat[:: n + 1] += noise * (1 + 1e-10)
    L = linalg.cholesky(A, lower=True, overwrite_a=True, check_finite=False)
    weights = linalg.cho_solve((L, True), Y, check_finite=False)
    log_det = 2 * np.log(L.diagonal()).sum()
    value = -0.5 * (np.vdot(Y, weights) + d * (log_det + n * np.log(2 * np.pi)))
    half, _ = linalg.lapack.dpotri(L, lower=1, overwrite_c=1)
    G = half + half.T  # the inverse, twice on the diagonal
    G.flat[:: n + 1] /= 2
    G *= -d
    G += weights @ weights.T
    G *= 0.5
    slope = 2 * kernel.pull(G, K, Z, Z)
    return float(value), slope, float(np.vdot(G, K)), float(noise * np.trace(G))


class Process(NamedTuple):
    """A fitted process: what it takes to place a new row."""

    kernel: Covariance
    Z: np.ndarray
    s: float
    noise: float
    inverse: np.ndarray  # of the covariance of the training rows
    weights: np.ndarray  # the inverse times the rows

    def loss(self, z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """-log p(y | z) p(z) of each row up to a constant, and its gradient in z."""
        d = y.shape[1]
        k = self.kernel.gram(z, self.Z, self.s)
        prior, prior_slope = self.kernel.diagonal(z, self.s)
        explained = k @ self.inverse
        v = np.maximum(prior + self.noise - (explained * k).sum(axis=1), 1e-12)
        gap = y - k @ self.weights
        square = (gap**2).sum(axis=1)
        loss = 0.5 * (d * np.log(v) + square / v + (z**2).sum(axis=1))
        to_v = (0.5 * (d - square / v) / v)[:, None]
        C = -(gap / v[:, None]) @ self.weights.T - 2 * to_v * explained
        return loss, self.kernel.pull(C, k, z, self.Z) + to_v * prior_slope + z


def minimise_rows(
    loss: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
    start: np.ndarray,
    n_iter: int = 50,
) -> np.ndarray:
    """Minimise a loss of each row by BFGS, all rows at once, none depending on another.

    `loss(z, rows)` gives the losses and gradients of the rows with these indices.
    """
    Z, active = start.copy(), np.arange(len(start))
    value, slope = loss(Z, active)
    # a first step of at most a tenth; its curvature then sets the scale
    first = 0.1 / np.maximum(np.sqrt((slope**2).sum(axis=1)), 1.0)
    H = first[:, None, None] * np.eye(Z.shape[1])
    for step_number in range(n_iter):
        small = 1e-7 * np.maximum(1.0, np.abs(value[active]))
        active = active[np.abs(slope[active]).max(axis=1) > small]
        if not len(active):
            break
        way = -np.einsum("ijk,ik->ij", H[active], slope[active])
        fall = (way * slope[active]).sum(axis=1)
        more = -fall > 1e-11 * np.maximum(1.0, np.abs(value[active]))  # else it is rounding
        active, way, fall = active[more], way[more], fall[more]
        step, found = np.ones(len(active)), np.zeros(len(active), dtype=bool)
        trial, new, new_slope = Z[active], value[active], slope[active]
        for _ in range(30):
            left = np.flatnonzero(~found)
            if not len(left):
                break
            z = Z[active[left]] + step[left, None] * way[left]
            f, g = loss(z, active[left])
            good = f <= value[active[left]] + 1e-4 * step[left] * fall[left]
            hit = left[good]
            trial[hit], new[hit], new_slope[hit], found[hit] = z[good], f[good], g[good], True
            step[left[~good]] *= 0.5
        active, trial, new, new_slope = active[found], trial[found], new[found], new_slope[found]
        moved, turned = trial - Z[active], new_slope - slope[active]
        _update(H, active, moved, turned, step_number == 0)
        Z[active], value[active], slope[active] = trial, new, new_slope
    return Z


def _update(H: np.ndarray, rows: np.ndarray, s: np.ndarray, y: np.ndarray, first: bool) -> None:
    """(I - s y'/s'y) H (I - y s'/s'y) + s s'/s'y, where the curvature s'y is positive."""
    curvature = (s * y).sum(axis=1)
    good = curvature > 1e-12 * (y**2).sum(axis=1) + 1e-300
    rows, s, y = rows[good], s[good], y[good]
    rho = 1 / curvature[good]
    if first:
        scale = curvature[good] / (y**2).sum(axis=1)
        H[rows] = scale[:, None, None] * np.eye(s.shape[1])
    left = np.eye(s.shape[1]) - rho[:, None, None] * s[:, :, None] * y[:, None]
    outer = rho[:, None, None] * s[:, :, None] * s[:, None]
    H[rows] = left @ H[rows] @ left.transpose(0, 2, 1) + outer
