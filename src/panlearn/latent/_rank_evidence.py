"""How many principal components rows most probably have."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

EPSILON = float(np.finfo(float).eps)


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
