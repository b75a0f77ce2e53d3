r"""The steps of a non-negative factorisation :math:`X \approx W H`, a block of rows at a time.

In an iteration a block of X is read once: its rows of W are updated for the H at hand, and the sums
over rows that the update of H needs are formed while the block is in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from panlearn.core.jit import jit
from panlearn.core.threads import OrderedMap
from panlearn.latent._nonnegative_rows import descend_rows, minimise_rows
from panlearn.latent._row_blocks import row_blocks

BLOCK_BYTES = 1 << 21  # of X: with its products it stays in the cache
SWEEPS = 2  # over the coordinates for one product with X, where that costs far more
SMALL, MORE_SWEEPS = 1 << 14, 4  # entries of X up to which the calls cost more than the sweeps
MOST_SWEEPS = 1000  # for the rows of `transform`
FEATURES = 1024  # columns of H that one thread updates


@dataclass(frozen=True)
class Penalty:
    r"""The penalty :math:`\lambda_1 \sum w + \tfrac{1}{2} \lambda_2 \sum w^2` of rows w."""

    l1: float
    l2: float

    def value(self, rows: np.ndarray, weight: Any = 1.0) -> float:
        """The penalty of rows of these weights."""
        if self.l1 == self.l2 == 0:
            return 0.0
        each = self.l1 * rows.sum(axis=1) + 0.5 * self.l2 * (rows**2).sum(axis=1)
        return float(np.sum(weight * each))

    def as_array(self, dtype: np.dtype) -> np.ndarray:
        """The two numbers for a kernel, in its floats."""
        return np.array([self.l1, self.l2], dtype=dtype)


Update = Callable[[np.ndarray, np.ndarray, np.ndarray, Penalty], None]


class Problem:
    """X in blocks with the weights of its rows, and the penalties of W and H."""

    def __init__(
        self, X: Any, weight: np.ndarray, penalty_W: Penalty, penalty_H: Penalty, share: OrderedMap
    ) -> None:
        self.shape, self.dtype, self.share = X.shape, X.dtype, share
        self.penalty_W, self.penalty_H, self.weight = penalty_W, penalty_H, weight
        self.blocks = blocks_of(X)
        d = X.shape[1]
        self.features = [slice(start, start + FEATURES) for start in range(0, d, FEATURES)]
        self.total = sum(float(weight[part] @ _row_sums(B)) for part, B in self.blocks)
        self.squares = sum(float(weight[part] @ _row_squares(B)) for part, B in self.blocks)

    def sums(self, function: Callable[[slice, Any], tuple[Any, ...]]) -> list[Any]:
        """Add what a function of each block returns, in the order of the blocks."""
        if len(self.blocks) == 1:
            return list(function(*self.blocks[0]))
        return _add(self.share(lambda block: function(*block), self.blocks))

    def sweeps(self, k: int) -> int:
        """How often to go over k coordinates for one product with X."""
        n, d = self.shape
        if n * d <= SMALL:
            return MORE_SWEEPS
        return SWEEPS if d >= 8 * k else 1

    def penalty(self, W: np.ndarray, Ht: np.ndarray) -> float:
        """Both penalties."""
        return self.penalty_W.value(W, self.weight) + self.penalty_H.value(Ht)


def blocks_of(X: Any) -> list[tuple[slice, Any]]:
    """Blocks of rows, a function of the shape alone: dense ones of the size of a cache.

    Sparse ones are few, for each adds up a dense array of one row a feature.
    """
    if sparse.issparse(X):
        return row_blocks(X, max(1024, -(-X.shape[0] // 16)))
    return row_blocks(X, max(64, BLOCK_BYTES // (X.shape[1] * X.dtype.itemsize)))


def frobenius_step(problem: Problem, W: np.ndarray, Ht: np.ndarray, update: Update) -> float:
    r"""Update W, then H, by their Gram matrices; returns the objective after it.

    With :math:`C = X^\top W` and :math:`G = W^\top W` (rows weighted) the loss is

    .. math::
        \tfrac{1}{2} \|X\|^2 - \langle C, H^\top \rangle + \tfrac{1}{2} \langle G, H H^\top\rangle
    """
    gram = Ht.T @ Ht

    def pass_over(part: slice, X: Any) -> tuple[np.ndarray, np.ndarray]:
        rows = W[part]
        update(rows, X @ Ht, gram, problem.penalty_W)
        weighted = rows * problem.weight[part, None]
        return X.T @ weighted, rows.T @ weighted

    cross, gram_W = problem.sums(pass_over)

    def update_features(part: slice) -> None:
        update(Ht[part], cross[part], gram_W, problem.penalty_H)

    list(problem.share(update_features, problem.features))
    fit = 0.5 * float(np.vdot(gram_W, Ht.T @ Ht)) - float(np.vdot(cross, Ht))
    return 0.5 * problem.squares + fit + problem.penalty(W, Ht)


def kullback_leibler_step(problem: Problem, W: np.ndarray, Ht: np.ndarray) -> float:
    r"""Multiply W, then H; returns :math:`\sum x \log(x / \hat x) - x + \hat x` between the two.

    .. math::
        w \leftarrow w \, \frac{\sum_j h_j x_j / \hat x_j}{\sum_j h_j + \lambda_1 + \lambda_2 w}
    """
    total = Ht.sum(axis=0)

    def pass_over(part: slice, X: Any) -> tuple[Any, ...]:
        rows = W[part]
        multiply(rows, quotients(X, rows, Ht) @ Ht, total, problem.penalty_W)
        ratio = quotients(X, rows, Ht)
        weighted = rows * problem.weight[part, None]
        loss = _divergence(X, ratio, rows, total, problem, part)
        return ratio.T @ weighted, weighted.sum(axis=0), loss

    cross, total_W, loss = problem.sums(pass_over)
    objective = loss + problem.penalty(W, Ht)
    multiply(Ht, cross, total_W, problem.penalty_H)
    return objective


def frobenius_loss(problem: Problem, W: np.ndarray, Ht: np.ndarray) -> float:
    """Half the squared residuals; of a sparse X, whose residuals are many, by Gram matrices."""

    def pass_over(part: slice, X: Any) -> tuple[float]:
        rows, weight = W[part], problem.weight[part]
        if sparse.issparse(X):
            fitted = np.einsum("ij,ij->i", rows @ gram, rows) - 2 * np.einsum(
                "ij,ij->i", rows, X @ Ht
            )
            return (float(weight @ (_row_squares(X) + fitted)),)
        return (float(weight @ _row_squares(X - rows @ Ht.T)),)

    gram = Ht.T @ Ht
    return max(0.5 * problem.sums(pass_over)[0], 0.0)


def kullback_leibler_loss(problem: Problem, W: np.ndarray, Ht: np.ndarray) -> float:
    """The divergence of WH from X."""
    total = Ht.sum(axis=0)
    parts = problem.sums(
        lambda part, X: (_divergence(X, quotients(X, W[part], Ht), W[part], total, problem, part),)
    )
    return max(parts[0], 0.0)


def _divergence(
    X: Any, ratio: Any, W: np.ndarray, total: np.ndarray, problem: Problem, part: slice
) -> float:
    r""":math:`\sum x \log(x / \hat x) - x + \hat x` of a block, its rows weighted."""
    rows = _row_sums(_times_log(X, ratio)) - _row_sums(X) + W @ total
    return float(problem.weight[part] @ rows)


def multiply(rows: np.ndarray, numerator: Any, denominator: Any, penalty: Penalty) -> None:
    """Rows times numerator / (denominator + gradient of the penalty); 0 / 0 is 0."""
    below = denominator + penalty.l1 + penalty.l2 * rows
    rows *= np.where(below > 0, numerator / np.where(below > 0, below, 1), 0)


def multiply_by_gram(
    rows: np.ndarray, cross: np.ndarray, gram: np.ndarray, penalty: Penalty
) -> None:
    """The multiplicative update of the Frobenius loss."""
    multiply(rows, cross, rows @ gram, penalty)


def descend(
    rows: np.ndarray, cross: np.ndarray, gram: np.ndarray, penalty: Penalty, sweeps: int
) -> None:
    """Coordinate descent of the Frobenius loss."""
    descend_rows(rows, np.ascontiguousarray(cross), gram, penalty.as_array(rows.dtype), sweeps)


def solve_frobenius(X: Any, Ht: np.ndarray, penalty: Penalty) -> np.ndarray:
    """The W of rows for a fixed H, to the last digits."""
    return minimise_rows(np.ascontiguousarray(X @ Ht), Ht.T @ Ht, penalty.as_array(X.dtype))


def solve_kullback_leibler(X: Any, Ht: np.ndarray, penalty: Penalty) -> np.ndarray:
    """The W of rows for a fixed H: multiplied till none moves by a root of a rounding."""
    total, tol = Ht.sum(axis=0), float(np.sqrt(np.finfo(X.dtype).eps))
    share = _row_sums(X)[:, None] / max(float(total.sum()), np.finfo(X.dtype).tiny)
    W = np.repeat(share.astype(X.dtype), Ht.shape[1], axis=1)
    moving = np.arange(X.shape[0])
    for _ in range(MOST_SWEEPS):
        rows = W[moving]
        multiply(rows, quotients(X[moving], rows, Ht) @ Ht, total, penalty)
        ends = np.abs(rows - W[moving]).max(axis=1) <= tol * rows.max(axis=1)
        W[moving] = rows
        moving = moving[~ends]
        if not len(moving):
            break
    return W


def quotients(X: Any, W: np.ndarray, Ht: np.ndarray) -> Any:
    """X / WH where X is stored; an entry of WH is no smaller than the floats are accurate."""
    floor = X.dtype.type(np.finfo(X.dtype).tiny ** 0.5)
    if not sparse.issparse(X):
        ratio = W @ Ht.T
        np.maximum(ratio, floor, out=ratio)
        return np.divide(X, ratio, out=ratio)
    data = _products(X.indptr, X.indices, W, Ht)
    np.divide(X.data, np.maximum(data, floor, out=data), out=data)
    return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)


@jit(fastmath={"reassoc", "contract"})
def _products(indptr: np.ndarray, indices: np.ndarray, W: np.ndarray, Ht: np.ndarray) -> np.ndarray:
    """Entries of WH at the stored places of a CSR matrix."""
    values = np.empty(len(indices), dtype=W.dtype)
    for i in range(len(indptr) - 1):
        for at in range(indptr[i], indptr[i + 1]):
            row, total = Ht[indices[at]], W.dtype.type(0)
            for t in range(W.shape[1]):
                total += W[i, t] * row[t]
            values[at] = total
    return values


def _times_log(X: Any, ratio: Any) -> Any:
    """X log(X / WH), which is 0 where X is."""
    if sparse.issparse(X):
        return sparse.csr_array((_times_log(X.data, ratio.data), X.indices, X.indptr), X.shape)
    return X * np.log(ratio, out=np.zeros_like(ratio), where=ratio > 0)


def _row_sums(X: Any) -> np.ndarray:
    return np.asarray(X.sum(axis=1), dtype=float).ravel()


def _row_squares(X: Any) -> np.ndarray:
    if sparse.issparse(X):
        return np.asarray(X.power(2).sum(axis=1), dtype=float).ravel()
    return np.einsum("ij,ij->i", X, X).astype(float)


def _add(parts: Iterable[tuple[Any, ...]]) -> list[Any]:
    total: list[Any] = []
    for part in parts:
        total = [a + b for a, b in zip(total, part, strict=True)] if total else list(part)
    return total
