"""Latent variables: components, clusters and mixtures, manifolds, energies, nonparametrics.

Reading order: `pca` stands on `_spectrum`; `kmeans` on `_lloyd`, which assigns rows to centres,
and `_starts`, which draws first centres from rows in any order; `gaussian_mixture` on
`_gaussians`, its two steps, and `_covariances`, the four kinds.

`isomap` and `locally_linear` stand on `_neighbour_graph` and `_embedding`, `gplvm` on
`_latent_positions`; `hopfield` and `bernoulli_rbm` are energies; `dirichlet_process` and
`indian_buffet` are samplers on `_niw` and `_buffet`, with the priors of `_restaurants`.
"""

from panlearn.latent.bernoulli_rbm import BernoulliRBM
from panlearn.latent.dirichlet_process import DirichletProcessMixture
from panlearn.latent.gaussian_mixture import GaussianMixture
from panlearn.latent.gplvm import GPLVM
from panlearn.latent.hopfield import HopfieldNetwork
from panlearn.latent.indian_buffet import IndianBuffetFactors
from panlearn.latent.isomap import Isomap
from panlearn.latent.kmeans import KMeans
from panlearn.latent.locally_linear import LocallyLinearEmbedding
from panlearn.latent.pca import PCA

__all__ = [
    "GPLVM",
    "PCA",
    "BernoulliRBM",
    "DirichletProcessMixture",
    "GaussianMixture",
    "HopfieldNetwork",
    "IndianBuffetFactors",
    "Isomap",
    "KMeans",
    "LocallyLinearEmbedding",
]
