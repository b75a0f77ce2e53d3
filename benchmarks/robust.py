"""Robust, recursive and Bayesian regression against their peers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np
import sklearn.linear_model as peer

from benchmarks.harness import Workload
from panlearn.linear import (
    BayesianLinearRegression,
    HuberRegressor,
    LeastAbsoluteDeviations,
    RecursiveLeastSquares,
)


def contaminated(n, d):
    """Rows with a tenth of Cauchy outliers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + 1 + rng.normal(size=n)
    out = rng.random(n) < 0.1
    y[out] += 20 * rng.standard_cauchy(out.sum())
    return X, y


def huber_objective(model, X, y):
    z = (y - X @ model.coef_ - model.intercept_) / model.scale_
    e = model.epsilon
    loss = np.where(np.abs(z) <= e, z**2, 2 * e * np.abs(z) - e**2)
    return float(np.sum(model.scale_ * (1 + loss)) + model.alpha * model.coef_ @ model.coef_)


def absolute_deviations(model, X, y):
    if hasattr(model, "params"):
        return float(np.abs(y - np.column_stack([X, np.ones(len(y))]) @ model.params).sum())
    return float(np.abs(y - model.predict(X)).sum())


def mean_log_density(model, X, y):
    mean, std = model.predict(X, return_std=True)
    return float(np.mean(-0.5 * ((y - mean) / std) ** 2 - np.log(std * np.sqrt(2 * np.pi))))


def squared_error(model, X, y):
    return float(np.mean((y - model.predict(X)) ** 2))


def quantreg(X, y):
    from statsmodels.api import QuantReg

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return QuantReg(y, np.column_stack([X, np.ones(len(y))])).fit(q=0.5)


def one_by_one(X, y):
    model = RecursiveLeastSquares()
    for i in range(len(y)):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    return model


def on_rows(method):
    return lambda data: method(*data)


def measured(name, quality):
    return lambda data, model: {name: quality(model, *data)}


def workloads() -> Iterator[Workload]:
    for d in (20, 50):
        yield Workload(
            f"Huber regression 1e5 x {d}",
            "HuberRegressor",
            partial(contaminated, 100_000, d),
            {
                "panlearn": on_rows(HuberRegressor().fit),
                "scikit-learn": on_rows(peer.HuberRegressor(max_iter=1000).fit),
            },
            measured("objective", huber_objective),
        )
    for n in (2000, 20_000):
        yield Workload(
            f"least absolute deviations {n} x 20",
            "LeastAbsoluteDeviations",
            partial(contaminated, n, 20),
            {
                "panlearn": on_rows(LeastAbsoluteDeviations().fit),
                "statsmodels": on_rows(quantreg),
            },
            measured("sum of absolute deviations", absolute_deviations),
        )
    yield Workload(
        "Bayesian regression 1e5 x 50",
        "BayesianLinearRegression",
        partial(contaminated, 100_000, 50),
        {
            "panlearn": on_rows(BayesianLinearRegression().fit),
            "scikit-learn": on_rows(peer.BayesianRidge().fit),
        },
        measured("mean log density", mean_log_density),
    )
    yield Workload(
        "recursive least squares, a block of 2e5 rows x 20",
        "RecursiveLeastSquares",
        partial(contaminated, 200_000, 20),
        {"panlearn": lambda data: RecursiveLeastSquares().partial_fit(*data)},
        measured("mean squared error", squared_error),
    )
    yield Workload(
        "recursive least squares, 1000 calls of one row x 20",
        "RecursiveLeastSquares",
        partial(contaminated, 1000, 20),
        {"panlearn": on_rows(one_by_one)},
        measured("mean squared error", squared_error),
    )
