"""Claims on support vector machines: margins, duality, losses, kernels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.kernel import SVC, LinearSVC
from panlearn.kernel.kernels import Polynomial
from panlearn.linear import LinearRegression
from panlearn.optimize.projections import simplex

_OR = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
_OR_LABELS = np.array([-1, 1, 1, 1])


def overlapping(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Give rows and signs of two classes that no line tells apart."""
    rng = np.random.default_rng(62)
    y = np.where(np.arange(n) % 2, 1, -1)
    return rng.standard_normal((n, 2)) + 0.8 * y[:, None], y


def _separable() -> tuple[np.ndarray, np.ndarray]:
    X, y = overlapping(40)
    return X + 1.5 * y[:, None], y


def _machine(X: np.ndarray, y: np.ndarray, C: float) -> tuple[SVC, np.ndarray]:
    """A linear machine to many digits, and its multipliers."""
    model = SVC(C, kernel="linear", tol=1e-10).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    return model, alpha


def _dual(alpha: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    w = X.T @ (alpha * y)
    return float(alpha.sum() - 0.5 * w @ w)


def _primal(w: np.ndarray, b: float, X: np.ndarray, y: np.ndarray, C: float) -> float:
    return float(0.5 * w @ w + C * np.maximum(1 - y * (X @ w + b), 0).sum())


@claim("A57")
def hard_machine_through_the_origin() -> Iterator[Evidence]:
    """The w of least norm with y_i wᵀx_i ≥ 1 points where the least y_i ⟨w, x_i⟩ over the unit
    sphere is largest, ‖w‖ is one over that margin, and w = Σ a_i y_i x_i with a_i ≥ 0, not zero
    only where the constraint is active.
    """
    X, y = _separable()
    model = LinearSVC(1e6, loss="hinge", fit_intercept=False, tol=1e-10).fit(X, y)
    w = model.coef_[0]
    angle = np.linspace(0, 2 * np.pi, 100_000, endpoint=False)
    sphere = np.column_stack([np.cos(angle), np.sin(angle)])
    margins = (sphere @ (X * y[:, None]).T).min(axis=1)
    yield equal(
        "direction and the best of a grid", w / np.linalg.norm(w), sphere[margins.argmax()], 1e-4
    )
    yield equal("‖w‖ and 1/margin", np.linalg.norm(w), 1 / margins.max(), 1e-4)
    active = np.flatnonzero(y * (X @ w) < 1 + 1e-6)
    a, *_ = np.linalg.lstsq((X[active] * y[active, None]).T, w, rcond=None)
    yield equal("w and the sum over active rows", (a * y[active]) @ X[active], w, 1e-6)
    yield at_least("least multiplier of them", a.min(), 0)


@claim("B55")
def largest_margin() -> Iterator[Evidence]:
    """The largest margin is the least ½‖w‖² with y_i (w·x_i + b) ≥ 1 (not the strict > 1 that the
    text prints): the margin is 1/‖w‖ and the slab 2/‖w‖ wide. For the logical OR w = (2, 2),
    b = −1, the margin is 1/(2√2) and the support vectors are (0,0), (1,0), (0,1). The offset of a
    plane through x₀ is b = −w·x₀, where the text prints a plus.
    """
    model, _ = _machine(_OR, _OR_LABELS, np.inf)
    w, b = model.coef_[0], float(model.intercept_[0])
    yield equal("w", w, [2, 2], 1e-6)
    yield equal("b", b, -1, 1e-6)
    yield equal("margin", 1 / np.linalg.norm(w), 0.35355339, 1e-6)
    distance = np.abs(_OR @ w + b) / np.linalg.norm(w)
    yield equal("least distance of a point and 1/‖w‖", distance.min(), 1 / np.linalg.norm(w), 1e-6)
    yield true("support vectors are the first three", model.support_.tolist() == [0, 1, 2])
    yield equal("b and −w·x₀ for x₀ on the plane", b, -w @ np.array([0.5, 0.0]), 1e-6)


@claim("B56")
def dual_of_the_hard_machine() -> Iterator[Evidence]:
    """The dual maximises Σ a_i − ½ Σ a_i a_j y_i y_j ⟨x_i, x_j⟩ over a ≥ 0 with Σ a_i y_i = 0. For
    the logical OR a = (4, 2, 2, 0), w = Σ a_i y_i x_i = (2, 2), and the value 4 is that of the
    primal. The Lagrangian is minimised over w, b and maximised over a; the text prints it the
    other way round.
    """
    model, alpha = _machine(_OR, _OR_LABELS, np.inf)
    yield equal("a", alpha, [4, 2, 2, 0], 1e-6)
    yield equal("Σ a y x", (alpha * _OR_LABELS) @ _OR, [2, 2], 1e-6)
    yield equal("dual value", model.dual_objective_[0], 4, 1e-6)
    yield equal("primal value", 0.5 * np.sum(model.coef_**2), 4, 1e-6)


@claim("B57")
def weak_and_strong_duality() -> Iterator[Evidence]:
    """Every dual feasible a has a value at most that of every primal feasible (w, b), and at the
    optimum the two are equal.
    """
    X, y = _separable()
    rng = np.random.default_rng(57)
    model, alpha = _machine(X, y, np.inf)
    duals, primals = [], []
    for _ in range(200):
        a = rng.exponential(size=len(y)) * rng.choice([1e-3, 1e-2, 0.1])
        a[y > 0] *= a[y < 0].sum() / a[y > 0].sum()
        duals.append(_dual(a, X, y))
        w = model.coef_[0] * rng.uniform(1, 3) + 0.1 * rng.standard_normal(2)
        f = X @ w
        b = -(f[y > 0].min() + f[y < 0].max()) / 2
        w, b = w / (y * (f + b)).min(), b / (y * (f + b)).min()  # onto the constraints
        primals.append(0.5 * w @ w if (y * (X @ w + b)).min() > 1 - 1e-9 else np.inf)
    yield at_most("largest dual value beside the least primal value", max(duals), min(primals))
    gap = 0.5 * np.sum(model.coef_**2) - _dual(alpha, X, y)
    yield equal("gap at the optimum", gap, 0, 1e-6)


@claim("B58")
def complementary_slackness() -> Iterator[Evidence]:
    """At the optimum a_i [y_i (w·x_i + b) − 1] = 0 for every i; as the problem is convex these
    conditions with feasibility are enough for an optimum.
    """
    X, y = _separable()
    model, alpha = _machine(X, y, np.inf)
    slack = y * model.decision_function(X) - 1
    yield at_most("largest |a (y f − 1)|", np.abs(alpha * slack).max(), 1e-6)
    yield at_least("least y f − 1", slack.min(), -1e-6)
    rng = np.random.default_rng(58)
    others = model.coef_[0] + 0.1 * rng.standard_normal((2000, 2))
    f = others @ X.T
    room = (f[:, y > 0].min(axis=1) - f[:, y < 0].max(axis=1)) / 2  # y f ≥ 1 for some b
    feasible = others[room >= 1]
    best = 0.5 * np.sum(model.coef_**2)
    yield at_least("least ½‖w‖² of other feasible w", (0.5 * (feasible**2).sum(1)).min(), best)


@claim("B59")
def offset_leaves_the_dual() -> Iterator[Evidence]:
    """The term b Σ a_i y_i leaves the Lagrangian because Σ a_i y_i = 0, not, as the text says,
    because b is set to 0: on multipliers that sum so the value is the same for every b.
    """
    X, y = _separable()
    model, alpha = _machine(X, y, np.inf)
    w = model.coef_[0]

    def lagrangian(a: np.ndarray, b: float) -> float:
        return float(0.5 * w @ w - a @ (y * (X @ w + b) - 1))

    values = [lagrangian(alpha, b) for b in (-10.0, 0.0, float(model.intercept_[0]), 7.0)]
    yield at_most("spread over b at a with Σ a y = 0", np.ptp(values), 1e-6)
    tilted = alpha + (y > 0)
    spread = abs(lagrangian(tilted, 1.0) - lagrangian(tilted, 0.0))
    yield at_least("change with b at a with Σ a y ≠ 0", spread, 1)
    yield at_least("|b| of the machine, which is not zero", abs(model.intercept_[0]), 0.01)


@claim("B60")
def norm_of_a_sum_of_two() -> Iterator[Evidence]:
    """With x₁ = (1, 2), x₂ = (2, 1) and y₁ = y₂ = 1, ‖a₁y₁x₁ + a₂y₂x₂‖² = 5a₁² + 8a₁a₂ + 5a₂². The
    text uses it as a machine, for which two equal labels and Σ a_i y_i = 0 would force a = 0.
    """
    a, b = np.random.default_rng(60).exponential(size=(2, 100))
    X = np.array([[1.0, 2.0], [2.0, 1.0]])
    squares = np.sum((np.column_stack([a, b]) @ X) ** 2, axis=1)
    yield equal("‖Σ a y x‖²", squares, 5 * a**2 + 8 * a * b + 5 * b**2, 1e-10)
    model, alpha = _machine(X, np.array([1, -1]), np.inf)  # labels that can be separated
    value = 5 * alpha[0] ** 2 - 8 * alpha[0] * alpha[1] + 5 * alpha[1] ** 2
    yield equal("‖w‖² of the machine with labels 1, −1", np.sum(model.coef_**2), value, 1e-8)


@claim("B61")
def hinge_and_perceptron_losses() -> Iterator[Evidence]:
    """The hinge is max(0, 1 − t) and the perceptron's loss max(0, −t) in t = y f (the text at one
    place puts 1 − y f into the hinge, which holds the 1 − already); their subgradients are −1 for
    t below 1, or 0, and 0 above. At t = −1, 0, 1, 2 the values are 2, 1, 0, 0 and 1, 0, 0, 0.
    """
    X, y = overlapping()
    model = LinearSVC(2.0, loss="hinge", tol=1e-9).fit(X, y)
    t = y * model.decision_function(X)
    total = 0.5 * np.sum(model.coef_**2) + 2 * np.maximum(1 - t, 0).sum()
    yield equal("what the machine minimises", model.history_["objective"][-1], total, 1e-9)
    at = np.array([-1.0, 0.0, 1.0, 2.0])
    yield equal("hinge", np.maximum(1 - at, 0), [2, 1, 0, 0])
    yield equal("perceptron", np.maximum(-at, 0), [1, 0, 0, 0])
    for name, edge in (("hinge", 1.0), ("perceptron", 0.0)):
        for point, slope in ((edge - 0.5, -1.0), (edge + 0.5, 0.0)):
            line = max(edge - point, 0) + slope * (at - point)
            below = np.all(line <= np.maximum(edge - at, 0) + 1e-15)
            yield true(f"{name}: slope {slope:g} at {point:g} supports it", below)


@claim("B62")
def slack_is_the_hinge() -> Iterator[Evidence]:
    """With w and b given the best slack is ξ_i = max(0, 1 − y_i f_i), one index throughout, so the
    soft machine is the unconstrained hinge problem; ξ_i > 1 just where the row is misclassified.
    Counting errors while keeping the hard constraints for all rows, as the text writes, leaves
    none to count.
    """
    X, y = overlapping()
    kernel, _ = _machine(X, y, 1.0)
    primal = _primal(kernel.coef_[0], float(kernel.intercept_[0]), X, y, 1.0)
    hinge = LinearSVC(1.0, loss="hinge", tol=1e-10).fit(X, y)
    yield equal("slack QP and hinge problem", primal, hinge.history_["objective"][-1], 1e-6)
    yield equal("its dual", kernel.dual_objective_[0], primal, 1e-6)
    slack = np.maximum(1 - y * kernel.decision_function(X), 0)
    wrong = kernel.predict(X) != y
    yield true("ξ > 1 is a mistake, and the reverse", np.array_equal(slack > 1, wrong))
    yield at_least("mistakes among the rows", wrong.sum(), 1)


@claim("B63")
def large_penalty_is_the_hard_machine() -> Iterator[Evidence]:
    """On data that can be separated C → ∞ gives the hard margin: C = 10⁶ on the logical OR has
    w = (2, 2) and b = −1. Data that cannot be separated have no hard margin, and say so.
    """
    soft, _ = _machine(_OR, _OR_LABELS, 1e6)
    yield equal("w", soft.coef_[0], [2, 2], 1e-4)
    yield equal("b", soft.intercept_[0], -1, 1e-4)
    try:
        SVC(np.inf, kernel="linear").fit(_OR, [-1, 1, 1, -1])
        refused = False
    except ValueError as error:
        refused = "not separable" in str(error)
    yield true("the exclusive OR is refused", refused)


@claim("B64")
def penalty_trades_slack_for_margin() -> Iterator[Evidence]:
    """As C grows the sum of slacks does not rise and ‖w‖ does not fall: the margin narrows."""
    X, y = overlapping()
    norms, slacks = [], []
    for C in 10.0 ** np.arange(-3, 4):
        model = LinearSVC(C, loss="hinge", tol=1e-12, max_iter=200).fit(X, y)
        norms.append(np.linalg.norm(model.coef_))
        slacks.append(np.maximum(1 - y * model.decision_function(X), 0).sum())
    yield at_most("largest rise of Σξ along C", np.diff(slacks).max(), 1e-6)
    yield at_least("least rise of ‖w‖ along C", np.diff(norms).min(), -1e-6)


@claim("B65")
def box_of_the_soft_dual() -> Iterator[Evidence]:
    """C max(0, t) is the maximum of a t over 0 ≤ a ≤ C, which puts the multipliers of the soft
    machine into a box.
    """
    t = np.linspace(-2, 2, 41)
    a = np.linspace(0, 3, 61)
    yield equal("C t⁺ and the maximum", np.max(a[:, None] * t, axis=0), 3 * np.maximum(t, 0), 1e-12)
    X, y = overlapping()
    _, alpha = _machine(X, y, 0.5)
    yield at_least("least multiplier", alpha.min(), 0)
    yield at_most("largest multiplier", alpha.max(), 0.5)
    yield at_least("multipliers at C, where rows are inside the margin", np.sum(alpha == 0.5), 1)


@claim("B66")
def offset_from_any_free_vector() -> Iterator[Evidence]:
    """The machine has w = Σ a_i y_i x_i, and b = y_i − ⟨x_i, w⟩ at any support vector with
    0 < a_i < C: the same for all of them.
    """
    X, y = overlapping()
    model, alpha = _machine(X, y, 0.5)
    w = (alpha * y) @ X
    yield equal("w and Σ a y x", model.coef_[0], w, 1e-9)
    free = (alpha > 1e-9) & (alpha < 0.5 - 1e-9)
    offsets = (y - X @ w)[free]
    yield at_least("free support vectors", free.sum(), 2)
    yield at_most("spread of b over them", np.ptp(offsets), 1e-5)
    yield equal("b", offsets.mean(), model.intercept_[0], 1e-6)


@claim("B69")
def projection_on_a_vector() -> Iterator[Evidence]:
    """The projection of x on y is (x·y/‖y‖²) y; what is left is orthogonal to y, and projecting
    again changes nothing.
    """
    x, y = np.random.default_rng(69).standard_normal((2, 5))

    def project(v: np.ndarray) -> np.ndarray:
        return (v @ y) / (y @ y) * y

    yield equal("(x − proj x)·y", (x - project(x)) @ y, 0, 1e-12)
    yield equal("the projection of the projection", project(project(x)), project(x), 1e-12)
    fitted = LinearRegression(fit_intercept=False).fit(y[:, None], x).predict(y[:, None])
    yield equal("least squares of x on y and the projection", fitted, project(x), 1e-12)


@claim("B70")
def a_constrained_minimum() -> Iterator[Evidence]:
    """x² + y² on x + y = 1 is least at (½, ½), where it is ½, with the multiplier 1 of
    x² + y² − λ(x + y − 1).
    """
    system = np.array([[2.0, 0.0, -1.0], [0.0, 2.0, -1.0], [1.0, 1.0, 0.0]])
    x, y, multiplier = np.linalg.solve(system, [0.0, 0.0, 1.0])
    yield equal("the point", [x, y], [0.5, 0.5], 1e-15)
    yield equal("multiplier and value", [multiplier, x**2 + y**2], [1, 0.5], 1e-15)
    origin = simplex(1.0)(np.zeros(2))  # the constraint with x, y ≥ 0, which do not bind
    yield equal("the point nearest to the origin", origin, [x, y], 1e-15)


@claim("B83")
def exclusive_or_with_a_quadratic_kernel() -> Iterator[Evidence]:
    """The hard machine with (1 + x·z)² solves the exclusive OR: a = (10/3, 8/3, 8/3, 2), b = −1,
    and all scores are ±1. The score has the offset b, which the text drops although Σ a_i y_i = 0
    is in the dual only because of it.
    """
    y = np.array([-1, 1, 1, -1])
    model = SVC(np.inf, kernel=Polynomial(2, 1.0, 1.0), tol=1e-10).fit(_OR, y)
    alpha = np.zeros(4)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    yield equal("a", alpha, [10 / 3, 8 / 3, 8 / 3, 2], 1e-4)
    yield equal("b", model.intercept_[0], -1, 1e-4)
    yield equal("scores", model.decision_function(_OR), y, 1e-4)


@claim("B84")
def kernel_score_is_a_linear_score() -> Iterator[Evidence]:
    """Σ a_i y_i k(x, x_i) + b is the score of the linear machine on the features of the kernel, for
    (1 + x·z)² those of the quadratic map.
    """
    X, y = overlapping()

    def features(Z: np.ndarray) -> np.ndarray:
        a, b = Z.T
        root = np.sqrt(2)
        return np.column_stack([a**2, b**2, root * a * b, root * a, root * b, np.ones(len(Z))])

    kernel = SVC(1.0, kernel=Polynomial(2, 1.0, 1.0), tol=1e-10).fit(X, y)
    linear = LinearSVC(1.0, loss="hinge", tol=1e-12, max_iter=200).fit(features(X), y)
    score = kernel.decision_function(X)
    yield equal("the two scores", score, linear.decision_function(features(X)), 1e-6)
    own = Polynomial(2, 1.0, 1.0)(X, kernel.support_vectors_) @ kernel.dual_coef_[0]
    yield equal("score and its formula", score, own + kernel.intercept_[0], 1e-9)
