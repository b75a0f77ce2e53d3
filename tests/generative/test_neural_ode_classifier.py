"""The classifier along a field: the closed form of a linear field, room to go round, weights."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.special import softmax
from sklearn.datasets import make_circles

import panlearn
from panlearn.generative import NeuralODEClassifier

QUICK = {"max_epochs": 25, "learning_rate": 0.02, "random_state": 0}


@pytest.fixture(scope="module")
def rings():
    X, y = make_circles(200, noise=0.03, factor=0.5, random_state=0)
    return X * [100.0, 0.01] + 5, np.array(["outer", "inner"])[y]


def test_a_linear_field_has_a_closed_form(rings):
    """Without hidden layers rows go along a matrix exponential, with the bias as one column."""
    X, y = rings
    model = NeuralODEClassifier(
        (), n_augmented=1, method="dopri5", rtol=1e-9, atol=1e-11, max_epochs=2, random_state=0
    ).fit(X, y)
    w = model.weights_
    field = np.zeros((4, 4))
    (weight,) = (v for k, v in w.items() if k.startswith("flow") and v.ndim == 2)
    (bias,) = (v for k, v in w.items() if k.startswith("flow") and v.ndim == 1)
    field[:3, :3], field[:3, 3] = weight, bias
    start = np.column_stack([(X - X.mean(0)) / X.std(0), np.zeros(len(X)), np.ones(len(X))])
    end = (start @ expm(field).T)[:, :3]
    expected = softmax(end @ w["read.weight"].T + w["read.bias"], axis=1)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-7)
    assert np.array_equal(model.predict(X), model.classes_[expected.argmax(1)])


def test_rings_need_room(rings):
    """A field of the plane keeps inside what is inside, whatever it learns."""
    X, y = rings
    assert NeuralODEClassifier(16, **QUICK).fit(X, y).score(X, y) == 1.0
    assert NeuralODEClassifier(16, n_augmented=0, **QUICK).fit(X, y).score(X, y) < 0.9


def test_a_weight_is_a_repeated_row(rings):
    X, y = rings[0][::10], rings[1][::10]
    weight = np.arange(len(y)) % 3
    options = {"max_epochs": 5, "batch_size": 100, "random_state": 0}
    once = NeuralODEClassifier(8, **options).fit(X, y, sample_weight=weight)
    again = NeuralODEClassifier(8, **options).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    np.testing.assert_allclose(once.predict_proba(X), again.predict_proba(X), atol=1e-6)


def test_both_gradients_learn_the_same(rings):
    X, y = rings
    found = [
        NeuralODEClassifier(8, gradient=g, step_size=0.1, max_epochs=3, random_state=0)
        .fit(X, y)
        .predict_proba(X)
        for g in ("plain", "adjoint")
    ]
    np.testing.assert_allclose(*found, atol=2e-3)


def test_saved_and_loaded(rings, tmp_path):
    X, y = rings[0].astype(np.float32), rings[1]
    model = NeuralODEClassifier(8, max_epochs=2, random_state=0).fit(X, y)
    panlearn.save(model, tmp_path / "model")
    found = panlearn.load(tmp_path / "model").predict_log_proba(X)
    np.testing.assert_array_equal(found, model.predict_log_proba(X))
    assert found.dtype == np.float32
    two = model.decision_function(X)
    np.testing.assert_allclose(two, found[:, 1] - found[:, 0], atol=1e-5)
    with pytest.raises(ValueError, match="one class only"):
        NeuralODEClassifier().fit(X, np.ones(len(X)))
