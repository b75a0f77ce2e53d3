"""Standard errors, p-values and intervals of linear models beside statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import linalg

from panlearn.linear import (
    BayesianLinearRegression,
    HuberRegressor,
    LinearRegression,
    LogisticRegression,
)


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(80, 3)) * [1, 100, 0.01] + [5, 0, 1]
    return X, X @ [1.0, 0.02, 30.0] + rng.standard_t(3, size=80)


def same(ours, theirs, rtol=1e-7):
    np.testing.assert_allclose(ours.coef, theirs.params, rtol=rtol, atol=1e-9)
    np.testing.assert_allclose(ours.std_err, theirs.bse, rtol=rtol)
    np.testing.assert_allclose(ours.p_value, theirs.pvalues, rtol=100 * rtol, atol=1e-12)
    np.testing.assert_allclose(ours.interval, theirs.conf_int(), rtol=100 * rtol, atol=1e-7)


@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares(rows, intercept):
    X, y = rows
    model = LinearRegression(fit_intercept=intercept).fit(X, y)
    theirs = sm.OLS(y, sm.add_constant(X) if intercept else X).fit()
    same(model.summary(X, y), theirs)
    assert model.summary(X, y).scale == pytest.approx(np.sqrt(theirs.scale))
    wide = model.summary(X, y, confidence=0.99)
    np.testing.assert_allclose(wide.interval, theirs.conf_int(0.01), rtol=1e-6, atol=1e-7)


def test_generalised_least_squares(rows):
    X, y = rows
    R = 0.7 ** np.abs(np.subtract.outer(np.arange(80), np.arange(80)))
    model = LinearRegression().fit(X, y, noise_covariance=R)
    same(model.summary(X, y, noise_covariance=R), sm.GLS(y, sm.add_constant(X), R).fit())


def test_a_weight_is_a_repeated_row(rows, rng):
    X, y = rows
    weight = rng.integers(0, 4, size=80)
    again = np.repeat(np.arange(80), weight)
    model = LinearRegression().fit(X, y, sample_weight=weight)
    theirs = sm.OLS(y[again], sm.add_constant(X[again])).fit()
    same(model.summary(X, y, sample_weight=weight), theirs)


def test_logistic_regression(rows, rng):
    X, y = rows
    labels = np.where(y - np.median(y) + 3 * rng.normal(size=80) > 0, "yes", "no")
    model = LogisticRegression(C=np.inf).fit(X, labels)
    theirs = sm.Logit(labels == "yes", sm.add_constant(X)).fit(disp=0, tol=1e-12)
    same(model.summary(X, labels), theirs, rtol=1e-6)


def test_huber_regression(rows):
    X, y = rows
    model = HuberRegressor(alpha=0.0, tol=1e-10).fit(X, y)
    ours = model.summary(X, y)
    peer = sm.RLM(y, sm.add_constant(X), M=sm.robust.norms.HuberT(t=model.epsilon))
    peer._estimate_scale = lambda *_: model.scale_  # which it estimates in another way
    same(ours, peer.fit(tol=1e-12, maxiter=500), rtol=1e-5)


@pytest.mark.parametrize("intercept", [True, False])
def test_logistic_and_huber_regression_with_weights(rows, rng, intercept):
    X, y = rows
    X = X / X.std(axis=0)
    labels = (y - np.median(y) + 3 * rng.normal(size=80) > 0).astype(int)
    weight = rng.integers(1, 4, size=80)
    again = np.repeat(np.arange(80), weight)
    design = (sm.add_constant(X) if intercept else X)[again]
    model = LogisticRegression(C=np.inf, fit_intercept=intercept).fit(X, labels, weight)
    theirs = sm.Logit(labels[again], design).fit(disp=0, tol=1e-12)
    same(model.summary(X, labels, weight), theirs, rtol=1e-6)
    robust = HuberRegressor(alpha=0.0, tol=1e-10, fit_intercept=intercept).fit(X, y, weight)
    peer = sm.RLM(y[again], design, M=sm.robust.norms.HuberT(t=robust.epsilon))
    peer._estimate_scale = lambda *_: robust.scale_  # which it estimates in another way
    same(robust.summary(X, y, weight), peer.fit(tol=1e-12, maxiter=500), rtol=1e-5)


def test_nearly_collinear_columns_keep_their_digits(rows, rng):
    """Columns that differ by 1e-5 have errors of 1e5, and a repeated one has none."""
    X, y = rows
    near = np.column_stack([X[:, 0], X[:, 0] + 1e-5 * rng.normal(size=80)])
    theirs = sm.OLS(y, sm.add_constant(near)).fit(method="qr")
    same(LinearRegression().fit(near, y).summary(near, y), theirs, rtol=1e-4)
    twice = np.column_stack([X[:, 0], X[:, 0]])
    with pytest.warns(linalg.LinAlgWarning, match="has rank 1"):
        model = LinearRegression().fit(twice, y)
    with pytest.raises(ValueError, match="depend on each other"):
        model.summary(twice, y)
    with pytest.raises(ValueError, match="leave nothing to judge the noise by"):
        LinearRegression(fit_intercept=False).fit(X[:3], y[:3]).summary(X[:3], y[:3])


@pytest.mark.parametrize("intercept", [True, False])
def test_bayesian_regression_with_a_flat_prior_is_least_squares_of_known_noise(rows, intercept):
    X, y = rows
    X = X / X.std(axis=0)
    model = BayesianLinearRegression(
        prior_covariance=1e10, noise_variance=4.0, fit_intercept=intercept
    ).fit(X, y)
    theirs = sm.GLM(y, sm.add_constant(X) if intercept else X).fit(scale=4.0)
    same(model.summary(), theirs, rtol=1e-6)
    wide = model.summary(confidence=0.99)
    np.testing.assert_allclose(wide.interval, theirs.conf_int(0.01), rtol=1e-5)
    assert wide.scale == 2.0


def test_a_prior_is_rows_that_were_seen_before(rows, rng):
    """A prior of variance v is a row that says so, of noise v; weights divide the noise."""
    X, y = rows
    X = X / X.std(axis=0)
    weight = rng.integers(1, 4, size=80)
    model = BayesianLinearRegression(
        prior_mean=[1.0, 0.0, 2.0], prior_covariance=0.5, noise_variance=4.0
    ).fit(X, y, sample_weight=weight)
    design = np.r_[sm.add_constant(X), np.column_stack([np.zeros(3), np.eye(3)])]
    precision = np.r_[weight / 4.0, np.full(3, 1 / 0.5)]
    theirs = sm.WLS(np.r_[y, 1.0, 0.0, 2.0], design, weights=precision).fit(
        cov_type="fixed scale", use_t=False
    )
    same(model.summary(), theirs, rtol=1e-6)
