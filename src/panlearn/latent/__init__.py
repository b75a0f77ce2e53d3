"""Latent variables: components, clusters and mixtures.

Reading order: `pca` stands on `_spectrum`.
"""

from panlearn.latent.pca import PCA

__all__ = ["PCA"]
