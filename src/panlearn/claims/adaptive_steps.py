"""Schedules, normalised and projected steps, moving averages, AdaGrad, RMSProp and Adam."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal
from panlearn.claims.problems import Quadratic, descend
from panlearn.optimize import adagrad, adam, gradient_descent, projections, rmsprop, schedules
from panlearn.optimize.rules import Adam


def _constant_slope(method: Callable, gradient: float, steps: int, **options: Any) -> np.ndarray:
    """The lengths of the steps on the line f(x) = gradient x."""
    run: OptimizeResult = method(
        lambda x: float(gradient * x[0]),
        [0.0],
        jac=lambda x: np.array([gradient]),
        maxiter=steps,
        tol=0,
        **options,
    )
    return -np.diff(run.path[:, 0])


@claim("A21")
def adagrad_ignores_scale() -> Iterator[Evidence]:
    """AdaGrad, x_i -= eta g_i / (delta + sqrt(sum of g_i^2)), ignores each coordinate's scale.

    As delta goes to 0 the run on sum c_i x_i^2 / 2 is the same for every positive c. The text's
    denominator lacks the square root, and without it the run depends on c.
    """
    paths, rootless = [], []
    for c in ([1.0, 100.0], [10.0, 1000.0]):
        problem = Quadratic(np.diag(c), np.zeros(2))
        start = np.array([1.0, -2.0])
        run = adagrad(
            problem.value, start, jac=problem.gradient, step=0.3, epsilon=1e-300, maxiter=100, tol=0
        )
        paths.append(run.path)
        gradient = problem.gradient(start)
        rootless.append(start - 0.3 * gradient / gradient**2)
    yield equal("the two paths", paths[0], paths[1], 1e-10)
    yield at_least("first step without the root", np.abs(np.subtract(*rootless)).max(), 0.1)


@claim("B101")
def three_schedules() -> Iterator[Evidence]:
    """Schedules are tabulated exactly.

    Step decay gives eta, eta/10, eta/100 from t0 and t1; the others are eta / (1 + c t) and
    eta / sqrt(1 + c t).
    """
    t, eta, c = np.arange(40), 0.4, 0.7
    problem = Quadratic(np.eye(1), np.zeros(1))
    expected = {
        "step decay": (schedules.step_decay([10, 25]), np.repeat([1, 0.1, 0.01], [10, 15, 15])),
        "1/(1+ct)": (schedules.inverse_time(c), 1 / (1 + c * t)),
        "1/sqrt(1+ct)": (schedules.inverse_sqrt(c), 1 / np.sqrt(1 + c * t)),
    }
    for name, (schedule, factors) in expected.items():
        yield equal(name, schedule(t), factors, 1e-15)
        path = descend(problem, np.ones(1), 40, step=eta, schedule=schedule).path[:, 0]
        yield equal(f"steps of a run, {name}", 1 - path[1:] / path[:-1], eta * factors, 1e-12)


@claim("B105")
def normalised_steps_leave_a_saddle() -> Iterator[Evidence]:
    """Normalised gradient descent moves by eta a step, however small the gradient.

    From (0, 1e-6) on x^2 - y^2 with eta = 0.1 it passes |y| = 1 after 10 steps, the plain method
    after 76.
    """
    counts = []
    for normalize in (True, False):
        run = gradient_descent(
            lambda x: x[0] ** 2 - x[1] ** 2,
            [0.0, 1e-6],
            jac=lambda x: np.array([2 * x[0], -2 * x[1]]),
            step=0.1,
            normalize=normalize,
            maxiter=80,
            tol=0,
        )
        counts.append(int(np.argmax(np.abs(run.path[:, 1]) > 1)))
        if normalize:
            lengths = np.linalg.norm(np.diff(run.path, axis=0), axis=1)
            yield equal("lengths of the normalised steps", lengths, np.full(80, 0.1), 1e-12)
    yield equal("steps to |y| > 1, normalised and plain", counts, [10, 76])


@claim("B106")
def projected_gradient() -> Iterator[Evidence]:
    """Projected gradient descent reaches the constrained minimum.

    The projection is the closest point of the set; for the unit ball y / max(1, ||y||), which is
    nonexpansive. The minimum of ||x - (2, 0)||^2 over that ball is at (1, 0).
    """
    project = projections.l2_ball(1.0)
    points = np.random.default_rng(0).normal(size=(40, 3)) * 2
    edge = np.linspace(0.95, 1.05, 11)[:, None]  # just inside and just outside
    points[5:16] *= edge / np.linalg.norm(points[5:16], axis=1, keepdims=True)
    projected = np.array([project(y) for y in points])
    formula = points / np.maximum(1, np.linalg.norm(points, axis=1))[:, None]
    yield equal("projection and formula", projected, formula, 1e-12)
    found = [
        minimize(
            lambda x, y=y: ((x - y) ** 2).sum(),
            np.zeros(3),
            jac=lambda x, y=y: 2 * (x - y),
            method="SLSQP",
            tol=1e-15,
            constraints={"type": "ineq", "fun": lambda x: 1 - x @ x, "jac": lambda x: -2 * x},
        ).x
        for y in points[:5]
    ]
    yield equal("projection and SLSQP", projected[:5], found, 1e-7)
    before = np.linalg.norm(points[:, None] - points, axis=2)
    after = np.linalg.norm(projected[:, None] - projected, axis=2)
    yield at_most("largest expansion", (after - before).max(), 1e-12)
    run = gradient_descent(
        lambda x: ((x - [2, 0]) ** 2).sum(),
        [0.3, -0.8],
        jac=lambda x: 2 * (x - [2, 0]),
        step=0.2,
        projection=project,
        tol=1e-10,
    )
    yield equal("constrained minimum", run.x, [1, 0], 1e-8)


@claim("B107")
def moving_average() -> Iterator[Evidence]:
    """An exponential moving average from zero is (1 - b) times the sum of b^(t-i) theta_i.

    Of a constant c it is c (1 - b^t), so that dividing by 1 - b^t gives c at every t.
    """
    rule, b = Adam(beta1=0.8), 0.8
    series = np.random.default_rng(1).normal(size=20)
    for name, values in (("a random series", series), ("a constant", np.full(20, 3.0))):
        memory, averages = rule.init(np.zeros(1)), []
        for k, value in enumerate(values):
            _, memory = rule.update(k, np.array([value]), memory)
            averages.append(memory[0][0])
        t = np.arange(1, 21)
        weights = (1 - b) * np.tril(b ** np.clip(t[:, None] - t, 0, None))
        yield equal(f"recursion and sum, {name}", averages, weights @ values, 1e-14)
    yield equal("corrected average of a constant", averages / (1 - b**t), values, 1e-14)


@claim("B108")
def momentum_of_a_constant_gradient() -> Iterator[Evidence]:
    """Momentum as an average, v = b v + (1 - b) g and w -= a v, moves by a g (1 - b^t) at step t.

    It is the heavy ball with step a (1 - b).
    """
    a, b, g = 0.5, 0.9, 3.0
    steps = _constant_slope(gradient_descent, g, 30, step=a * (1 - b), momentum=b)
    yield equal("displacements", steps, a * g * (1 - b ** np.arange(1, 31)), 1e-12)


@claim("B109")
def adagrad_of_a_constant_gradient() -> Iterator[Evidence]:
    """AdaGrad under a constant gradient takes steps of length a / sqrt(t).

    The text multiplies by the accumulated square where the gradient belongs.
    """
    for g in (1e-3, 50.0):
        steps = _constant_slope(adagrad, g, 50, step=0.2)
        yield equal(f"steps at g = {g:g}", steps, 0.2 / np.sqrt(np.arange(1, 51)), 1e-6)


@claim("B110")
def rmsprop_of_a_constant_gradient() -> Iterator[Evidence]:
    """RMSProp under a constant gradient takes steps of length a / sqrt(1 - b^t).

    The text leaves out the epsilon that keeps a zero gradient from dividing zero by zero.
    """
    b = 0.9
    for g in (0.1, 50.0):
        steps = _constant_slope(rmsprop, g, 50, step=0.2, beta=b)
        yield equal(f"steps at g = {g:g}", steps, 0.2 / np.sqrt(1 - b ** np.arange(1, 51)), 1e-6)
    still = rmsprop(
        lambda x: x[1] ** 2, [1.0, 1.0], jac=lambda x: np.array([0, 2 * x[1]]), maxiter=3
    )
    yield equal("a coordinate without gradient", still.path[:, 0], np.ones(4))


@claim("B111")
def adam_is_unbiased() -> Iterator[Evidence]:
    """Adam's first step is -a sign(g), and a constant gradient gives steps of length a.

    It has two memories, b1 and b2; the text prints one. For independent gradients the corrected
    averages have the means E[g] and E[g^2]; without the correction they do not.
    """
    for g in (-1e-3, 70.0):
        steps = _constant_slope(adam, g, 50, step=0.2, epsilon=1e-300)
        yield equal(f"steps at g = {g:g}", steps, np.full(50, 0.2 * np.sign(g)), 1e-12)
    rule, rng, n = Adam(), np.random.default_rng(2), 200_000
    memory = rule.init(np.zeros(n))
    for k in range(5):
        _, memory = rule.update(k, rng.normal(1.0, 2.0, size=n), memory)
    for name, average, beta, mean in (("g", memory[0], 0.9, 1.0), ("g^2", memory[1], 0.999, 5.0)):
        corrected = average / (1 - beta**5)
        error = abs(corrected.mean() - mean) / (corrected.std() / np.sqrt(n))
        yield at_most(f"standard errors from E[{name}]", error, 4)
        yield at_most(f"uncorrected mean / E[{name}]", average.mean() / mean, 0.5)
