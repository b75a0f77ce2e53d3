"""Robust regression against scikit-learn and statsmodels."""

import numpy as np
import pytest
import sklearn.linear_model as peer
from sklearn.datasets import load_diabetes

from panlearn.linear import HuberRegressor, LeastAbsoluteDeviations


def simulated(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 6)) * [1, 10, 0.1, 1, 1, 1]
    y = X @ rng.normal(size=6) + 3 + rng.standard_t(1.5, size=300)
    return X, y


DATA = {
    "diabetes": load_diabetes(return_X_y=True),
    "heavy tails": simulated(0),
    "heavy tails again": simulated(1),
}


def huber_objective(model, X, y, weight):
    z = (y - X @ model.coef_ - model.intercept_) / model.scale_
    e = model.epsilon
    loss = np.where(np.abs(z) <= e, z**2, 2 * e * np.abs(z) - e**2)
    return weight @ (model.scale_ * (1 + loss)) + model.alpha * model.coef_ @ model.coef_


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize(
    "parameters", [{}, {"epsilon": 2.0, "alpha": 1.0}, {"fit_intercept": False}]
)
def test_huber(name, parameters):
    X, y = DATA[name]
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    ours = HuberRegressor(**parameters).fit(X, y, weight)
    theirs = peer.HuberRegressor(**parameters, max_iter=20000, tol=1e-8).fit(X, y, weight)
    value, bound = (huber_objective(m, X, y, weight) for m in (ours, theirs))
    # The peer stops where L-BFGS finds no more to gain, which on some processors is early. What is
    # compared is the objective, and beside it the coefficients as far as the objective tells them
    # apart: near its minimum it grows with the square of their distance.
    assert value <= bound * (1 + 1e-12)
    assert bound <= value * (1 + 1e-3)
    step = X @ (ours.coef_ - theirs.coef_) + ours.intercept_ - theirs.intercept_
    distance = np.sqrt(weight @ step**2 / weight.sum()) / ours.scale_
    assert distance <= 10 * np.sqrt(bound / value - 1) + 1e-5


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("quantile", [0.25, 0.5])
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_quantile_regressor(name, quantile, alpha):
    X, y = DATA[name]
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    ours = LeastAbsoluteDeviations(quantile=quantile, alpha=alpha).fit(X, y, weight)
    theirs = peer.QuantileRegressor(quantile=quantile, alpha=alpha).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-6)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("quantile", [0.25, 0.5])
def test_statsmodels_quantreg(quantile):
    quantreg = pytest.importorskip("statsmodels.api").QuantReg
    X, y = DATA["heavy tails"]
    ours = LeastAbsoluteDeviations(quantile=quantile).fit(X, y)
    design = np.column_stack([X, np.ones(len(y))])
    theirs = quantreg(y, design).fit(q=quantile, max_iter=5000, p_tol=1e-9).params

    def loss(theta):
        r = y - design @ theta
        return np.maximum(quantile * r, (quantile - 1) * r).sum()

    assert loss(np.append(ours.coef_, ours.intercept_)) <= loss(theirs) * (1 + 1e-12)
    # the peer reweights least squares, with residuals below 1e-6 cut off
    np.testing.assert_allclose(ours.coef_, theirs[:-1], atol=1e-3)
