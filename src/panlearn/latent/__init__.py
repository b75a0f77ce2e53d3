"""Latent variables: components, clusters and mixtures.

Reading order: `pca` stands on `_spectrum`; `kmeans` on `_lloyd`, which assigns rows to centres,
and `_starts`, which draws first centres from rows in any order; `gaussian_mixture` on
`_gaussians`, its two steps, and `_covariances`, the four kinds; `nmf` on `_nonnegative`;
`matrix_factorization` on `_rating_factors`, which holds both sides, and a file for each solver.
"""

from panlearn.latent import ranking
from panlearn.latent.gaussian_mixture import GaussianMixture
from panlearn.latent.kmeans import KMeans
from panlearn.latent.matrix_factorization import MatrixFactorization
from panlearn.latent.nmf import NMF
from panlearn.latent.pca import PCA
from panlearn.latent.ratings import Ratings

__all__ = ["NMF", "PCA", "GaussianMixture", "KMeans", "MatrixFactorization", "Ratings", "ranking"]
