"""Convex functions and sets, smoothness, and what holds at an optimum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import norm

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.claims.problems import Logistic, noisy_logistic, random_quadratic
from panlearn.latent import GaussianMixture
from panlearn.linear import Ridge
from panlearn.optimize import gradient_descent, newton, projections

Function = Callable[[np.ndarray], np.ndarray]


def _chord_slack(f: Function, x: np.ndarray, y: np.ndarray) -> float:
    """The least l f(x) + (1-l) f(y) - f(l x + (1-l) y): negative where f is not convex."""
    weight = np.linspace(0, 1, 21)[:, None]
    return float((weight * f(x) + (1 - weight) * f(y) - f(weight * x + (1 - weight) * y)).min())


def _each(f: Callable) -> Any:
    """A function of one coordinate, of every entry of an array."""
    return lambda z: np.array([float(np.squeeze(f(v))) for v in z.reshape(-1, 1)]).reshape(z.shape)


def _pairs(seed: int, n: int = 1000) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-3, 3, (2, n))


@claim("A12")
def strong_convexity() -> Iterator[Evidence]:
    """m-strong convexity has two equivalent forms; a quadratic has m = lmin.

    <grad f(x) - grad f(y), x - y> >= m ||x - y||^2, and f(y) >= f(x) + <grad f(x), y - x> +
    (m/2) ||y - x||^2. A ridge of m makes the logistic loss, whose curvature fades far from the
    origin, m-strongly convex and no more. The text has the sign of the first wrong; m -> 0 gives
    convexity, not strict convexity.
    """
    rng = np.random.default_rng(0)
    for name, problem, d, scale in (
        ("quadratic", random_quadratic(np.array([0.5, 1, 4.0]), 0), 3, 1),
        ("logistic", noisy_logistic(0, ridge=0.5), 4, 30),
    ):
        slack = []
        for x, y in scale * rng.normal(size=(1000, 2, d)):
            g, gap = problem.gradient(x), (x - y) @ (x - y)
            slack.append(
                [
                    (g - problem.gradient(y)) @ (x - y) / gap,
                    2 * (problem.value(y) - problem.value(x) - g @ (y - x)) / gap,
                ]
            )
        numeric = gradient_descent(problem.value, x, maxiter=0).jac
        yield equal(f"gradient and differences, {name}", g, numeric, 1e-6)
        for form, least in zip(("monotone", "tangent"), np.min(slack, axis=0), strict=True):
            yield at_least(f"largest m of the {form} form, {name}", least, 0.5 - 1e-10)
            yield at_most(f"largest m of the {form} form, {name}", least, 0.6)


@claim("A13", mathematics=True)
def strictly_but_not_strongly_convex() -> Iterator[Evidence]:
    """x^4 is strictly convex, yet for no m > 0 strongly convex: near 0 the inequality fails."""
    for m in (1.0, 0.1, 1e-3):
        x = np.sqrt(m) / 4
        yield at_most(f"(f'(x) - f'(0)) x - m x^2 at m = {m:g}", 4 * x**4 - m * x**2, -1e-9)
    x, y = _pairs(1)
    middle = (x**4 + y**4) / 2 - ((x + y) / 2) ** 4
    yield at_least("least slack of the strict chord", middle[np.abs(x - y) > 1e-3].min(), 1e-14)


@claim("A14")
def smoothness_constants() -> Iterator[Evidence]:
    """The gradient of a quadratic has Lipschitz constant lmax(H).

    That of the mean logistic loss has one of at most lmax(X'X) / (4n), which near the origin it
    comes close to.
    """
    rng = np.random.default_rng(2)
    problem, loss = random_quadratic(np.array([0.5, 1, 4.0]), 2), noisy_logistic(2)
    top = np.linalg.svd(loss.X)[2][0]
    for name, objective, L, points in (
        ("quadratic", problem, 4, rng.normal(size=(10_000, 3))),
        ("logistic", loss, np.linalg.norm(loss.X, 2) ** 2 / (4 * 80), rng.normal(size=(10_000, 4))),
        ("logistic at 0", loss, loss.smoothness, 1e-3 * np.outer([0, 1, -1], top)),
    ):
        gradients = np.array([objective.gradient(x) for x in points])
        change = np.linalg.norm(np.diff(gradients, axis=0), axis=1)
        ratios = change / np.linalg.norm(np.diff(points, axis=0), axis=1)
        yield at_most(f"largest ratio / L, {name}", ratios.max() / L, 1 + 1e-9)
        yield at_least(
            f"largest ratio / L, {name}", ratios.max() / L, 0.4 if name == "logistic" else 0.99
        )


@claim("A26")
def three_tests_of_convexity() -> Iterator[Evidence]:
    """Three tests of convexity agree: the chord above, the tangent below, f'' >= 0.

    They hold for log(1 + e^-x), which is the loss of a logistic regression with one row, e^x and
    x^2, and fail for sin. The text prints f' >= 0 for the last test.
    """
    x, y = _pairs(3, 200)
    loss = Logistic(np.ones((1, 1)), np.ones(1))
    functions: dict[str, tuple[Function, Function, Function]] = {
        "log-loss": tuple(_each(f) for f in (loss.value, loss.gradient, loss.hessian)),
        "exp": (np.exp, np.exp, np.exp),
        "square": (np.square, lambda z: 2 * z, lambda z: np.full_like(z, 2)),
        "sin": (np.sin, np.cos, lambda z: -np.sin(z)),
    }
    for name, (f, slope, curvature) in functions.items():
        slacks = {
            "chord": _chord_slack(f, x, y),
            "tangent": (f(y) - f(x) - slope(x) * (y - x)).min(),
            "curvature": curvature(x).min(),
        }
        for test, slack in slacks.items():
            what = f"least slack of the {test} test, {name}"
            yield at_most(what, slack, -0.1) if name == "sin" else at_least(what, slack, -1e-12)
        h = 1e-4
        yield equal(f"f' and differences, {name}", (f(x + h) - f(x - h)) / 2 / h, slope(x), 1e-6)
        rise = (slope(x + h) - slope(x - h)) / 2 / h
        yield equal(f"f'' and differences, {name}", rise, curvature(x), 1e-6)


@claim("A27")
def closure_of_convexity() -> Iterator[Evidence]:
    """Convexity is kept by sums with positive weights, maxima, affine maps of the argument.

    So is that of the logistic loss by the scores w x + b and by the sum over rows and a ridge. It
    is kept too by a convex nondecreasing function of a convex one; without monotony it is not: u^2
    after x^2 - 1.
    """
    x, y = _pairs(4, 200)
    affine = Logistic(np.array([[2.0], [-0.5], [1.0]]), np.array([1.0, 1.0, -1.0]))
    ridge = Logistic(affine.X, affine.y, 0.7)
    for name, f in {
        "2 e^x + 3 x^2": lambda z: 2 * np.exp(z) + 3 * z**2,
        "max(x^2, e^x)": lambda z: np.maximum(z**2, np.exp(z)),
        "losses of three rows": _each(affine.value),
        "and a ridge": _each(ridge.value),
        "e^(x^2)": lambda z: np.exp(z**2),
    }.items():
        yield at_least(f"least slack of {name}", _chord_slack(f, x, y), -1e-9)
    by_hand = np.logaddexp(0, np.array([[-2], [0.5], [1]]) * x).mean(axis=0)
    yield equal("losses of three rows by hand", _each(affine.value)(x), by_hand, 1e-12)
    bad = _chord_slack(lambda z: (z**2 - 1) ** 2, np.array([1.0]), np.array([-1.0]))
    yield at_most("slack of (x^2 - 1)^2 between -1 and 1", bad, -0.9)


@claim("A28")
def minima_of_convex_functions() -> Iterator[Evidence]:
    """Each local minimum of a convex function is global; a strictly convex one has at most one.

    The text promises exactly one, but e^x has none; strong convexity gives existence.
    """
    loss = noisy_logistic(5)
    starts = np.random.default_rng(5).normal(size=(8, 4)) * 3
    runs = [newton(loss.value, s, jac=loss.gradient, hess=loss.hessian) for s in starts]
    yield at_most("spread of the minima", np.ptp([r.fun for r in runs]), 1e-8)
    yield at_most("spread of the minimisers", np.ptp([r.x for r in runs], axis=0).max(), 1e-6)
    flat = [
        newton(lambda x: (x.sum() - 1) ** 2, s, jac=lambda x: 2 * (x.sum() - 1) * np.ones(4))
        for s in starts
    ]
    yield at_most("spread of the minima, not strictly convex", np.ptp([r.fun for r in flat]), 1e-8)
    yield at_least("spread of its minimisers", np.ptp([r.x for r in flat], axis=0).max(), 1)
    run = gradient_descent(lambda x: np.exp(x[0]), [0.0], jac=np.exp, step=1.0, maxiter=2000, tol=0)
    yield true("e^x falls at every step", np.all(np.diff(run.fun_values) < 0))
    yield at_most("where it has led", run.x[0], -7)


@claim("A29")
def jensen() -> Iterator[Evidence]:
    """Jensen: f(sum l_i x_i) <= sum l_i f(x_i) for convex f; for the logarithm the reverse.

    log sum q_k r_k >= sum q_k log r_k, with equality if and only if r is constant: the density of
    a mixture is above the mean of the log densities of its components, unless they are the same.
    The text prints one direction for both cases.
    """
    rng = np.random.default_rng(6)
    q = rng.dirichlet(np.ones(5), size=1000)
    x = rng.normal(size=(1000, 5))
    for name, f in (("exp", np.exp), ("square", np.square)):
        slack = (q * f(x)).sum(axis=1) - f((q * x).sum(axis=1))
        yield at_least(f"least slack of {name}", slack.min(), -1e-12)
    rows = np.r_[rng.normal(-2, 1, (30, 1)), rng.normal(2, 1, (30, 1))]
    apart = GaussianMixture(2, max_iter=200, random_state=0).fit(rows)
    alone = GaussianMixture(1).fit(rows)
    for model, mean in ((apart, 1.0), (alone, 0.0)):
        parts = zip(model.weights_, model.means_, model.covariances_, strict=True)
        bound = sum(w * norm.logpdf(x, m, np.sqrt(c[0])) for w, m, c in parts)
        slack = model.score_samples(x.reshape(-1, 1)) - bound.ravel()
        what = f"slack of log with {len(model.weights_)} components"
        yield at_least(f"least {what}", slack.min(), -1e-12)
        yield (at_least if mean else at_most)(f"mean {what}", slack.mean(), mean + 1e-12)


@claim("A30")
def convex_sets() -> Iterator[Evidence]:
    """A set is convex if it holds the segment between any two of its points.

    Balls, boxes and the simplex pass; an annulus does not.
    """
    rng = np.random.default_rng(7)
    for name, project in {
        "l1 ball": projections.l1_ball(),
        "l2 ball": projections.l2_ball(),
        "linf ball": projections.linf_ball(),
        "halfspace": projections.box([-np.inf, 0, -np.inf], np.inf),
        "simplex": projections.simplex(),
    }.items():
        points = [project(y) for y in rng.normal(size=(60, 3)) * 2]
        yield equal(f"what is on the {name} stays", [project(p) for p in points], points, 1e-12)
        between = [t * a + (1 - t) * b for a, b in pairwise(points) for t in (0.2, 0.5, 0.9)]
        leaves = max(np.abs(project(z) - z).max() for z in between)
        yield at_most(f"distance of a segment from the {name}", leaves, 1e-12)
    ends = np.array([[1.0, 0, 0], [-1.0, 0, 0]])  # both in the annulus 1/2 <= ||x|| <= 1
    middle = float(np.linalg.norm(ends.mean(axis=0)))
    yield at_most("radius amid a chord of the annulus", middle, 0.5 - 1e-12)


@claim("A31")
def lagrange() -> Iterator[Evidence]:
    """At a constrained optimum grad f = gamma grad g.

    The maximum of x + y on x^2 + y^2 = 1 is at (1, 1)/sqrt 2.
    """
    run = gradient_descent(
        lambda x: -x.sum(),
        [1.0, -0.2],
        jac=lambda x: -np.ones(2),
        projection=projections.l2_ball(),
        step=0.5,
        tol=1e-12,
    )
    yield equal("maximiser", run.x, np.ones(2) / np.sqrt(2), 1e-8)
    constraint = 2 * run.x
    gamma = constraint.sum() / (constraint @ constraint)
    yield equal("grad f and gamma grad g", np.ones(2), gamma * constraint, 1e-8)


@claim("B103")
def fermat() -> Iterator[Evidence]:
    """At an interior minimum of a differentiable function the gradient is zero.

    So it is at the fit of a ridge regression and of a logistic one. It is necessary only: x^3 has
    slope zero at 0 and no extremum there.
    """
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    w = Ridge(alpha=2.0, fit_intercept=False).fit(X, y).coef_
    yield equal("X'(Xw - y) and -alpha w at the ridge fit", X.T @ (X @ w - y), -2 * w, 1e-10)
    yield at_most(
        "gradient at the logistic fit", noisy_logistic(8).solve().gradient_norms[-1], 1e-6
    )
    cubic = gradient_descent(lambda x: x[0] ** 3, [0.0], jac=lambda x: 3 * x**2)
    yield true("descent stays at 0, and x^3 is lower beside it", cubic.nit == 0 and (-0.1) ** 3 < 0)
