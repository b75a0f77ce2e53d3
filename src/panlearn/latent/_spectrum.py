"""The squared singular values and right singular vectors of centred rows, in three ways."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.special import gammaln

from panlearn.core.sources import ArrayRows
from panlearn.core.statistics import Moments

EPSILON = float(np.finfo(float).eps)


class Spectrum(NamedTuple):
    """Total weight, mean, and the decomposition by falling size.

    `total` is the whole scatter, `rank` the number of values above rounding.
    """

    weight: float
    mean: np.ndarray
    squares: np.ndarray
    vectors: np.ndarray
    total: float
    rank: int


def from_moments(moments: Moments) -> Spectrum:
    """Eigenvectors of the scatter."""
    values, vectors = linalg.eigh(moments.scatter, driver="evd", check_finite=False)
    total = float(np.trace(moments.scatter))
    # a value is off by a rounding of the largest, and each column's centring by one of its offset
    error = len(values) * EPSILON * max(values[-1], 0.0)
    error += moments.weight * (EPSILON * np.abs(moments.mean)).max() ** 2
    rank = int(np.sum(values > error))
    return Spectrum(moments.weight, moments.mean, values[::-1], vectors.T[::-1], total, rank)


def from_rows(rows: ArrayRows) -> Spectrum:
    """Singular vectors of the centred rows, all of them."""
    weight, mean, centred = _centred(rows)
    _, values, vectors = linalg.svd(centred, full_matrices=False, check_finite=False)
    squares = values**2
    return Spectrum(
        weight, mean, squares, vectors, float(squares.sum()), _rank(values, mean, weight)
    )


def randomised(rows: ArrayRows, k: int, rng: np.random.Generator) -> Spectrum:
    r"""The leading singular vectors of the centred rows, from their action on random vectors.

    With Q spanning :math:`(A A^\top)^q A \Omega`, the singular vectors of :math:`Q^\top A` are near
    those of A; Q is made orthonormal at every power so that small directions survive rounding.
    """
    size = min(k + 10, *rows.X.shape)
    if sparse.issparse(rows.X):
        weight, mean, root, total = _sparse_centre(rows)
        A, offset = rows.X, mean
    else:
        weight, mean, A = _centred(rows)
        root, offset, total = np.ones((1, 1)), np.zeros(len(mean)), float(np.vdot(A, A))

    def forward(V: np.ndarray) -> np.ndarray:
        return root * (A @ V - offset @ V)

    def backward(U: np.ndarray) -> np.ndarray:
        scaled = root * U
        return A.T @ scaled - np.outer(offset, scaled.sum(axis=0))

    Q = linalg.qr(forward(rng.standard_normal((rows.n_features, size))), mode="economic")[0]
    for _ in range(7):
        Q = linalg.qr(backward(Q), mode="economic")[0]
        Q = linalg.qr(forward(Q), mode="economic")[0]
    _, values, vectors = linalg.svd(backward(Q).T, full_matrices=False)
    rank = _rank(values[:k], mean, weight)
    return Spectrum(weight, mean, values[:k] ** 2, vectors[:k], total, rank)


def _rank(values: np.ndarray, mean: np.ndarray, weight: float) -> int:
    """Count the singular values above the rounding of the largest and of the centring."""
    error = len(mean) * EPSILON * values.max() + np.sqrt(weight) * EPSILON * np.abs(mean).max()
    return int(np.sum(values > error))


def _centred(rows: ArrayRows) -> tuple[float, np.ndarray, np.ndarray]:
    """Total weight, mean, and the rows sqrt(w) (x - mean) in float64."""
    rows.reject_non_finite()
    X = rows.X.astype(np.float64)
    share = np.ones(len(X)) if rows.weight is None else rows.weight.astype(float)
    total = share.sum()
    if total == 0:
        raise ValueError("sample_weight is zero for every row, so there is nothing to learn from")
    with np.errstate(over="ignore", invalid="ignore"):
        mean = (share / total) @ X
        X -= mean
        correction = (share / total) @ X
        X -= correction
        if rows.weight is not None:
            X *= np.sqrt(share)[:, None]
        if not np.isfinite(np.vdot(X, X)):
            raise ValueError(
                "the squares of X overflow: rescale its columns, for example with "
                "sklearn.preprocessing.StandardScaler"
            )
    return float(total), mean + correction, X


def _sparse_centre(rows: ArrayRows) -> tuple[float, np.ndarray, np.ndarray, float]:
    """Total weight, mean, square roots of the weights, and the total scatter, of sparse rows."""
    rows.reject_non_finite()
    X: Any = rows.X
    share = np.ones(X.shape[0]) if rows.weight is None else rows.weight.astype(float)
    weight = float(share.sum())
    if weight == 0:
        raise ValueError("sample_weight is zero for every row, so there is nothing to learn from")
    mean = (X.T @ share) / weight
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    total = float(squares @ share) - weight * float(mean @ mean)
    return weight, mean, np.sqrt(share)[:, None], total


def most_probable_rank(values: np.ndarray, n: float) -> int:
    r"""The number k of components with the highest evidence, by Minka's Laplace approximation.

    .. math::
        p(X \mid k) \approx p(U) \Big(\prod_{j \le k} \lambda_j\Big)^{-n/2} v^{-n(d-k)/2}
        (2\pi)^{(m+k)/2} |A|^{-1/2} n^{-k/2}

    with v the mean of the variances left out, :math:`m = dk - k(k+1)/2`, p(U) the volume of the
    frames, and :math:`|A| = \prod_{i \le k, j > i} (1/\hat\lambda_j - 1/\hat\lambda_i)
    (\lambda_i - \lambda_j) n`, where :math:`\hat\lambda` is v beyond k.
    """
    d = len(values)
    least = max(EPSILON * values[0], float(np.finfo(float).tiny))
    usable = int(np.sum(values > least))
    evidence = [_evidence(np.maximum(values, least), k, n) for k in range(1, min(usable + 1, d))]
    return 1 + int(np.argmax(evidence)) if evidence else 1


def _evidence(values: np.ndarray, k: int, n: float) -> float:
    d = len(values)
    half = (d - np.arange(k)) / 2
    frames = np.sum(gammaln(half) - half * np.log(np.pi)) - k * np.log(2)
    noise = values[k:].mean()
    fit = -n / 2 * (np.log(values[:k]).sum() + (d - k) * np.log(noise))
    m = d * k - k * (k + 1) / 2
    shrunk = np.r_[values[:k], np.full(d - k, noise)]
    i, j = np.triu_indices(d, 1)
    i, j = i[i < k], j[i < k]
    with np.errstate(divide="ignore"):
        curvature = np.log(values[i] - values[j]) + np.log(1 / shrunk[j] - 1 / shrunk[i])
    spread = np.sum(curvature + np.log(n))
    return float(frames + fit + (m + k) / 2 * np.log(2 * np.pi) - spread / 2 - k / 2 * np.log(n))
