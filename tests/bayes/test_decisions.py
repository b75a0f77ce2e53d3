"""Costs and abstention against brute force over the decisions."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from panlearn.bayes import AbstainingClassifier, CostSensitiveClassifier, GaussianNB


@pytest.fixture
def data(rng):
    y = rng.choice(["a", "b", "c"], 90)
    return rng.normal(size=(90, 2)) + 1.5 * (y == "b")[:, None] - (y == "c")[:, None], y


def test_the_least_expected_cost_is_chosen(data, rng):
    X, y = data
    costs = rng.random((3, 3))
    model = CostSensitiveClassifier(LogisticRegression(), costs=costs).fit(X, y)
    expected = np.zeros((90, 3))
    for i in range(3):
        for j in range(3):
            expected[:, j] += model.predict_proba(X)[:, i] * costs[i, j]
    np.testing.assert_allclose(model.expected_cost(X), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[expected.argmin(axis=1)])


def test_without_costs_it_is_the_inner_classifier(data):
    X, y = data
    inner = GaussianNB().fit(X, y)
    for model in (CostSensitiveClassifier(GaussianNB()), AbstainingClassifier(GaussianNB())):
        np.testing.assert_array_equal(model.fit(X, y).predict(X), inner.predict(X))


@pytest.mark.parametrize("cost", [0.0, 0.1, 0.4, 0.7])
def test_abstention_has_the_least_expected_cost(data, cost):
    X, y = data
    model = AbstainingClassifier(cost=cost, abstain_label="?").fit(X, y)
    p = model.predict_proba(X)
    best = 1 - p.max(axis=1)
    said = model.predict(X)
    np.testing.assert_array_equal(said == "?", best > cost)
    assert said.dtype.kind == "U"
    expected = np.where(said == "?", cost, best)
    assert (expected <= np.minimum(best, cost) + 1e-15).all()
    np.testing.assert_array_equal(model.abstains(X), said == "?")
    right = np.where(said == "?", 1 - cost, said == y)
    np.testing.assert_allclose(model.score(X, y), right.mean())


def test_labels_of_another_kind_make_objects(data):
    X, y = data
    said = AbstainingClassifier(cost=0.2).fit(X, y).predict(X)
    assert said.dtype == object
    assert -1 in set(said) <= {"a", "b", "c", -1}


def test_an_abstention_that_is_a_label_is_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="abstain_label='b' is among"):
        AbstainingClassifier(cost=0.1, abstain_label="b").fit(X, y)


@pytest.mark.parametrize(
    "costs", [np.zeros((2, 2)), [[0, 1], [1]], [["a"] * 3] * 3, np.full((3, 3), np.nan)]
)
def test_bad_costs_are_refused_by_name(data, costs):
    model = CostSensitiveClassifier(costs=costs)
    with pytest.raises(ValueError, match="costs"):
        model.fit(*data)


def test_no_probabilities_no_decisions(data):
    with pytest.raises(ValueError, match="predict_proba"):
        CostSensitiveClassifier(LinearSVC()).fit(*data)
    assert not hasattr(CostSensitiveClassifier(LogisticRegression()), "partial_fit")


def test_inner_parameters_are_searched(data):
    X, y = data
    grid = {"estimator__var_smoothing": [1e-9, 1.0], "cost": [0.1, 0.3]}
    search = GridSearchCV(AbstainingClassifier(GaussianNB()), grid, cv=3).fit(X, y)
    assert search.best_params_["cost"] in (0.1, 0.3)


def test_a_batch_that_fails_leaves_the_inner_model_alone(data):
    X, y = data
    model = CostSensitiveClassifier().partial_fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((2, 2), np.nan), ["a", "b"])
    np.testing.assert_array_equal(model.predict_proba(X), before)
