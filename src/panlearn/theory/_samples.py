"""Information and distance of samples, by nearest neighbours and by kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from scipy.special import digamma, gammaln, logsumexp

from panlearn.theory._divergences import table


def _rows(values: Any, name: str = "X") -> np.ndarray:
    rows = np.asarray(values, dtype=float)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ValueError(f"{name} must be a table of finite numbers; it has shape {rows.shape}")
    return rows


def _distance_to_neighbour(points: np.ndarray, among: np.ndarray, k: int, metric: float) -> Any:
    if not 1 <= k <= len(among) - (points is among):
        raise ValueError(f"n_neighbors={k} needs more rows than the {len(among)} there are")
    found = KDTree(among).query(points, [k + 1 if points is among else k], p=metric)[0][:, 0]
    if not found.all():
        raise ValueError(
            f"a row is repeated more than n_neighbors={k} times, so that it has no density; add "
            "noise of the size of the rounding, or use a table of counts"
        )
    return found


def sample_entropy(X: Any, n_neighbors: int = 3) -> float:
    r"""The differential entropy of rows by their distances to the k-th neighbour.

    .. math:: \hat H = \psi(n) - \psi(k) + \log V_d + \frac{d}{n} \sum_i \log r_k(x_i)
    """
    rows = _rows(X)
    n, d = rows.shape
    radius = _distance_to_neighbour(rows, rows, n_neighbors, 2.0)
    log_volume = d / 2 * np.log(np.pi) - gammaln(d / 2 + 1)
    return float(digamma(n) - digamma(n_neighbors) + log_volume + d * np.log(radius).mean())


def sample_kl_divergence(X: Any, Y: Any, n_neighbors: int = 3) -> float:
    r"""The divergence of the law of X from that of Y, by distances within X and to Y.

    .. math:: \hat D = \frac{d}{n} \sum_i \log \frac{s_k(x_i)}{r_k(x_i)} + \log \frac{m}{n - 1}

    with r the distance to the k-th of the other rows of X and s that to the k-th of Y; it may be
    negative.
    """
    first, second = _rows(X), _rows(Y, "Y")
    within = _distance_to_neighbour(first, first, n_neighbors, 2.0)
    between = _distance_to_neighbour(first, second, n_neighbors, 2.0)
    ratio = np.log(between / within).mean()
    return float(first.shape[1] * ratio + np.log(len(second) / (len(first) - 1)))


def sample_mutual_information(X: Any, Y: Any, n_neighbors: int = 3) -> float:
    r"""The mutual information of two columns, or tables, of numbers: the first estimator of KSG.

    .. math:: \hat I = \psi(k) + \psi(n) - \frac1n \sum_i \psi(n_x(i) + 1) + \psi(n_y(i) + 1)

    where :math:`n_x(i)` counts the rows nearer in X than the k-th neighbour is in both. It may be
    slightly negative; bring columns to like scales first.
    """
    first, second = _rows(X), _rows(Y, "Y")
    joint = np.hstack([first, second])
    radius = np.nextafter(_distance_to_neighbour(joint, joint, n_neighbors, np.inf), 0)
    counts = [
        KDTree(part).query_ball_point(part, radius, p=np.inf, return_length=True)
        for part in (first, second)
    ]  # each counts the row itself, which is the + 1
    spread = np.mean(digamma(counts[0]) + digamma(counts[1]))
    return float(digamma(n_neighbors) + digamma(len(joint)) - spread)


def label_mutual_information(x: Any, y: Any, correction: bool = False) -> float:
    r"""The mutual information of two columns of labels, from their counts.

    .. math:: \hat I = \sum_{ij} \hat p_{ij} \log \frac{\hat p_{ij}}{\hat p_i \hat p_j}

    Chance makes it too large by about :math:`(K_{xy} - K_x - K_y + 1) / 2n`, K counting the cells
    that occur; `correction` takes that off (Miller and Madow), and may make it negative.
    """
    first, second = (np.unique(np.asarray(v), return_inverse=True)[1] for v in (x, y))
    if len(first) != len(second):
        raise ValueError(f"x has {len(first)} labels and y {len(second)}; give one of each a row")
    counts = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(counts, (first, second), 1)
    joint = table(counts)
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    seen = joint > 0
    information = joint[seen] @ np.log(joint[seen] / expected[seen])
    excess = (seen.sum() - counts.shape[0] - counts.shape[1] + 1) / (2 * len(first))
    return float(information - excess * correction)


def infonce(scores: Any) -> float:
    r"""The lower bound of InfoNCE on mutual information, at most log n.

    .. math:: \log n + \frac1n \sum_i \log \frac{e^{s_{ii}}}{\sum_j e^{s_{ij}}}

    where :math:`s_{ij}` scores how well row i of the one goes with row j of the other.
    """
    values = np.asarray(scores, dtype=float)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ValueError(f"scores must be a square table; it has shape {values.shape}")
    return float(np.log(len(values)) + np.mean(np.diag(values) - logsumexp(values, axis=1)))


def donsker_varadhan(joint_scores: Any, product_scores: Any) -> float:
    r"""The lower bound :math:`E_{p} T - \log E_{q} e^{T}` on KL(p || q), of scores T of samples."""
    joint, product = (np.asarray(v, dtype=float).ravel() for v in (joint_scores, product_scores))
    return float(joint.mean() - logsumexp(product) + np.log(len(product)))


def median_gamma(X: Any, Y: Any, max_rows: int = 1000) -> float:
    r"""The scale :math:`\gamma = 1 / \operatorname{median} \|a - b\|^2` over pairs of rows."""
    first, second = _rows(X), _rows(Y, "Y")
    rows = np.vstack([v[:: max(1, len(v) * 2 // max_rows)] for v in (first, second)])
    squares = cdist(rows, rows, "sqeuclidean")[np.triu_indices(len(rows), 1)]
    middle = np.median(squares) if len(squares) else 0.0
    return float(1 / middle) if middle > 0 else 1.0


def mmd(X: Any, Y: Any, gamma: float | None = None, biased: bool = False) -> float:
    r"""The squared maximum mean discrepancy of two samples.

    .. math:: \mathrm{MMD}^2 = E \, k(x, x') + E \, k(y, y') - 2 E \, k(x, y),
        \qquad k(a, b) = e^{-\gamma \|a - b\|^2}

    Parameters
    ----------
    X, Y : array-like of shapes (n,) or (n, d), and (m,) or (m, d)
        The samples.
    gamma : float, default=None
        The scale of the kernel; by default `median_gamma`.
    biased : bool, default=False
        Whether a row is paired with itself too, which makes it zero or more. Without, its
        expectation is the discrepancy itself, and it may be negative.

    Returns
    -------
    float
    """
    first, second = _rows(X), _rows(Y, "Y")
    scale = median_gamma(first, second) if gamma is None else float(gamma)
    within = []
    for rows in (first, second):
        n = len(rows)
        total = _kernel_sum(rows, rows, scale)
        within.append(total / n**2 if biased else (total - n) / (n * (n - 1)))
    between = _kernel_sum(first, second, scale) / (len(first) * len(second))
    return float(within[0] + within[1] - 2 * between)


def _kernel_sum(a: np.ndarray, b: np.ndarray, gamma: float, block: int = 1000) -> float:
    """The sum over all pairs, a block of rows at a time: memory stays linear."""
    parts = (a[i : i + block] for i in range(0, len(a), block))
    return float(sum(np.exp(-gamma * cdist(part, b, "sqeuclidean")).sum() for part in parts))
