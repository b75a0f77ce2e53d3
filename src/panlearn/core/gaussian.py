r"""Gaussians: the four kinds of covariance, and rows that miss some of their entries.

Each kind of covariance has its maximisation. With the scatter :math:`S_j` of a component about its
mean and its weight :math:`N_j`, it maximises the expected log-likelihood among the covariances of
its form whose eigenvalues are at least a floor. That is a clip of the eigenvalues of the free
solution, and because it is the exact maximum under the constraint, EM with the floor never lowers
the likelihood; adding the floor to the diagonal would.

For any model with k Gaussians, a mixture or the emissions of a hidden Markov model::

    kind = KINDS["full"]                                 # or "tied", "diag", "spherical"
    scatter[j] = kind.scatter(X - means[j], weight)      # a plain sum over rows: merge by +
    covariances = kind.maximise(scatter, count, floor)   # scatters about the new means
    roots, log_det = kind.whitening(covariances, k, d)
    log_density[j] = log_det[j] - 0.5 * (kind.white(X - means[j], roots[j]) ** 2).sum(axis=1)
                     - 0.5 * d * log(2 pi)

`matrices` gives the covariances as k matrices, `part` as much of a matrix as the scatter keeps.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from panlearn.core.memory import require_memory

LOG_2PI = float(np.log(2 * np.pi))


DIRECT = 32  # columns: the eigenvalues of less are found at once


class Covariance(ABC):
    """How the covariances of k components of d features are shared, kept and learned."""

    @abstractmethod
    def scatter(self, centred: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Σ w x xᵀ of centred rows, as much of it as this kind needs."""

    @abstractmethod
    def part(self, matrix: np.ndarray) -> np.ndarray:
        """As much of a d × d matrix as `scatter` keeps."""

    @abstractmethod
    def of_variances(self, variances: np.ndarray) -> np.ndarray:
        """As much of diagonal matrices, (..., d), as `scatter` keeps."""

    @abstractmethod
    def maximise(self, scatter: np.ndarray, count: np.ndarray, floor: float) -> np.ndarray:
        """The covariances from the scatters about the means and the weights."""

    @abstractmethod
    def matrices(self, covariances: np.ndarray, k: int, d: int) -> np.ndarray:
        """The covariances as k matrices."""

    @abstractmethod
    def kept(self, covariances: np.ndarray, k: int, d: int) -> np.ndarray:
        """The covariances of k components, as much of each as `scatter` keeps."""

    @abstractmethod
    def inverse(self, covariances: np.ndarray) -> np.ndarray:
        """Precisions of covariances, or the other way round."""

    @abstractmethod
    def n_parameters(self, k: int, d: int) -> int:
        """How many numbers are free."""

    @abstractmethod
    def shape(self, k: int, d: int) -> tuple[int, ...]:
        """The shape that covariances have."""

    @abstractmethod
    def whitening(
        self, covariances: np.ndarray, k: int, d: int
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """What turns centred rows of each component white, and the logarithm of its determinant."""

    def require(self, k: int, d: int) -> None:
        """Raise `MemoryError` with the estimate if learning the covariances would not fit."""
        # scatters, eigenvectors, roots and what is kept: eleven of each at most, as measured
        _require((11, *self.shape(k, d)))

    def require_kept(self, k: int, d: int) -> None:
        """Raise it if no more than the result would not fit, learned in fewer dimensions."""
        matrices = math.prod(self.shape(k, d)) // d**2
        _require((2 * matrices + 2, d, d))  # and their inverses, one of each in the making

    def stored(self, covariances: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """The covariances in these floats, in which they stay definite."""
        return covariances.astype(dtype, copy=False)

    def white(self, centred: np.ndarray, root: np.ndarray) -> np.ndarray:
        """Rows of unit covariance: a product with a matrix, or column by column."""
        return centred @ root if root.ndim == 2 else centred * root


class _Full(Covariance):
    """Each component has its own matrix."""

    def scatter(self, centred: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return (centred * weight[:, None]).T @ centred

    def part(self, matrix: np.ndarray) -> np.ndarray:
        return matrix

    def of_variances(self, variances: np.ndarray) -> np.ndarray:
        return variances[..., :, None] * np.eye(variances.shape[-1])

    def maximise(self, scatter: np.ndarray, count: np.ndarray, floor: float) -> np.ndarray:
        return _clipped(scatter / count[:, None, None], floor)

    def matrices(self, covariances: np.ndarray, k: int, d: int) -> np.ndarray:
        return covariances

    def kept(self, covariances: np.ndarray, k: int, d: int) -> np.ndarray:
        return self.matrices(covariances, k, d)

    def inverse(self, covariances: np.ndarray) -> np.ndarray:
        if covariances.shape[-1] <= DIRECT:
            return np.linalg.inv(covariances)
        d = covariances.shape[-1]
        made = [_inverse(matrix) for matrix in covariances.reshape(-1, d, d)]
        return np.stack(made).reshape(covariances.shape)

    def stored(self, covariances: np.ndarray, dtype: np.dtype) -> np.ndarray:
        d = covariances.shape[-1]  # entries rounded by ε move an eigenvalue by d ε / 2 at most
        matrices = _clipped(covariances.reshape(-1, d, d), 0.0, d * float(np.finfo(dtype).eps))
        return matrices.reshape(covariances.shape).astype(dtype, copy=False)

    def n_parameters(self, k: int, d: int) -> int:
        return k * d * (d + 1) // 2

    def shape(self, k: int, d: int) -> tuple[int, ...]:
        return (k, d, d)

    def whitening(
        self, covariances: np.ndarray, k: int, d: int
    ) -> tuple[list[np.ndarray], np.ndarray]:
        roots = [inverse_root(c) for c in covariances]
        return roots, np.array([np.log(np.diag(r)).sum() for r in roots])


class _Tied(_Full):
    """All components share one matrix."""

    def maximise(self, scatter: np.ndarray, count: np.ndarray, floor: float) -> np.ndarray:
        return _clipped(scatter.sum(axis=0)[None] / count.sum(), floor)[0]

    def matrices(self, covariances: np.ndarray, k: int, d: int) -> np.ndarray:
        return np.broadcast_to(covariances, (k, d, d))

    def require(self, k: int, d: int) -> None:
        _require((6 * k + 5, d, d))  # scatters are of each component

    def n_parameters(self, k: int, d: int) -> int:
        return d * (d + 1) // 2

    def shape(self, k: int, d: int) -> tuple[int, ...]:
        return (d, d)

    def whitening(
        self, covariances: np.ndarray, k: int, d: int
    ) -> tuple[list[np.ndarray], np.ndarray]:
        roots, log_det = super().whitening(covariances[None], 1, d)
        return roots * k, np.repeat(log_det, k)


class _Diagonal(Covariance):
    """Each component has a variance for each feature."""

    def scatter(self, centred: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return weight @ (centred * centred)

    def part(self, matrix: np.ndarray) -> np.ndarray:
        return np.diagonal(matrix)

    def of_variances(self, variances: np.ndarray) -> np.ndarray:
        return variances

    def maximise(self, scatter: np.ndarray, count: np.ndarray, floor: float) -> np.ndarray:
        return np.maximum(scatter / count[:, None], floor)

    def matrices(self, covariances: np.ndarray, k: int, d: int) -> np.ndarray:
        return self.kept(covariances, k, d)[:, :, None] * np.eye(d)

    def kept(self, covariances: np.ndarray, k: int, d: int) -> np.ndarray:
        return covariances

    def inverse(self, covariances: np.ndarray) -> np.ndarray:
        return 1 / covariances

    def n_parameters(self, k: int, d: int) -> int:
        return k * d

    def shape(self, k: int, d: int) -> tuple[int, ...]:
        return (k, d)

    def whitening(
        self, covariances: np.ndarray, k: int, d: int
    ) -> tuple[list[np.ndarray], np.ndarray]:
        return list(1 / np.sqrt(covariances)), -0.5 * np.log(covariances).sum(axis=1)


class _Spherical(_Diagonal):
    """Each component has one variance."""

    def maximise(self, scatter: np.ndarray, count: np.ndarray, floor: float) -> np.ndarray:
        return np.maximum(scatter.mean(axis=1) / count, floor)

    def kept(self, covariances: np.ndarray, k: int, d: int) -> np.ndarray:
        return np.repeat(covariances[:, None], d, axis=1)

    def n_parameters(self, k: int, d: int) -> int:
        return k

    def shape(self, k: int, d: int) -> tuple[int, ...]:
        return (k,)

    def whitening(
        self, covariances: np.ndarray, k: int, d: int
    ) -> tuple[list[np.ndarray], np.ndarray]:
        return super().whitening(self.kept(covariances, k, d), k, d)


KINDS: dict[str, Covariance] = {
    "full": _Full(),
    "tied": _Tied(),
    "diag": _Diagonal(),
    "spherical": _Spherical(),
}


def _require(shape: tuple[int, ...]) -> None:
    remedy = "use covariance_type='diag', or fewer columns, as PCA gives"
    require_memory(shape, "what learning the covariances takes", remedy)


def _clipped(matrices: np.ndarray, floor: float, share: float = 1e-14) -> np.ndarray:
    """Raise the eigenvalues of symmetric matrices to the floor, and to a share of the largest."""
    if matrices.shape[-1] > DIRECT:
        given = list(matrices)
        made = [_clipped_large(matrix, floor, share) for matrix in given]
        same = all(one is other for one, other in zip(made, given, strict=True))
        return matrices if same else np.stack(made)
    values, vectors = np.linalg.eigh(matrices)
    # a value that is a rounding of the largest could turn out negative in a Cholesky factor
    least = np.maximum(floor, share * values[:, -1:])
    if (values >= least).all():
        return matrices
    return (vectors * np.maximum(values, least)[:, None, :]) @ vectors.swapaxes(1, 2)


def _clipped_large(matrix: np.ndarray, floor: float, share: float) -> np.ndarray:
    """Clip one matrix without all of its eigenvectors where they are not needed.

    If it has a Cholesky factor less the floor, no eigenvalue is below it. Of few rows it is a
    product of thin factors, but for rounding, and so are the eigenvectors above the floor.
    """
    d = len(matrix)
    everyone = np.arange(d)
    above = matrix.copy()
    above[everyone, everyone] -= max(floor, share * np.abs(matrix).sum(axis=1).max())
    # a symmetric matrix is its transpose, which LAPACK need not bring into its order
    if not lapack.dpotrf(above.T, lower=1, clean=0, overwrite_a=1)[1]:
        return matrix
    rounding = d * np.finfo(float).eps * matrix.diagonal().max()
    factor, order, rank, _ = lapack.dpstrf(matrix.T, lower=1, tol=rounding)
    if 4 * rank < d and rounding < 1e-4 * floor:
        thin = np.empty((d, rank))
        thin[order - 1] = np.tril(factor[:, :rank])
        values, vectors = np.linalg.eigh(thin.T @ thin)
        vectors = thin @ (vectors / np.sqrt(values))
        least = max(floor, share * values.max(initial=0.0))
        clipped = (vectors * np.maximum(values - least, 0.0)) @ vectors.T
        clipped[everyone, everyone] += least
        return clipped
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, max(floor, share * values[-1]))) @ vectors.T


def inverse_root(covariance: np.ndarray) -> np.ndarray:
    """R, upper triangular, with R Rᵀ the precision, so that rows times R are white."""
    # LAPACK's own: on small matrices SciPy's checks, and the threads of a triangular solve, cost
    # ten times as much
    lower, wrong = lapack.dpotrf(covariance.T, lower=1, clean=1)
    if not wrong:
        inverse, wrong = lapack.dtrtri(lower, lower=1, overwrite_c=1)
    if wrong:
        raise linalg.LinAlgError("the covariance is not positive definite")
    return inverse.T


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """Invert a large positive definite matrix by its Cholesky factor, in half the time."""
    lower, wrong = lapack.dpotrf(matrix.T, lower=1)
    if wrong:  # it is for the general inverse to say what
        return np.linalg.inv(matrix)
    inverse, _ = lapack.dpotri(lower, lower=1, overwrite_c=1)
    below = np.tril(inverse, -1)
    return below + below.T + np.diag(inverse.diagonal())


def by_pattern(rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Indices of the rows that have the same entries, and which entries these are."""
    holes = np.isnan(rows)
    if not holes.any():
        yield np.arange(len(rows)), np.ones(rows.shape[1], dtype=bool)
        return
    _, first, code = np.unique(
        np.packbits(holes, axis=1), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(code.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(code.ravel()))
    for index, i in zip(np.split(order, ends[:-1]), first, strict=True):
        yield index, ~holes[i]


class Partial:
    r"""k Gaussians of which some entries o are seen: their density, and the moments of the others.

    .. math::
        \mathbb{E}[x_m \mid x_o] = \mu_m + \Sigma_{mo} \Sigma_{oo}^{-1} (x_o - \mu_o), \qquad
        \operatorname{Cov}[x_m \mid x_o] = \Sigma_{mm} - \Sigma_{mo} \Sigma_{oo}^{-1} \Sigma_{om}

    Parameters
    ----------
    means : ndarray of shape (k, d)
    matrices : ndarray of shape (k, d, d)
        The covariances.
    seen : ndarray of bool of shape (d,)
        Which entries rows have.
    """

    def __init__(self, means: np.ndarray, matrices: np.ndarray, seen: np.ndarray) -> None:
        o, m = np.flatnonzero(seen), np.flatnonzero(~seen)
        known, cross = matrices[:, o[:, None], o], matrices[:, o[:, None], m]
        self.means = means
        self.seen = seen
        self._roots = np.linalg.cholesky(known)
        self._gains = np.linalg.solve(known, cross)
        self._uncertain = np.zeros_like(matrices)
        left = matrices[:, m[:, None], m] - cross.swapaxes(1, 2) @ self._gains
        self._uncertain[:, m[:, None], m] = left

    def log_densities(self, rows: np.ndarray) -> np.ndarray:
        """Log N(x_o | μ_jo, Σ_joo), Gaussians in rows, of rows that hold what is seen, (n, o)."""
        centred = rows - self.means[:, None, self.seen]
        white = np.linalg.solve(self._roots, centred.swapaxes(1, 2))
        log_det = np.log(np.diagonal(self._roots, axis1=1, axis2=2)).sum(axis=1)
        constant = log_det + 0.5 * rows.shape[1] * LOG_2PI
        with np.errstate(over="ignore"):
            return -0.5 * (white**2).sum(axis=1) - constant[:, None]

    def filled(self, j: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E[x | x_o] - μ_j, and Cov[x | x_o], of rows that hold what is seen."""
        known = rows - self.means[j, self.seen]
        centred = np.empty((len(rows), len(self.seen)))
        centred[:, self.seen] = known
        centred[:, ~self.seen] = known @ self._gains[j]
        return centred, self._uncertain[j]
