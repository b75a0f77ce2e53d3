"""Support vector machines against libsvm and liblinear, which are scikit-learn's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import sklearn.svm as peer
from scipy import sparse

from benchmarks.harness import Workload
from panlearn.kernel import SVC, LinearSVC
from panlearn.kernel.kernels import RBF

GAMMA = 0.05


def curved(n=10_000, d=20, seed=0):
    """Two classes with a curved border and some noise; 2000 more rows to test on."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + 2000, d))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    f += 0.3 * (X[:, 4:8] ** 2).sum(axis=1) - 1.2
    y = np.where(f + 0.3 * rng.standard_normal(len(f)) > 0, 1, -1)
    return X[:n], y[:n], X[n:], y[n:]


def flat(n, d, seed=0):
    """Two classes with a linear border and much noise."""
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, d)), rng.standard_normal(d)
    noise = 0.5 * np.linalg.norm(w) * rng.standard_normal(n)
    return X, np.where(X @ w + noise > 0, 1, -1)


def words(n=50_000, d=20_000, length=60, seed=0):
    """Rows of counts like those of texts, of unit length, few of them not zero."""
    rng = np.random.default_rng(seed)
    columns = (rng.zipf(1.3, size=n * length) % d).astype(np.int32)
    ends = np.arange(n + 1, dtype=np.int32) * length
    X = sparse.csr_array((np.ones(n * length), columns, ends), shape=(n, d))
    X.sum_duplicates()
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    f = X @ rng.standard_normal(d)
    return X, np.where(f - 0.3 + 0.3 * f.std() * rng.standard_normal(n) > 0, 1, -1)


def fit(model):
    return lambda data: model.fit(data[0], data[1])


def kernel_quality(data, model):
    """The dual value with the exact kernel, on as many support vectors as fit."""
    X, _, new, labels = data
    found = {"support vectors": len(model.support_), "test accuracy": model.score(new, labels)}
    if len(X) > 20_000:
        return found
    coef, S = model.dual_coef_[0], X[model.support_]
    kernel = RBF(1 / np.sqrt(2 * GAMMA))
    squared = sum(
        coef[i : i + 500] @ kernel(S[i : i + 500], S) @ coef for i in range(0, len(S), 500)
    )
    return {"dual objective": np.abs(coef).sum() - squared / 2, **found}


def linear_quality(data, model):
    X, y = data[:2]
    gap = np.maximum(0, 1 - y * (X @ model.coef_[0] + model.intercept_[0]))
    loss = gap.sum() if model.loss == "hinge" else gap @ gap
    return {"objective": 0.5 * np.sum(model.coef_**2) + loss, "iterations": model.n_iter_}


def workloads() -> Iterator[Workload]:
    yield Workload(
        "SVC RBF 1e4 x 20",
        "SVC",
        curved,
        {
            "panlearn": fit(SVC(1.0, gamma=GAMMA)),
            "scikit-learn": fit(peer.SVC(C=1.0, gamma=GAMMA)),
        },
        kernel_quality,
    )
    yield Workload(
        "SVC RBF C=100 5000 x 20",
        "SVC",
        partial(curved, 5000),
        {
            "panlearn": fit(SVC(100.0, gamma=GAMMA)),
            "scikit-learn": fit(peer.SVC(C=100.0, gamma=GAMMA)),
        },
        kernel_quality,
    )
    for n, d in ((10_000, 20), (100_000, 50)):
        for loss in ("squared_hinge", "hinge"):
            yield Workload(
                f"LinearSVC {loss} {n:.0e} x {d}",
                "LinearSVC",
                partial(flat, n, d),
                {
                    "panlearn": fit(LinearSVC(loss=loss)),
                    "scikit-learn": fit(peer.LinearSVC(loss=loss, random_state=0)),
                },
                linear_quality,
            )
    for loss in ("squared_hinge", "hinge"):
        yield Workload(
            f"LinearSVC {loss} sparse 5e4 x 2e4",
            "LinearSVC",
            words,
            {
                "panlearn": fit(LinearSVC(loss=loss, random_state=0)),
                "scikit-learn": fit(peer.LinearSVC(loss=loss, random_state=0, dual=True)),
            },
            linear_quality,
        )
    # the long one: its memory, in the column beside, is the bar
    yield Workload(
        "SVC RBF 5e4 x 20, memory (long)",
        "SVC",
        partial(curved, 50_000),
        {"panlearn": fit(SVC(1.0, gamma=GAMMA, cache_size=1000))},
        kernel_quality,
    )
