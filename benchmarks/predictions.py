"""What a service feels: answers of small models for one row, a thousand and a hundred thousand.

Every pair of classes that scikit-learn has too is fitted on 200 rows of 10 features; every method
that answers about rows is a workload for each number of rows. Few rows are asked for many times a
round, so that a round is long enough to be measured.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn import (
    cluster,
    decomposition,
    discriminant_analysis,
    ensemble,
    gaussian_process,
    kernel_ridge,
    linear_model,
    manifold,
    mixture,
    naive_bayes,
    neural_network,
    svm,
)
from sklearn import neighbors as near
from sklearn import tree as trees

from benchmarks.harness import Workload
from panlearn import bayes, kernel, latent, linear, neighbors, tree

METHODS = ("predict", "predict_proba", "transform", "score_samples")
CALLS = {1: 100, 1_000: 10, 100_000: 1}
MANY = 100_000
ROWS, COLUMNS, CLASSES = 200, 10, 3


class Pair(NamedTuple):
    """A class of ours and scikit-learn's, what they learn, and how many rows they are asked for."""

    ours: Any
    theirs: Any
    data: str = "numbers"
    bar: float = 1.0
    most: int = MANY


def rows(n: int, data: str, seed: int) -> np.ndarray:
    """Three clouds; or their signs, sizes or counts, for what learns from such."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, COLUMNS)) + 1.5 * rng.integers(CLASSES, size=(n, 1))
    if data == "bits":
        return (X > 1.5).astype(float)
    if data == "counts":
        return np.clip(np.rint(np.abs(X)), 0, 4)
    return np.abs(X) if data == "sizes" else X


def training(data: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows to fit, with labels, or with numbers where numbers are to be learned."""
    X = rows(ROWS, data, seed=0)
    score = X @ np.linspace(-1, 1, COLUMNS) + np.sin(X[:, 0])
    if data == "targets":
        return X, score
    return X, np.digitize(X.mean(axis=1), np.quantile(X.mean(axis=1), [1 / 3, 2 / 3]))


def first_centres() -> np.ndarray:
    return rows(ROWS, "numbers", seed=0)[:8]


