"""How fast gradient methods converge, and under which conditions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal
from panlearn.claims.problems import (
    Logistic,
    Quadratic,
    descend,
    noisy_logistic,
    random_quadratic,
)
from panlearn.optimize import (
    gradient_descent,
    newton,
    projections,
    schedules,
    stochastic_gradient_descent,
)


def _accelerated(k: int) -> float:
    """The momentum of Nesterov's method for convex objectives."""
    return (k - 1) / (k + 2)


@claim("A9")
def sublinear_rate() -> Iterator[Evidence]:
    """Convex and L-smooth, step 1/L: the gap after t steps is at most 2L ||x_0 - x*||^2 / (t + 1).

    The tighter L ||x_0 - x*||^2 / (2t) holds too.
    """
    problem = random_quadratic(np.linspace(0, 1, 30) ** 3, 0)
    run = descend(problem, np.zeros(30), 2000, step=1.0)
    distance = (problem.minimiser**2).sum()
    t = np.arange(1, 2001)
    yield at_most("gap / loose bound", (run.fun_values[1:] * (t + 1) / (2 * distance)).max(), 1)
    yield at_most("gap / tight bound", (run.fun_values[1:] * 2 * t / distance).max(), 1)


@claim("A10")
def linear_rate() -> Iterator[Evidence]:
    """m-strongly convex and L-smooth, step 1/L: the gap after t steps falls by (1 - m/L)^t."""
    problem = random_quadratic(np.linspace(0.05, 1, 20), 1)
    values = descend(problem, np.zeros(20), 300, step=1.0).fun_values
    bound = 0.95 ** np.arange(301) * values[0]
    yield at_most("gap / bound, quadratic", (values / (bound * (1 + 1e-9))).max(), 1)
    loss = noisy_logistic(1, ridge=0.1)
    gap = descend(loss, np.ones(4), 300, step=1 / loss.smoothness).fun_values - loss.solve().fun
    bound = (1 - 0.1 / loss.smoothness) ** np.arange(len(gap)) * gap[0]
    yield at_most("gap / bound, ridge logistic", (gap / (bound + 1e-15)).max(), 1)


@claim("A11")
def accelerated_rate() -> Iterator[Evidence]:
    """Nesterov's momentum brings the gap down to 2L ||x_0 - x*||^2 / (t + 1)^2."""
    problem = random_quadratic(np.linspace(0, 1, 30) ** 3, 2)
    options = {"step": 1.0, "momentum": _accelerated, "nesterov": True}
    ahead = descend(problem, np.zeros(30), 2000, **options).path
    # The record holds the look-ahead points; the bound is for the gradient steps from them.
    steps = ahead - (ahead - problem.minimiser) @ problem.hessian
    gaps = np.array([problem.value(x) for x in steps])
    bound = 2 * (problem.minimiser**2).sum() / (np.arange(1, len(gaps) + 1) + 1) ** 2
    yield at_most("gap / bound", (gaps / bound).max(), 1)
    wide = Quadratic(np.diag((np.arange(400) / 399) ** 4), np.zeros(400))
    gaps = descend(wide, np.ones(400), 500, **options).fun_values
    t = np.arange(10, 501)
    yield at_most("log-log slope", np.polyfit(np.log(t), np.log(gaps[10:]), 1)[0], -1.9)


@claim("B94")
def sublinear_rate_of_any_short_step() -> Iterator[Evidence]:
    """Convex and L-smooth, step t <= 1/L: the gap after k steps is <= ||x_0 - x*||^2 / (2 t k).

    It is the gradient that is L-Lipschitz; the text confuses it with the function, and makes
    convexity a part of smoothness.
    """
    loss = noisy_logistic(3)
    best = loss.solve()
    start = np.full(4, 2.0)
    distance = ((start - best.x) ** 2).sum()
    for fraction in (1.0, 0.3):
        t = fraction / loss.smoothness
        gap = descend(loss, start, 200, step=t).fun_values[1:] - best.fun
        bound = distance / (2 * t * np.arange(1, 201))
        yield at_most(f"gap / bound at t = {fraction}/L", (gap / bound).max(), 1)


@claim("B95")
def descent_lemma() -> Iterator[Evidence]:
    """With step t <= 1/L each step lowers f by (t/2) ||grad f||^2 or more.

    If f is convex the distance to a minimiser never grows.
    """
    loss = noisy_logistic(4)
    best = loss.solve()
    t = 1 / loss.smoothness
    run = descend(loss, np.full(4, 2.0), 200, step=t)
    promised = t / 2 * run.gradient_norms[:-1] ** 2
    yield at_least("least surplus of decrease", (-np.diff(run.fun_values) - promised).min(), -1e-15)
    distances = np.linalg.norm(run.path - best.x, axis=1)
    yield at_most("largest growth of the distance", np.diff(distances).max(), 1e-15)


