"""Gaussian process classification: the mode, the evidence, the averaged probabilities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from scipy.stats import norm
from sklearn.callback import ScoringMonitor
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from panlearn.kernel import GaussianProcessClassifier
from panlearn.kernel._laplace import average_logistic, find_mode
from panlearn.kernel.kernels import RBF, Constant, Linear, Matern, White


def _data(rng, n=40):
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.where(np.sin(2 * X[:, 0]) + 0.5 * rng.standard_normal(n) > 0, "up", "down")


def test_the_approximation_is_that_of_its_definition(rng):
    X, y = _data(rng, 12)
    kernel, t, share = 3 * RBF([1.0, 0.5]), np.where(y == "up", 1, -1), rng.uniform(0.5, 2, 12)
    model = GaussianProcessClassifier(kernel, optimizer=None).fit(X, y, share)
    K = kernel(X)
    P = np.linalg.inv(K)
    mode = minimize(
        lambda f: 0.5 * f @ P @ f - share @ log_expit(t * f),
        np.zeros(12),
        jac=lambda f: P @ f - share * t * expit(-t * f),
        method="BFGS",
        options={"gtol": 1e-9},
    ).x
    W = np.diag(share * expit(mode) * expit(-mode))
    assert_allclose(K @ model.alpha_[:, 0], mode, atol=1e-6)  # of BFGS
    determinant = np.linalg.slogdet(np.eye(12) + K @ W)[1]
    value = share @ log_expit(t * mode) - 0.5 * mode @ P @ mode - 0.5 * determinant
    assert model.log_marginal_likelihood_value_ == pytest.approx(value, rel=1e-8)
    new = rng.uniform(-2, 2, (5, 2))
    cross = kernel(new, X)
    mean, variance = model.latent_mean_and_variance(new)
    assert_allclose(mean, cross @ P @ mode, atol=1e-5)
    spread = kernel(new) - cross @ np.linalg.inv(K + np.linalg.inv(W)) @ cross.T
    assert_allclose(variance, np.diag(spread), rtol=1e-5)
    assert_allclose(model.predict_proba(new)[:, 1], average_logistic(mean, variance), rtol=1e-12)


def test_the_mode_is_found_from_anywhere(rng):
    X, y = _data(rng)
    K, t, share = 1000 * RBF()(X), np.where(y == "up", 1.0, -1.0), np.ones(40)
    modes = [find_mode(K, t, share, start, 100) for start in (np.zeros(40), 1e3 * t, -t)]
    for mode in modes:
        f = K @ mode.weights
        assert_allclose(mode.weights, t * expit(-t * f), atol=1e-7)  # no slope
        assert mode.value == pytest.approx(modes[0].value, rel=1e-9)


@pytest.mark.parametrize(
    "kernel", [2 * RBF([1.0, 0.5]) + White(0.1), Matern(nu=2.5) * Linear() + 1]
)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_gradient_is_that_of_finite_differences(rng, monkeypatch, kernel, classes):
    monkeypatch.setattr("panlearn.kernel._tiles.TILE", 16)
    monkeypatch.setattr("panlearn.kernel._tiles.FEW", 0)
    X, _ = _data(rng)
    y, share = rng.integers(classes, size=40), rng.uniform(0.5, 2, 40)
    model = GaussianProcessClassifier(kernel, optimizer=None).fit(X, y, share)
    theta, step = kernel.theta, 1e-5
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    assert value == pytest.approx(model.log_marginal_likelihood_value_, rel=1e-10)
    numeric = [
        (model.log_marginal_likelihood(theta + e) - model.log_marginal_likelihood(theta - e))
        / (2 * step)
        for e in step * np.eye(len(theta))
    ]
    # differences of step 1e-5 lose half of the digits of the value
    assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-6)


def test_the_average_is_the_integral():
    for mean, variance in [
        (0.0, 1.0),
        (0.3, 0.5),
        (2.0, 4.0),
        (-5.0, 100.0),
        (8.0, 3.0),
        (-3.0, 0.0),
    ]:
        wanted = expit(mean)
        if variance:
            density = norm(mean, np.sqrt(variance)).pdf
            ends = mean - 12 * np.sqrt(variance), mean + 12 * np.sqrt(variance)
            wanted = quad(lambda z, p=density: expit(z) * p(z), *ends, epsabs=1e-13, limit=200)[0]
        found = average_logistic(np.array([mean]), np.array([variance]))
        assert_allclose(found, wanted, rtol=1e-10)


def test_parameters_are_chosen_and_the_ascent_is_recorded(rng):
    X, y = _data(rng, 80)
    kernel = Constant(1.0) * RBF([1.0, 1.0])
    model = GaussianProcessClassifier(kernel).fit(X, y)
    values = model.history_["log_marginal_likelihood"]
    assert model.converged_
    assert model.n_iter_ == len(values) > 3
    assert (np.diff(values) >= 0).all()
    _, slope = model.log_marginal_likelihood(eval_gradient=True)
    assert_allclose(slope, 0, atol=1e-2)
    more = GaussianProcessClassifier(kernel, n_restarts_optimizer=2, random_state=0).fit(X, y)
    assert more.log_marginal_likelihood() >= model.log_marginal_likelihood() - 1e-6
    narrow = Constant(1.0, (0.5, 1.5)) * RBF([1.0, 1.0])
    with pytest.warns(ConvergenceWarning, match=r"Constant.constant_value.*upper bound") as caught:
        GaussianProcessClassifier(narrow).fit(X, y)
    assert caught[0].filename == __file__
    assert model.score(X, y) > 0.75
    assert set(model.predict(X)) == {"up", "down"}


def test_callbacks_see_the_rows_that_weigh_something(rng):
    X, y = _data(rng)
    monitor = ScoringMonitor(scoring="accuracy")
    model = GaussianProcessClassifier(1.0 * RBF(1.0)).set_callbacks(monitor)
    weight = np.arange(40) % 3
    model.fit(X, y, weight)
    scores = [r["accuracy"] for r in monitor.get_logs().data if r["task_name"] == "iteration"]
    assert len(scores) == model.n_iter_
    assert scores[-1] == pytest.approx(model.score(X[weight > 0], y[weight > 0]))


def test_several_classes_and_what_is_far_from_all():
    X, y = load_iris(return_X_y=True)
    model = GaussianProcessClassifier(100 * RBF(2.0), optimizer=None).fit(X, y)
    assert model.score(X, y) > 0.95
    assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-12)
    assert_allclose(model.predict_proba(X[:1] + 1000), 1 / 3, rtol=1e-6)
    assert model.alpha_.shape == (150, 3)


def test_trouble_is_told(rng):
    X, y = _data(rng)
    with pytest.warns(ConvergenceWarning, match="max_iter_predict=1 ") as caught:
        GaussianProcessClassifier(1e4 * RBF(), optimizer=None, max_iter_predict=1).fit(X, y)
    assert caught[0].filename == __file__
    with pytest.raises(ValueError, match="not positive definite"):
        GaussianProcessClassifier(lambda x, z: -10 * abs(x[0] - z[0])).fit(X, y)
