"""Components, clusters and mixtures against scikit-learn."""

import numpy as np
import sklearn.decomposition as peer
from sklearn import cluster, mixture

from benchmarks.harness import Workload
from panlearn.latent import PCA, GaussianMixture, KMeans


def low_rank(n, d):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 20)) @ rng.normal(size=(20, d)) + 0.1 * rng.normal(size=(n, d))


def blobs(n, d, k):
    rng = np.random.default_rng(0)
    return rng.normal(size=(k, d))[rng.integers(k, size=n)] + rng.normal(size=(n, d))


def workloads():
    yield Workload(
        "PCA 1e5 x 200, 20 components",
        "latent.PCA",
        lambda: low_rank(100_000, 200),
        {
            "panlearn": lambda X: PCA(20).fit(X),
            "scikit-learn": lambda X: peer.PCA(20, svd_solver="covariance_eigh").fit(X),
        },
        lambda X, m: {"explained": float(m.explained_variance_ratio_.sum())},
    )
    yield Workload(
        "KMeans 2e5 x 32, 50 clusters, 30 iterations from one start",
        "latent.KMeans",
        lambda: blobs(200_000, 32, 50),
        {
            "panlearn": lambda X: KMeans(50, init=X[:50], max_iter=30, tol=0).fit(X),
            "scikit-learn": lambda X: cluster.KMeans(
                50, init=X[:50], n_init=1, max_iter=30, tol=0
            ).fit(X),
        },
        lambda X, m: {"inertia": float(m.inertia_)},
    )
    yield Workload(
        "GaussianMixture full 1e5 x 16, 10 components, 20 iterations from one start",
        "latent.GaussianMixture",
        lambda: blobs(100_000, 16, 10),
        {
            "panlearn": lambda X: GaussianMixture(10, **_start(X)).fit(X),
            "scikit-learn": lambda X: mixture.GaussianMixture(10, **_start(X)).fit(X),
        },
        lambda X, m: {"log likelihood": float(m.score(X))},
        bar=4.0,
        repeats=2,
    )


def _start(X):
    return {
        "weights_init": np.full(10, 0.1),
        "means_init": X[:10],
        "precisions_init": np.stack([np.eye(X.shape[1])] * 10),
        "max_iter": 20,
        "tol": 0.0,
    }
