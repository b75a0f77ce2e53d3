"""Other shapes than those of the headlines: few rows of many columns, and many classes or rows.

The classes are those of `predictions`, each beside scikit-learn's. Every one is fitted to 150 rows
of 3,000 columns; classifiers to 40 classes of 5,000 rows, the others to 20,000 rows. What grows
with the square of the rows gets fewer. Neighbours are asked for, too: a fit alone only keeps rows.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from benchmarks.harness import Workload
from benchmarks.predictions import MANY, Pair, pairs
from benchmarks.small_fits import fitted, quality

WIDE = 150, 3_000
CLASSES, WITH_CLASSES, WITHOUT = 40, (5_000, 20), (20_000, 20)
# Of more rows these take minutes, ours or the peer's.
FEWER = {
    "LeastAbsoluteDeviations": (2_000, 20),
    "GaussianProcessRegressor": (1_000, 20),
    "GaussianProcessClassifier": (200, 20),
    "Isomap": (1_000, 20),
    "LocallyLinearEmbedding": (2_000, 20),
    "KernelPCA": (2_000, 20),
    "KernelRidge": (3_000, 20),
    "KNeighborsRegressor": (5_000, 20),
    "RadiusNeighborsClassifier": (2_000, 20),
    "RadiusNeighborsRegressor": (2_000, 20),
    "KernelDensity": (2_000, 20),
}
ASKED = {"predict": 1_000, "score_samples": 100}  # rows that neighbours are looked for


def rows(shape: tuple[int, int], data: str, classes: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Clouds of classes or their signs, sizes or counts, labels or numbers, and one fit a round."""
    n, d = shape
    rng = np.random.default_rng(0)
    labels = np.arange(n) % classes
    X = rng.standard_normal((n, d)) + rng.standard_normal((classes, d))[labels]
    y = X[:, :10] @ np.linspace(-1, 1, 10) + rng.standard_normal(n) if data == "targets" else labels
    if data == "bits":
        X = (X > 0).astype(float)
    elif data == "counts":
        X = np.clip(np.rint(np.abs(X)), 0, 4)
    elif data == "sizes":
        X = np.abs(X)
    return X, y, 1


Shapes = dict[str, tuple[tuple[int, int], int]]


def shapes(pair: Pair) -> Shapes:
    """The name of each shape, with rows, columns and classes."""
    name = type(pair.ours).__name__
    # scikit-learn refuses covariances of fewer rows than columns
    singular = name == "QuadraticDiscriminantAnalysis"
    found: Shapes = {} if singular else {"{} x {}".format(*WIDE): (WIDE, 3)}
    if is_classifier(pair.ours):
        n, d = FEWER.get(name, WITH_CLASSES)
        classes = CLASSES if pair.most == MANY else 5
        found[f"{n} x {d}, {classes} classes"] = (n, d), classes
    else:
        n, d = FEWER.get(name, WITHOUT)
        found[f"{n} x {d}"] = (n, d), 3
    return found


def learned(model: Any) -> Any:
    """What a contender does: it learns, and answers if to learn is to keep the rows."""
    lazy = "neighbors" in type(model).__module__

    def run(data: tuple[Any, ...]) -> Any:
        fitted(same_start(model, data[0]))(data)
        for method, most in ASKED.items():
            if lazy and hasattr(model, method):
                getattr(model, method)(data[0][:most])
        return model

    return run


def same_start(model: Any, X: np.ndarray) -> Any:
    """Clusters begin at the first rows, of whatever width; the factors of the peer are exact.

    Of many columns its randomised ones, the default, end far below the highest likelihood.
    """
    if type(model).__name__ == "KMeans":
        return model.set_params(init=X[:8])
    return model.set_params(svd_method="lapack") if hasattr(model, "svd_method") else model


def workloads() -> Iterator[Workload]:
    for pair in pairs():
        name = type(pair.ours).__name__
        for words, (shape, classes) in shapes(pair).items():
            data = functools.partial(rows, shape, pair.data, classes)
            yield Workload(
                f"{name} on {words}",
                name,
                data,
                {"panlearn": learned(pair.ours), "scikit-learn": learned(pair.theirs)},
                quality,
            )
