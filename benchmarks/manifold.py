"""Manifolds, Boltzmann machines and Dirichlet-process mixtures against scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sklearn.manifold as peer
from sklearn.datasets import load_digits, make_swiss_roll
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture
from sklearn.neural_network import BernoulliRBM as PeerRBM

from benchmarks.harness import Law, Workload, law
from panlearn.latent import (
    BernoulliRBM,
    DirichletProcessMixture,
    Isomap,
    LocallyLinearEmbedding,
)


def roll(n):
    return make_swiss_roll(n, noise=0.05, random_state=0)[0]


def pictures():
    return load_digits().data / 16


def blobs(n=2000):
    """Rows for training, rows for testing, and the truth of the former."""
    rng = np.random.default_rng(0)
    centres, label = 6 * rng.normal(size=(6, 4)), rng.integers(6, size=2 * n)
    X = centres[label] + rng.normal(size=(2 * n, 4))
    return X[:n], X[n:], label[:n]


def pseudo_likelihood(X, model):
    """The same measure of both: ours, with the weights of either."""
    twin = BernoulliRBM(len(model.components_), n_iter=1).fit(X[:10])
    for name in ("components_", "intercept_hidden_", "intercept_visible_"):
        setattr(twin, name, np.asarray(getattr(model, name), dtype=float))
    return {"pseudo-log-likelihood": twin.score(X)}


def mixture_quality(data, model):
    X, new, label = data
    found = model.predict(X)
    return {
        "held-out log density": float(np.mean(model.score_samples(new))),
        "adjusted Rand index": adjusted_rand_score(label, found),
        "clusters": len(np.unique(found)),
    }


def workloads() -> Iterator[Workload]:
    yield Workload(
        "Isomap 2000 x 3, 10 neighbours",
        "latent.Isomap",
        lambda: roll(2000),
        {
            "panlearn": lambda X: Isomap(10).fit(X),
            "scikit-learn": lambda X: peer.Isomap(n_neighbors=10).fit(X),
        },
        lambda X, m: {"reconstruction error": m.reconstruction_error()},
    )
    yield Workload(
        "LocallyLinearEmbedding 5000 x 3, 12 neighbours",
        "latent.LocallyLinearEmbedding",
        lambda: roll(5000),
        {
            "panlearn": lambda X: LocallyLinearEmbedding(12).fit(X),
            "scikit-learn": lambda X: peer.LocallyLinearEmbedding(
                n_neighbors=12, eigen_solver="arpack", random_state=0
            ).fit(X),
        },
        lambda X, m: {"reconstruction error": m.reconstruction_error_},
    )
    for size in (10, 100):
        options = dict(n_components=128, learning_rate=0.05, n_iter=10, batch_size=size)
        yield Workload(
            f"BernoulliRBM 1797 x 64, 128 units, batches of {size}, 10 passes",
            "latent.BernoulliRBM",
            pictures,
            {
                "panlearn": lambda X, options=options: BernoulliRBM(**options, random_state=0).fit(
                    X
                ),
                "scikit-learn": lambda X, options=options: PeerRBM(**options, random_state=0).fit(
                    X
                ),
            },
            pseudo_likelihood,
        )
    yield Workload(
        "DirichletProcessMixture 2000 x 4, 100 sweeps (the peer: variational, 20 components)",
        "latent.DirichletProcessMixture",
        blobs,
        {
            "panlearn": lambda data: DirichletProcessMixture(
                n_iter=100, n_burn_in=50, random_state=0
            ).fit(data[0]),
            "scikit-learn": lambda data: BayesianGaussianMixture(
                n_components=20, weight_concentration_prior=1.0, max_iter=500, random_state=0
            ).fit(data[0]),
        },
        mixture_quality,
    )


def growth() -> dict[str, Law]:
    def isomap(n):
        X = roll(n)
        return lambda: Isomap(10).fit(X)

    def lle(n):
        X = roll(n)
        return lambda: LocallyLinearEmbedding(12).fit(X)

    def mixture(n):
        X = blobs(n)[0]
        return lambda: DirichletProcessMixture(n_iter=10, n_burn_in=5, random_state=0).fit(X)

    return {
        "Isomap in rows": law([500, 1000, 2000], isomap),
        "LocallyLinearEmbedding in rows": law([2000, 4000, 8000], lle),
        "DirichletProcessMixture in rows": law([1000, 2000, 4000], mixture),
    }
