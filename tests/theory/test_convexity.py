"""Constants against Hessians by differences, and optimisers held to the rates."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import logsumexp

from panlearn.optimize import gradient_descent, newton
from panlearn.theory import convexity


def hessian(f, x, step=1e-4):
    d = len(x)
    rows = [approx_fprime(x, lambda z, i=i: approx_fprime(z, f, step)[i], step) for i in range(d)]
    return np.array(rows)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(30, 3)) * [1, 2, 0.5] + 1
    return X, np.where(X[:, 0] + rng.normal(size=30) > 0, 1.0, -1.0), rng.random(30)


def test_ridge_is_exact(data):
    X, y, s = data
    found = convexity.ridge(X, 0.7, s)
    H = hessian(lambda p: s @ (y - X @ p[:3] - p[3]) ** 2 + 0.7 * p[:3] @ p[:3], np.zeros(4))
    values = np.linalg.eigvalsh((H + H.T) / 2)
    assert found.smoothness == pytest.approx(values[-1], rel=1e-5)
    assert found.strong_convexity == pytest.approx(values[0], rel=1e-3)
    assert found.condition == pytest.approx(found.smoothness / found.strong_convexity)


def test_logistic_is_a_bound_that_is_reached_at_zero(data):
    X, y, s = data
    found = convexity.logistic_regression(X, 2.0, sample_weight=s)

    def loss(p):
        return 2 * s @ np.logaddexp(0, -y * (X @ p[:3] + p[3])) + p[:3] @ p[:3] / 2

    top = np.linalg.eigvalsh(hessian(loss, np.zeros(4)))[-1]
    assert found.smoothness == pytest.approx(top, rel=1e-4)
    assert found.strong_convexity == 0  # the intercept is free
    far = np.linalg.eigvalsh(hessian(loss, np.full(4, 3.0)))
    assert far[-1] <= found.smoothness
    alone = convexity.logistic_regression(X, fit_intercept=False)
    assert alone.strong_convexity == 1


def test_softmax_is_bounded(data, rng):
    X, _, _ = data
    labels = rng.integers(3, size=30)

    def loss(p):
        Z = X @ p.reshape(3, 3)
        return (logsumexp(Z, axis=1) - Z[np.arange(30), labels]).sum() + p @ p / 2

    found = convexity.logistic_regression(X, n_classes=3, fit_intercept=False)
    values = np.linalg.eigvalsh(hessian(loss, 0.1 * rng.normal(size=9), 1e-3))
    assert values[-1] <= found.smoothness
    assert values[0] >= 1 - 1e-3
    two = convexity.logistic_regression(X, fit_intercept=False)
    assert found.smoothness - 1 == pytest.approx(2 * (two.smoothness - 1))


def test_squared_hinge(data):
    X, y, _ = data
    found = convexity.linear_svc(X, 0.5, fit_intercept=False)
    H = hessian(
        lambda w: w @ w / 2 + 0.5 * (np.maximum(0, 1 - y * (X @ w)) ** 2).sum(), np.zeros(3)
    )
    assert found.smoothness == pytest.approx(np.linalg.eigvalsh(H)[-1], rel=1e-4)


def test_measured_constants_lie_between(rng):
    H = np.diag([1.0, 3.0, 10.0])
    found = convexity.measured(lambda x: H @ x, rng.normal(size=(60, 3)))
    exact = convexity.quadratic(H)
    assert exact == convexity.Curvature(10.0, 1.0)
    assert 9.5 < found.smoothness <= exact.smoothness + 1e-12
    assert exact.strong_convexity - 1e-12 <= found.strong_convexity < 1.5
    assert convexity.quadratic([[1, 1], [1, 1]]).strong_convexity == 0


@pytest.mark.parametrize("spectrum", [np.linspace(0.2, 4, 12), np.linspace(0, 4, 12) ** 2])
def test_optimisers_keep_the_rates(spectrum, rng):
    frame = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    H, target = frame * spectrum @ frame.T, rng.normal(size=12)
    curvature = convexity.quadratic(H)
    distance, k = np.linalg.norm(target), np.arange(301)

    def f(x):
        return (x - target) @ H @ (x - target) / 2

    def gradient(x):
        return H @ (x - target)

    options = {"jac": gradient, "maxiter": 300, "tol": 0.0}
    for step in (None, convexity.descent_step(curvature), 0.3 / curvature.smoothness):
        run = gradient_descent(f, np.zeros(12), step=step or 1 / curvature.smoothness, **options)
        bound = convexity.descent_gap(curvature, distance, k[: len(run.fun_values)], step)
        assert (run.fun_values <= bound * (1 + 1e-9) + 1e-25).all()
    assert run.fun_values[0] >= 0.05 * bound[0]  # and the bound is not idle
    ahead = gradient_descent(
        f, np.zeros(12), step=1 / curvature.smoothness,
        momentum=lambda k: (k - 1) / (k + 2), nesterov=True, **options,
    ).path  # fmt: skip
    values = [f(x - gradient(x) / curvature.smoothness) for x in ahead]
    assert (values <= convexity.accelerated_gap(curvature, distance, k + 1)[: len(values)]).all()


def test_newton_squares_the_gradient(rng):
    X = rng.normal(size=(40, 3))
    y = np.where(rng.random(40) > 0.5, 1.0, -1.0)

    def f(w):
        return np.logaddexp(0, -y * (X @ w)).sum() + w @ w / 2

    def jac(w):
        return -X.T @ (y / (1 + np.exp(y * (X @ w)))) + w

    def hess(w):
        p = 1 / (1 + np.exp(-X @ w))
        return X.T @ ((p * (1 - p))[:, None] * X) + np.eye(3)

    run = newton(f, np.full(3, 0.5), jac=jac, hess=hess, tol=1e-12)
    third = (np.linalg.norm(X, axis=1) ** 3).sum() / (6 * np.sqrt(3))  # |sigmoid''| at its largest
    curvature = convexity.logistic_regression(X, fit_intercept=False)
    norms = run.gradient_norms
    bound = convexity.newton_gradient(third, curvature, norms[:-1])
    assert (norms[1:] <= bound + 1e-10).all()
    with pytest.raises(ValueError, match="strong convexity"):
        convexity.newton_gradient(1.0, convexity.Curvature(1.0, 0.0), 1.0)


def test_iterations_needed():
    for curvature in (convexity.Curvature(5.0, 0.1), convexity.Curvature(5.0, 0.0)):
        k = convexity.iterations_needed(curvature, 2.0, 1e-3)
        assert convexity.descent_gap(curvature, 2.0, k) <= 1e-3
        assert convexity.descent_gap(curvature, 2.0, k - 1) > 1e-3
    with pytest.raises(ValueError, match="at most 1/L"):
        convexity.descent_gap(curvature, 1.0, 1, step=1.0)
