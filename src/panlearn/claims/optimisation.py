"""Gradient descent on quadratics, momentum, stochastic gradients, Newton, weight decay."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.claims.problems import (
    Quadratic,
    descend,
    noisy_logistic,
    random_quadratic,
)
from panlearn.optimize import adam, gradient_descent, newton, projections


def _least_squares(seed: int = 0, n: int = 40, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=n)


def _mean_square(X: np.ndarray, y: np.ndarray) -> Quadratic:
    """(1/n) ||y - X w||^2 less its least value."""
    return Quadratic(2 / len(y) * X.T @ X, np.linalg.lstsq(X, y)[0])


@claim("A1")
def mean_square_gradient() -> Iterator[Evidence]:
    """The mean square L(w) = (1/n) ||y - X w||^2 has gradient (2/n) X'(X w - y).

    Its Hessian (2/n) X'X is positive semi-definite, so that L is convex.
    """
    X, y = _least_squares()
    w = np.random.default_rng(1).normal(size=5)
    numeric = gradient_descent(lambda v: ((y - X @ v) ** 2).mean(), w, maxiter=0).jac
    yield equal("gradient and central difference", 2 / 40 * X.T @ (X @ w - y), numeric, 1e-8)
    yield at_least("least eigenvalue", np.linalg.eigvalsh(2 / 40 * X.T @ X).min(), -1e-12)


@claim("A2")
def contraction_of_the_error() -> Iterator[Evidence]:
    """Gradient descent on a quadratic with Hessian H shrinks the error by ||I - eta H|| a step.

    After t steps ||w_t - w*|| <= rho^t ||w_0 - w*|| with rho that spectral norm. The text writes
    rho^(t+1) for squared norms, which contract by rho^2 a step, and builds rho from X'X where the
    Hessian of its loss is (2/n) X'X.
    """
    problem = _mean_square(*_least_squares())
    eta = 0.3
    rho = np.linalg.norm(np.eye(5) - eta * problem.hessian, 2)
    run = descend(problem, np.zeros(5), 200, step=eta)
    errors = np.linalg.norm(run.path - problem.minimiser, axis=1)
    bound = rho ** np.arange(len(errors)) * errors[0]
    # The floor is the rounding of the iterates themselves.
    yield at_most("largest error / bound", (errors / (bound * (1 + 1e-9) + 1e-15)).max(), 1)


@claim("A3")
def best_fixed_step() -> Iterator[Evidence]:
    """The best fixed step on a quadratic is 2 / (lmin + lmax).

    It contracts by (kappa - 1) / (kappa + 1), where kappa = lmax / lmin: the error of the worst
    start after a step. On the quadratic that is a start along the first or the last axis.
    """
    problem = random_quadratic(np.array([0.5, 1, 2, 3, 8.0]), 0)
    axes = np.linalg.eigh(problem.hessian)[1].T

    def rate(eta: float, starts: np.ndarray) -> float:
        ends = [descend(problem, problem.minimiser + v, 1, step=eta).x for v in starts]
        return float(np.linalg.norm(ends - problem.minimiser, axis=1).max())

    best = 2 / (0.5 + 8)
    yield equal("rate and (kappa-1)/(kappa+1)", rate(best, axes), 15 / 17, 1e-14)
    grid = np.linspace(0, 2 / 8, 2002)[1:]
    found = grid[np.argmin([rate(eta, axes[[0, -1]]) for eta in grid])]
    yield at_most("distance of the grid's best step in cells", abs(found - best) / grid[0], 1)


@claim("A4")
def the_rate_is_attained() -> Iterator[Evidence]:
    """The rate (kappa - 1) / (kappa + 1) of the best fixed step cannot be improved.

    From w* + v_min + v_max, the sum of the extreme eigenvectors, the error after t steps equals
    rho^t times the first error.
    """
    hessian = random_quadratic(np.array([1, 2, 5.0]), 1).hessian
    problem = Quadratic(hessian, np.zeros(3))  # at zero the error keeps its digits as it shrinks
    values, vectors = np.linalg.eigh(hessian)
    run = descend(problem, vectors[:, 0] + vectors[:, -1], 50, step=2 / (values[0] + values[-1]))
    errors = np.linalg.norm(run.path, axis=1)
    rho = (values[-1] - values[0]) / (values[-1] + values[0])
    tight = errors / (rho ** np.arange(51) * errors[0])
    yield equal("error / rho^t / first error", tight, np.ones(51), 1e-10)


@claim("A5")
def steps_that_converge() -> Iterator[Evidence]:
    """Gradient descent on a quadratic converges from every start if and only if 0 < eta < 2/lmax.

    At 2/lmax the top mode changes sign for ever, beyond it grows. The texts allow equality, which
    is wrong.
    """
    problem = Quadratic(np.diag([1, 0.1]), np.zeros(2))
    for eta, low, high in ((1.99, 0, 1e-4), (2.0, 1, 1), (2.01, 1e4, np.inf)):
        top = abs(descend(problem, np.ones(2), 1000, step=eta).x[0])
        yield at_least(f"|x_1| after 1000 steps at eta={eta}", top, low)
        yield at_most(f"|x_1| after 1000 steps at eta={eta}", top, high)


@claim("A6")
def heavy_ball() -> Iterator[Evidence]:
    """Heavy ball, w_(t+1) = w_t + beta (w_t - w_(t-1)) - eta grad, is faster than any fixed step.

    With eta = 4 / (sqrt L + sqrt m)^2 and beta = ((sqrt L - sqrt m) / (sqrt L + sqrt m))^2 its
    asymptotic rate is sqrt(beta), below (kappa - 1) / (kappa + 1). The text leaves out beta and
    shifts the index; beta = 1 never converges.
    """
    hessian = random_quadratic(np.array([1, 3, 10, 25.0]), 2).hessian
    problem = Quadratic(hessian, np.zeros(4))
    m, L = 1.0, 25.0
    beta = ((np.sqrt(L) - np.sqrt(m)) / (np.sqrt(L) + np.sqrt(m))) ** 2
    eta = 4 / (np.sqrt(L) + np.sqrt(m)) ** 2
    path = descend(problem, np.ones(4), 120, step=eta, momentum=beta).path
    recursion = path[1:-1] + beta * np.diff(path[:-1], axis=0) - eta * path[1:-1] @ hessian
    yield equal("the path and the recursion", path[2:], recursion, 1e-12)
    errors = np.linalg.norm(path, axis=1)
    rate = (errors[120] / errors[80]) ** (1 / 40)
    yield equal("measured rate / sqrt(beta)", rate / np.sqrt(beta), 1, 0.02)
    yield at_most("sqrt(beta)", np.sqrt(beta), (L - m) / (L + m))
    endless = descend(problem, np.ones(4), 5000, step=eta / 4, momentum=1.0).path
    swing = np.linalg.norm(endless[-50:], axis=1).max()
    yield at_least("error near step 5000 at beta = 1", swing, 0.1)


@claim("A8")
def early_stopping_is_a_spectral_filter() -> Iterator[Evidence]:
    """Gradient descent from zero, stopped early, is a regulariser.

    On (1/2) ||y - X w||^2 the t-th iterate has filter 1 - (1 - eta s_i^2)^t on the singular value
    s_i, so that its norm grows to that of least squares. A callback that watches the validation
    loss ends the run, and the record holds the best-validation iterate.
    """
    X, y = _least_squares(3, 30, 12)
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    problem = Quadratic(X.T @ X, np.linalg.lstsq(X, y)[0])
    eta = 1 / s[0] ** 2
    run = descend(problem, np.zeros(12), 300, step=eta)
    filters = 1 - (1 - eta * s**2) ** np.arange(301)[:, None]
    yield equal("path and filtered solution", run.path, (filters * (U.T @ y) / s) @ Vt, 1e-12)
    norms = np.linalg.norm(run.path, axis=1)
    yield at_least("least growth of the norm", np.diff(norms).min(), 0)
    yield at_most("norm / least-squares norm", norms[-1] / np.linalg.norm(problem.minimiser), 1)

    rng = np.random.default_rng(4)
    other = rng.normal(size=(200, 12))
    target = rng.normal(size=200)
    losses: list[float] = []

    def watch(w: np.ndarray) -> None:
        losses.append(((target - other @ w) ** 2).mean())
        if losses[-1] > min(losses) and len(losses) - np.argmin(losses) > 5:
            raise StopIteration

    stopped = descend(problem, np.ones(12), 300, step=eta, callback=watch)
    best = stopped.path[1 + int(np.argmin(losses))]
    yield equal("status of the stopped run", stopped.status, 99)
    full = descend(problem, np.ones(12), 300, step=eta).path[1:]
    validation = ((target - full @ other.T) ** 2).mean(axis=1)
    yield equal("best iterate, stopped and full run", best, full[np.argmin(validation)])


@claim("A17")
def second_order_change_of_a_step() -> Iterator[Evidence]:
    """A gradient step changes the risk by -eta ||g||^2 + (eta^2/2) g'Hg + O(eta^3).

    On a quadratic the expansion is exact. The text divides the second term by ||g||^2, which is
    wrong.
    """
    rng = np.random.default_rng(5)
    problem = random_quadratic(np.array([0.5, 1, 4.0]), 5)
    x, eta = rng.normal(size=3), 0.3
    g = problem.gradient(x)
    change = descend(problem, x, 1, step=eta).fun - problem.value(x)
    predicted = -eta * g @ g + eta**2 / 2 * g @ problem.hessian @ g
    yield equal("change and expansion on a quadratic", change, predicted, 1e-10)
    loss = noisy_logistic(5)
    w = rng.normal(size=4)
    g, H = loss.gradient(w), loss.hessian(w)
    etas = np.array([0.1, 0.05, 0.025, 0.0125])
    left = [
        abs(descend(loss, w, 1, step=e).fun - loss.value(w) + e * g @ g - e**2 / 2 * g @ H @ g)
        for e in etas
    ]
    yield equal("order of the rest", np.polyfit(np.log(etas), np.log(left), 1)[0], 3, 0.15)


@claim("A18")
def when_a_step_raises_the_risk() -> Iterator[Evidence]:
    """On a quadratic a gradient step raises the risk if and only if (eta/2) g'Hg > ||g||^2.

    The text writes ||g||^2 on both sides, without the Hessian.
    """
    rng = np.random.default_rng(6)
    wrong = raised = 0
    for _ in range(1000):
        root = rng.normal(size=(3, 3))
        problem = Quadratic(root @ root.T, np.zeros(3))
        x, eta = rng.normal(size=3), rng.uniform(0.01, 2)
        g = problem.gradient(x)
        before, after = descend(problem, x, 1, step=eta).fun_values
        raised += after > before
        wrong += (after > before) != (eta / 2 * g @ problem.hessian @ g > g @ g)
    yield equal("signs that differ among 1000", wrong, 0)
    yield true("some steps raise the risk and some do not", 100 < raised < 900)


@claim("A19")
def gradient_clipping() -> Iterator[Evidence]:
    """Clipping, g min(1, c / ||g||), bounds the length by c and keeps the direction.

    It leaves shorter gradients alone: it is the projection onto the ball of radius c.
    """
    clip = projections.l2_ball(2.0)
    g = np.random.default_rng(7).normal(size=(500, 4)) * 2
    clipped = np.array([clip(row) for row in g])
    lengths = np.linalg.norm(g, axis=1)
    yield at_most("longest clipped gradient", np.linalg.norm(clipped, axis=1).max(), 2 + 1e-12)
    yield equal("formula", clipped, g * np.minimum(1, 2 / lengths)[:, None], 1e-12)
    short = lengths <= 2
    yield equal("short gradients", clipped[short], g[short])


@claim("A20")
def newton_is_quadratic() -> Iterator[Evidence]:
    """Newton's step minimises a positive definite quadratic at once.

    On the logistic loss it squares the error: ||e_(t+1)|| <= M / (2 m_t) ||e_t||^2, where m_t is
    the least curvature at w_t and M the Lipschitz constant of the Hessian.
    """
    problem = random_quadratic(np.array([0.1, 1, 10, 100.0]), 8)
    run = newton(
        problem.value, np.ones(4), jac=problem.gradient, hess=lambda x: problem.hessian, maxiter=1
    )
    yield equal("minimiser after one step", run.x, problem.minimiser, 1e-9)
    loss = noisy_logistic(8)
    run = loss.solve()
    errors = np.linalg.norm(run.path - run.x, axis=1)[:-1]
    curvature = [np.linalg.eigvalsh(loss.hessian(w))[0] for w in run.path[:-2]]
    lipschitz = (np.linalg.norm(loss.X, axis=1) ** 3).mean() / (6 * np.sqrt(3))
    # Below 1e-12 the error is rounding.
    bound = lipschitz / (2 * np.array(curvature)) * errors[:-1] ** 2 + 1e-12
    yield at_most("largest error / bound", (errors[1:] / bound).max(), 1)
    yield at_most("iterations", run.nit, 10)


@claim("A22")
def weight_decay() -> Iterator[Evidence]:
    """A gradient step on L + (lam/2) ||W||^2 shrinks and steps: (1 - eta lam) W - eta grad L.

    Biases, which the penalty leaves out, do not shrink. For Adam the penalty and the shrinking are
    not the same. (The text prints the iteration as a layer index.)
    """
    loss = noisy_logistic(9)
    w = np.random.default_rng(9).normal(size=4)
    eta, lam = 0.2, 0.5
    decays = np.array([1, 1, 1, 0])  # the last coordinate is the bias

    def value(v: np.ndarray) -> float:
        return loss.value(v) + lam / 2 * float((decays * v) @ v)

    def gradient(v: np.ndarray) -> np.ndarray:
        return loss.gradient(v) + lam * decays * v

    step = gradient_descent(value, w, jac=gradient, step=eta, maxiter=1).x
    shrunk = (1 - eta * lam * decays) * w - eta * loss.gradient(w)
    yield equal("penalised step and decayed step", step, shrunk, 1e-12)
    yield equal("bias", step[3], w[3] - eta * loss.gradient(w)[3], 1e-15)
    penalised = adam(value, w, jac=gradient, step=eta, maxiter=1).x
    decayed = adam(loss.value, w, jac=loss.gradient, step=eta, maxiter=1).x - eta * lam * decays * w
    yield at_least("their difference for Adam", np.abs(penalised - decayed).max(), 1e-2)


@claim("B93")
def a_step_minimises_a_model() -> Iterator[Evidence]:
    """A gradient step minimises the model f(x) + <g, y - x> + ||y - x||^2 / (2t) over y."""
    loss = noisy_logistic(10)
    x, t = np.random.default_rng(10).normal(size=4), 0.7
    g = loss.gradient(x)
    model = newton(
        lambda y: loss.value(x) + g @ (y - x) + (y - x) @ (y - x) / (2 * t),
        np.zeros(4),
        jac=lambda y: g + (y - x) / t,
    )
    yield equal("minimiser and step", model.x, descend(loss, x, 1, step=t).x, 1e-8)


@claim("B98")
def too_large_a_step_diverges() -> Iterator[Evidence]:
    """On a quadratic of curvature L gradient descent diverges if and only if the step exceeds 2/L.

    Each step multiplies x by 1 - tL. At 2/L itself it neither grows nor shrinks.
    """
    problem = Quadratic(np.array([[5.0]]), np.zeros(1))
    for times in (0.5, 1.99, 2.0, 2.01, 3.0):
        size = np.abs(descend(problem, np.ones(1), 100, step=times / 5).path[:, 0])
        ratio = size / abs(1 - times) ** np.arange(101)
        yield equal(f"|x| / |1 - tL|^k at t={times}/L", ratio, np.ones(101), 1e-9)
        yield true("shrinks below 2/L, grows above", np.sign(size[-1] - 1) == np.sign(times - 2))
    run = gradient_descent(problem.value, [1.0], jac=problem.gradient, step=2.0, maxiter=2000)
    yield true("a run that overflows says that it diverged", "Diverged" in run.message)


@claim("B102")
def scaling_an_objective() -> Iterator[Evidence]:
    """A positive factor moves no minimiser: argmin f = argmin c f for c > 0.

    Gradient descent on c f with step t / c visits the same points. (The text writes min for
    argmin.)
    """
    loss, c = noisy_logistic(12), 1000.0
    plain = descend(loss, np.ones(4), 50, step=0.5)
    scaled = gradient_descent(
        lambda w: c * loss.value(w),
        np.ones(4),
        jac=lambda w: c * loss.gradient(w),
        step=0.5 / c,
        maxiter=50,
        tol=0,
    )
    yield equal("the two paths", plain.path, scaled.path, 1e-12)


@claim("B104")
def steepest_descent() -> Iterator[Evidence]:
    """Among unit directions the slope is least along -grad / ||grad||, where it is -||grad||.

    The gradient of a x^2 + b y^2 is (2 a x, 2 b y). The objective falls for a step that is small
    enough (below 2/L) and a gradient that is not zero; the text asks for neither.
    """
    a, b, point = 1.5, 4.0, np.array([0.7, -0.3])
    gradient = np.array([2 * a * point[0], 2 * b * point[1]])
    numeric = gradient_descent(lambda x: a * x[0] ** 2 + b * x[1] ** 2, point, maxiter=0).jac
    yield equal("gradient and central difference", gradient, numeric, 1e-8)
    angles = np.random.default_rng(13).uniform(0, 2 * np.pi, 10_000)
    slopes = np.column_stack([np.cos(angles), np.sin(angles)]) @ gradient
    length = float(np.linalg.norm(gradient))
    yield at_least("least slope among 1e4 directions", slopes.min(), -length - 1e-12)
    yield equal("slope along -grad/||grad||", -gradient / length @ gradient, -length, 1e-12)
    problem = Quadratic(np.diag([2 * a, 2 * b]), np.zeros(2))
    falls = descend(problem, point, 1, step=1.99 / (2 * b)).fun < problem.value(point)
    rises = descend(problem, np.array([0, 1.0]), 1, step=2.01 / (2 * b)).fun > b
    yield true("falls below 2/L, can rise above", falls and rises)
