"""First factors of a non-negative factorisation."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from panlearn.latent._nonnegative import Problem

OVERSAMPLING, POWERS = 10, 4


def random_start(
    problem: Problem, k: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    r"""H of absolute normal deviates times :math:`\sqrt{\bar x / k}`, W of that constant.

    W is updated first and forgets its start, so that the rows need no draws of their own.
    """
    n, d = problem.shape
    scale = _typical(problem, k)
    Ht = scale * np.abs(rng.standard_normal((d, k)))
    return np.full((n, k), scale, dtype=problem.dtype), Ht.astype(problem.dtype)


def nndsvd(
    problem: Problem, k: int, rng: np.random.Generator, *, fill: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Of each singular pair the larger of its positive and negative parts; W and H transposed.

    Zeros, which multiplicative updates keep and coordinate descent often does, are filled with a
    typical value if `fill` says so.
    """
    U, singular, V = _singular(problem, k, rng)
    W, Ht = np.zeros_like(U, order="C"), np.zeros_like(V, order="C")
    weight = problem.weight
    for j in range(k):
        best = 0.0
        for sign in (1, -1):
            u, v = np.maximum(sign * U[:, j], 0), np.maximum(sign * V[:, j], 0)
            norms = np.sqrt(weight @ u**2), np.sqrt(v @ v)
            size = float(norms[0] * norms[1])
            if size > best:
                root, best = np.sqrt(singular[j] * size), size
                W[:, j], Ht[:, j] = root * u / norms[0], root * v / norms[1]
    if fill:
        typical = _typical(problem, k)
        W[W <= 1e-6 * W.max(initial=0)] = typical
        Ht[Ht <= 1e-6 * Ht.max(initial=0)] = typical
    return W.astype(problem.dtype), Ht.astype(problem.dtype)


def _typical(problem: Problem, k: int) -> float:
    mean = problem.total / (float(problem.weight.sum()) * problem.shape[1])
    return float(np.sqrt(mean / k))


def _singular(
    problem: Problem, k: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leading singular triplets by power iterations on random directions, rows weighted.

    The first are U less the root of the weights, so that a row of integer weight is repeated rows.
    """
    d = problem.shape[1]
    directions = rng.standard_normal((d, min(k + OVERSAMPLING, d))).astype(problem.dtype)

    def power(Q: np.ndarray) -> np.ndarray:
        def pass_over(part: slice, X: Any) -> tuple[np.ndarray]:
            return (X.T @ (problem.weight[part, None] * (X @ Q)),)

        return problem.sums(pass_over)[0]

    for _ in range(POWERS):
        directions = linalg.qr(power(directions), mode="economic")[0]
    scores = np.concatenate(
        list(problem.share(lambda block: block[1] @ directions, problem.blocks)), axis=0
    )
    root = np.sqrt(problem.weight)[:, None]
    left, singular, right = linalg.svd(root * scores, full_matrices=False)
    U = np.divide(left, root, out=np.zeros_like(left), where=root > 0)
    return U[:, :k], singular[:k], (directions @ right.T)[:, :k]
