r"""Laplace's approximation for a Gaussian process under a logistic likelihood.

.. math::
    \hat f = \arg\max_f \; \sum_i s_i \log \sigma(t_i f_i) - \tfrac12 f^\top K^{-1} f, \qquad
    \log q(t) = \sum_i s_i \log \sigma(t_i \hat f_i) - \tfrac12 \hat f^\top a
    - \tfrac12 \log |B|

with :math:`a = K^{-1} \hat f`, the curvatures :math:`W_{ii} = s_i \pi_i (1 - \pi_i)` and
:math:`B = I + W^{1/2} K W^{1/2}`, which is well conditioned whatever K is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, lapack
from scipy.special import expit, log_expit, ndtr

from panlearn.core.memory import require_memory
from panlearn.kernel._kernel import Kernel
from panlearn.kernel._tiles import Tile, fill_lower, pull_lower, symmetric


class Mode(NamedTuple):
    """The factor of B, the roots of W, the weights a, log q, π, and whether it is the mode."""

    factor: np.ndarray
    root: np.ndarray
    weights: np.ndarray
    value: float
    probability: np.ndarray
    reached: bool


def approximate(
    kernel: Kernel,
    X: np.ndarray,
    T: np.ndarray,
    share: np.ndarray,
    start: np.ndarray,
    max_iter: int,
) -> tuple[np.ndarray, list[Mode]]:
    """K, in its lower half, and the mode for each column of signs in T, from given weights."""
    n, machines = T.shape
    require_memory((machines + 2, n, n), "the kernel matrix with its factors", "use fewer rows")
    K = np.zeros((n, n))
    fill_lower(kernel, X, K)
    return K, [find_mode(K, T[:, c], share, start[:, c], max_iter) for c in range(machines)]


def find_mode(
    K: np.ndarray, t: np.ndarray, share: np.ndarray, start: np.ndarray, max_iter: int
) -> Mode:
    """Newton's ascent to the mode (Rasmussen and Williams, algorithm 3.1), K in its lower half.

    The first step is the one to the weights given, as far as it leads up; the others are Newton's.
    """

    def times(v: np.ndarray) -> np.ndarray:
        return blas.dsymv(1.0, K.T, v, lower=0)

    def height(f: np.ndarray, a: np.ndarray) -> float:
        return share @ log_expit(t * f) - 0.5 * a @ f

    a, f = np.zeros_like(start), np.zeros_like(start)
    step, move, gain = start, times(start), np.inf
    for _ in range(max_iter + 1):
        now = height(f, a)
        sizes = (0.5**k for k in range(20))
        size = next((s for s in sizes if height(f + s * move, a + s * step) >= now), 0.0)
        a, f = a + size * step, f + size * move
        if size == 0 and gain < np.inf:  # rounding hides what is left to gain
            break
        probability = expit(f)
        root = np.sqrt(share * probability * expit(-f))
        L = _factor(K, root)
        b = root**2 * f + share * np.where(t > 0, expit(-f), -probability)
        inner, _ = lapack.dpotrs(L.T, root * times(b), lower=0)
        step = b - root * inner - a
        move = times(step)
        gain = step @ move + np.square(root * move).sum()  # the square of Newton's decrement
        if gain <= 1e-18 * len(a):  # log |B| is off by the root of it
            break
    value = float(height(f, a) - np.log(L.diagonal()).sum())
    return Mode(L, root, a, value, probability, bool(gain <= 1e-6 * len(a)))


def _factor(K: np.ndarray, root: np.ndarray) -> np.ndarray:
    """The lower factor of B = I + W½ K W½."""
    B = K * root
    B *= root[:, None]
    B.flat[:: len(B) + 1] += 1
    _, info = lapack.dpotrf(B.T, lower=0, overwrite_a=1, clean=1)
    if info:
        raise ValueError(
            "the kernel matrix is not positive definite: the kernel is not valid on these rows"
        )
    return B


def gradient(kernel: Kernel, X: np.ndarray, K: np.ndarray, modes: list[Mode]) -> np.ndarray:
    r"""The gradient in θ of the mean of log q; the factors are overwritten.

    With :math:`R = W^{1/2} B^{-1} W^{1/2}` and u that of the pull of the mode on log |B|, a
    derivative is :math:`\frac12 \langle a a^\top - R + u a^\top + a u^\top, \partial K \rangle`
    (algorithm 5.1). The variance of f at the mode is
    :math:`(1 - (B^{-1})_{ii}) / W_{ii}`, so that it costs nothing beyond B⁻¹.
    """
    n = len(X)
    R, A, U = np.zeros((n, n)), np.empty((n, len(modes))), np.empty((n, len(modes)))
    for column, mode in enumerate(modes):
        inverse = mode.factor
        lapack.dpotri(inverse.T, lower=0, overwrite_c=1)
        # half the variance times the third derivative −W (1 − 2π): W cancels
        pull = -0.5 * (1 - inverse.diagonal()) * (1 - 2 * mode.probability)
        inverse *= mode.root
        inverse *= mode.root[:, None]
        R += inverse
        back = blas.dsymv(1.0, K.T, pull, lower=0)
        U[:, column] = pull - blas.dsymv(1.0, inverse.T, back, lower=0)
        A[:, column] = mode.weights

    def weight(tile: Tile) -> np.ndarray:
        rows, columns = tile
        outer = (A + U)[rows] @ A[columns].T + A[rows] @ U[columns].T
        return outer - symmetric(R, tile)

    return 0.5 * pull_lower(kernel, X, weight) / len(modes)


def _mixture() -> tuple[np.ndarray, np.ndarray]:
    """Scales s and weights p with σ(z) = Σ p Φ(z / s) to rounding.

    The logistic function is a mixture of normal ones in which s / 2 has Kolmogorov's distribution;
    in log s its density falls so fast at both ends that equal steps integrate it.
    """
    half, order = np.geomspace(0.13, 4.2, 32), np.arange(1, 40)[:, None]
    terms = (-1.0) ** (order + 1) * order**2 * np.exp(-2 * (order * half) ** 2)
    return 2 * half, np.log(half[1] / half[0]) * 8 * half**2 * terms.sum(axis=0)


SCALES, PARTS = _mixture()


def average_logistic(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """E[σ(z)] of a normal z, which is Σ p Φ(mean / √(variance + s²))."""
    total = np.zeros_like(mean)
    for scale, part in zip(SCALES, PARTS, strict=True):
        total += part * ndtr(mean / np.sqrt(variance + scale**2))
    return total
