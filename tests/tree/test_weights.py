"""What weights of rows mean to trees and ensembles, whatever their size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from panlearn.tree import (
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

ENSEMBLES = [
    RandomForestClassifier(4, random_state=0),
    RandomForestRegressor(4, random_state=0),
    RandomForestClassifier(4, bootstrap=False, random_state=0),
    BaggingClassifier(n_estimators=4, random_state=0),
    AdaBoostClassifier(n_estimators=4),
]
TREES = [
    DecisionTreeClassifier(max_depth=4),
    DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=6),
    DecisionTreeRegressor(max_depth=4),
    DecisionTreeRegressor(criterion="absolute_error", max_depth=4),
    DecisionTreeRegressor(criterion="poisson", max_depth=4),
]


def name(model):
    return f"{model!r:.60}"


def rows(seed=0, n=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return (
        X,
        (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int),
        rng.integers(1, 4, n).astype(float),
    )


def answers(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("model", [*TREES, *ENSEMBLES], ids=name)
@given(seed=st.integers(0, 1000), scale=st.sampled_from([1e-300, 1e-3, 0.1, 3.0, 1e5, 1e9, 1e300]))
def test_the_scale_of_the_weights_does_not_matter(model, seed, scale):
    X, y, weight = rows(seed, 25)
    plain = answers(clone(model).fit(X, y, weight), X)
    scaled = answers(clone(model).fit(X, y, scale * weight), X)
    np.testing.assert_allclose(scaled, plain, atol=1e-9)  # 3 times a weight is rounded


@pytest.mark.parametrize("model", ENSEMBLES[:2], ids=name)
@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
def test_a_bag_has_as_many_rows_as_there_are_whatever_they_weigh(model, scale):
    X, y, weight = rows()
    weight[:10] = 0
    for tree in clone(model).fit(X, y, scale * weight).estimators_:
        assert tree.tree_.weighted_n_node_samples[0] == 50


@pytest.mark.parametrize("model", [*TREES, *ENSEMBLES], ids=name)
def test_a_whole_weight_is_a_repetition_and_zero_an_absence(model):
    """Of ensembles with a number of draws that does not depend on the rows, for the same seed."""
    X, y, weight = rows()
    weight = weight - 1
    if getattr(model, "bootstrap", False):
        model = clone(model).set_params(max_samples=40)
    index = np.repeat(np.arange(len(X)), weight.astype(int))
    weighted = answers(clone(model).fit(X, y, weight), X)
    repeated = answers(clone(model).fit(X[index], y[index]), X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-9)


@pytest.mark.parametrize("model", [*TREES, *ENSEMBLES], ids=name)
def test_weights_of_every_size_at_once_give_finite_answers(model):
    X, y, weight = rows()
    weight[:20], weight[20:40] = 1e-300, 1e300
    answer = answers(clone(model).fit(X, y, weight), X)
    assert np.isfinite(answer).all()
    # a light row beside heavy ones counts for nothing
    heavy = weight == 1e300
    again = answers(clone(model).fit(X[heavy], y[heavy], weight[heavy]), X[heavy])
    if model in TREES:
        assert (np.round(answer[heavy]) == np.round(again)).mean() > 0.9
    with pytest.raises(ValueError, match="sample_weight sums"):
        DecisionTreeRegressor().fit(X, y, np.full(60, 1e308))
