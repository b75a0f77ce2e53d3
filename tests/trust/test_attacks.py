"""Attacks against corners, closed forms and known radii; bounds and success are never silent."""

import itertools

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import norm as normal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import panlearn
from panlearn.trust import attacks


@pytest.fixture
def problem(rng):
    X = rng.uniform(size=(60, 4))
    y = (X @ [1.0, -2, 0.5, 1] + 0.1 * rng.normal(size=60) > 0.2).astype(int)
    return X, y, LogisticRegression(C=100).fit(X, y)


@pytest.fixture
def three(rng):
    X = rng.normal(size=(90, 3))
    y = np.array(["a", "b", "c"])[X.argmax(axis=1)]
    return X, y, LogisticRegression().fit(X, y)


def cross_entropy(model, X, y):
    scores = model.decision_function(X)
    scores = np.c_[np.zeros(len(X)), scores] if scores.ndim == 1 else scores
    return -log_softmax(scores, axis=1)[np.arange(len(X)), np.searchsorted(model.classes_, y)]


def test_one_step_is_the_best_corner(problem):
    X, y, model = problem
    found = attacks.fgsm(model, X, y, 0.1, bounds=None)
    corners = np.array(list(itertools.product([-0.1, 0.1], repeat=4)))
    best = np.max([cross_entropy(model, X + c, y) for c in corners], axis=0)
    np.testing.assert_allclose(cross_entropy(model, found.adversarial, y), best, atol=1e-9)
    found = attacks.l2_step(model, X, y, 0.1, bounds=None)
    np.testing.assert_allclose(found.l2, 0.1, atol=1e-12)
    sphere = np.random.default_rng(0).normal(size=(500, 4))
    sphere *= 0.1 / np.linalg.norm(sphere, axis=1, keepdims=True)
    best = np.max([cross_entropy(model, X + c, y) for c in sphere], axis=0)
    assert (cross_entropy(model, found.adversarial, y) >= best - 1e-12).all()


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_radius_is_where_attacks_begin_to_succeed(three, norm):
    X, y, model = three
    radius = attacks.linear_radius(model, X, y, norm)
    assert (radius[model.predict(X) != y] == 0).all()
    for i in np.flatnonzero(radius > 0)[:20]:
        fallen = []
        for j in set(range(3)) - {int(np.searchsorted(model.classes_, y[i]))}:
            away = model.coef_[j] - model.coef_[np.searchsorted(model.classes_, y[i])]
            unit = np.sign(away) if norm == "linf" else away / np.linalg.norm(away)
            fallen.append(model.predict([X[i] + 1.001 * radius[i] * unit])[0] != y[i])
        assert any(fallen)
    safe = radius > 0.3
    found = attacks.pgd(
        model, X[safe], y[safe], 0.3, bounds=None, norm=norm, restarts=2, random_state=0
    )
    assert not found.success.any()
    margin = attacks.linear_margin(model, X, y, 0.2, norm)
    assert ((margin > 0) == (radius > 0.2)).all()


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_perturbations_stay_in_ball_and_box(problem, norm, momentum):
    X, y, model = problem
    found = attacks.pgd(
        model, X, y, 0.3, bounds=(0, 1), norm=norm, restarts=2, momentum=momentum, random_state=0
    )
    assert getattr(found, norm).max() <= 0.3 * (1 + 1e-6)
    assert found.adversarial.min() >= 0
    assert found.adversarial.max() <= 1
    np.testing.assert_array_equal(found.success, model.predict(found.adversarial) != y)
    np.testing.assert_array_equal(found.predicted, model.predict(found.adversarial))
    assert set(found.table()) == {"success", "predicted", "linf", "l2"}
    again = attacks.pgd(
        model, X, y, 0.3, bounds=(0, 1), norm=norm, restarts=2, momentum=momentum, random_state=0
    )
    np.testing.assert_array_equal(found.adversarial, again.adversarial)


def test_more_steps_and_restarts_are_no_worse(three):
    X, y, model = three
    losses = []
    for steps in (1, 5, 20):
        found = attacks.pgd(
            model, X, y, 0.5, bounds=None, steps=steps, random_start=False, step=0.05
        )
        losses.append(cross_entropy(model, found.adversarial, y).mean())
    assert losses[0] < losses[1] < losses[2]
    none = attacks.pgd(model, X, y, 0.0, bounds=None)
    np.testing.assert_array_equal(none.adversarial, X)
    np.testing.assert_array_equal(none.success, model.predict(X) != y)


def test_a_model_that_is_very_sure_still_falls(problem):
    X, y, model = problem
    model.coef_, model.intercept_ = 1e4 * model.coef_, 1e4 * model.intercept_  # softmax is 0 or 1
    found = attacks.fgsm(model, X, y, 0.1, bounds=None)
    np.testing.assert_allclose(found.linf, 0.1, atol=1e-12)
    np.testing.assert_array_equal(found.success, attacks.linear_radius(model, X, y) < 0.1)


def test_targeted(three):
    X, y, model = three
    targets = np.full(len(y), "b")
    found = attacks.pgd(model, X, y, 3.0, bounds=None, targets=targets, random_state=0)
    np.testing.assert_array_equal(found.success, found.predicted == "b")
    assert found.success_rate == 1


