"""Components, factors, clusters and mixtures against scikit-learn."""

import warnings

import numpy as np
import sklearn.decomposition as peer
from sklearn import cluster, mixture
from sklearn.metrics import adjusted_rand_score

from benchmarks.harness import Law, Workload, law
from panlearn import Batches
from panlearn.latent import PCA, FactorAnalysis, GaussianMixture, KMeans


def low_rank(n, d, k=20):
    """Factors of falling size, and noise."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((n, k)) * np.linspace(5, 1, k)
    return factors @ rng.standard_normal((k, d)) + 0.5 * rng.standard_normal((n, d))


def blobs(n, d, k, seed):
    """Gaussians that overlap, each with its own covariance, and the one of each row."""
    rng = np.random.default_rng(seed)
    centres, labels = rng.standard_normal((k, d)), rng.integers(0, k, n)
    shapes = 0.3 * rng.standard_normal((k, d, d)) + np.eye(d)
    X = np.empty((n, d))
    for j in range(k):
        mine = np.flatnonzero(labels == j)
        X[mine] = centres[j] + rng.standard_normal((len(mine), d)) @ shapes[j]
    return X, labels


def some_rows(X, k):
    return X[np.random.default_rng(1).choice(len(X), k, replace=False)]


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
        "PCA 1e7 x 50, streamed, 4 GB of rows in under 1 GB",
        "latent.PCA",
        lambda: None,
        {"panlearn": lambda _: PCA(10).fit(Batches(_stream))},
        lambda _, m: {
            "explained": float(m.explained_variance_ratio_.sum()),
            "rows": m.statistic_.weight,
        },
    )
    yield Workload(
        "FactorAnalysis 1e5 x 200, 20 factors",
        "latent.FactorAnalysis",
        lambda: low_rank(100_000, 200),
        {
            "panlearn": lambda X: FactorAnalysis(20).fit(X),
            "scikit-learn": lambda X: peer.FactorAnalysis(20, random_state=0).fit(X),
        },
        lambda X, m: {"log likelihood": float(m.score(X))},
        bar=3.0,
    )
    yield Workload(
        "KMeans 2e5 x 32, 50 clusters, 30 iterations from one start",
        "latent.KMeans",
        lambda: blobs(200_000, 32, 50, seed=0),
        {
            "panlearn": lambda data: KMeans(50, **_k_means_start(data[0])).fit(data[0]),
            "scikit-learn": lambda data: cluster.KMeans(
                50, n_init=1, algorithm="lloyd", **_k_means_start(data[0])
            ).fit(data[0]),
        },
        lambda data, m: {
            "inertia": float(m.inertia_),
            "iterations": m.n_iter_,
            "agreement": adjusted_rand_score(data[1], m.labels_),
        },
    )
    yield Workload(
        "GaussianMixture full 1e5 x 16, 10 components, 20 iterations from one start",
        "latent.GaussianMixture",
        lambda: blobs(100_000, 16, 10, seed=2),
        {
            "panlearn": lambda data: GaussianMixture(10, **_mixture_start(data[0])).fit(data[0]),
            "scikit-learn": lambda data: mixture.GaussianMixture(10, **_mixture_start(data[0])).fit(
                data[0]
            ),
        },
        lambda data, m: {
            "log likelihood": float(m.score(data[0])),
            "agreement": adjusted_rand_score(data[1], m.predict(data[0])),
        },
        bar=4.0,
    )


def _stream():
    """A hundred batches of 1e5 rows, one after the other, each a new array."""
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((10, 50)) * np.linspace(3, 1, 10)[:, None]
    X = rng.standard_normal((100_000, 50)) + rng.standard_normal((100_000, 10)) @ directions
    for i in range(100):
        yield X + i / 100


def _k_means_start(X):
    return {"init": some_rows(X, 50), "max_iter": 30, "tol": 0}


def _mixture_start(X):
    return {
        "weights_init": np.full(10, 0.1),
        "means_init": some_rows(X, 10),
        "precisions_init": np.stack([np.eye(X.shape[1])] * 10),
        "max_iter": 20,
        "tol": 0.0,
    }


def growth() -> dict[str, Law]:
    """How the time grows with the number of rows, at a fixed number of iterations."""
    sizes = [20_000, 40_000, 80_000, 160_000]
    X, _ = blobs(sizes[-1], 16, 10, seed=2)
    start = X[:10]

    def k_means(n):
        return lambda: _quietly(KMeans(10, init=start, max_iter=10, tol=0), X[:n])

    def gaussian(n):
        options = {**_mixture_start(X), "means_init": start, "max_iter": 3}
        return lambda: _quietly(GaussianMixture(10, **options), X[:n])

    def pca(n):
        return lambda: PCA(5).fit(X[:n])

    return {
        "KMeans in rows": law(sizes, k_means),
        "GaussianMixture in rows": law(sizes, gaussian),
        "PCA in rows": law(sizes, pca),
    }


def _quietly(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)
