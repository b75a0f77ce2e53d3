"""Errors of what was learned: bias and variance, test error, splits of the data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import stats
from sklearn.model_selection import GridSearchCV, KFold, train_test_split

from panlearn.claims.claim import Evidence, at_most, claim, equal
from panlearn.linear import LinearRegression, LogisticRegression, Ridge


@claim("A39")
def error_is_bias_variance_and_noise() -> Iterator[Evidence]:
    """Expected squared error = bias^2 + variance + noise; the split is exact for averages too."""
    rng = np.random.default_rng(1)
    X, x, sigma = rng.normal(size=(30, 3)), np.array([0.5, -1.0, 2.0]), 0.7
    mean = np.sin(X).sum(axis=1)
    Y = mean[:, None] + sigma * rng.normal(size=(30, 500))
    f = Ridge(alpha=3.0).fit(X, Y).predict(x[None])[0]
    truth = np.sin(x).sum()
    split = (f.mean() - truth) ** 2 + f.var()
    yield equal(
        "mean of (f_D - f)^2 and bias^2 + variance", np.mean((f - truth) ** 2), split, 1e-12
    )
    errors = (f - truth - sigma * rng.normal(size=(200, 500))) ** 2
    each = errors.mean(axis=0)
    deviation = abs(each.mean() - split - sigma**2) / (each.std() / np.sqrt(len(each)))
    yield at_most("with test noise, standard errors from + sigma^2", deviation, 3.0)


@claim("A40")
def the_best_constant_is_the_conditional_mean() -> Iterator[Evidence]:
    """E[(Y - a)^2 | X = x] is least at a = E[Y | X = x], where it is the conditional variance."""
    joint = np.array([[0.1, 0.2, 0.1], [0.3, 0.05, 0.25]])
    y, grid = np.array([-1.0, 0.5, 2.0]), np.linspace(-1, 2, 3001)
    for p in joint / joint.sum(axis=1, keepdims=True):
        risk = p @ (y[:, None] - grid) ** 2
        yield equal("minimiser on a grid", grid[risk.argmin()], p @ y, 1e-3)
        mean = LinearRegression().fit(np.zeros((3, 1)), y, sample_weight=p).predict([[0.0]])[0]
        yield equal("least squares on a constant", mean, p @ y, 1e-12)
        yield equal("risk there", p @ (y - p @ y) ** 2, p @ y**2 - (p @ y) ** 2, 1e-12)


@claim("A41")
def generalisation_error_is_estimation_error_plus_noise() -> Iterator[Evidence]:
    """With y = f*(x) + eps, E(f_D(x) - y)^2 = E(f_D(x) - f*(x))^2 + sigma^2."""
    x, p, sigma = np.array([0.0, 1.0, 2.0]), np.array([0.2, 0.5, 0.3]), 0.4
    truth = np.array([1.0, -1.0, 2.0])
    f = Ridge(alpha=1.0).fit(x[:, None], truth + np.array([0.1, -0.2, 0.3])).predict(x[:, None])
    exact = sum(0.5 * p @ (f - truth - s * sigma) ** 2 for s in (-1, 1))  # eps = +-sigma
    yield equal("expected squared error", exact, p @ (f - truth) ** 2 + sigma**2, 1e-12)


@claim("A42")
def test_error_converges_at_root_m() -> Iterator[Evidence]:
    """The error rate on m test points has mean p and standard deviation sqrt(p (1 - p) / m).

    p is the error that a classifier makes on all points, here known from where its boundary lies
    between two normal classes.
    """
    rng, m_pool = np.random.default_rng(2), 5_000_000
    y = rng.integers(2, size=m_pool)
    x = rng.normal(size=m_pool) + 2 * y
    model = LogisticRegression().fit(x[:50, None], y[:50])
    edge = -model.intercept_[0] / model.coef_[0, 0]
    p = (stats.norm.sf(edge) + stats.norm.cdf(edge - 2)) / 2
    wrong = model.predict(x[:, None]) != y
    for m in (100, 1000, 10_000):
        rates = wrong.reshape(-1, m).mean(axis=1)
        ratio = rates.std() / np.sqrt(p * (1 - p) / m)
        yield at_most(f"|normalised deviation - 1| at m = {m}", abs(ratio - 1), 0.05)
    error = abs(wrong.mean() - p) / np.sqrt(p * (1 - p) / m_pool)
    yield at_most("standard errors of the mean rate from p", error, 4)
    score = model.score(x[:1000, None], y[:1000])
    yield equal("accuracy and 1 - rate", score, 1 - wrong[:1000].mean(), 1e-12)


@claim("A43")
def splits_partition_the_data() -> Iterator[Evidence]:
    """Train, validation and test sets are a partition of the data, and so are K folds.

    The chosen model is fitted again on training and validation data together.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    y = X @ rng.normal(size=4) + 0.3 * rng.normal(size=50)
    rest, test = train_test_split(np.arange(50), test_size=10, random_state=0)
    train, validation = train_test_split(rest, test_size=10, random_state=0)
    yield equal("sorted union", np.sort(np.r_[train, validation, test]), np.arange(50))
    folds = [fold for _, fold in KFold(5).split(rest)]
    yield equal("times each point is validated", np.bincount(np.concatenate(folds)), np.ones(40))
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, cv=5).fit(X[rest], y[rest])
    direct = Ridge(**search.best_params_).fit(X[rest], y[rest])
    yield equal("coefficients of the refit", search.best_estimator_.coef_, direct.coef_)
