r"""The expectation and the maximisation of linear factors with Gaussian noise.

.. math:: x = \mu + W z + \epsilon, \qquad z \sim \mathcal{N}(0, I_k), \quad
    \epsilon \sim \mathcal{N}(0, \operatorname{diag} \psi)

Given the entries o that a row has, z is Gaussian with covariance :math:`G = (I + W_o^\top
\Psi_o^{-1} W_o)^{-1}` and mean :math:`G W_o^\top \Psi_o^{-1} (x_o - \mu_o)`. The maximisation
regresses each feature on z and 1, over the rows that have it.

References
----------
C. Liu, D. B. Rubin and Y. N. Wu (1998). Parameter expansion to accelerate EM: the PX-EM algorithm.
Biometrika 85(4). doi:10.1093/biomet/85.4.755
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import linalg, sparse

from panlearn.core.gaussian import by_pattern
from panlearn.core.short_rows import divided, shifted, total
from panlearn.core.sources import ArrayRows
from panlearn.core.statistics import Moments, RootMoments, Sums

LOG_2PI = float(np.log(2 * np.pi))
CHUNK = 8192  # rows that are searched for the same holes
CACHED = 1 << 16  # entries of complete rows taken at a time: what is made of them stays near


class Factors(NamedTuple):
    """The parameters: mean (d,), loadings W (d, k), variances of the noise (d,)."""

    mean: np.ndarray
    loadings: np.ndarray
    noise: np.ndarray


@dataclass(frozen=True)
class FactorSums(Sums):
    """Expected sums of (z, 1)(z, 1)ᵀ, x (z, 1)ᵀ and x² over the rows that have each feature.

    x is taken less the mean of the parameters, and `factors` is the sum of (z, 1)(z, 1)ᵀ over all
    rows. Where every row has every feature, `count` and `gram` are kept once instead of once a
    feature.
    """

    weight: float
    log_likelihood: float
    factors: np.ndarray
    count: np.ndarray
    gram: np.ndarray
    cross: np.ndarray
    square: np.ndarray


@dataclass(frozen=True)
class Observed(Sums):
    """Weight of the rows, and of the entries of each feature, with their sums."""

    weight: float
    count: np.ndarray
    total: np.ndarray

    @classmethod
    def of(cls, X: Any, weight: Any) -> Self:
        """Sum up a batch; NaN is missing."""
        rows = _dense(X)
        w = np.ones(len(rows)) if weight is None else weight.astype(float)
        seen = ~np.isnan(rows)
        return cls(float(w.sum()), w @ seen, w @ np.where(seen, rows, 0.0))


class Known:
    """The law of z given some entries of a row, by default all: its covariance (k, k), its gain.

    `root` is the Cholesky factor of the precision; mean, loadings and noise are those of what is
    seen.
    """

    def __init__(self, at: Factors, seen: np.ndarray | None = None) -> None:
        self.at, self.seen = at, np.ones(len(at.mean), dtype=bool) if seen is None else seen
        self.mean, self.loadings, self.noise = (values[self.seen] for values in at)
        scaled = self.loadings / self.noise[:, None]
        precision = self.loadings.T @ scaled
        precision[np.diag_indices_from(precision)] += 1
        self.root = linalg.cholesky(precision, lower=True, check_finite=False)
        one = np.eye(len(precision))
        self.covariance = linalg.cho_solve((self.root, True), one, check_finite=False)
        self.gain = scaled @ self.covariance


class Posterior:
    """Of z given rows, which have what is known: the means (n, k), and the covariance (k, k)."""

    def __init__(self, known: Known, rows: np.ndarray) -> None:
        self._known, self.covariance = known, known.covariance
        self._centred = shifted(rows, -known.mean)
        self.means = self._centred @ known.gain

    @property
    def log_density(self) -> np.ndarray:
        """Of each row, (n,); not asked for where the means are all that is wanted."""
        # |x - μ|² in the metric of the model as a sum of squares, which loses no digits
        noise = self._known.noise
        residual = self.means @ self._known.loadings.T
        np.subtract(self._centred, residual, out=residual)
        with np.errstate(over="ignore"):  # an infinite distance is a density of zero
            divided(residual, np.sqrt(noise), out=residual)
            distance = np.einsum("ij,ij->i", residual, residual)
            distance += total(self.means**2)[:, 0]
        log_det = 2 * np.log(np.diag(self._known.root)).sum() + np.log(noise).sum()
        return -0.5 * (distance + log_det + len(noise) * LOG_2PI)


def inferred(known: Known, X: Any) -> Iterator[tuple[Any, np.ndarray, Posterior]]:
    """Cut rows by what they miss: (indices or a slice, entries seen, posterior).

    `known` is the law given all entries, or some.
    """
    step = max(CACHED // X.shape[1], 64)
    for start in range(0, X.shape[0], CHUNK):
        rows = _dense(X[start : start + CHUNK])
        for index, seen in by_pattern(rows):
            if not np.array_equal(seen, known.seen):
                known = Known(known.at, seen)
            if len(index) == len(rows) and seen.all():
                for i in range(0, len(rows), step):
                    part = rows[i : i + step]
                    first = start + i
                    yield slice(first, first + len(part)), seen, Posterior(known, part)
            else:
                yield start + index, seen, Posterior(known, rows[np.ix_(index, seen)])


def expect(
    at: Factors, X: Any, y: Any = None, weight: Any = None, *, complete: bool = False
) -> FactorSums:
    """Sum what the rows of a block are expected to add."""
    d, k = at.loadings.shape
    groups = 1 if complete else d
    total, log_likelihood, count = 0.0, 0.0, np.zeros(groups)
    every = np.zeros((k + 1, k + 1))
    gram, cross, square = np.zeros((groups, k + 1, k + 1)), np.zeros((d, k + 1)), np.zeros(d)
    for index, seen, found in inferred(Known(at), X):
        n = len(found.means)
        w = np.ones(n) if weight is None else weight[index].astype(float)
        total += float(w.sum())
        log_likelihood += float(w @ found.log_density)
        factors = np.c_[found.means, np.ones(n)]
        sums = (w[:, None] * factors).T @ factors
        sums[:k, :k] += w.sum() * found.covariance
        every += sums
        here = slice(None) if complete else seen
        count[here] += w.sum()
        gram[here] += sums
        centred = _dense(X[index])[:, seen] - at.mean[seen]
        cross[seen] += (w[:, None] * centred).T @ factors
        square[seen] += w @ centred**2
    return FactorSums(total, log_likelihood, every, count, gram, cross, square)


def maximise(at: Factors, seen: FactorSums) -> tuple[Factors, np.ndarray]:
    """Loadings and mean by a regression each feature; noise and weight of its rows.

    The noise is the mean squared residual, still to be kept above a floor. The factors may have any
    mean and covariance in this step, which the loadings and the mean then take over (PX-EM): the
    likelihood rises at least as far as with EM, and the steps are longer.
    """
    slopes = np.linalg.solve(seen.gram, seen.cross[:, :, None])[:, :, 0]
    left = seen.square - np.einsum("ij,ij->i", seen.cross, slopes)
    noise = np.maximum(left, 0.0) / seen.count
    every, loadings = seen.factors / seen.weight, slopes[:, :-1]
    centre = every[:-1, -1]
    root = linalg.cholesky(every[:-1, :-1] - np.outer(centre, centre), lower=True)
    mean = at.mean + slopes[:, -1] + loadings @ centre
    return Factors(mean, loadings @ root, noise), seen.count


def residual_noise(at: Factors, seen: FactorSums) -> np.ndarray:
    """The noise that maximises the expected likelihood with loadings and mean held."""
    slopes = np.c_[at.loadings, np.zeros(len(at.mean))]
    left = seen.square - 2 * np.einsum("ij,ij->i", seen.cross, slopes)
    left += np.einsum("ij,ij->i", slopes @ seen.gram[0], slopes)
    return np.maximum(left, 0.0) / seen.count


def variances(moments: Moments | RootMoments) -> np.ndarray:
    """The variance of each feature."""
    if isinstance(moments, RootMoments):
        return np.einsum("ij,ij->j", moments.root, moments.root) / moments.weight
    return np.diag(moments.scatter) / moments.weight


def leading(
    moments: Moments | RootMoments, scale: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues of the covariance of features divided by `scale`, and vectors.

    Of rows fewer than features these come from the products of the rows; beyond their number the
    eigenvalues are zero, and so are the vectors.
    """
    d = len(scale)
    if not isinstance(moments, RootMoments):
        covariance = moments.scatter / moments.weight
        values, vectors = linalg.eigh(
            covariance / np.outer(scale, scale), subset_by_index=[d - k, d - 1], check_finite=False
        )
        return values[::-1], vectors[:, ::-1]
    rows = moments.root / (np.sqrt(moments.weight) * scale)
    n, few = len(rows), min(k, len(rows))
    found, left = linalg.eigh(rows @ rows.T, subset_by_index=[n - few, n - 1], check_finite=False)
    values, vectors = np.zeros(k), np.zeros((d, k))
    values[:few] = np.maximum(found[::-1], 0.0)
    vectors[:, :few] = rows.T @ left[:, ::-1]
    return values, vectors / np.sqrt(np.where(values > 0, values, 1.0))


def stand_ins(moments: Moments | RootMoments) -> ArrayRows:
    """As many rows as features, or fewer, with the weight of all rows and their scatter.

    Their mean is zero.
    """
    if isinstance(moments, RootMoments):
        n = len(moments.root)
        rows = np.sqrt(n / moments.weight) * moments.root
        return ArrayRows(rows, None, np.full(n, moments.weight / n))
    d, covariance = len(moments.mean), moments.scatter / moments.weight
    scale = np.sqrt(np.diag(covariance))  # so that a small feature keeps its digits beside large
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = linalg.eigh(covariance / np.outer(scale, scale), check_finite=False)
    rows = np.sqrt(np.clip(values, 0, None) * d)[:, None] * vectors.T * scale
    return ArrayRows(rows, None, np.full(d, moments.weight / d))


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
