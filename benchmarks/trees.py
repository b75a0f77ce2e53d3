"""Trees, forests and boosting against scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn import ensemble
from sklearn import tree as peer

from benchmarks.harness import Workload, exponent
from panlearn.tree import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
)


def binary(n=50_000, d=30, seed=0):
    """Training rows and labels, and 10,000 new ones."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + 10_000, d)).astype(np.float32)
    signal = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + (X[:, 3] > 0.5) * X[:, 4]
    signal += 0.5 * X[:, 5] - 0.4 * X[:, 6] ** 2 + 0.4
    y = (signal + 0.5 * rng.standard_normal(n + 10_000) > 0).astype(np.int64)
    return X[:n], y[:n], X[n:], y[n:]


def fit(model):
    return lambda data: model.fit(*data[:2])


def score(data, model):
    return {"score on new rows": model.score(*data[2:])}


def workloads() -> Iterator[Workload]:
    yield Workload(
        "tree of full depth 5e4 x 30",
        "DecisionTreeClassifier",
        binary,
        {
            "panlearn": fit(DecisionTreeClassifier()),
            "scikit-learn": fit(peer.DecisionTreeClassifier(random_state=0)),
        },
        score,
        bar=2.0,
        repeats=3,
    )
    yield Workload(
        "regression tree of depth 10, 5e4 x 30",
        "DecisionTreeRegressor",
        binary,
        {
            "panlearn": fit(DecisionTreeRegressor(max_depth=10)),
            "scikit-learn": fit(peer.DecisionTreeRegressor(max_depth=10, random_state=0)),
        },
        score,
        bar=2.0,
        repeats=3,
    )
    yield Workload(
        "random forest of 100, 5e4 x 30, 2 threads",
        "RandomForestClassifier",
        binary,
        {
            "panlearn": fit(RandomForestClassifier(100, n_jobs=2, random_state=0)),
            "scikit-learn": fit(ensemble.RandomForestClassifier(100, n_jobs=2, random_state=0)),
        },
        score,
        bar=5.0,
        repeats=1,
    )
    yield Workload(
        "AdaBoost of 100 stumps, 5e4 x 30",
        "AdaBoostClassifier",
        binary,
        {
            "panlearn": fit(AdaBoostClassifier(n_estimators=100)),
            "scikit-learn": fit(ensemble.AdaBoostClassifier(n_estimators=100, random_state=0)),
        },
        score,
        bar=20.0,
        repeats=1,
    )


def growth() -> dict[str, float]:
    def rows(n):
        data = binary(n)
        return lambda: DecisionTreeClassifier().fit(*data[:2])

    return {
        "DecisionTreeClassifier in n from 1e4 to 4e4 (d = 30)": exponent(
            [10_000, 20_000, 40_000], rows
        )
    }
