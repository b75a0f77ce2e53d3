"""Naive Bayes and discriminant analysis against scikit-learn, and a file larger than memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import sklearn.discriminant_analysis as discriminants
import sklearn.naive_bayes as naive
from scipy import sparse

import panlearn
from benchmarks.harness import Workload
from panlearn.bayes import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    QuadraticDiscriminantAnalysis,
)


def normal(n=1_000_000, d=50, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    X = rng.standard_normal((n, d))
    X += 0.3 * rng.standard_normal((k, d))[y]
    return X, y


def words(n=200_000, d=20_000, k=20, per_row=50, seed=0):
    """Documents as sparse counts of words; each class has words of its own."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    column = (d * rng.random((n, per_row)) ** 3).astype(np.int32)
    own = rng.random((n, per_row)) < 0.1
    column = np.where(own, (column + (y * (d // k))[:, None]) % d, column)
    rows = np.repeat(np.arange(n), per_row)
    X = sparse.coo_array((np.ones(n * per_row), (rows, column.ravel())), shape=(n, d)).tocsr()
    return X, y


def categories(n=500_000, d=20, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    return rng.binomial(9, 0.3 + 0.1 * y[:, None], size=(n, d)), y


def parquet(n=10_000_000, d=10):
    """A file of 10 columns and a label, written once for all contenders."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(tempfile.gettempdir()) / f"panlearn-{n}x{d}.parquet"
    if not path.exists():
        X, y = normal(n // 20, d)
        table = pa.table({f"x{j}": X[:, j] for j in range(d)} | {"target": y})
        with pq.ParquetWriter(path, table.schema, compression="none") as writer:
            for _ in range(20):
                writer.write_table(table, row_group_size=100_000)
    return path


def fit(model):
    return lambda data: model.fit(*data)


def stream(model):
    return lambda path: model.fit(panlearn.read_parquet(path, target="target"))


def batches(model):
    """What one does with scikit-learn: partial_fit on the batches of pyarrow."""

    def run(path):
        import pyarrow.parquet as pq

        for batch in pq.ParquetFile(path).iter_batches(65536):
            frame = batch.to_pandas()
            X, y = frame.drop(columns="target").to_numpy(), frame["target"].to_numpy()
            model.partial_fit(X, y, classes=[0, 1, 2])
        return model

    return run


def accuracy(data, model):
    X, y = data
    return {"accuracy": model.score(X[:20_000], y[:20_000])}


def nothing(data, model):
    return {"features": model.n_features_in_}


def workloads() -> Iterator[Workload]:
    for name, build, ours, peer in [
        ("Gaussian naive Bayes 1e6 x 50", normal, GaussianNB(), naive.GaussianNB()),
        ("multinomial 2e5 x 2e4 sparse, 20 classes", words, MultinomialNB(), naive.MultinomialNB()),
        ("Bernoulli 2e5 x 2e4 sparse, 20 classes", words, BernoulliNB(), naive.BernoulliNB()),
        ("categorical 5e5 x 20", categories, CategoricalNB(), naive.CategoricalNB()),
        (
            "linear discriminants 1e6 x 50",
            normal,
            LinearDiscriminantAnalysis(),
            discriminants.LinearDiscriminantAnalysis(),
        ),
        (
            "linear discriminants 1e6 x 50, lsqr",
            normal,
            LinearDiscriminantAnalysis("lsqr"),
            discriminants.LinearDiscriminantAnalysis("lsqr"),
        ),
        (
            "quadratic discriminants 1e6 x 50",
            normal,
            QuadraticDiscriminantAnalysis(),
            discriminants.QuadraticDiscriminantAnalysis(),
        ),
    ]:
        contenders = {"panlearn": fit(ours), "scikit-learn": fit(peer)}
        yield Workload(name, type(ours).__name__, build, contenders, accuracy)
    yield Workload(
        "Gaussian naive Bayes, 1e7 x 10 from a Parquet file",
        "GaussianNB",
        parquet,
        {"panlearn": stream(GaussianNB()), "scikit-learn": batches(naive.GaussianNB())},
        nothing,
    )
    yield Workload(
        "quadratic discriminants, 1e7 x 10 from a Parquet file",
        "QuadraticDiscriminantAnalysis",
        parquet,
        {"panlearn": stream(QuadraticDiscriminantAnalysis())},
        nothing,
    )
