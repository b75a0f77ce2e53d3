"""Optimal transport between weighted points, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import eye as identity
from scipy.sparse import kron, vstack
from scipy.spatial.distance import cdist

from panlearn.theory._divergences import table


@dataclass(frozen=True)
class Transport:
    r"""A cheapest plan and the prices that prove it.

    .. math:: \sum_{ij} \pi_{ij} c_{ij} = \sum_i p_i u_i + \sum_j q_j v_j,
        \qquad u_i + v_j \le c_{ij}

    Parameters
    ----------
    cost : float
        The least cost.
    plan : ndarray of shape (n, m)
        How much goes from each point to each other.
    potentials : tuple of ndarray of shapes (n,) and (m,)
        The dual prices u and v.
    """

    cost: float
    plan: np.ndarray
    potentials: tuple[np.ndarray, np.ndarray]


def optimal_transport(p: Any, q: Any, cost: Any) -> Transport:
    r"""The plan :math:`\min_\pi \sum_{ij} \pi_{ij} c_{ij}` with marginals p and q, and its dual.

    Parameters
    ----------
    p, q : array-like of shapes (n,) and (m,)
        Probabilities or counts of the points.
    cost : array-like of shape (n, m)
        What it costs to move mass from each point to each other.

    Returns
    -------
    Transport
        Solved as a linear program of n m variables.
    """
    first, second = table(p, "p"), table(q, "q")
    costs = np.asarray(cost, dtype=float)
    n, m = len(first), len(second)
    if costs.shape != (n, m) or not np.isfinite(costs).all():
        raise ValueError(f"cost must be a finite table of {n} x {m}; it has shape {costs.shape}")
    rows, columns = kron(identity(n), np.ones((1, m))), kron(np.ones((1, n)), identity(m))
    marginals = np.concatenate([first, second])
    solved = linprog(costs.ravel(), A_eq=vstack([rows, columns]).tocsr(), b_eq=marginals)
    prices = solved.eqlin.marginals
    return Transport(float(solved.fun), solved.x.reshape(n, m), (prices[:n], prices[n:]))


def wasserstein(
    x: Any, y: Any, x_weight: Any = None, y_weight: Any = None, order: float = 1.0
) -> float:
    r"""The Wasserstein distance :math:`(\min_\pi \sum_{ij} \pi_{ij} \|x_i - y_j\|^r)^{1/r}`.

    Parameters
    ----------
    x, y : array-like of shapes (n,) or (n, d), and (m,) or (m, d)
        The points of the two samples, or the cells of two tables.
    x_weight, y_weight : array-like of shapes (n,) and (m,), default=None
        Their probabilities or counts; equal by default.
    order : float, default=1.0
        The exponent r, 1 or more.

    Returns
    -------
    float
        On the line by sorting; in more dimensions by assignment if both samples are of one size
        and unweighted, else by linear programming.
    """
    if not order >= 1:
        raise ValueError(f"order={order!r} must be 1 or more")
    first, second = (np.asarray(v, dtype=float) for v in (x, y))
    p = np.full(len(first), 1 / len(first)) if x_weight is None else table(x_weight, "x_weight")
    q = np.full(len(second), 1 / len(second)) if y_weight is None else table(y_weight, "y_weight")
    if first.ndim == 1 or first.shape[1] == 1:
        cost = _on_the_line(first.ravel(), second.ravel(), p, q, order)
    else:
        distances = cdist(first, second) ** order
        if len(first) == len(second) and x_weight is None and y_weight is None:
            cost = float(distances[linear_sum_assignment(distances)].mean())
        else:
            cost = optimal_transport(p, q, distances).cost
    return float(max(cost, 0.0) ** (1 / order))


def _on_the_line(x: np.ndarray, y: np.ndarray, p: np.ndarray, q: np.ndarray, order: float) -> float:
    """The integral of |F^-1 - G^-1|^r: both quantile functions are constant between levels."""
    by_x, by_y = np.argsort(x), np.argsort(y)
    x_levels, y_levels = np.cumsum(p[by_x]), np.cumsum(q[by_y])
    levels = np.sort(np.concatenate([x_levels[:-1], y_levels[:-1], [0.0, 1.0]]))
    middle = (levels[1:] + levels[:-1]) / 2
    quantile_x = x[by_x][np.minimum(np.searchsorted(x_levels, middle), len(x) - 1)]
    quantile_y = y[by_y][np.minimum(np.searchsorted(y_levels, middle), len(y) - 1)]
    return float(np.diff(levels) @ np.abs(quantile_x - quantile_y) ** order)


def gaussian_wasserstein(mean1: Any, cov1: Any, mean2: Any, cov2: Any) -> float:
    r"""The distance of order 2 between two Gaussians, also known as Fréchet's.

    .. math:: W_2^2 = \|\mu_1 - \mu_2\|^2
        + \operatorname{tr}\bigl(\Sigma_1 + \Sigma_2 - 2 (\Sigma_1^{1/2} \Sigma_2
        \Sigma_1^{1/2})^{1/2}\bigr)
    """
    shift = np.atleast_1d(np.asarray(mean1, dtype=float) - np.asarray(mean2, dtype=float))
    first, second = (np.atleast_2d(np.asarray(c, dtype=float)) for c in (cov1, cov2))
    values, vectors = np.linalg.eigh(first)
    root = vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T
    # the singular values of S1^1/2 S2^1/2: no square of a small eigenvalue is formed
    values, vectors = np.linalg.eigh(second)
    other = vectors * np.sqrt(np.maximum(values, 0))
    coupled = np.linalg.svd(root @ other, compute_uv=False).sum()
    squared = shift @ shift + np.trace(first) + np.trace(second) - 2 * coupled
    return float(np.sqrt(max(squared, 0.0)))
