"""PageRank: where a random walk on a graph spends its time."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from panlearn.core.warning import warn


def pagerank(
    graph: Any,
    alpha: float = 0.85,
    *,
    personalization: Any = None,
    dangling: Any = None,
    start: Any = None,
    max_iter: int = 1000,
    tol: float = 1e-10,
) -> np.ndarray:
    r"""Rank the nodes of a graph by how often a random walk comes to them.

    The walk follows an edge with probability :math:`\alpha`, in proportion to its weight, and else
    jumps to a node drawn from the law v. The rank is its stationary law,

    .. math::
        r = \alpha \bigl(W^T D^{-1} r + (\textstyle\sum_{i : d_i = 0} r_i)\, u\bigr)
        + (1 - \alpha)\, v, \qquad d = W \mathbf 1

    Parameters
    ----------
    graph : sparse matrix or array of shape (n_nodes, n_nodes)
        The weights W of the edges, not negative: from the node of the row to that of the column.
    alpha : float, default=0.85
        The damping, at least 0 and below 1.
    personalization : array-like of shape (n_nodes,), default=None
        The law v up to a factor; uniform if not given.
    dangling : array-like of shape (n_nodes,), default=None
        The law u of the next node after one without edges, up to a factor; v if not given.
    start : array-like of shape (n_nodes,), default=None
        Where the iteration starts, up to a factor; at v if not given.
    max_iter : int, default=1000
        The most iterations.
    tol : float, default=1e-10
        The iteration ends when the ranks change by no more than this, all changes added up.

    Returns
    -------
    ndarray of shape (n_nodes,)
        The ranks, which sum to one.

    Notes
    -----
    Power iteration: each step multiplies the error by at most :math:`\alpha`, so that what is
    returned is within :math:`\alpha / (1 - \alpha)` times `tol` of the solution. A step costs one
    product with the sparse matrix, which is neither copied nor scaled. A step is :math:`O(n + m)`
    for n nodes and m links, and there are at most about :math:`\log \mathrm{tol} / \log \alpha` of
    them.

    References
    ----------
    S. Brin and L. Page (1998). The anatomy of a large-scale hypertextual Web search engine.
    Computer Networks and ISDN Systems 30, 107-117. doi:10.1016/S0169-7552(98)00110-X

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.text import pagerank
    >>> links = np.array([[0, 1, 1], [0, 0, 1], [1, 0, 0]])
    >>> pagerank(links).round(4)
    array([0.3878, 0.2148, 0.3974])
    """
    W = check_array(graph, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
    n = W.shape[0]
    if W.shape != (n, n):
        raise ValueError(f"graph must be square, a row and a column a node; got shape {W.shape}")
    if (W.data if sparse.issparse(W) else W).min(initial=0) < 0:
        raise ValueError("graph must not have edges of negative weight")
    if not 0 <= alpha < 1:
        raise ValueError(f"alpha must be at least 0 and below 1; got {alpha!r}")
    if max_iter < 1 or not tol >= 0:
        raise ValueError(f"max_iter must be positive and tol not negative; got {max_iter}, {tol}")
    v = _law(personalization, n, "personalization", np.full(n, 1 / n))
    u = _law(dangling, n, "dangling", v)
    rank = _law(start, n, "start", v)
    degree = np.asarray(W.sum(axis=1), dtype=float).ravel()
    ends = degree == 0
    share = 1 / np.where(ends, np.inf, degree)
    back, jump, change = W.T, (1 - alpha) * v, np.inf
    for _ in range(max_iter):
        last = rank
        rank = alpha * (back @ (last * share))
        rank += (alpha * last[ends].sum()) * u + jump
        change = np.abs(rank - last).sum()
        if change <= tol:
            break
    else:
        warn(
            f"pagerank did not converge: max_iter={max_iter} was reached with a change of "
            f"{change:.3g} above tol={tol:.3g}; raise max_iter or accept a larger tol",
            ConvergenceWarning,
        )
    return rank / rank.sum()


def _law(values: Any, n: int, name: str, default: np.ndarray) -> np.ndarray:
    """Numbers of the nodes, scaled to sum to one."""
    if values is None:
        return default
    law = np.asarray(values, dtype=float)
    if law.shape != (n,) or not np.isfinite(law).all() or (law < 0).any() or not law.any():
        raise ValueError(
            f"{name} must hold {n} numbers, one a node, not negative and not all zero; got shape "
            f"{law.shape}"
        )
    return law / law.sum()
