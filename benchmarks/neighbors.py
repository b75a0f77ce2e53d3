"""Nearest neighbours against scikit-learn and SciPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sklearn.neighbors as peer
from scipy.spatial import cKDTree

from benchmarks.harness import Law, Workload, law
from panlearn.neighbors import KernelDensity, KNeighborsClassifier, RadiusNeighborsClassifier


def clusters(n=50_000, m=10_000, d=32, seed=0):
    rng = np.random.default_rng(seed)
    centres, label = 1.2 * rng.standard_normal((20, d)), rng.integers(0, 20, n + m)
    X = centres[label] + rng.standard_normal((n + m, d))
    return X[:n], label[:n], X[n:], label[n:]


def flat():
    return clusters(200_000, 100_000, 3)


def find(model):
    return lambda data: model.fit(*data[:2]).kneighbors(data[2])


def tree(data):
    return cKDTree(data[0]).query(data[2], 10, workers=-1)


def surround(model):
    return lambda data: model.fit(*data[:2]).radius_neighbors_graph(data[2], mode="distance")


def ball(data, graph):
    return {"neighbours": graph.nnz, "sum of distances": graph.sum()}


def distances(data, found):
    return {"sum of distances": found[0].sum()}


def accuracy(data, labels):
    return {"accuracy": np.mean(labels == data[3])}


def label(model):
    return lambda data: model.fit(*data[:2]).predict(data[2])


def density(model):
    return lambda data: model.fit(data[0]).score_samples(data[2])


def mean_log(data, logs):
    return {"mean log density": logs.mean()}


def workloads() -> Iterator[Workload]:
    brute = peer.KNeighborsClassifier(10, algorithm="brute", n_jobs=-1)
    ours = KNeighborsClassifier(10)
    yield Workload(
        "10 neighbours 5e4 / 1e4 in 32 dimensions",
        "KNeighborsClassifier",
        clusters,
        {"panlearn": find(ours), "scikit-learn brute": find(brute)},
        distances,
    )
    yield Workload(
        "10 neighbours 2e5 / 1e5 in 3 dimensions",
        "KNeighborsClassifier",
        flat,
        {
            "panlearn": find(ours),
            "scipy cKDTree": tree,
            "scikit-learn kd_tree": find(
                peer.KNeighborsClassifier(10, algorithm="kd_tree", n_jobs=-1)
            ),
        },
        distances,
    )
    yield Workload(
        "classify 5e4 / 1e4 in 32 dimensions",
        "KNeighborsClassifier",
        clusters,
        {"panlearn": label(ours), "scikit-learn brute": label(brute)},
        accuracy,
    )
    around = {"radius": 0.3, "outlier_label": -1}
    for name, ask, quality in (
        ("all within 0.3, 5e4 / 1e4 in 3 dimensions", surround, ball),
        ("classify by all within 0.3, 5e4 / 1e4 in 3 dimensions", label, accuracy),
    ):
        yield Workload(
            name,
            "RadiusNeighborsClassifier",
            lambda: clusters(d=3),
            {
                "panlearn": ask(RadiusNeighborsClassifier(**around)),
                "scikit-learn": ask(peer.RadiusNeighborsClassifier(**around, n_jobs=-1)),
            },
            quality,
        )
    yield Workload(
        "kernel density 2e4 / 2e3 in 3 dimensions",
        "KernelDensity",
        lambda: clusters(20_000, 2_000, 3),
        {
            "panlearn": density(KernelDensity(0.5)),
            "scikit-learn": density(peer.KernelDensity(bandwidth=0.5)),
        },
        mean_log,
    )


def growth() -> dict[str, Law]:
    def rows(n):
        data = clusters(n, 500)
        return lambda: KNeighborsClassifier(10).fit(*data[:2]).kneighbors(data[2])

    return {"KNeighborsClassifier in n (d = 32)": law([20_000, 60_000, 200_000], rows)}
