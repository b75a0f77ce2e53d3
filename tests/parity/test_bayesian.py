"""Bayesian regression against scikit-learn's BayesianRidge."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import BayesianRidge

from panlearn.linear import BayesianLinearRegression


def simulated(n, d):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d)) + 3
    return X, X @ rng.normal(size=d) + 1 + rng.normal(size=n)


DATA = {
    "diabetes": load_diabetes(return_X_y=True),
    "tall": simulated(200, 5),
    "wide": simulated(15, 40),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"fit_intercept": False, "tol": 1e-6, "lambda_1": 1.0},
        {"alpha_init": 3.0, "lambda_init": 0.02},
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_bayesian_ridge(name, parameters, weighted):
    X, y = DATA[name]
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    ours = BayesianLinearRegression(**parameters).fit(X, y, weight)
    theirs = BayesianRidge(**parameters, compute_score=True).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.sigma_, theirs.sigma_, rtol=1e-6, atol=1e-12)
    for attribute in ("alpha_", "lambda_", "intercept_", "n_iter_"):
        assert getattr(ours, attribute) == pytest.approx(getattr(theirs, attribute), rel=1e-7)
    # the peer's last score mixes the coefficients before and after the last update
    np.testing.assert_allclose(ours.scores_[:-1], theirs.scores_[:-1], rtol=1e-9)
    np.testing.assert_allclose(ours.scores_[-1], theirs.scores_[-1], rtol=1e-4)
    for a, b in zip(ours.predict(X, True), theirs.predict(X, True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
