"""Least-squares support vector machines: the system, its solvers, several classes, two sides."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import LinAlgWarning
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from panlearn.kernel import LSSVC, LSSVR, AsymmetricLSSVC
from panlearn.kernel.kernels import RBF, Linear, White


def _bordered(K, ridge, Y):
    n = len(K)
    A = np.block([[np.zeros((1, 1)), np.ones((1, n))], [np.ones((n, 1)), K + np.diag(ridge)]])
    return np.linalg.solve(A, np.vstack([np.zeros((1, Y.shape[1])), Y]))


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
@pytest.mark.parametrize("kernel", [RBF([1.0, 2.0]), RBF() + White(0.3), "linear"])
def test_regression_solves_the_bordered_system(rng, solver, kernel):
    X, Y, weight = rng.normal(size=(40, 2)), rng.normal(size=(40, 3)) + 5, rng.uniform(0.5, 2, 40)
    model = LSSVR(2.0, kernel=kernel, solver=solver, tol=1e-12).fit(X, Y, weight)
    expected = _bordered(model.kernel_(X), 1 / (2 * weight), Y)
    assert_allclose(model.intercept_, expected[0], rtol=1e-8)
    assert_allclose(model.dual_coef_, expected[1:], rtol=1e-7, atol=1e-9)
    assert_allclose(model.dual_coef_.sum(axis=0), 0, atol=1e-9)
    if not isinstance(kernel, type(RBF() + White(0.3))):  # new rows bring their own noise
        error = Y - model.predict(X)
        assert_allclose(model.dual_coef_, 2 * weight[:, None] * error, rtol=1e-6, atol=1e-8)


def test_conjugate_gradients_without_a_matrix_are_the_same(rng, monkeypatch):
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    kernel = RBF() + White(0.3)
    kept = LSSVR(5.0, kernel=kernel, solver="cg", tol=1e-12).fit(X, y)
    monkeypatch.setattr("panlearn.core.memory.available", lambda: 1000)
    free = LSSVR(5.0, kernel=kernel, solver="cg", tol=1e-12).fit(X, y)
    assert_allclose(free.dual_coef_, kept.dual_coef_, rtol=1e-8, atol=1e-10)
    assert free.n_iter_ > 1


def test_conjugate_gradients_that_stop_early_say_so(rng):
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    with pytest.warns(ConvergenceWarning, match="relative residual"):
        LSSVR(1e6, solver="cg", max_iter=3).fit(X, y)


def test_classification_is_regression_on_signs(rng):
    X = rng.normal(size=(50, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "different")
    classifier = LSSVC(3.0).fit(X, y)
    regressor = LSSVR(3.0).fit(X, np.where(y == "same", 1.0, -1.0))
    assert_allclose(classifier.decision_function(X), regressor.predict(X), rtol=1e-9)
    assert classifier.score(X, y) > 0.9


def test_a_constant_added_to_y_is_added_to_the_predictions(rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    assert_allclose(LSSVR().fit(X, y + 7).predict(X), LSSVR().fit(X, y).predict(X) + 7, rtol=1e-9)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_several_classes_are_those_of_machines_for_two(multi_class):
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = LSSVC(10.0, multi_class=multi_class, gamma=0.5).fit(X, names)
    assert model.dual_coef_.shape == (150, 3)
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X, names) > 0.96
    if multi_class == "ovr":
        alone = LSSVC(10.0, gamma=0.5).fit(X, y == 1)
        assert_allclose(model.decision_function(X)[:, 1], alone.decision_function(X), atol=1e-8)
    else:
        pair = y != 1
        alone = LSSVC(10.0, gamma=0.5).fit(X[pair], y[pair])
        assert_allclose(model.dual_coef_[pair, 1], alone.dual_coef_[:, 0], rtol=1e-8)
        assert_allclose(model.dual_coef_[~pair, 1], 0)


def directed(X, Z):
    return np.exp(-0.5 * np.maximum(Z[:, 0] - X[:, :1], 0)) * (1 + X @ Z.T) ** 2


def test_asymmetric_machine_solves_its_conditions(rng):
    X = rng.normal(size=(25, 2))
    y, weight, C = np.where(X[:, 0] > X[:, 1], 1, -1), rng.uniform(0.5, 2, 25), 3.0
    model = AsymmetricLSSVC(C, kernel=directed).fit(X, y, weight)
    K, s, t = directed(X, X), model.source_coef_[:, 0], model.target_coef_[:, 0]
    assert_allclose([s.sum(), t.sum()], 0, atol=1e-9)
    assert_allclose(K @ s + t / (C * weight) + model.source_intercept_, y, atol=1e-8)
    assert_allclose(K.T @ t + s / (C * weight) + model.target_intercept_, y, atol=1e-8)
    assert_allclose(model.source_decision_function(X), K @ s + model.source_intercept_, rtol=1e-8)
    assert_allclose(model.target_decision_function(X), K.T @ t + model.target_intercept_, rtol=1e-8)


def test_a_symmetric_kernel_gives_the_symmetric_machine(rng):
    X = rng.normal(size=(40, 2))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.0])
    both = AsymmetricLSSVC(2.0, kernel=RBF(0.8)).fit(X, y)
    one = LSSVC(2.0, kernel=RBF(0.8)).fit(X, y)
    for side in (both.source_decision_function, both.target_decision_function):
        assert_allclose(side(X), one.decision_function(X), rtol=1e-8, atol=1e-9)


def test_a_singular_asymmetric_system_is_told(rng):
    X = np.array([[1.0], [-1.0], [1.0], [-1.0]]) / 2
    with pytest.warns(LinAlgWarning, match="singular"):  # 1 / C is the eigenvalue 1 of X Xᵀ
        model = AsymmetricLSSVC(1.0, kernel=Linear()).fit(X, [1, 0, 1, 0])
    assert model.score(X, [1, 0, 1, 0]) == 1
