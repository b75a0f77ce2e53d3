"""Bayesian regression: closed forms, what is learned and what is given, every way to fit."""

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.exceptions import ConvergenceWarning

import panlearn
from panlearn.linear import BayesianLinearRegression


def line(rng, n=80, d=3):
    X = rng.normal(size=(n, d))
    return X, X @ np.arange(1.0, d + 1) + 2 + 0.5 * rng.normal(size=n)


def test_any_prior_gives_the_closed_form(rng):
    X, y = line(rng, n=20)
    A, mean, s2 = rng.normal(size=(3, 3)), rng.normal(size=3), 0.3
    C = A @ A.T
    model = BayesianLinearRegression(
        prior_mean=mean, prior_covariance=C, noise_variance=s2, fit_intercept=False
    ).fit(X, y)
    precision = np.linalg.inv(C) + X.T @ X / s2
    np.testing.assert_allclose(model.sigma_, np.linalg.inv(precision), rtol=1e-9)
    expected = np.linalg.solve(precision, np.linalg.solve(C, mean) + X.T @ y / s2)
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-9)
    marginal = stats.multivariate_normal(X @ mean, s2 * np.eye(20) + X @ C @ X.T)
    assert model.log_evidence_ == pytest.approx(marginal.logpdf(y), rel=1e-10)
    assert model.n_iter_ == 1
    assert model.converged_


def test_scalar_vector_and_matrix_priors_agree(rng):
    X, y = line(rng)
    models = [
        BayesianLinearRegression(prior_covariance=c, noise_variance=0.25).fit(X, y)
        for c in (2.0, [2.0, 2.0, 2.0], 2 * np.eye(3))
    ]
    for other in models[1:]:
        np.testing.assert_allclose(other.coef_, models[0].coef_, rtol=1e-12)
        np.testing.assert_allclose(other.sigma_, models[0].sigma_, rtol=1e-12)
        assert other.log_evidence_ == pytest.approx(models[0].log_evidence_, rel=1e-12)
    assert models[0].lambda_ == 0.5
    assert models[1].lambda_ == 1.0


def test_no_variance_freezes_a_coefficient(rng):
    X, y = line(rng)
    model = BayesianLinearRegression(prior_mean=[7.0, 0, 0], prior_covariance=[0, 1, 1]).fit(X, y)
    assert model.coef_[0] == 7.0
    assert model.sigma_[0, 0] == 0.0


def test_learned_values_maximise_the_evidence(rng):
    X, y = line(rng)
    model = BayesianLinearRegression(
        tol=1e-12, alpha_1=0, alpha_2=0, lambda_1=0, lambda_2=0, fit_intercept=False
    ).fit(X, y)
    best = model.log_evidence_
    for factor in (0.9, 1.1):
        for noise, prior in [(factor, 1), (1, factor)]:
            other = BayesianLinearRegression(
                noise_variance=noise / model.alpha_,
                prior_covariance=prior / model.lambda_,
                fit_intercept=False,
            ).fit(X, y)
            assert other.log_evidence_ < best
    assert model.scores_[-1] == pytest.approx(best)
    assert len(model.scores_) == model.n_iter_ + 1


def test_one_of_the_two_can_be_given(rng):
    X, y = line(rng)
    noise = BayesianLinearRegression(noise_variance=0.25).fit(X, y)
    prior = BayesianLinearRegression(prior_covariance=4.0).fit(X, y)
    assert noise.alpha_ == 4.0
    assert noise.lambda_ != 1.0
    assert prior.lambda_ == 0.25
    assert prior.alpha_ == pytest.approx(4.0, rel=0.5)