def pairs() -> Iterator[Pair]:
    """Every class that has a counterpart; slow peers are not asked for the most rows."""
    alike: dict[str, Any] = {"random_state": 0}
    for name, data, words in (
        ("LinearRegression", "targets", {}),
        ("Ridge", "targets", {}),
        ("Lasso", "targets", {"alpha": 0.1}),
        ("ElasticNet", "targets", {"alpha": 0.1}),
        ("HuberRegressor", "targets", {}),
        ("LogisticRegression", "numbers", {}),
    ):
        yield Pair(getattr(linear, name)(**words), getattr(linear_model, name)(**words), data)
    # as many passes; by itself theirs ends when the loss stalls, ours when no row is wrong
    passes: dict[str, Any] = {"max_iter": 20}
    yield Pair(linear.Perceptron(**passes), linear_model.Perceptron(**passes, tol=None))
    yield Pair(linear.BayesianLinearRegression(), linear_model.BayesianRidge(), "targets")
    yield Pair(linear.LeastAbsoluteDeviations(), linear_model.QuantileRegressor(alpha=0), "targets")
    yield Pair(kernel.LinearSVC(), svm.LinearSVC())
    yield Pair(kernel.SVC(), svm.SVC(), most=1_000)
    rbf: dict[str, Any] = {"kernel": "rbf", "gamma": 0.1}
    yield Pair(kernel.KernelRidge(**rbf), kernel_ridge.KernelRidge(**rbf), "targets")
    yield Pair(kernel.KernelPCA(3, **rbf), decomposition.KernelPCA(3, **rbf), most=1_000)
    fixed: dict[str, Any] = {"alpha": 0.1, "optimizer": None}
    yield Pair(
        kernel.GaussianProcessRegressor(**fixed),
        gaussian_process.GaussianProcessRegressor(**fixed),
        "targets",
        most=1_000,
    )
    yield Pair(
        kernel.GaussianProcessClassifier(),
        gaussian_process.GaussianProcessClassifier(),
        most=1_000,
    )
    for name in ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"):
        yield Pair(getattr(bayes, name)(), getattr(discriminant_analysis, name)())
    for name, data in (
        ("GaussianNB", "numbers"),
        ("BernoulliNB", "bits"),
        ("MultinomialNB", "counts"),
        ("CategoricalNB", "counts"),
    ):
        yield Pair(getattr(bayes, name)(), getattr(naive_bayes, name)(), data)
    yield Pair(neighbors.KNeighborsClassifier(), near.KNeighborsClassifier())
    yield Pair(neighbors.KNeighborsRegressor(), near.KNeighborsRegressor(), "targets")
    around: dict[str, Any] = {"radius": 10.0}
    yield Pair(
        neighbors.RadiusNeighborsClassifier(**around),
        near.RadiusNeighborsClassifier(**around),
        most=1_000,
    )
    yield Pair(
        neighbors.RadiusNeighborsRegressor(**around),
        near.RadiusNeighborsRegressor(**around),
        "targets",
        most=1_000,
    )
    yield Pair(neighbors.KernelDensity(), near.KernelDensity(), most=1_000)
    yield Pair(tree.DecisionTreeClassifier(), trees.DecisionTreeClassifier(**alike), bar=2.0)
    yield Pair(
        tree.DecisionTreeRegressor(), trees.DecisionTreeRegressor(**alike), "targets", bar=2.0
    )
    for name, data, bar in (
        ("RandomForestClassifier", "numbers", 2.0),
        ("RandomForestRegressor", "targets", 2.0),
        ("BaggingClassifier", "numbers", 1.0),
        ("AdaBoostClassifier", "numbers", 1.0),
    ):
        yield Pair(getattr(tree, name)(**alike), getattr(ensemble, name)(**alike), data, bar)
    start: dict[str, Any] = {"init": first_centres(), "n_init": 1}
    yield Pair(latent.KMeans(8, **start), cluster.KMeans(8, **start))
    yield Pair(latent.PCA(4), decomposition.PCA(4))
    yield Pair(latent.FactorAnalysis(4), decomposition.FactorAnalysis(4))
    yield Pair(latent.NMF(4), decomposition.NMF(4), "sizes")
    yield Pair(latent.GaussianMixture(3, **alike), mixture.GaussianMixture(3, **alike))
    yield Pair(latent.BernoulliRBM(8, **alike), neural_network.BernoulliRBM(8, **alike), "bits")
    yield Pair(latent.Isomap(), manifold.Isomap(), most=1_000)
    yield Pair(latent.LocallyLinearEmbedding(), manifold.LocallyLinearEmbedding(), most=1_000)


def asked(model: Any, method: str, calls: int) -> Any:
    """What a contender does: it answers for the same rows so many times."""

    def run(data: tuple[Any, ...]) -> Any:
        X, y, new = data
        if not hasattr(model, "n_features_in_"):
            model.fit(X, y)
        ask = getattr(model, method)
        for _ in range(calls):
            answer = ask(new)
        return answer

    return run


def data_of(pair: Pair, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return *training(pair.data), rows(n, pair.data, seed=1)


def average(_: Any, answer: np.ndarray) -> dict[str, float]:
    return {"mean": float(np.mean(answer))}


def workloads() -> Iterator[Workload]:
    for pair in pairs():
        name = type(pair.ours).__name__
        for method in METHODS:
            if not (hasattr(pair.ours, method) and hasattr(pair.theirs, method)):
                continue
            for n, calls in CALLS.items():
                if n <= pair.most:
                    yield Workload(
                        f"{name}.{method}, {calls} x {n} rows",
                        name,
                        functools.partial(data_of, pair, n),
                        {
                            "panlearn": asked(pair.ours, method, calls),
                            "scikit-learn": asked(pair.theirs, method, calls),
                        },
                        average,
                        pair.bar,
                    )
