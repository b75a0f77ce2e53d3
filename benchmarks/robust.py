"""Robust, recursive and Bayesian regression against their peers."""

import warnings

import numpy as np

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


def workloads():
    """Yield dicts: name, data() -> (X, y), methods {label: f(X, y) -> model}, quality, better."""
    from sklearn.linear_model import BayesianRidge
    from sklearn.linear_model import HuberRegressor as PeerHuber

    for d in (20, 50):
        yield dict(
            name=f"Huber regression 1e5 x {d}",
            data=lambda d=d: contaminated(100_000, d),
            methods={
                "panlearn": lambda X, y: HuberRegressor().fit(X, y),
                "scikit-learn": lambda X, y: PeerHuber(max_iter=1000).fit(X, y),
            },
            quality=huber_objective,
            better="lower",
        )
    for n in (2000, 20_000):
        yield dict(
            name=f"least absolute deviations {n} x 20",
            data=lambda n=n: contaminated(n, 20),
            methods={
                "panlearn": lambda X, y: LeastAbsoluteDeviations().fit(X, y),
                "statsmodels": quantreg,
            },
            quality=absolute_deviations,
            better="lower",
        )
    yield dict(
        name="Bayesian regression 1e5 x 50",
        data=lambda: contaminated(100_000, 50),
        methods={
            "panlearn": lambda X, y: BayesianLinearRegression().fit(X, y),
            "scikit-learn": lambda X, y: BayesianRidge().fit(X, y),
        },
        quality=mean_log_density,
        better="higher",
    )
    yield dict(
        name="recursive least squares, a block of 2e5 rows x 20",
        data=lambda: contaminated(200_000, 20),
        methods={"panlearn": lambda X, y: RecursiveLeastSquares().partial_fit(X, y)},
        quality=squared_error,
        better="lower",
    )
    yield dict(
        name="recursive least squares, 1000 calls of one row x 20",
        data=lambda: contaminated(1000, 20),
        methods={"panlearn": one_by_one},
        quality=squared_error,
        better="lower",
    )
