"""Latent variables: components, clusters and mixtures.

Reading order: `pca` stands on `_spectrum`; `kmeans` on `_lloyd`, which assigns rows to centres,
and `_starts`, which draws first centres from rows in any order; `gaussian_mixture` on
`_gaussians`, its two steps, and `_covariances`, the four kinds; `factor_analysis` and
`probabilistic_pca` on `_factors`, their two steps, and `_linear_gaussian`, all else they share;
`categorical_mixture` on `_categories`, its two steps.
"""

from panlearn.latent.categorical_mixture import CategoricalMixture
from panlearn.latent.factor_analysis import FactorAnalysis
from panlearn.latent.gaussian_mixture import GaussianMixture
from panlearn.latent.kmeans import KMeans
from panlearn.latent.pca import PCA
from panlearn.latent.probabilistic_pca import ProbabilisticPCA

__all__ = [
    "PCA",
    "CategoricalMixture",
    "FactorAnalysis",
    "GaussianMixture",
    "KMeans",
    "ProbabilisticPCA",
]