@claim("B96")
def linear_rate_of_the_distance() -> Iterator[Evidence]:
    """m-strongly convex, L-smooth, t <= 2/(m+L): gap <= gamma^k (L/2) ||x_0 - x*||^2.

    Here gamma = 1 - 2 t m L / (m + L), which is ((L - m)/(L + m))^2 at t = 2/(m + L). The text
    leaves gamma open, and its definition of strong convexity lacks the factor 1/2.
    """
    problem = Quadratic(np.diag([1, 3, 10.0]), np.zeros(3))
    gammas = []
    for t in (2 / 11, 0.1):
        gammas.append(1 - 2 * t * 10 / 11)
        gap = descend(problem, np.ones(3), 60, step=t).fun_values
        bound = gammas[-1] ** np.arange(61) * 5 * 3
        yield at_most(f"gap / bound at t = {t:.3g}", (gap / bound).max(), 1)
    yield equal("gamma at m=1, L=10, t=2/11", gammas[0], 0.669421, 1e-6)
    yield equal("gamma and ((L-m)/(L+m))^2", gammas[0], (9 / 11) ** 2, 1e-12)


@claim("B97")
def nonconvex_rate() -> Iterator[Evidence]:
    """Smooth but not convex, t <= 1/L: some gradient is small.

    The least ||grad f(x_i)|| for i <= k is at most sqrt(2 (f(x_0) - f*) / (t (k + 1))).
    """

    def value(x: np.ndarray) -> float:
        return float(np.cos(x[0]) + 0.05 * x[0] ** 2)

    def gradient(x: np.ndarray) -> np.ndarray:
        return -np.sin(x) + 0.1 * x

    lowest = min(newton(value, [s], jac=gradient).fun for s in np.linspace(-10, 10, 21))
    t = 1 / 1.1
    for start in (0.01, 5.0, 9.0):
        run = gradient_descent(value, [start], jac=gradient, step=t, maxiter=100, tol=0)
        least = np.minimum.accumulate(run.gradient_norms)
        bound = np.sqrt(2 * (run.fun_values[0] - lowest) / (t * np.arange(1, run.nit + 2)))
        yield at_most(f"least gradient / bound from {start}", (least / bound).max(), 1)


@claim("B100")
def iteration_complexity() -> Iterator[Evidence]:
    """To reach eps: 1/eps steps if convex, log(1/eps) if strongly convex, 1/eps^2 if not convex.

    Stochastic gradients on a convex f need 1/eps^2 with a step like 1/sqrt(k). The text's 1/k is
    too short there: on 0.05 x^2 it leaves 13.9 per cent of the gap after 1e4 steps.
    """
    problem = random_quadratic(np.linspace(0, 1, 30) ** 3, 5)
    gap = descend(problem, np.zeros(30), 2000, step=1.0).fun_values
    first = {eps: int(np.argmax(gap <= eps)) for eps in (1e-2, 1e-3)}
    for eps, steps in first.items():
        yield at_most(f"convex steps to {eps:g}", steps, (problem.minimiser**2).sum() / (2 * eps))
    strong = random_quadratic(np.linspace(0.1, 1, 10), 5)
    gap = descend(strong, np.zeros(10), 400, step=1.0).fun_values / strong.value(np.zeros(10))
    for eps in (1e-3, 1e-6, 1e-12):
        steps = int(np.argmax(gap <= eps))
        yield at_most(f"strongly convex steps to {eps:g}", steps, np.ceil(np.log(1 / eps) / 0.1))
    shallow = Quadratic(np.array([[0.1]]), np.zeros(1))
    for name, schedule, steps in (
        ("1/k", schedules.inverse_time(), 10_000),
        ("1/sqrt(k)", schedules.inverse_sqrt(), 2000),
    ):
        run = descend(shallow, np.ones(1), steps, step=1.0, schedule=schedule, keep_path=False)
        left, what = run.fun_values[-1] / run.fun_values[0], f"gap left by {steps} steps of {name}"
        yield equal(what, left, 0.139, 5e-4) if name == "1/k" else at_most(what, left, 1e-6)
    yield from _stochastic_rate()


def _stochastic_rate() -> Iterator[Evidence]:
    """Mean gap of averaged SGD in a ball of diameter D, gradients below G: 1.5 D G / sqrt(K)."""
    loss = noisy_logistic(6, n=50)
    G, D = np.linalg.norm(loss.X, axis=1).max(), 4.0
    best = loss.solve()
    gaps = [
        stochastic_gradient_descent(
            lambda w, rows: loss.value(w),
            np.ones(4),
            jac=lambda w, rows: Logistic(loss.X[rows], loss.y[rows]).gradient(w),
            n_samples=50,
            epochs=20,
            replace=True,
            average=True,
            step=D / G,
            schedule=schedules.inverse_sqrt(),
            projection=projections.l2_ball(D / 2),
            random_state=seed,
        ).fun_values
        - best.fun
        for seed in range(4)
    ]
    steps = 50 * np.arange(1, 21)
    bound = 1.5 * D * G / np.sqrt(steps)
    yield at_most("mean stochastic gap / bound", (np.mean(gaps, axis=0)[1:] / bound).max(), 1)
