"""Trees against scikit-learn's, node for node where no two splits are equally good."""

import numpy as np
import pytest
from sklearn import ensemble
from sklearn import tree as peer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from panlearn.tree import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

ARRAYS = (
    "children_left children_right feature threshold missing_go_to_left impurity n_node_samples "
    "weighted_n_node_samples value"
).split()
LIMITS = [
    {"max_depth": 4, "min_samples_leaf": 10},
    {"min_samples_leaf": 25},
    {"min_samples_split": 200, "min_samples_leaf": 5},
]


def problem(rng, missing):
    """Rows in float32, which scikit-learn rounds to; ties are a matter of nodes with few rows."""
    X = rng.normal(size=(800, 5)).astype(np.float32)
    signal = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.3 * rng.normal(size=800)
    X[rng.random(X.shape) < missing] = np.nan
    return X, signal, rng.random(800) + 0.5


def assert_same_nodes(ours, theirs):
    assert ours.tree_.node_count == theirs.tree_.node_count
    for name in ARRAYS:
        value = getattr(ours.tree_, name)
        expected = getattr(theirs.tree_, name).reshape(value.shape)
        # float32 values; weighted sums in another order
        np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-7, err_msg=name)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)
    assert ours.get_depth() == theirs.get_depth()
    assert ours.get_n_leaves() == theirs.get_n_leaves()


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_classifier(rng, criterion, missing, limits):
    X, signal, weight = problem(rng, missing)
    y = np.digitize(signal, [-0.7, 0.7])
    # counts of rows tie often, random weights never
    unweighted = {"max_depth": 3, "min_samples_leaf": 10}
    for w, bounds in ((weight, limits), (None, unweighted)):
        ours = DecisionTreeClassifier(criterion=criterion, **bounds).fit(X, y, w)
        theirs = peer.DecisionTreeClassifier(criterion=criterion, random_state=0, **bounds)
        theirs.fit(X, y, w)
        assert_same_nodes(ours, theirs)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        np.testing.assert_array_equal(ours.apply(X), theirs.apply(X))


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_regressor(rng, missing, limits):
    X, y, weight = problem(rng, missing)
    for w in (None, weight):
        ours = DecisionTreeRegressor(min_impurity_decrease=1e-4, **limits).fit(X, y, w)
        theirs = peer.DecisionTreeRegressor(min_impurity_decrease=1e-4, random_state=0, **limits)
        assert_same_nodes(ours, theirs.fit(X, y, w))


@pytest.mark.parametrize("seed", range(4))
def test_a_full_tree_is_as_accurate(seed):
    rng = np.random.default_rng(seed)
    X, signal, _ = problem(rng, 0.0)
    y = signal > 0
    ours = DecisionTreeClassifier().fit(X[:600], y[:600])
    theirs = peer.DecisionTreeClassifier(random_state=seed).fit(X[:600], y[:600])
    assert ours.score(X[:600], y[:600]) == 1
    assert abs(ours.score(X[600:], y[600:]) - theirs.score(X[600:], y[600:])) < 0.08
    assert abs(ours.tree_.node_count / theirs.tree_.node_count - 1) < 0.1


@pytest.mark.parametrize("k", [2, 3])
def test_adaboost_is_the_same_boosting(rng, k):
    X, signal, weight = problem(rng, 0.0)
    y = np.digitize(signal, [0.0] if k == 2 else [-0.7, 0.7])
    ours = AdaBoostClassifier(n_estimators=30, learning_rate=0.7).fit(X, y, weight)
    theirs = ensemble.AdaBoostClassifier(n_estimators=30, learning_rate=0.7, random_state=0)
    theirs.fit(X, y, weight)
    # ours has weights and outputs in float32, as X is
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-6)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-6)
    new = rng.normal(size=(300, 5)).astype(np.float32)
    np.testing.assert_allclose(
        ours.decision_function(new), theirs.decision_function(new), atol=1e-6
    )
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_a_forest_of_labels_is_as_good_and_as_large(load):
    X, y = load(return_X_y=True)
    ours = RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, y)
    theirs = ensemble.RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, y)
    assert ours.oob_score_ > theirs.oob_score_ - 0.015  # the spread over seeds is about 0.006
    nodes = np.mean([t.tree_.node_count for t in ours.estimators_])
    assert abs(nodes / np.mean([t.tree_.node_count for t in theirs.estimators_]) - 1) < 0.15
    assert np.corrcoef(ours.feature_importances_, theirs.feature_importances_)[0, 1] > 0.85


def test_a_forest_of_numbers_is_as_good():
    X, y = load_diabetes(return_X_y=True)
    ours = RandomForestRegressor(60, oob_score=True, random_state=0).fit(X, y)
    theirs = ensemble.RandomForestRegressor(60, oob_score=True, random_state=0).fit(X, y)
    assert ours.oob_score_ > theirs.oob_score_ - 0.03  # the spread over seeds is about 0.012
    assert np.corrcoef(ours.feature_importances_, theirs.feature_importances_)[0, 1] > 0.95
