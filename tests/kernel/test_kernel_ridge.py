"""Kernel ridge regression: the normal equations, weights, targets, singular matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import LinAlgWarning

from panlearn.kernel import KernelRidge
from panlearn.kernel._base import times
from panlearn.kernel.kernels import RBF, Linear, White
from panlearn.linear import Ridge


@pytest.mark.parametrize("kernel", ["rbf", RBF([1.0, 2.0, 3.0]), lambda x, z: (1 + x @ z) ** 2])
def test_the_gradient_of_the_objective_is_zero(rng, kernel):
    X, Y, weight = rng.normal(size=(30, 3)), rng.normal(size=(30, 2)), rng.uniform(0.5, 2, 30)
    model = KernelRidge(0.3, kernel=kernel).fit(X, Y, weight)
    K = model.kernel_(X)
    gradient = K @ (weight[:, None] * (K @ model.dual_coef_ - Y) + 0.3 * model.dual_coef_)
    assert_allclose(gradient, 0, atol=1e-8 * np.abs(K).max())


def test_the_linear_kernel_is_ridge_without_intercept(rng):
    X, Y = rng.normal(size=(20, 5)), rng.normal(size=(20, 3))
    alpha = [0.1, 1.0, 1.0]
    ours = KernelRidge(alpha).fit(X, Y)
    primal = Ridge(alpha, fit_intercept=False).fit(X, Y)
    assert_allclose(ours.predict(X), primal.predict(X), rtol=1e-9, atol=1e-11)
    assert_allclose(X.T @ ours.dual_coef_, primal.coef_.T, rtol=1e-9, atol=1e-11)


def test_noise_in_the_kernel_is_penalty(rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    noisy = KernelRidge(0.0, kernel=RBF() + White(0.5)).fit(X, y)
    assert_allclose(noisy.predict(X[:5]), KernelRidge(0.5, kernel=RBF()).fit(X, y).predict(X[:5]))


def test_a_singular_matrix_gives_the_solution_of_least_norm(rng):
    X, w = rng.normal(size=(12, 2)), np.array([1.0, -2.0])
    with pytest.warns(LinAlgWarning, match="least norm"):
        model = KernelRidge(0.0).fit(X, X @ w)
    assert_allclose(X.T @ model.dual_coef_, w, rtol=1e-8)
    assert_allclose(model.dual_coef_, np.linalg.pinv(X).T @ w, rtol=1e-6, atol=1e-10)


def test_a_kernel_that_is_not_valid_is_solved_with_a_warning(rng):
    X, y = rng.uniform(1, 2, (12, 1)), rng.normal(size=12)
    with pytest.warns(LinAlgWarning, match="not positive definite"):
        model = KernelRidge(0.1, kernel=lambda x, z: -abs(x[0] - z[0])).fit(X, y)
    A = model.kernel_(X) + 0.1 * np.eye(12)
    assert_allclose(A @ model.dual_coef_, y, rtol=1e-8)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"alpha": [1.0, 2.0, 3.0]}, "alpha has shape"),
        ({"alpha": [1.0, -2.0]}, "alpha must be finite and not negative"),
        ({"kernel": "poly", "coef0": -1.0}, "coef0"),
        ({"kernel": lambda a, b: 1 / 0}, "given as kernel"),
        ({"kernel": lambda a, b: [1.0, 2.0]}, "given as kernel"),
        ({"kernel": lambda a, b: np.nan}, "kernel gives infinite or NaN"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(rng, parameters, says):
    with pytest.raises(ValueError, match=says):
        KernelRidge(**parameters).fit(rng.normal(size=(9, 2)), rng.normal(size=(9, 2)))


def test_memory_is_asked_for_first(monkeypatch, rng):
    monkeypatch.setattr("panlearn.core.memory.SMALL", 0)
    monkeypatch.setattr("panlearn.core.memory.available", lambda: 1000)
    with pytest.raises(MemoryError, match="the kernel matrix"):
        KernelRidge().fit(rng.normal(size=(30, 2)), rng.normal(size=30))


def test_streams_are_refused(rng):
    batches = [(rng.normal(size=(5, 2)), rng.normal(size=5)) for _ in range(2)]
    with pytest.raises(ValueError, match="takes data in memory"):
        KernelRidge().fit(batches)


@pytest.mark.parametrize("rows", [1, 5, 50])
def test_blocks_give_the_whole_product(monkeypatch, rng, rows):
    X, Z, v = rng.normal(size=(23, 2)), rng.normal(size=(7, 2)), rng.normal(size=7)
    monkeypatch.setattr("panlearn.kernel._base.rows_together", lambda width: rows)
    assert_allclose(times(Linear(), X, Z, v), X @ (Z.T @ v), rtol=1e-12, atol=1e-13)
