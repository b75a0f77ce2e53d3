r"""Least squares of one side of a factorisation, a row at a time, with the other side fixed.

The factors x of a row with entries j minimise

.. math::
    x^\top G x + \sum_j w_j (y_j^\top x)^2 - 2 \sum_j t_j y_j^\top x + \lambda \|x\|^2, \qquad
    \lambda = \lambda_0 + \lambda_1 \cdot \text{entries of the row}

so that explicit ratings (G = 0, w = 1, t the rating) and confidences about all pairs (G the Gram
matrix of the other side, w the confidence beyond it) are one problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from panlearn.core.jit import jit
from panlearn.core.threads import OrderedMap

ROWS = 512  # that one thread solves at a time
STEPS = 3  # of conjugate gradients from the factors at hand
FEW = 1 << 16  # products of factors, for all entries, that NumPy has before a kernel is read
_FAST = {"reassoc", "contract"}


@dataclass(frozen=True)
class Entries:
    """Observed entries of one side in CSR order: targets t, weights w and the two ridges."""

    indptr: np.ndarray
    indices: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    ridge: np.ndarray  # (2,): of a row, and of each of its entries

    @property
    def count(self) -> np.ndarray:
        """Entries of each row."""
        return np.diff(self.indptr)

    def penalty(self, factors: np.ndarray) -> float:
        """The ridge of all rows."""
        squares = np.einsum("ij,ij->i", factors, factors, dtype=float)
        ridge = np.where(self.count > 0, self.ridge[0] + self.ridge[1] * self.count, 0)
        return float(ridge @ squares)


def solve_side(
    entries: Entries,
    other: np.ndarray,
    offset: np.ndarray,
    gram: np.ndarray,
    out: np.ndarray,
    share: OrderedMap,
    *,
    exact: bool,
) -> tuple[float, float]:
    """Solve every row of `out`, or improve it; `offset` is taken from the targets.

    Returns the sum of the minimised terms and the sum of the squared targets less their offsets.
    """
    if not exact and len(entries.indices) * other.shape[1] ** 2 <= FEW:
        return _few_gradients(entries, other, offset, gram, out)
    solve: Any = _cholesky if exact else _conjugate_gradients
    fixed = (other, offset, gram, entries.ridge)
    rows = (entries.indptr, entries.indices, entries.target, entries.weight)

    def part(start: int) -> tuple[float, float]:
        return solve(*rows, *fixed, out, start, min(start + ROWS, len(out)))

    values = np.array(list(share(part, list(range(0, len(out), ROWS)))))
    return float(values[:, 0].sum()), float(values[:, 1].sum())


def _few_gradients(
    entries: Entries, other: np.ndarray, offset: np.ndarray, gram: np.ndarray, out: np.ndarray
) -> tuple[float, float]:
    """What `_conjugate_gradients` does, a step of all rows at a time, with nothing compiled.

    The matrix of a row, Σ w y y' and the rest, is put together once for the steps.
    """
    (m, k), count = other.shape, entries.count
    target = entries.target - offset[entries.indices]
    given = sparse.csr_array((target, entries.indices, entries.indptr), shape=(len(out), m))
    b = given @ other
    given.data = entries.weight
    matrices = (given @ (other[:, :, None] * other[:, None]).reshape(m, k * k)).reshape(-1, k, k)
    penalty = entries.ridge[0] + entries.ridge[1] * count.astype(out.dtype)
    matrices += gram + penalty[:, None, None] * np.eye(k, dtype=out.dtype)
    out[count == 0] = 0
    p = r = b - np.einsum("ijk,ik->ij", matrices, out)
    size = np.einsum("ij,ij->i", r, r)
    for _ in range(STEPS):
        image = np.einsum("ijk,ik->ij", matrices, p)
        curvature = np.einsum("ij,ij->i", p, image)
        goes = ~((size == 0) | (curvature <= 0))  # a row that ended has no way to go from then on
        step = np.divide(size, curvature, out=np.zeros_like(size), where=goes)[:, None]
        out += step * p
        r = r - step * image
        before, size = size, np.einsum("ij,ij->i", r, r)
        turn = np.divide(size, before, out=np.zeros_like(size), where=goes)[:, None]
        p = goes[:, None] * (r + turn * p)
    value = -np.einsum("ij,ij->", b + r, out, dtype=float)
    return float(value), float(np.dot(target.astype(float), target))


@jit(fastmath=_FAST)
def _conjugate_gradients(
    indptr: np.ndarray,
    indices: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    other: np.ndarray,
    offset: np.ndarray,
    gram: np.ndarray,
    ridge: np.ndarray,
    out: np.ndarray,
    start: int,
    stop: int,
) -> tuple[float, float]:
    """A few steps for each row from where it is; each lowers the objective of the row."""
    k = other.shape[1]
    b, r, p, image = np.empty((4, k), dtype=out.dtype)
    zero, value, squares = out.dtype.type(0), 0.0, 0.0
    for row in range(start, stop):
        first, last = indptr[row], indptr[row + 1]
        x = out[row]
        if first == last:
            x[:] = 0
            continue
        penalty = ridge[0] + ridge[1] * out.dtype.type(last - first)
        for s in range(k):
            total = penalty * x[s]
            for f in range(k):
                total += gram[s, f] * x[f]
            r[s], b[s] = -total, zero
        for at in range(first, last):
            y, t = other[indices[at]], target[at] - offset[indices[at]]
            product = zero
            for f in range(k):
                product += y[f] * x[f]
            rest = t - weight[at] * product
            squares += t * t
            for f in range(k):
                r[f] += rest * y[f]
                b[f] += t * y[f]
        size = zero
        for f in range(k):
            p[f] = r[f]
            size += r[f] * r[f]
        for _ in range(STEPS):
            if size == 0:
                break
            for s in range(k):
                total = penalty * p[s]
                for f in range(k):
                    total += gram[s, f] * p[f]
                image[s] = total
            for at in range(first, last):
                y, product = other[indices[at]], zero
                for f in range(k):
                    product += y[f] * p[f]
                product *= weight[at]
                for f in range(k):
                    image[f] += product * y[f]
            curvature = zero
            for f in range(k):
                curvature += p[f] * image[f]
            if curvature <= 0:
                break
            step, before, size = size / curvature, size, zero
            for f in range(k):
                x[f] += step * p[f]
                r[f] -= step * image[f]
                size += r[f] * r[f]
            for f in range(k):
                p[f] = r[f] + size / before * p[f]
        for f in range(k):
            value -= (b[f] + r[f]) * x[f]
    return value, squares


@jit(fastmath=_FAST)
def _cholesky(
    indptr: np.ndarray,
    indices: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    other: np.ndarray,
    offset: np.ndarray,
    gram: np.ndarray,
    ridge: np.ndarray,
    out: np.ndarray,
    start: int,
    stop: int,
) -> tuple[float, float]:
    """The solution of each row; a direction that the entries leave free gets no part in it."""
    k = other.shape[1]
    A, b = np.empty((k, k), dtype=out.dtype), np.empty(k, dtype=out.dtype)
    zero, value, squares = out.dtype.type(0), 0.0, 0.0
    smallest = out.dtype.type(8 * k) * np.finfo(out.dtype).eps  # of the largest pivot
    for row in range(start, stop):
        first, last = indptr[row], indptr[row + 1]
        x = out[row]
        if first == last:
            x[:] = 0
            continue
        for s in range(k):
            b[s] = zero
            for f in range(s + 1):
                A[s, f] = gram[s, f]
        penalty = ridge[0] + ridge[1] * out.dtype.type(last - first)
        for at in range(first, last):
            y, t = other[indices[at]], target[at] - offset[indices[at]]
            squares += t * t
            for s in range(k):
                b[s] += t * y[s]
                scaled = weight[at] * y[s]
                for f in range(s + 1):
                    A[s, f] += scaled * y[f]
        largest = zero
        for s in range(k):
            A[s, s] += penalty
            largest = max(largest, A[s, s])
        for s in range(k):  # A = L Lᵀ in the lower triangle
            for f in range(s + 1):
                total = A[s, f]
                for q in range(f):
                    total -= A[s, q] * A[f, q]
                if f < s:
                    A[s, f] = total / A[f, f] if A[f, f] > 0 else zero
                else:
                    A[s, s] = np.sqrt(total) if total > smallest * largest else zero
        for s in range(k):
            total = b[s]
            for f in range(s):
                total -= A[s, f] * x[f]
            x[s] = total / A[s, s] if A[s, s] > 0 else zero
        for s in range(k - 1, -1, -1):
            total = x[s]
            for f in range(s + 1, k):
                total -= A[f, s] * x[f]
            x[s] = total / A[s, s] if A[s, s] > 0 else zero
        for f in range(k):
            value -= b[f] * x[f]
    return value, squares
