"""Boosting and forests: their weights, their bins, their bits."""

import numpy as np
import pytest

from panlearn.tree import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from panlearn.tree._binned import MAX_BINS, bin_features


def noisy(rng, n=300):
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.3 * rng.normal(size=n) > 0).astype(int)


def test_each_stump_errs_on_half_of_the_weight_that_it_leaves(rng):
    X, y = noisy(rng)
    model = AdaBoostClassifier(15).fit(X, y)
    weight = np.full(len(y), 1 / len(y))
    for tree, alpha, error in zip(
        model.trees_, model.estimator_weights_, model.estimator_errors_, strict=True
    ):
        wrong = tree.value.argmax(axis=1)[tree.apply(X)] != y
        np.testing.assert_allclose(weight[wrong].sum(), error, rtol=1e-9)
        weight = weight * np.exp(alpha * wrong)
        weight /= weight.sum()
        np.testing.assert_allclose(weight[wrong].sum(), 0.5, rtol=1e-9)


def test_a_boosted_stump_is_a_stump(rng):
    X, y = noisy(rng)
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y).tree_
    boosted = AdaBoostClassifier(1).fit(X, y).trees_[0]
    assert (boosted.feature[0], boosted.threshold[0]) == (tree.feature[0], tree.threshold[0])


def test_boosting_stops_at_a_perfect_tree_and_outlives_a_useless_one(rng):
    X = np.arange(8.0)[:, None]
    assert len(AdaBoostClassifier(10).fit(X, X[:, 0] > 3).trees_) == 1
    useless = AdaBoostClassifier(10).fit(np.ones((8, 1)), [0, 1] * 4)
    assert len(useless.trees_) == 1
    assert set(useless.predict(X)) == {0}


def test_deeper_trees_fit_better(rng):
    X, y = noisy(rng)
    scores = [AdaBoostClassifier(20, max_depth=d).fit(X, y).score(X, y) for d in (1, 3)]
    assert scores[0] < scores[1]


@pytest.mark.parametrize("distinct", [7, MAX_BINS, 5000])
def test_a_value_is_in_a_bin_or_below_exactly_if_it_does_not_exceed_the_threshold(rng, distinct):
    X = rng.normal(size=distinct)[rng.integers(distinct, size=(3000, 2))]
    codes, thresholds = bin_features(X)
    for j in range(2):
        below = X[:, j, None] <= thresholds[j]
        np.testing.assert_array_equal(below, codes[j][:, None] <= np.arange(MAX_BINS - 1))
        sizes = np.bincount(codes[j])
        if distinct == 5000:
            assert len(sizes) > 200
            assert sizes.max() < 6 * 3000 / MAX_BINS
        else:
            assert len(sizes) == len(np.unique(X[:, j]))


@pytest.mark.parametrize("n", [50, 200])  # small nodes are sorted, large ones counted
def test_without_chance_a_tree_of_the_forest_is_the_exact_tree(rng, n):
    X = rng.integers(0, 40, (n, 3)).astype(float)
    y = rng.integers(0, 3, n)
    exact = DecisionTreeClassifier(max_depth=5).fit(X, y)
    plain = dict(max_features=None, bootstrap=False, max_depth=5)
    forest = RandomForestClassifier(1, **plain).fit(X, y)
    np.testing.assert_array_equal(forest.trees_[0].feature, exact.tree_.feature)
    np.testing.assert_array_equal(forest.predict_proba(X), exact.predict_proba(X))
    bits = dict(criterion="entropy", min_impurity_decrease=0.03)
    exact = DecisionTreeClassifier(max_depth=5, **bits).fit(X, y)
    forest = RandomForestClassifier(1, **plain, **bits).fit(X, y)
    np.testing.assert_array_equal(forest.trees_[0].feature, exact.tree_.feature)
    z = rng.normal(size=n)
    exact = DecisionTreeRegressor(max_depth=5).fit(X, z)
    forest = RandomForestRegressor(1, **plain).fit(X, z)
    np.testing.assert_allclose(forest.predict(X), exact.predict(X), rtol=1e-12)


@pytest.mark.parametrize("cls", [RandomForestClassifier, RandomForestRegressor])
def test_threads_give_the_same_bits(rng, cls):
    X, y = noisy(rng)
    one, two, all = (
        cls(12, n_jobs=jobs, oob_score=True, random_state=3).fit(X, y) for jobs in (None, 2, -1)
    )
    for other in (two, all):
        assert one.oob_score_ == other.oob_score_
        np.testing.assert_array_equal(one.predict(X), other.predict(X))
        np.testing.assert_array_equal(one.feature_importances_, other.feature_importances_)


def test_the_score_out_of_bag_is_that_of_new_rows(rng):
    X, y = noisy(rng, 1500)
    model = RandomForestClassifier(60, oob_score=True, random_state=0).fit(X[:500], y[:500])
    assert model.score(X[:500], y[:500]) > 0.99
    # three standard deviations of two accuracies near 0.85
    assert abs(model.oob_score_ - model.score(X[500:], y[500:])) < 0.06
    with pytest.raises(ValueError, match="oob_score"):
        RandomForestClassifier(3, oob_score=True, bootstrap=False).fit(X, y)


def test_forests_refuse_missing_values_by_name(rng):
    X, y = noisy(rng)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        RandomForestClassifier(3).fit(X, y)
