"""Latent structure: components, factors, clusters, mixtures, ratings, manifolds and energies.

Reading order: `pca` stands on `_spectrum`; `kmeans` on `_lloyd`, which assigns rows to centres,
and `_starts`, which draws first centres from rows in any order; `gaussian_mixture` on
`_gaussians`, its two steps, and `_covariances`, the four kinds; `factor_analysis` and
`probabilistic_pca` on `_factors`, their two steps, and `_linear_gaussian`, all else they share;
`categorical_mixture` on `_categories`, its two steps; `nmf` on `_nonnegative`;
`matrix_factorization` on `_rating_factors`, which holds both sides, and a file for each solver.

`isomap` and `locally_linear` stand on `_neighbour_graph` and `_embedding`, `gplvm` on
`_latent_positions`; `hopfield` and `bernoulli_rbm` are energies; `dirichlet_process` and
`indian_buffet` are samplers on `_niw` and `_buffet`, with the priors of `_restaurants`.
"""

from panlearn.latent import ranking
from panlearn.latent.bernoulli_rbm import BernoulliRBM
from panlearn.latent.categorical_mixture import CategoricalMixture
from panlearn.latent.dirichlet_process import DirichletProcessMixture
from panlearn.latent.factor_analysis import FactorAnalysis
from panlearn.latent.gaussian_mixture import GaussianMixture
from panlearn.latent.gplvm import GPLVM
from panlearn.latent.hopfield import HopfieldNetwork
from panlearn.latent.indian_buffet import IndianBuffetFactors
from panlearn.latent.isomap import Isomap
from panlearn.latent.kmeans import KMeans
from panlearn.latent.locally_linear import LocallyLinearEmbedding
from panlearn.latent.matrix_factorization import MatrixFactorization
from panlearn.latent.nmf import NMF
from panlearn.latent.pca import PCA
from panlearn.latent.probabilistic_pca import ProbabilisticPCA
from panlearn.latent.ratings import Ratings

__all__ = [
    "GPLVM",
    "NMF",
    "PCA",
    "BernoulliRBM",
    "CategoricalMixture",
    "DirichletProcessMixture",
    "FactorAnalysis",
    "GaussianMixture",
    "HopfieldNetwork",
    "IndianBuffetFactors",
    "Isomap",
    "KMeans",
    "LocallyLinearEmbedding",
    "MatrixFactorization",
    "ProbabilisticPCA",
    "Ratings",
    "ranking",
]
