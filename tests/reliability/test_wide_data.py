"""Many columns and few rows: no table of columns by columns, and the numbers of the formula."""

import math
import tracemalloc

import numpy as np
import pytest

import panlearn
from panlearn.bayes import GaussianMixtureClassifier
from panlearn.latent import FactorAnalysis, GaussianMixture, ProbabilisticPCA
from panlearn.linear import BayesianLinearRegression
from panlearn.sequence import GMMHMM, GaussianHMM

WIDE = 10_000
SQUARE = 8 * WIDE**2  # bytes of a table of columns by columns


def _rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 0.5 * rng.normal(size=(n, d))
    return X + 3, X[:, 0] + rng.normal(size=n)


MODELS = {
    "BayesianLinearRegression": (BayesianLinearRegression(), ("predict",)),
    "FactorAnalysis": (FactorAnalysis(2, max_iter=5), ("transform", "score_samples")),
    "ProbabilisticPCA": (ProbabilisticPCA(2), ("transform", "score_samples")),
    "GaussianMixture, diagonal": (
        GaussianMixture(2, covariance_type="diag", max_iter=5, random_state=0),
        ("predict_proba", "score_samples"),
    ),
    "GaussianMixture, spherical": (
        GaussianMixture(2, covariance_type="spherical", max_iter=5, random_state=0),
        ("predict_proba", "score_samples"),
    ),
    "GaussianMixtureClassifier": (
        GaussianMixtureClassifier(1, covariance_type="diag", random_state=0),
        ("predict_proba",),
    ),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_no_table_of_columns_by_columns_is_made(name):
    (model, methods), (X, y) = MODELS[name], _rows(12, WIDE)
    y = (y > np.median(y)).astype(int) if name.endswith("Classifier") else y
    tracemalloc.start()
    try:
        model.fit(X, y)
        for method in methods:
            assert np.isfinite(getattr(model, method)(X)).all()
        if hasattr(model, "sample_y"):
            model.predict(X, return_std=True)
            model.sample_y(X, 2, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < SQUARE / 10


@pytest.mark.parametrize("covariance_type", ["full", "tied"])
@pytest.mark.parametrize(
    "cls",
    [GaussianMixture, GaussianMixtureClassifier, GaussianHMM, GMMHMM],
    ids=lambda c: c.__name__,
)
def test_covariances_that_would_not_fit_are_refused_with_the_estimate(
    cls, covariance_type, monkeypatch
):
    """They are tables of columns by columns by what they mean; here 2 GiB are free.

    A mixture of few rows is learned in the space that they span, and needs what it keeps alone.
    """
    monkeypatch.setattr("panlearn.core.memory.available", lambda: 2 << 30)
    size = "3.0" if cls in (GaussianMixture, GaussianMixtureClassifier) else "8.2"
    X, y = _rows(12, WIDE)
    more = {"y": y > np.median(y)} if cls is GaussianMixtureClassifier else {}
    model = cls(covariance_type=covariance_type, random_state=0)
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError, match=rf"covariances.* 10000 x 10000, {size} GiB.*'diag'"):
            model.fit(X, **more)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < SQUARE / 10
    assert not model.__sklearn_is_fitted__()


@pytest.mark.parametrize("covariance_type", ["full", "tied"])
@pytest.mark.parametrize("cls", [GaussianMixture, GaussianHMM], ids=lambda c: c.__name__)
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_estimate_is_what_a_fit_takes(cls, covariance_type, k, monkeypatch):
    d, asked = 150, []
    monkeypatch.setattr(
        "panlearn.core.gaussian.require_memory",
        lambda shape, *words: asked.append(math.prod(shape)),
    )
    model = cls(k, covariance_type=covariance_type, random_state=0, max_iter=2)
    X, _ = _rows(24, d)
    model.fit(X)  # what is imported or compiled on the way does not count
    asked.clear()
    tracemalloc.start()
    try:
        model.fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    (numbers,) = asked
    assert 0.6 * peak < 8 * numbers < 2 * peak


@pytest.mark.parametrize(
    "given", [{"noise_variance": 0.3}, {"prior_covariance": 0.5, "noise_variance": 2.0}]
)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_posterior_of_few_rows_is_that_of_the_formula(given, fit_intercept):
    X, y = _rows(7, 30)
    model = BayesianLinearRegression(fit_intercept=fit_intercept, **given).fit(X, y)
    assert len(model.axes_) < 30
    centre = X.mean(axis=0) if fit_intercept else np.zeros(30)
    A = X - centre
    precision = model.lambda_ * np.eye(30) + model.alpha_ * A.T @ A
    sigma = np.linalg.inv(precision)
    np.testing.assert_allclose(model.sigma_, sigma, rtol=1e-8, atol=1e-12 / model.lambda_)
    target = y - (y.mean() if fit_intercept else 0)
    np.testing.assert_allclose(
        model.coef_, model.alpha_ * sigma @ A.T @ target, rtol=1e-7, atol=1e-10
    )
    new, _ = _rows(5, 30, seed=1)
    _, std = model.predict(new, return_std=True)
    rows = new - centre
    variance = np.einsum("ij,jk,ik->i", rows, sigma, rows) + 1 / model.alpha_
    np.testing.assert_allclose(std**2, variance, rtol=1e-8)
    drawn = model.sample_y(new, 40_000, random_state=0)
    np.testing.assert_allclose(drawn.var(axis=1), variance - 1 / model.alpha_, rtol=0.05)
    np.testing.assert_allclose(
        np.corrcoef(drawn),
        rows @ sigma @ rows.T / np.sqrt(np.outer(*[variance - 1 / model.alpha_] * 2)),
        atol=0.03,
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("cls", [FactorAnalysis, ProbabilisticPCA])
def test_factors_of_few_rows_are_those_of_their_covariance(cls, missing):
    """A stream is summed up as a covariance, an array of few rows is not."""
    X, _ = _rows(15, 24)
    if missing:
        X[::4, 3] = np.nan
    model, streamed = cls(2, max_iter=30).fit(X), cls(2, max_iter=30)
    streamed.fit(panlearn.Batches(lambda: iter([(X, None)])))
    for name in ("components_", "noise_variance_", "mean_"):
        value = getattr(streamed, name)
        scale = np.abs(value).max()
        np.testing.assert_allclose(getattr(model, name), value, rtol=0, atol=1e-7 * scale)
    np.testing.assert_allclose(model.score_samples(X), streamed.score_samples(X), rtol=1e-6)


def test_further_rows_go_on_from_few():
    X, _ = _rows(60, 24)
    whole = ProbabilisticPCA(2).fit(X)
    parts = ProbabilisticPCA(2).partial_fit(X[:9]).partial_fit(X[9:])
    np.testing.assert_allclose(parts.components_, whole.components_, rtol=1e-8, atol=1e-10)
    few = ProbabilisticPCA(2).partial_fit(X[:40]).partial_fit(X[40:])
    np.testing.assert_allclose(few.components_, whole.components_, rtol=1e-8, atol=1e-10)


def test_more_components_than_rows_are_zero():
    X, _ = _rows(5, 12)
    for cls in (FactorAnalysis, ProbabilisticPCA):
        model = cls(9, max_iter=3)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("panlearn.core.progress.warn", lambda *a: None)
            model.fit(X)
        assert np.isfinite(model.components_).all()
        assert not model.components_[4:].any() or np.abs(model.components_[4:]).max() < 1e-6
