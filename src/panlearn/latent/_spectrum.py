"""The squared singular values and right singular vectors of centred rows, in five ways."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, svds

from panlearn.core.sources import ArrayRows
from panlearn.core.statistics import Moments

EPSILON = float(np.finfo(float).eps)


class About(NamedTuple):
    """Total weight, mean and scatter of each column."""

    weight: float
    mean: np.ndarray
    scatter: np.ndarray


class Spectrum(NamedTuple):
    """Total weight, mean, and the decomposition by falling size.

    `total` is the whole scatter, `rank` the number of values, of those found, above rounding, and
    `n_samples` the number of rows: the weight, or more if the rows have to be more.
    """

    weight: float
    mean: np.ndarray
    squares: np.ndarray
    vectors: np.ndarray
    total: float
    rank: int
    n_samples: int

    @classmethod
    def of(
        cls,
        about: About,
        squares: np.ndarray,
        vectors: np.ndarray,
        dtype: np.dtype,
        n_rows: int = 0,
    ) -> Spectrum:
        """Count what is above rounding; the same limit for every way to the decomposition.

        A value is off by a rounding of the largest, in float64, and by the roundings of the entries
        of X in its own floats.
        """
        weight, mean, scatter = about
        epsilon = float(np.finfo(dtype).eps)
        entry = (weight * (epsilon * mean) ** 2 + scatter * epsilon**2).max()
        error = len(mean) * (EPSILON * squares.max(initial=0.0) + entry)
        rank = int(np.sum(squares > error))
        n_samples = max(int(weight * (1 + 1e-12)), rank + 1, n_rows)
        with np.errstate(over="ignore"):
            total = float(scatter.sum())
        if not np.isfinite(total):
            raise ValueError("the squares of X overflow: rescale its columns")
        return cls(weight, mean, squares, vectors, total, rank, n_samples)


def from_moments(moments: Moments, dtype: np.dtype, k: int | None = None) -> Spectrum:
    """Eigenvectors of the scatter: the first k, or all."""
    about = About(moments.weight, moments.mean, np.diag(moments.scatter))
    few = k if moments.weight >= len(moments.mean) else None  # all values tell how many rows
    values, vectors = _leading(moments.scatter, few)
    return Spectrum.of(about, values, vectors.T, dtype)


def from_gram(rows: ArrayRows, k: int | None = None) -> Spectrum:
    r"""Of fewer rows than columns, through the products :math:`A A^\top` of the centred rows.

    :math:`A A^\top u = s^2 u` gives :math:`v = A^\top u / s`, which a QR decomposition keeps
    orthonormal where s is a rounding of the largest.
    """
    about, centred = _centred(rows)
    values, left = _leading(centred @ centred.T, k if rows.weight is None else None)
    k = min(centred.shape) if k is None else k
    vectors, _ = linalg.qr(centred.T @ left[:, :k], mode="economic", check_finite=False)
    return Spectrum.of(about, values[: min(centred.shape)], vectors.T, rows.dtype)


def from_rows(rows: ArrayRows) -> Spectrum:
    """Singular vectors of the centred rows, all of them."""
    about, centred = _centred(rows)
    _, values, vectors = linalg.svd(
        centred, full_matrices=False, overwrite_a=True, check_finite=False
    )
    return Spectrum.of(about, values**2, vectors, rows.dtype)


def lanczos(rows: ArrayRows, k: int, tol: float, rng: np.random.Generator) -> Spectrum:
    """The leading singular vectors of the centred rows by ARPACK, to the tolerance.

    At a tolerance of 0 the residuals are roundings, and the answer is that of the exact ways.
    """
    about, A = _operator(rows)
    _, values, vectors = svds(A, k, tol=tol, v0=rng.uniform(-1, 1, min(A.shape)))
    order = np.argsort(values)[::-1]
    return Spectrum.of(about, values[order] ** 2, vectors[order], rows.dtype, A.shape[0])


def randomised(
    rows: ArrayRows,
    k: int,
    rng: np.random.Generator,
    oversampling: int = 10,
    powers: int = 7,
) -> Spectrum:
    r"""The leading singular vectors of the centred rows, from their action on random vectors.

    With Q spanning :math:`(A A^\top)^q A \Omega`, the singular vectors of :math:`Q^\top A` are
    near those of A; Q is made orthonormal at every power so that small directions survive rounding.
    """
    about, A = _operator(rows)
    size = min(k + oversampling, *A.shape)
    Q = linalg.qr(A @ rng.standard_normal((A.shape[1], size)), mode="economic")[0]
    for _ in range(powers):
        Q = linalg.qr(A.T @ Q, mode="economic")[0]
        Q = linalg.qr(A @ Q, mode="economic")[0]
    _, values, vectors = linalg.svd((A.T @ Q).T, full_matrices=False)
    return Spectrum.of(about, values[:k] ** 2, vectors[:k], rows.dtype, A.shape[0])


def _leading(matrix: np.ndarray, k: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues by falling size, none below zero, and their vectors: the first k, or all."""
    n = len(matrix)
    if k is not None and 4 * k < n:  # else the way for all of them is faster
        values, vectors = linalg.eigh(matrix, subset_by_index=[n - k, n - 1], check_finite=False)
    else:
        values, vectors = np.linalg.eigh(matrix)
    return np.maximum(values[::-1], 0), vectors[:, ::-1]


def _centred(rows: ArrayRows) -> tuple[About, np.ndarray]:
    """The rows sqrt(w) (x - mean) in float64."""
    rows.reject_non_finite()
    X = rows.X.astype(np.float64)
    share = _shares(rows)
    total = share.sum()
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
    scatter = np.einsum("ij,ij->j", X, X)
    return About(float(total), mean + correction, scatter), X


def _operator(rows: ArrayRows) -> tuple[About, Any]:
    """The action of the rows sqrt(w) (x - mean), none of which is made dense if X is sparse."""
    if not sparse.issparse(rows.X):
        return _centred(rows)
    rows.reject_non_finite()
    X, share = rows.X.astype(np.float64), _shares(rows)
    weight = float(share.sum())
    mean = (X.T @ share) / weight
    scatter = np.clip(X.multiply(X).T @ share - weight * mean**2, 0, None)
    root = np.sqrt(share)[:, None]

    def forward(V: np.ndarray) -> np.ndarray:
        V = V.reshape(len(mean), -1)
        return root * (X @ V - mean @ V)

    def backward(U: np.ndarray) -> np.ndarray:
        scaled = root * U.reshape(len(root), -1)
        return X.T @ scaled - np.outer(mean, scaled.sum(axis=0))

    A = LinearOperator(
        X.shape, forward, backward, matmat=forward, dtype=np.float64, rmatmat=backward
    )
    return About(weight, mean, scatter), A


def _shares(rows: ArrayRows) -> np.ndarray:
    if rows.weight is None:
        return np.ones(rows.X.shape[0])
    if not rows.weight.any():
        raise ValueError("sample_weight is zero for every row, so there is nothing to learn from")
    return rows.weight.astype(float)
