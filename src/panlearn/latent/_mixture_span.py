r"""A Gaussian mixture of few rows of many columns, in coordinates of the space that they span.

The means stay in that space, and at right angles to it every covariance is at its floor r, so that
EM of n coordinates is EM of all d columns. With an orthonormal basis Q (n, d) of the deviations
from a centre,

.. math::
    \Sigma = Q^\top C Q + r (I - Q^\top Q), \qquad
    \log \mathcal{N}(x \mid \mu, \Sigma) = \log \mathcal{N}(z \mid m, C) - \tfrac{d - n}{2}
    \log (2 \pi r)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import linalg, sparse

from panlearn.core.gaussian import LOG_2PI
from panlearn.core.sources import ArrayRows, Rows
from panlearn.core.starts import RowSample
from panlearn.latent._gaussians import Expected, Mixture

# of the largest eigenvalue: below it a covariance has another floor than the one that is given
ROUNDING = 1e-14


@dataclass(frozen=True)
class RowSpan:
    """The centre (d,), the basis (n, d), the rows' coordinates (n, n) and the floor."""

    centre: np.ndarray
    basis: np.ndarray
    coordinates: np.ndarray
    floor: float

    @classmethod
    def of(cls, model: Any, rows: Rows) -> Self | None:
        """The span, unless rows or start are such that the columns are to be kept."""
        given = model.means_init is not None or model.precisions_init is not None
        matrices = model.covariance_type in ("full", "tied")
        if given or model.warm_start or model.init_params != "kmeans" or not matrices:
            return None
        if not isinstance(rows, ArrayRows) or sparse.issparse(rows.X):
            return None
        n, d = rows.X.shape
        X = rows.X.astype(float) if 2 * n <= d else np.full((1, 1), np.nan)
        if not np.isfinite(X).all():  # what is missing is not in any span
            return None
        centred = X - (centre := X.mean(axis=0))
        # no covariance is larger than the square of the longest way between two rows
        if not 4 * ROUNDING * np.vecdot(centred, centred).max() <= model.reg_covar:
            return None
        basis, coordinates = linalg.qr(centred.T, mode="economic", check_finite=False)
        return cls(centre, basis.T, coordinates.T, model.reg_covar)

    @property
    def log_outside(self) -> float:
        """The log density of a row at right angles to the span."""
        n, d = self.basis.shape
        return -0.5 * (d - n) * (LOG_2PI + float(np.log(self.floor)))

    def inside(self, X: np.ndarray) -> np.ndarray:
        """The coordinates of rows in the span."""
        return (X - self.centre) @ self.basis.T

    def rows(self, rows: Any) -> Rows:
        """The rows that were spanned, with coordinates in the place of columns."""
        return replace(rows, X=self.coordinates)

    def sample(self, sample: RowSample) -> RowSample:
        """Some of the rows, likewise."""
        return replace(sample, rows=self.inside(sample.rows))

    def whole(self, seen: Expected) -> Expected:
        """What was expected of coordinates, with the likelihood of columns."""
        more = seen.weight * self.log_outside
        return replace(seen, log_likelihood=seen.log_likelihood + more)

    def outside(self, at: Mixture) -> Mixture:
        """The mixture of the columns."""
        values, vectors = np.linalg.eigh(at.covariances)
        covariances = self._columns(vectors, np.sqrt(np.maximum(values - self.floor, 0)))
        _diagonal(covariances)[...] += self.floor
        return at._replace(means=self.centre + at.means @ self.basis, covariances=covariances)

    def precisions(self, at: Mixture) -> np.ndarray:
        """The inverses of the covariances of the columns, which are at the ceiling outside."""
        values, vectors = np.linalg.eigh(at.covariances)
        below = self._columns(vectors, np.sqrt(np.maximum(1 / self.floor - 1 / values, 0)))
        np.negative(below, out=below)
        _diagonal(below)[...] += 1 / self.floor
        return below

    def _columns(self, vectors: np.ndarray, roots: np.ndarray) -> np.ndarray:
        """Matrices of the columns with these eigenvectors and roots of eigenvalues."""
        d = len(self.centre)
        made = np.empty((*vectors.shape[:-2], d, d))
        for at in np.ndindex(*vectors.shape[:-2]):
            thin = (vectors[at] * roots[at]).T @ self.basis
            np.matmul(thin.T, thin, out=made[at])  # symmetric to the last bit
        return made


def _diagonal(matrices: np.ndarray) -> np.ndarray:
    """The diagonals of matrices, to be written."""
    return np.einsum("...ii->...i", matrices)
