"""Adversarial examples: what the attacks maximise, and what can be done without gradients."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.svm import SVC

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.linear import LogisticRegression
from panlearn.optimize import projections
from panlearn.trust import attacks


def _linear(seed: int, n: int = 100, d: int = 4) -> tuple[np.ndarray, np.ndarray, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ np.linspace(1, -1, d) + 0.5 * rng.normal(size=n) > 0, 1, -1)
    return X, y, LogisticRegression().fit(X, y)


@claim("A242")
def ascent_moves_against_the_margin() -> Iterator[Evidence]:
    """grad_x l(y g(x)) = y l'(y g) grad g with l' <= 0: ascent on the loss goes along -y grad g."""
    X, y, model = _linear(0)
    w, g = model.coef_[0], model.decision_function(X)
    slope = attacks.score_gradient(
        lambda Z: np.logaddexp(0, -y * model.decision_function(Z)), X, 1e-6
    )
    closed = (y * -expit(-y * g))[:, None] * w
    yield equal("gradient and differences", slope, closed, 1e-5)
    moved = attacks.l2_step(model, X, y, 0.1, bounds=None).adversarial - X
    yield at_least(
        "least alignment with -y w", (moved @ w * -y).min(), 0.1 * np.linalg.norm(w) - 1e-9
    )


@claim("A243")
def decisions_have_no_slope() -> Iterator[Evidence]:
    """[f(x) != y] is piecewise constant: its gradient is zero almost everywhere."""
    X, y, model = _linear(1, 1000)
    slope = attacks.score_gradient(lambda Z: (model.predict(Z) != y).astype(float), X, 1e-7)
    yield equal("slopes at 1000 rows", np.abs(slope).max(), 0)


@claim("A244")
def best_step_in_the_l2_ball() -> Iterator[Evidence]:
    """Eps grad / ||grad|| maximises <grad, delta> on the l2 ball, with the value eps ||grad||."""
    X, y, model = _linear(2, 20)
    w = model.coef_[0]
    moved = attacks.l2_step(model, X, y, 0.3, bounds=None).adversarial - X
    gain = moved @ w * -y
    yield equal("its gain", gain, np.full(20, 0.3 * np.linalg.norm(w)), 1e-10)
    others = np.random.default_rng(2).normal(size=(10_000, 4))
    others *= 0.3 / np.linalg.norm(others, axis=1, keepdims=True)
    yield at_most("best of 10000 others", (others @ w).max(), gain.max() + 1e-12)
    flat = LogisticRegression().fit(X, y)
    flat.coef_ = np.zeros_like(flat.coef_)
    still = attacks.l2_step(flat, X, y, 0.3, bounds=None)
    yield equal("a zero gradient moves nothing", still.l2, np.zeros(20))


@claim("A245")
def best_step_in_the_cube() -> Iterator[Evidence]:
    """In the linf ball eps sign(grad) maximises <grad, delta>, to eps ||grad||_1; not in l2."""
    X, y, model = _linear(3, 20)
    w = model.coef_[0]
    moved = attacks.fgsm(model, X, y, 0.3, bounds=None).adversarial - X
    gain = moved @ w * -y
    corners = 0.3 * np.array(list(itertools.product([-1, 1], repeat=4)))
    yield equal("its gain and the best corner", gain, np.full(20, (corners @ w).max()), 1e-12)
    yield equal("eps ||w||_1", gain[0], 0.3 * np.abs(w).sum(), 1e-12)


@claim("A246")
def one_step_is_exact_for_linear_models() -> Iterator[Evidence]:
    """For linear g the worst margin is y g - eps ||w||_dual; one step reaches it, as does PGD."""
    X, y, model = _linear(4, 50)
    steps: Any = (("linf", attacks.fgsm), ("l2", attacks.l2_step))
    for norm, step in steps:
        worst = attacks.linear_margin(model, X, y, 0.2, norm)
        one = y * model.decision_function(step(model, X, y, 0.2, bounds=None).adversarial)
        yield equal(f"one step, {norm}", one, worst, 1e-12)
        many = attacks.pgd(model, X, y, 0.2, bounds=None, norm=norm, steps=50, random_start=False)
        many_margin = y * model.decision_function(many.adversarial)
        yield equal(f"50 steps, {norm}", many_margin, worst, 1e-12)
        loss = np.logaddexp(0, -worst)
        yield at_least("robust less plain loss", (loss - np.logaddexp(0, -one)).min(), -1e-12)


@claim("A247")
def two_logits_are_one_margin() -> Iterator[Evidence]:
    """With two logits the gradient of the cross-entropy is that of the margin g = f1 - f0."""
    rng = np.random.default_rng(5)
    W, b = rng.normal(size=(2, 3)), rng.normal(size=2)
    X, y = rng.normal(size=(20, 3)), rng.integers(2, size=20)
    two = LogisticRegression().fit(X, y)
    two.coef_, two.intercept_ = (W[1] - W[0])[None], np.array([b[1] - b[0]])
    many = LogisticRegression().fit(X, np.arange(20) % 3)
    many.classes_, many.coef_, many.intercept_ = np.array([0, 1]), W, b
    for step in (attacks.fgsm, attacks.l2_step):
        moves = [step(m, X, y, 0.1, bounds=None).adversarial for m in (two, many)]
        yield equal(f"steps of {step.__name__}", moves[0], moves[1], 1e-12)


@claim("A248")
def projection_onto_the_l2_ball() -> Iterator[Evidence]:
    """Delta if ||delta|| <= eps, else eps delta / ||delta||: idempotent, nearest, non-expansive."""
    yield from _projection("l2", projections.l2_ball(0.7), 0.7)


@claim("A249")
def projection_onto_the_cube() -> Iterator[Evidence]:
    """clip(delta, -eps, eps), each coordinate alone; the text compares signs."""
    yield from _projection("linf", projections.linf_ball(0.7), 0.7)


def _projection(norm: str, reference: Any, eps: float) -> Iterator[Evidence]:
    from panlearn.trust._balls import norms, project

    rng = np.random.default_rng(6)
    a, b = rng.normal(size=(2, 300, 3))
    pa, pb = project(a, eps, norm), project(b, eps, norm)
    yield equal("projection of the optimisers", pa, [reference(v) for v in a], 1e-12)
    yield equal("twice", project(pa, eps, norm), pa, 1e-12)
    yield at_most("its norm", norms(pa, norm).max(), eps * (1 + 1e-12))
    inside = project(rng.normal(size=(300, 3)), eps, norm)
    nearest = np.linalg.norm(a - pa, axis=1)[:, None]
    others = np.linalg.norm(a[:, None] - inside[None], axis=2)
    yield at_least("others are farther", (others - nearest).min(), -1e-12)
    shrink = np.linalg.norm(pa - pb, axis=1) / np.linalg.norm(a - b, axis=1)
    yield at_most("stretch", shrink.max(), 1 + 1e-12)


@claim("A251")
def gradients_from_scores() -> Iterator[Evidence]:
    """(g(x + h e_i) - g(x)) / h over all D coordinates: D + 1 questions, an error of order h.

    The text sums to K.
    """
    rng = np.random.default_rng(7)
    X = rng.normal(size=(1, 5))
    asked = []

    def score(Z: np.ndarray) -> np.ndarray:
        asked.append(len(Z))
        return np.exp(Z).sum(axis=1)

    errors = [
        np.abs(attacks.score_gradient(score, X, h) - np.exp(X)).max() for h in (1e-1, 1e-2, 1e-3)
    ]
    yield equal("questions", len(asked) / 3, 6)
    for before, after in itertools.pairwise(errors):
        yield equal("fall of the error with h", before / after, 10, 0.6)


@claim("A252")
def stealing() -> Iterator[Evidence]:
    """An affine score is recovered from D + 1 questions; attacks on a surrogate transfer."""
    X, y, model = _linear(8)
    w, b = attacks.steal_affine(model.decision_function, 4)
    yield equal("coefficients", w, model.coef_[0], 1e-8)
    yield equal("intercept", b, model.intercept_[0], 1e-8)
    queries = np.random.default_rng(8).normal(size=(2000, 4))
    surrogate = attacks.steal(model, queries, LogisticRegression(C=1e4))
    eps = 1.1 * attacks.linear_radius(model, X, y, "l2").max()
    found = attacks.l2_step(surrogate, X, y, eps, bounds=None)
    yield equal("part that transfers", attacks.transfer(found, model, y).mean(), 1)


@claim("A253")
def labels_alone() -> Iterator[Evidence]:
    """A boundary point by bisection, and its normal from labels around it: cosine above .9."""
    X, _, model = _linear(9)
    label = model.predict(X)
    other = X[label != label[0]][0]
    point = attacks.bisect(model.predict, X[0], label[0], other, 1e-10)
    yield at_most("score at the boundary", abs(model.decision_function(point[None])[0]), 1e-6)
    normal = attacks.boundary_normal(model.predict, point, label[0], 0.1, 5000, 9)
    w = model.coef_[0] * -np.sign(model.decision_function(X[:1])[0])
    yield at_least("cosine with the normal", normal @ w / np.linalg.norm(w), 0.9)
    machine = SVC().fit(X, label)
    found = attacks.boundary(machine, X[:3], machine.predict(X[:3]), bounds=None, starts=X, steps=3)
    yield true("a machine falls too", found.success.all())


@claim("A255")
def collapse_of_robust_regression() -> Iterator[Evidence]:
    """Linear linf-robust logistic regression has the optimum w = 0 just if eps >= ||mean(yx)||_inf.

    The robust loss is convex, so that it is enough to look near 0, along every direction.
    """
    rng = np.random.default_rng(10)
    X = rng.normal(size=(400, 3)) + 0.5
    y = np.where(rng.random(400) < expit(2 * X[:, 0]), 1, -1)
    X, y = np.r_[X, -X], np.r_[y, -y]  # no intercept is then wanted
    threshold = np.abs((y[:, None] * X).mean(axis=0)).max()
    model = LogisticRegression(fit_intercept=False).fit(X, y)
    directions = np.vstack([np.eye(3), -np.eye(3), rng.normal(size=(200, 3))])
    for factor, below in ((0.98, True), (1.02, False)):
        losses = []
        for direction in directions:
            model.coef_ = 1e-3 * direction[None]
            margin = attacks.linear_margin(model, X, y, factor * threshold, "linf")
            losses.append(np.logaddexp(0, -margin).mean() - np.log(2))
        what = f"least change from w = 0 at {factor} of the threshold"
        yield at_most(what, min(losses), -1e-7) if below else at_least(what, min(losses), 1e-8)
