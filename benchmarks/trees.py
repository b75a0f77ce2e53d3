"""Trees, forests and boosting against scikit-learn, and forests against LightGBM."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from lightgbm import LGBMClassifier
from sklearn import ensemble
from sklearn import tree as peer
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from benchmarks.harness import Law, Workload, law
from panlearn.tree import (
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    RandomForestClassifier,
    RandomForestRegressor,
    RotationForestClassifier,
)


def binary(n=50_000, d=30, seed=0):
    """Training rows and labels, and 10,000 new ones."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + 10_000, d)).astype(np.float32)
    signal = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + (X[:, 3] > 0.5) * X[:, 4]
    signal += 0.5 * X[:, 5] - 0.4 * X[:, 6] ** 2 + 0.4
    y = (signal + 0.5 * rng.standard_normal(n + 10_000) > 0).astype(np.int64)
    return X[:n], y[:n], X[n:], y[n:]


def numbers(n=20_000):
    """The same rows, with the signal itself as target."""
    X, y, X_new, y_new = binary(n)
    return X, y + X[:, 5], X_new, y_new + X_new[:, 5]


def categories(n=20_000, d=12, seed=0):
    """Attributes of five categories, and labels from a few of them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(5, size=(n + 5_000, d))
    y = ((X[:, 0] == 1) ^ (X[:, 1] > 2)) | ((X[:, 2] == X[:, 3]) & (rng.random(len(X)) < 0.9))
    return X[:n], y[:n], X[n:], y[n:]


def many_classes(n=20_000, d=24, k=30, seed=0):
    """Overlapping clouds, one a class, and 5,000 new rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n + 5_000)
    X = (rng.standard_normal((k, d))[y] + rng.standard_normal((len(y), d))).astype(np.float32)
    return X[:n], y[:n], X[n:], y[n:]


def few_classes():
    return many_classes(24_000, k=3)


def many_columns(n=200, d=5_000, seed=0):
    """Few rows with many columns, of which ten tell the class; 1,000 new rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n + 1_000)
    X = rng.standard_normal((len(y), d)).astype(np.float32)
    X[:, :10] += 1.5 * y[:, None]
    return X[:n], y[:n], X[n:], y[n:]


def digits():
    X, y = load_digits(return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


def fit(model):
    return lambda data: model.fit(*data[:2])


def score(data, model):
    result = {"score on new rows": model.score(*data[2:])}
    return result | {"leaves of a tree": leaves(model)} if hasattr(model, "estimators_") else result


def leaves(model):
    """Mean number of leaves of the members of a forest."""
    trees = [getattr(member, "tree_", None) for member in np.ravel(model.estimators_)]
    return np.mean([tree.n_leaves for tree in trees if tree is not None])


def forest_mode(**parameters):
    """LightGBM as a random forest: trees on samples, which are averaged."""
    return LGBMClassifier(
        boosting_type="rf",
        n_estimators=100,
        bagging_freq=1,
        bagging_fraction=0.632,
        n_jobs=2,
        verbose=-1,
        random_state=0,
        **parameters,
    )


def leaf_score(data, model):
    if not hasattr(model, "booster_"):
        return score(data, model)
    trees = model.booster_.dump_model()["tree_info"]
    size = np.mean([tree["num_leaves"] for tree in trees])
    return {"score on new rows": model.score(*data[2:]), "leaves of a tree": size}


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
    )
    for name, build in (
        ("random forest of 60, 2e4 x 24 of 30 classes, 2 threads", many_classes),
        ("random forest of 60, 2.4e4 x 24 of 3 classes, 2 threads", few_classes),
        ("random forest of 60, 200 x 5000, 2 threads", many_columns),
    ):
        yield Workload(
            name,
            "RandomForestClassifier",
            build,
            {
                "panlearn": fit(RandomForestClassifier(60, n_jobs=2, random_state=0)),
                "scikit-learn": fit(ensemble.RandomForestClassifier(60, n_jobs=2, random_state=0)),
            },
            score,
        )
    yield Workload(
        "random forest of 100 trees of depth 8, 15 features a node, 5e4 x 30, 2 threads",
        "RandomForestClassifier",
        binary,
        {
            "panlearn": fit(
                RandomForestClassifier(100, max_depth=8, max_features=15, n_jobs=2, random_state=0)
            ),
            "lightgbm": fit(forest_mode(num_leaves=255, max_depth=8, feature_fraction=0.5)),
        },
        leaf_score,
    )
    yield Workload(
        "random forest of 30 regression trees, 2e4 x 30, 2 threads",
        "RandomForestRegressor",
        numbers,
        {
            "panlearn": fit(RandomForestRegressor(30, n_jobs=2, random_state=0)),
            "scikit-learn": fit(ensemble.RandomForestRegressor(30, n_jobs=2, random_state=0)),
        },
        score,
    )
    yield Workload(
        "bagging of 10 trees, 2e4 x 30",
        "BaggingClassifier",
        lambda: binary(20_000),
        {
            "panlearn": fit(BaggingClassifier(n_estimators=10, random_state=0)),
            "scikit-learn": fit(ensemble.BaggingClassifier(n_estimators=10, random_state=0)),
        },
        score,
    )
    yield Workload(
        "rotation forest of 20 on half of the digits",
        "RotationForestClassifier",
        digits,
        {
            "panlearn": fit(RotationForestClassifier(random_state=0)),
            "scikit-learn's random forest": fit(
                ensemble.RandomForestClassifier(20, random_state=0)
            ),
        },
        score,
        bar=0.0,  # for the score: no library at hand has rotation forests
    )
    yield Workload(
        "ID3 on 2e4 x 12 of five categories",
        "ID3Classifier",
        categories,
        {
            "panlearn": fit(ID3Classifier()),
            "scikit-learn on columns of 0 and 1": fit(
                make_pipeline(OneHotEncoder(), peer.DecisionTreeClassifier(criterion="entropy"))
            ),
        },
        score,
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
    )


def growth() -> dict[str, Law]:
    def rows(n):
        data = binary(n)
        return lambda: DecisionTreeClassifier().fit(*data[:2])

    return {
        "DecisionTreeClassifier in n from 1e4 to 4e4 (d = 30)": law([10_000, 20_000, 40_000], rows)
    }
