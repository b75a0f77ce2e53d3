"""Logistic regression of many classes: Newton's steps from products with the Hessian."""

import numpy as np
import pytest
from sklearn.base import clone

from panlearn import Batches
from panlearn.core.validation import read_rows
from panlearn.linear import LogisticRegression, _newton_products
from panlearn.linear import _logistic_problem as problem_module
from panlearn.linear._logistic_labels import Labels
from panlearn.linear._logistic_problem import LogisticProblem
from panlearn.linear._newton_products import ManyClasses, bend


def make(rng, n=700, d=20, k=15):
    X = rng.standard_normal((n, d)) + 0.3
    return X, (X @ rng.standard_normal((d, k)) + rng.gumbel(size=(n, k))).argmax(axis=1)


def make_problem(X, y, weight=None, fit_intercept=True):
    model = LogisticRegression()
    rows = read_rows(model, X, y, weight, targets="labels", repeatable=True)
    labels = Labels.of(rows, None)
    return LogisticProblem(rows, labels, C=1.0, l1_ratio=0.0, fit_intercept=fit_intercept)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_products_are_those_of_the_hessian(rng, monkeypatch, weighted, fit_intercept):
    monkeypatch.setattr(_newton_products, "BLOCK", 1)  # three blocks
    X, y = make(rng)
    problem = make_problem(X, y, rng.integers(0, 3, len(X)) if weighted else None, fit_intercept)
    k, width = problem.k, problem.d + 1
    x = problem.start() + 0.2 * rng.standard_normal(k * width)
    direction = rng.standard_normal((k, width))
    direction -= direction.mean(axis=0)
    if not fit_intercept:
        x[width - 1 :: width] = direction[:, -1] = 0.0
    model = ManyClasses(problem, 1e-8).model(x)
    problem._stride = 1
    hessian = problem.evaluate(x, curved=True)[2]
    expected = (hessian @ direction.ravel()).reshape(k, width)
    expected -= expected.mean(axis=0)  # the Hessian has something along shifts, and no step does
    found = model._product(direction, map)
    # single precision
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_the_step_is_newtons(rng, monkeypatch):
    monkeypatch.setattr(_newton_products, "FINE", 1e-6)
    monkeypatch.setattr(_newton_products, "COARSE", 1e-6)
    X, y = make(rng)
    problem = make_problem(X, y)
    shift_free = rng.standard_normal((problem.k, problem.d + 1))
    shift_free -= shift_free.mean(axis=0)
    x = problem.start() + 0.1 * shift_free.ravel()
    problem._stride = 1
    _, gradient, hessian = problem.evaluate(x, curved=True)
    step = ManyClasses(problem, 1e-8).model(x).step(x, gradient)
    expected = -np.linalg.solve(hessian, gradient)
    np.testing.assert_allclose(step, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize(
    "settings",
    [{}, {"fit_intercept": False}, {"class_weight": "balanced"}, {"C": 100.0}, {"C": 1e-3}],
)
@pytest.mark.parametrize("kind", ["plain", "far", "dependent", "weighted"])
def test_products_lead_to_the_minimum_that_the_hessian_leads_to(rng, monkeypatch, kind, settings):
    X, y = make(rng)
    weight = rng.integers(0, 3, len(X)) if kind == "weighted" else None
    if kind == "far":
        scale = np.logspace(-4, 4, X.shape[1])
        X = scale * (X + 1e3)
    if kind == "dependent":
        X = np.hstack([X, X[:, :5], np.ones((len(X), 1))])
    model = LogisticRegression(tol=1e-10, **settings)
    products = clone(model).fit(X, y, weight)
    monkeypatch.setattr(problem_module, "DEAR", np.inf)
    hessian = clone(model).fit(X, y, weight)
    assert products.converged_
    assert products.n_iter_ < hessian.n_iter_
    spread = np.maximum(X.std(axis=0), 1e-8)
    difference = spread * (products.coef_ - hessian.coef_)
    assert np.abs(difference).max() <= 1e-8 * np.abs(spread * hessian.coef_).max()


def test_single_precision(rng):
    X, y = make(rng)
    double = LogisticRegression().fit(X, y)
    single = LogisticRegression().fit(X.astype(np.float32), y)
    assert single.converged_
    assert single.n_iter_ <= double.n_iter_ + 2
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=0, atol=1e-4)


def test_a_stream_has_the_same_minimum(rng):
    X, y = make(rng)
    whole = LogisticRegression().fit(X, y)
    stream = Batches([(X[i : i + 200], y[i : i + 200]) for i in range(0, len(X), 200)])
    streamed = LogisticRegression().fit(stream)
    np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=0, atol=1e-8)


def test_threads_do_not_change_a_bit(rng, monkeypatch):
    monkeypatch.setattr(_newton_products, "BLOCK", 1)
    X, y = make(rng)
    fits = []
    for count in "12":
        monkeypatch.setenv("OMP_NUM_THREADS", count)
        fits.append(LogisticRegression().fit(X, y).coef_)
    np.testing.assert_array_equal(*fits)


@pytest.mark.parametrize("factor", [1.0, 100.0, -1e8])
def test_a_warm_start_from_anywhere(rng, factor):
    X, y = make(rng)
    cold = LogisticRegression().fit(X, y)
    warm = LogisticRegression(warm_start=True).fit(X, y)
    warm.coef_, warm.intercept_ = factor * warm.coef_, factor * warm.intercept_
    warm.fit(X, y)
    assert warm.n_iter_ <= (1 if factor == 1.0 else cold.n_iter_)
    np.testing.assert_allclose(warm.coef_, cold.coef_, rtol=0, atol=1e-7)


def test_rows_that_are_told_apart_keep_their_curvature():
    p = np.array([[1e-12, 1.0, 1e-20]], np.float32)
    U = np.array([[3.1, 2.7, -1.3]], np.float32)
    exact, u = p.astype(float)[0], U.astype(float)[0]
    exact[1] = 1 - exact[0] - exact[2]
    expected = [exact[0] * (u[0] - u[1]), exact[0] * (u[1] - u[0]), exact[2] * (u[2] - u[1])]
    bend(U, p, np.array([1]), np.ones(1, np.float32))
    np.testing.assert_allclose(U[0], expected, rtol=1e-6)