def test_every_way_to_fit_gives_the_same_numbers(rng):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    X, y = line(rng)
    X += 100.0
    weight = rng.uniform(0, 2, 80)
    whole = BayesianLinearRegression().fit(X, y, weight)
    parts = [(X[i : i + 13], y[i : i + 13], weight[i : i + 13]) for i in range(0, 80, 13)]
    more = BayesianLinearRegression()
    for part in parts:
        more.partial_fit(*part)
    with dask.config.set(scheduler="threads"):
        cluster = BayesianLinearRegression().fit(
            da.from_array(X, (30, 3)), da.from_array(y, 30), da.from_array(weight, 30)
        )
    others = [
        more,
        cluster,
        BayesianLinearRegression().fit(iter(parts)),
        BayesianLinearRegression().fit(sparse.csr_array(X), y, weight),
    ]
    for other in others:
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-8)
        np.testing.assert_allclose(other.sigma_, whole.sigma_, rtol=1e-8)
        for name in ("alpha_", "lambda_", "intercept_", "log_evidence_"):
            assert getattr(other, name) == pytest.approx(getattr(whole, name), rel=1e-8)


def test_integer_weights_repeat_rows(rng):
    X, y = line(rng)
    weight = rng.integers(0, 4, 80)
    weighted = BayesianLinearRegression().fit(X, y, weight)
    repeated = BayesianLinearRegression().fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-10)
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, rel=1e-10)


def test_draws_have_the_posterior_moments(rng):
    X, y = line(rng)
    model = BayesianLinearRegression().fit(X, y)
    new = rng.normal(size=(2, 3))
    draws = model.sample_y(new, n_samples=100_000, random_state=0)
    mean, std = model.predict(new, return_std=True)
    variance = std**2 - 1 / model.alpha_
    # five standard errors of a mean and of a variance of 1e5 draws
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=5 * np.sqrt(variance.max() / 1e5))
    np.testing.assert_allclose(draws.var(axis=1), variance, rtol=5 * np.sqrt(2 / 1e5))
    np.testing.assert_array_equal(draws, model.sample_y(new, 100_000, random_state=0))


def test_the_band_covers(rng):
    X, y = line(rng, n=4000)
    model = BayesianLinearRegression().fit(X[:2000], y[:2000])
    mean, std = model.predict(X[2000:], return_std=True)
    inside = np.mean(np.abs(y[2000:] - mean) < 1.96 * std)
    assert inside == pytest.approx(0.95, abs=0.02)  # four standard errors


def test_float32_wide_and_warning(rng):
    X, y = line(rng)
    single = BayesianLinearRegression().fit(X.astype(np.float32), y.astype(np.float32))
    mean, std = single.predict(X.astype(np.float32), return_std=True)
    assert single.coef_.dtype == mean.dtype == std.dtype == np.float32
    wide = BayesianLinearRegression().fit(X.T, y[:3])
    assert wide.sigma_.shape == (80, 80)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 was"):
        BayesianLinearRegression(max_iter=1).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"prior_mean": [1.0, 2.0]}, "prior_mean"),
        ({"prior_mean": np.nan}, "prior_mean"),
        ({"prior_covariance": np.ones((2, 2))}, "prior_covariance"),
        ({"prior_covariance": np.diag([1.0, -1.0, 1.0])}, "semi-definite"),
        ({"prior_covariance": 0.0}, "prior_covariance"),
        ({"noise_variance": -1.0}, "noise_variance"),
    ],
)
def test_bad_parameters_are_named(rng, parameters, message):
    with pytest.raises(ValueError, match=message):
        BayesianLinearRegression(**parameters).fit(*line(rng))


def test_save_load_and_go_on(rng, tmp_path):
    X, y = line(rng)
    model = BayesianLinearRegression().fit(X[:40], y[:40])
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model").partial_fit(X[40:], y[40:])
    np.testing.assert_allclose(loaded.coef_, BayesianLinearRegression().fit(X, y).coef_, rtol=1e-10)


def test_overflow_is_said(rng):
    X, y = line(rng)
    with pytest.raises(ValueError, match="similar scales"):
        BayesianLinearRegression().fit(X * 1e150, y * 1e-150)