@pytest.mark.parametrize("gradient", ["differences", "random"])
def test_pipelines_through_scores(problem, gradient):
    X, y, model = problem
    pipeline = make_pipeline(StandardScaler(), SVC(C=10)).fit(X, y)
    found = attacks.pgd(
        pipeline, X, y, 0.3, bounds=(0, 1), steps=8, gradient=gradient, random_state=0
    )
    assert found.success_rate > 0.7
    np.testing.assert_array_equal(found.success, pipeline.predict(found.adversarial) != y)
    exact = attacks.fgsm(model, X, y, 0.1, bounds=None)
    asked = attacks.fgsm(model, X, y, 0.1, bounds=None, gradient="differences")
    np.testing.assert_allclose(asked.adversarial, exact.adversarial)
    assert asked.queries == len(X) * (4 + 1) + len(X)
    with pytest.raises(ValueError, match="no gradient that is known"):
        attacks.fgsm(pipeline, X, y, 0.1, bounds=None, gradient="exact")


def test_kernel_models(problem):
    X, y, _ = problem
    model = panlearn.kernel.SVC().fit(X, y)
    found = attacks.pgd(model, X[:10], y[:10], 0.4, bounds=(0, 1), steps=5, random_state=0)
    assert found.success_rate >= 0.5


def test_labels_alone(problem):
    X, y, model = problem
    found = attacks.boundary(model, X[:6], y[:6], bounds=None, starts=X, steps=6, random_state=0)
    assert found.success.all()
    radius = attacks.linear_radius(model, X[:6], y[:6], "l2")
    assert (found.l2 >= radius - 1e-9).all()
    assert np.median(found.l2[radius > 0] / radius[radius > 0]) < 1.2
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    found = attacks.boundary(tree, X[:3], y[:3], bounds=(0, 1), starts=X, steps=3, random_state=0)
    np.testing.assert_array_equal(found.success, tree.predict(found.adversarial) != y[:3])
    assert found.success.all()
    stuck = attacks.boundary(model, X[:3], model.predict(X[:3]), bounds=None, starts=X[:1])
    assert len(stuck.success) == 3


def test_theft_and_transfer(problem, rng):
    X, y, model = problem
    coefficients, intercept = attacks.steal_affine(model.decision_function, 4)
    np.testing.assert_allclose(coefficients, model.coef_[0], atol=1e-9)
    assert intercept == pytest.approx(model.intercept_[0])
    surrogate = attacks.steal(model, rng.uniform(size=(500, 4)), LogisticRegression(C=100))
    found = attacks.fgsm(surrogate, X, y, 0.3, bounds=None)
    assert attacks.transfer(found, model, y).mean() > 0.9
    slope = attacks.score_gradient(model.decision_function, X[:3], 1e-3)
    np.testing.assert_allclose(slope, np.repeat(model.coef_, 3, axis=0), rtol=1e-6)


def test_smoothing(rng):
    class Half:
        def predict(self, X):
            return (X[:, 0] > 0).astype(int)

    X = np.array([[0.0, 0], [0.5, 0], [-2.0, 0]])
    found = attacks.smoothed_radius(Half(), X, 1.0, n_samples=3000, random_state=0)
    assert found.predicted[1:].tolist() == [1, 0]
    assert found.abstains.tolist() == [True, False, False]
    assert 0.35 < found.radius[1] <= 0.5  # the truth is the distance to the boundary
    assert found.radius[2] <= 2
    all_hits = attacks.smoothed_radius(Half(), [[50.0, 0]], 1.0, n_samples=1000, random_state=0)
    assert all_hits.radius[0] == pytest.approx(normal.ppf(0.001 ** (1 / 1000)))
    with pytest.raises(ValueError, match="sigma=0"):
        attacks.smoothed_radius(Half(), X, 0)


def test_curve_falls(problem):
    X, y, model = problem
    curve = attacks.robust_accuracy_curve(
        model, X, y, [0.2, 0, 0.05], bounds=None, steps=20, random_state=0
    )
    assert curve.eps.tolist() == [0, 0.05, 0.2]
    exact = [(attacks.linear_margin(model, X, y, e) > 0).mean() for e in curve.eps]
    np.testing.assert_allclose(curve.accuracy, exact)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": (0, 0.5)}, "beyond bounds"),
        ({"bounds": (1, 0)}, "low below high"),
        ({"bounds": 3}, "must be a pair"),
        ({"bounds": None, "norm": "l1"}, "norm='l1'"),
        ({"bounds": None, "steps": 0}, "steps=0"),
        ({"bounds": None, "targets": [7] * 60}, "targets holds labels"),
        ({"bounds": None, "gradient": "guess"}, "gradient='guess'"),
    ],
)
def test_what_is_refused(problem, options, message):
    X, y, model = problem
    with pytest.raises(ValueError, match=message):
        attacks.pgd(model, X, y, 0.1, **options)
    with pytest.raises(ValueError, match="eps=-1"):
        attacks.fgsm(model, X, y, -1, bounds=None)
    with pytest.raises(TypeError, match="bounds"):
        attacks.fgsm(model, X, y, 0.1)


class Silent:
    classes_ = np.array([0, 1])

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_models_that_tell_labels_only(problem):
    X, y, _ = problem
    with pytest.raises(ValueError, match=r"attacks\.boundary"):
        attacks.pgd(Silent(), X, y, 0.1, bounds=None)
    with pytest.raises(ValueError, match="is not linear"):
        attacks.linear_radius(make_pipeline(SVC()).fit(X, y), X, y)
    lost = attacks.boundary(Silent(), X[:2], [0, 0], bounds=None)
    assert not lost.success.any()  # no start is labelled otherwise
    np.testing.assert_array_equal(lost.adversarial, X[:2])
