"""Attacks on kernel machines: slopes held against differences, and scores against the model's."""

import numpy as np
import pytest
from sklearn import svm

from panlearn.kernel import LSSVC, SVC, GaussianProcessClassifier
from panlearn.kernel.kernels import RBF, Laplacian, Linear, Polynomial, White
from panlearn.trust import attacks
from panlearn.trust._kernel_slopes import is_smooth, slopes
from panlearn.trust._targets import KernelTarget, LinearTarget, ScoreTarget, log_odds, target_of


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(60, 3))
    return X, np.where(X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0, "b", "a")


KERNELS = [
    RBF(0.7),
    RBF([0.5, 1.0, 2.0]),
    Linear(),
    Polynomial(3, 0.5, 1.0),
    2.0 * RBF(1.3) + White(0.1) + 0.5,
    (Linear() + 1.0) * RBF(0.9) * Polynomial(2, 0.3, 0.7),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_slopes_are_those_of_differences(rng, kernel):
    X, Z, weights = rng.normal(size=(5, 3)), rng.normal(size=(7, 3)), rng.normal(size=(5, 7))
    found = slopes(kernel, X, Z, weights)
    for k in range(3):
        step = 1e-6 * np.eye(3)[k]
        change = ((kernel(X + step, Z) - kernel(X - step, Z)) * weights).sum(axis=1) / 2e-6
        np.testing.assert_allclose(found[:, k], change, rtol=1e-6, atol=1e-7)


MODELS = [
    SVC(C=10),
    SVC(kernel="poly", coef0=1.0, degree=2),
    LSSVC(kernel="rbf"),
    GaussianProcessClassifier(1.0 * RBF(1.0)),
    svm.SVC(C=10),
    svm.SVC(kernel="poly", coef0=1.0),
    svm.SVC(kernel="linear"),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__module__[:8]}.{m!s:.25}")
def test_machines_of_two_classes(rows, model):
    X, y = rows
    model.fit(X, y)
    target = target_of(model, "exact")
    assert isinstance(target, KernelTarget)
    codes = (y == "b").astype(int)
    scores, slope = target.loss_and_gradient(X, codes)
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))
    if hasattr(model, "decision_function"):
        np.testing.assert_allclose(scores[:, 1], model.decision_function(X), rtol=1e-6, atol=1e-8)
    for k in range(3):
        step = 1e-5 * np.eye(3)[k]
        ahead, back = (log_odds(target.scores(X + s), codes) for s in (step, -step))
        np.testing.assert_allclose(slope[:, k], (ahead - back) / 2e-5, rtol=1e-5, atol=1e-6)
    exact = attacks.pgd(model, X, y, 0.5, bounds=None, steps=10, random_state=0)
    np.testing.assert_array_equal(exact.success, model.predict(exact.adversarial) != y)
    asked = attacks.pgd(
        model, X, y, 0.5, bounds=None, steps=10, gradient="differences", random_state=0
    )
    assert exact.success_rate >= asked.success_rate - 0.05
    assert exact.queries < asked.queries / 2


def test_others_are_asked_for_scores(rows, rng):
    X, y = rows
    three = np.array(["a", "b", "c"])[rng.integers(3, size=60)]
    for model, labels in (
        (SVC(kernel=Laplacian(1.0)), y),
        (SVC(), three),
        (svm.SVC(kernel="linear"), three),  # whose coefficients are those of pairs
        (svm.SVC(kernel="sigmoid"), y),
    ):
        assert isinstance(target_of(model.fit(X, labels)), ScoreTarget)
    assert isinstance(target_of(svm.LinearSVC().fit(X, three)), LinearTarget)
    assert not is_smooth(RBF(1.0) * Laplacian(1.0))


def test_float32_rows_stay(rows):
    X, y = rows
    found = attacks.fgsm(SVC().fit(X, y), X.astype(np.float32), y, 0.1, bounds=None)
    assert found.adversarial.dtype == np.float32
