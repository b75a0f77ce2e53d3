r"""How good a ranking of items is, and a split to measure it on.

With :math:`h_j` whether the j-th recommended item is among the R relevant ones of a user,

.. math::
    P@k = \tfrac{1}{k} \sum_{j \le k} h_j, \quad
    R@k = \tfrac{1}{R} \sum_{j \le k} h_j, \quad
    \mathrm{AP}@k = \tfrac{1}{\min(k, R)} \sum_{j \le k} h_j \, P@j, \quad
    \mathrm{nDCG}@k = \frac{\sum_{j \le k} h_j / \log_2(j + 1)}
                           {\sum_{j \le \min(k, R)} 1 / \log_2(j + 1)}

each averaged over the users with anything relevant.

A measure sorts what is relevant and what is recommended, :math:`O(m \log m)` for m entries of both.

References
----------
K. Järvelin and J. Kekäläinen (2002). Cumulated gain-based evaluation of IR techniques. ACM
Transactions on Information Systems 20(4). doi:10.1145/582415.582418

Examples
--------
>>> from scipy import sparse
>>> from panlearn.latent import ranking
>>> relevant = sparse.csr_array([[0, 1, 1], [1, 0, 0]])
>>> recommended = [[1, 0], [2, 1]]
>>> ranking.precision_at_k(relevant, recommended, k=2)
0.25
>>> ranking.recall_at_k(relevant, recommended, k=2)
0.25
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.latent.ratings import Ratings, positions

__all__ = ["average_precision_at_k", "leave_k_out", "ndcg_at_k", "precision_at_k", "recall_at_k"]


def precision_at_k(relevant: Any, recommended: Any, k: int = 10) -> float:
    """The share of relevant items among the first k recommended.

    Parameters
    ----------
    relevant : sparse matrix of shape (n_users, n_items) or Ratings
        Stored and above zero where an item is relevant to a user.
    recommended : array-like of shape (n_users, at least k)
        Items for each user, the best first: columns of the matrix, or labels of the Ratings.
    k : int, default=10
        How many count.

    Returns
    -------
    float
    """
    hits, _ = _hits(relevant, recommended, k)
    return float(hits.mean())


def recall_at_k(relevant: Any, recommended: Any, k: int = 10) -> float:
    """The share of the relevant items that the first k recommended hold.

    Parameters
    ----------
    relevant, recommended, k
        As for `precision_at_k`.

    Returns
    -------
    float
    """
    hits, count = _hits(relevant, recommended, k)
    return float((hits.sum(axis=1) / count).mean())


def average_precision_at_k(relevant: Any, recommended: Any, k: int = 10) -> float:
    """The mean average precision: the precision at each relevant item, averaged.

    Parameters
    ----------
    relevant, recommended, k
        As for `precision_at_k`.

    Returns
    -------
    float
    """
    hits, count = _hits(relevant, recommended, k)
    precision = hits.cumsum(axis=1) / np.arange(1, k + 1)
    return float(((hits * precision).sum(axis=1) / np.minimum(count, k)).mean())


def ndcg_at_k(relevant: Any, recommended: Any, k: int = 10) -> float:
    """The discounted gain of the relevant items, relative to that of the best order.

    Parameters
    ----------
    relevant, recommended, k
        As for `precision_at_k`.

    Returns
    -------
    float
    """
    hits, count = _hits(relevant, recommended, k)
    discount = 1 / np.log2(np.arange(2, k + 2))
    best = np.cumsum(discount)[np.minimum(count, k) - 1]
    return float((hits @ discount / best).mean())


def leave_k_out(X: Any, k: int = 1, random_state: RandomState = None) -> tuple[Any, Any]:
    """Hold k random entries of each user out; a user with no more than k keeps all.

    Parameters
    ----------
    X : sparse matrix of shape (n_users, n_items) or Ratings
        What was observed.
    k : int, default=1
        How many entries to hold out of each row.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the choice.

    Returns
    -------
    train, test : sparse matrix or Ratings
        Of the shape of X; together they hold its entries.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1; got {k}")
    if isinstance(X, Ratings):
        parts = leave_k_out(X.matrix, k, random_state)
        train, test = (Ratings(part, X.users, X.items) for part in parts)
        return train, test
    X = sparse.csr_array(X)
    count = np.diff(X.indptr)
    user = np.repeat(np.arange(X.shape[0]), count)
    order = np.lexsort((generator(random_state).random(X.nnz), user))
    rank = np.empty(X.nnz, dtype=np.int64)
    rank[order] = np.arange(X.nnz) - X.indptr[user[order]]
    out = (rank < k) & (count[user] > k)
    train, test = (
        sparse.csr_array((X.data[kept], (user[kept], X.indices[kept])), shape=X.shape)
        for kept in (~out, out)
    )
    return train, test


def _hits(relevant: Any, recommended: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether each of the first k is relevant, and how many are, of users with any."""
    recommended = np.asarray(recommended)
    if recommended.ndim != 2 or not 1 <= k <= recommended.shape[1]:
        raise ValueError(
            f"recommended must have shape (n_users, at least k={k}); got {recommended.shape}"
        )
    top = recommended[:, :k]
    if isinstance(relevant, Ratings):
        top, relevant = positions(relevant.items, top).reshape(top.shape), relevant.matrix
    relevant = sparse.csr_array(sparse.csr_array(relevant) > 0)
    n, m = relevant.shape
    if n != len(top):
        raise ValueError(
            f"relevant has {n} users and recommended {len(top)}; give both for the same users in "
            "the same order"
        )
    count = np.diff(relevant.indptr)
    if not count.any():
        raise ValueError("relevant holds nothing above zero, so there is nothing to measure")
    wanted = np.repeat(np.arange(n), count) * m + relevant.indices
    hits = np.isin(np.arange(n)[:, None] * m + top, wanted) & (top >= 0) & (top < m)
    some = count > 0
    return hits[some].astype(float), count[some]
