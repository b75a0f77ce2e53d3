"""Logistic regression and the perceptron against scikit-learn and skglm."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sklearn.linear_model as peer
from scipy import sparse
from scipy.special import logsumexp

from benchmarks.harness import Law, Workload, law
from panlearn.linear import LogisticRegression, Perceptron


def binary(n=200_000, d=100, seed=0):
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, d)), 0.3 * rng.standard_normal(d)
    return X, (rng.random(n) < 1 / (1 + np.exp(-(X @ w + 0.2)))).astype(np.int64)


def multinomial(n=50_000, d=50, k=10, seed=0):
    rng = np.random.default_rng(seed)
    X, W = rng.standard_normal((n, d)), 0.3 * rng.standard_normal((d, k))
    return X, (X @ W + rng.gumbel(size=(n, k))).argmax(axis=1)


def separable(n=100_000, d=50, seed=0):
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, d)), rng.standard_normal(d)
    score = X @ w / np.linalg.norm(w)
    return X[np.abs(score) > 0.1], (score[np.abs(score) > 0.1] > 0).astype(np.int64)


def wide(n=2000, d=6000, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=0.02, rng=rng, format="csr")
    w = rng.standard_normal(d) * (rng.random(d) < 0.2)
    return X, (X @ w + 0.3 * rng.standard_normal(n) > 0).astype(np.int64)


def fit(model):
    return lambda data: model.fit(*data)


def objective(C=1.0, l1_ratio=0.0):
    def quality(data, model):
        X, y = data
        Z = X @ model.coef_.T + model.intercept_
        Z = np.column_stack([np.zeros(len(Z)), Z[:, 0]]) if Z.shape[1] == 1 else Z
        loss = np.sum(logsumexp(Z, axis=1) - Z[np.arange(len(y)), y])
        w = model.coef_
        penalty = 0.5 * (1 - l1_ratio) * np.sum(w * w) + l1_ratio * np.abs(w).sum()
        return {"objective": C * loss + penalty, "non-zero": np.count_nonzero(w)}

    return quality


def accuracy(data, model):
    return {"accuracy": model.score(*data), "passes": model.n_iter_}


def skglm_l1(alpha):
    from skglm import SparseLogisticRegression

    return fit(SparseLogisticRegression(alpha=alpha))


def workloads() -> Iterator[Workload]:
    def solvers(*names):
        return {
            f"scikit-learn {name}": fit(peer.LogisticRegression(solver=name, max_iter=1000))
            for name in names
        }

    yield Workload(
        "logistic binary 2e5 x 100",
        "LogisticRegression",
        binary,
        {"panlearn": fit(LogisticRegression()), **solvers("lbfgs", "newton-cholesky")},
        objective(),
    )
    yield Workload(
        "logistic multinomial 5e4 x 50 x 10",
        "LogisticRegression",
        multinomial,
        {"panlearn": fit(LogisticRegression()), **solvers("lbfgs", "newton-cg")},
        objective(),
    )
    for name, shape in (
        ("logistic multinomial 1e4 x 30 x 50", (10_000, 30, 50)),
        ("logistic multinomial 200 x 5000 x 3", (200, 5000, 3)),
    ):
        yield Workload(
            name,
            "LogisticRegression",
            lambda shape=shape: multinomial(*shape),
            {"panlearn": fit(LogisticRegression()), **solvers("lbfgs")},
            objective(),
        )
    C = 1 / (1e-3 * 200_000)
    yield Workload(
        "logistic l1 2e5 x 100",
        "LogisticRegression",
        binary,
        {
            "panlearn": fit(LogisticRegression(C=C, l1_ratio=1)),
            "scikit-learn liblinear": fit(
                peer.LogisticRegression(C=C, l1_ratio=1, solver="liblinear")
            ),
            "skglm": skglm_l1(1e-3),
        },
        objective(C, 1.0),
    )
    yield Workload(
        "logistic l1, sparse 2000 x 6000, 970 columns stay",
        "LogisticRegression",
        wide,
        {
            "panlearn": fit(LogisticRegression(l1_ratio=1)),
            # without a large scaling it penalises the intercept
            "scikit-learn liblinear": fit(
                peer.LogisticRegression(
                    l1_ratio=1, solver="liblinear", intercept_scaling=100, tol=1e-6, max_iter=1000
                )
            ),
        },
        objective(1.0, 1.0),
    )
    yield Workload(
        "perceptron 1e5 x 50",
        "Perceptron",
        separable,
        {
            "panlearn": fit(Perceptron()),
            # as many passes as it takes to have a clean one, which the peer does not look for
            "scikit-learn": fit(peer.Perceptron(shuffle=False, tol=None, max_iter=8)),
        },
        accuracy,
    )


def growth() -> dict[str, Law]:
    def rows(n):
        data = binary(n, 50)
        return lambda: LogisticRegression().fit(*data)

    def columns(d):
        data = binary(20_000, d)
        return lambda: LogisticRegression().fit(*data)

    return {
        "LogisticRegression in n from 3e4 to 3e5 (d = 50)": law([30_000, 100_000, 300_000], rows),
        "LogisticRegression in d from 40 to 400 (n = 2e4)": law([40, 120, 400], columns),
    }
