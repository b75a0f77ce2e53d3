"""Least squares and ridge against scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sklearn.linear_model as peer

from benchmarks.harness import Law, Workload, law
from panlearn.linear import LinearRegression, Ridge


def tall(n=1_000_000, d=100, seed=0):
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, d)), rng.standard_normal(d)
    return X, X @ w + 1.5 + 0.5 * rng.standard_normal(n), w


def ill_conditioned(n=100_000, d=50, condition=1e8, seed=0):
    """Columns with singular values from 1 down to 1 / condition, and a target without noise."""
    rng = np.random.default_rng(seed)
    left, _ = np.linalg.qr(rng.standard_normal((n, d)))
    left -= left.mean(axis=0)
    right, _ = np.linalg.qr(rng.standard_normal((d, d)))
    X = np.sqrt(n) * (left * np.geomspace(1, 1 / condition, d)) @ right.T
    w = rng.standard_normal(d)
    return X, X @ w, w


def wide(n=1000, d=20_000, seed=0):
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, d)), rng.standard_normal(d) / np.sqrt(d)
    return X, X @ w + 0.1 * rng.standard_normal(n), w


def fit(model):
    return lambda data: model.fit(*data[:2])


def to_truth(data, model):
    X, y, w = data
    error = np.abs(model.coef_ - w).max()
    residual = y[:20000] - model.predict(X[:20000])
    return {"max |w - truth|": error, "rms residual": np.sqrt(np.mean(residual**2))}


def ridge_gradient(data, model):
    """Largest entry of the objective's gradient relative to that at zero: zero at the optimum."""
    X, y, _ = data
    centred, residual = X - X.mean(axis=0), y - model.predict(X)
    at_zero = np.abs(centred.T @ (y - y.mean())).max()
    return {"relative gradient": np.abs(centred.T @ residual - model.coef_).max() / at_zero}


def workloads() -> Iterator[Workload]:
    yield Workload(
        "least squares 1e6 x 100",
        "LinearRegression",
        tall,
        {"panlearn": fit(LinearRegression()), "scikit-learn": fit(peer.LinearRegression())},
        to_truth,
        bar=10,
    )
    yield Workload(
        "least squares 1e5 x 50, condition 1e8",
        "LinearRegression",
        ill_conditioned,
        {
            "panlearn": fit(LinearRegression()),
            "scikit-learn": fit(peer.LinearRegression()),
        },
        to_truth,
    )
    yield Workload(
        "ridge 1e6 x 100",
        "Ridge",
        tall,
        {"panlearn": fit(Ridge(1.0)), "scikit-learn": fit(peer.Ridge(1.0))},
        ridge_gradient,
        bar=2,
    )
    yield Workload(
        "ridge 1000 x 20000",
        "Ridge",
        wide,
        {"panlearn": fit(Ridge(1.0)), "scikit-learn": fit(peer.Ridge(1.0))},
        ridge_gradient,
    )


def growth() -> dict[str, Law]:
    def rows(n):
        X, y, _ = tall(n, 50)
        return lambda: LinearRegression().fit(X, y)

    def columns(d):
        X, y, _ = tall(50_000, d)
        return lambda: LinearRegression().fit(X, y)

    return {
        "LinearRegression in n from 1e5 to 1e6 (d = 50)": law([100_000, 300_000, 1_000_000], rows),
        "LinearRegression in d from 40 to 400 (n = 5e4)": law([40, 120, 400], columns),
    }
