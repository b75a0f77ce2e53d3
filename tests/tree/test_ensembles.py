"""Boosting and forests: their weights, their bins, their bits."""

import numpy as np
import pytest

from panlearn.bayes import GaussianNB
from panlearn.neighbors import KNeighborsClassifier
from panlearn.tree import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from panlearn.tree._features import bin_features, presort
from panlearn.tree._sampling import row_sampler, sample_size
from panlearn.tree._split import MISSING
from panlearn.tree._stump import (
    best_stump,
    bound_of,
    cut_into_blocks,
    split_score,
    stump_tree,
)


def noisy(rng, n=300):
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.3 * rng.normal(size=n) > 0).astype(int)


def test_each_stump_errs_on_half_of_the_weight_that_it_leaves(rng):
    X, y = noisy(rng)
    model = AdaBoostClassifier(n_estimators=15).fit(X, y)
    weight = np.full(len(y), 1 / len(y))
    trees = [member.tree_ for member in model.estimators_]
    for tree, alpha, error in zip(
        trees, model.estimator_weights_, model.estimator_errors_, strict=True
    ):
        wrong = tree.value.argmax(axis=1)[tree.apply(X)] != y
        np.testing.assert_allclose(weight[wrong].sum(), error, rtol=1e-9)
        weight = weight * np.exp(alpha * wrong)
        weight /= weight.sum()
        np.testing.assert_allclose(weight[wrong].sum(), 0.5, rtol=1e-9)


def test_a_boosted_stump_is_a_stump(rng):
    X, y = noisy(rng)
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y).tree_
    boosted = AdaBoostClassifier(n_estimators=1).fit(X, y).estimators_[0].tree_
    assert (boosted.feature[0], boosted.threshold[0]) == (tree.feature[0], tree.threshold[0])


def test_boosting_stops_at_a_perfect_tree_and_outlives_a_useless_one(rng):
    X = np.arange(8.0)[:, None]
    assert len(AdaBoostClassifier(n_estimators=10).fit(X, X[:, 0] > 3).estimators_) == 1
    useless = AdaBoostClassifier(n_estimators=10).fit(np.ones((8, 1)), [0, 1] * 4)
    assert len(useless.estimators_) == 1
    assert set(useless.predict(X)) == {0}


def test_deeper_trees_fit_better(rng):
    X, y = noisy(rng)
    trees = [DecisionTreeClassifier(max_depth=depth) for depth in (1, 3)]
    models = [AdaBoostClassifier(tree, n_estimators=20).fit(X, y) for tree in trees]
    assert models[0].score(X, y) < models[1].score(X, y)
    stumps = AdaBoostClassifier(n_estimators=20).fit(X, y)
    np.testing.assert_allclose(models[0].decision_function(X), stumps.decision_function(X))


@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_stump_of_any_weights_is_the_exact_one(rng, k, missing):
    """As the tree that walks all rows finds it, also with ties, many classes and few rows."""
    for n, decimals in ((2000, 3), (600, 1), (30, 0)):
        X = rng.normal(size=(n, 4)).round(decimals)
        X[rng.random(X.shape) < missing] = np.nan
        codes = rng.integers(k, size=n).astype(np.int32)
        features = presort(X)
        blocks = cut_into_blocks(features)
        for _ in range(5):
            weight = rng.exponential(size=n) ** 3
            tree = DecisionTreeClassifier(max_depth=1).fit(X, codes, weight).tree_
            stump = stump_tree(features, *best_stump(blocks, codes, weight, k))
            assert (stump.feature[0], stump.threshold[0]) == (tree.feature[0], tree.threshold[0])
            assert stump.missing_go_to_left[0] == tree.missing_go_to_left[0]
            np.testing.assert_allclose(stump.value, tree.value, rtol=1e-9)


def test_the_bound_of_a_block_holds(rng):
    for _ in range(200):
        left, inside, right = rng.exponential(size=(3, 3)) ** 2
        bound = bound_of(left, inside, left + inside + right, np.empty(3))
        for part in rng.random((20, 3)):
            assert split_score(left + part * inside, left + inside + right) <= bound + 1e-12


def test_boosting_takes_any_classifier_with_weights(rng):
    X, y = noisy(rng)
    model = AdaBoostClassifier(GaussianNB(), n_estimators=5).fit(X, np.array(["a", "b"])[y])
    assert set(model.predict(X)) == {"a", "b"}
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(ValueError, match="sample_weight"):
        AdaBoostClassifier(KNeighborsClassifier()).fit(X, y)


@pytest.mark.parametrize("distinct", [7, MISSING, 5000])
def test_a_value_is_in_a_bin_or_below_exactly_if_it_does_not_exceed_the_threshold(rng, distinct):
    X = rng.normal(size=distinct)[rng.integers(distinct, size=(3000, 2))]
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.integers(1, 4, 3000).astype(float)
    features = bin_features(X, weight)
    bins, thresholds = features.columns.bins.T, features.cuts
    for j in range(2):
        known = ~np.isnan(X[:, j])
        np.testing.assert_array_equal(bins[j] == MISSING, ~known)
        below = X[known, j, None] <= thresholds[j]
        np.testing.assert_array_equal(below, bins[j][known, None] <= np.arange(MISSING))
        mass = np.bincount(bins[j][known], weight[known])
        if distinct == 5000:
            assert len(mass) > 200
            assert mass.max() < 6 * weight[known].sum() / MISSING
        else:
            assert len(mass) == len(np.unique(X[known, j]))
    again = bin_features(np.repeat(X, weight.astype(int), axis=0), np.ones(int(weight.sum())))
    np.testing.assert_array_equal(again.cuts, thresholds)


@pytest.mark.parametrize("n", [50, 200])  # small nodes are sorted, large ones counted
def test_without_chance_a_tree_of_the_forest_is_the_exact_tree(rng, n):
    X = rng.integers(0, 40, (n, 3)).astype(float)
    y = rng.integers(0, 3, n)
    exact = DecisionTreeClassifier(max_depth=5).fit(X, y)
    plain = dict(max_features=None, bootstrap=False, max_depth=5)
    forest = RandomForestClassifier(1, **plain).fit(X, y)
    np.testing.assert_array_equal(forest.estimators_[0].tree_.feature, exact.tree_.feature)
    np.testing.assert_array_equal(forest.predict_proba(X), exact.predict_proba(X))
    bits = dict(criterion="entropy", min_impurity_decrease=0.03)
    exact = DecisionTreeClassifier(max_depth=5, **bits).fit(X, y)
    forest = RandomForestClassifier(1, **plain, **bits).fit(X, y)
    np.testing.assert_array_equal(forest.estimators_[0].tree_.feature, exact.tree_.feature)
    z = rng.normal(size=n)
    exact = DecisionTreeRegressor(max_depth=5).fit(X, z)
    forest = RandomForestRegressor(1, **plain).fit(X, z)
    np.testing.assert_allclose(forest.predict(X), exact.predict(X), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:.*out-of-bag")  # a row or two is in all twelve bags
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


@pytest.mark.parametrize("n", [60, 400])  # small nodes are sorted, large ones counted
def test_missing_values_and_weights_in_a_tree_of_the_forest_are_those_of_the_exact_tree(rng, n):
    X = rng.integers(0, 30, (n, 3)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    y, weight = rng.integers(0, 3, n), rng.random(n)
    plain = dict(max_depth=4, min_samples_leaf=5, min_weight_fraction_leaf=0.02)
    exact = DecisionTreeClassifier(**plain).fit(X, y, weight).tree_
    forest = RandomForestClassifier(1, max_features=None, bootstrap=False, **plain)
    tree = forest.fit(X, y, weight).estimators_[0].tree_
    np.testing.assert_array_equal(tree.feature, exact.feature)
    np.testing.assert_array_equal(tree.missing_go_to_left, exact.missing_go_to_left)
    np.testing.assert_allclose(tree.value, exact.value, rtol=1e-9)
    z = rng.normal(size=n)
    exact = DecisionTreeRegressor(**plain).fit(X, z, weight)
    forest = RandomForestRegressor(1, max_features=None, bootstrap=False, **plain)
    np.testing.assert_allclose(forest.fit(X, z, weight).predict(X), exact.predict(X), rtol=1e-9)


def test_a_forest_learns_where_values_are_missing(rng):
    X, y = noisy(rng, 800)
    X[(rng.random(800) < 0.5) & (y == 1), 3] = np.nan  # that it is missing tells the class
    model = RandomForestClassifier(40, oob_score=True, random_state=0).fit(X, y)
    filled = np.where(np.isnan(X), rng.normal(size=X.shape), X)
    other = RandomForestClassifier(40, oob_score=True, random_state=0).fit(filled, y)
    assert model.oob_score_ > other.oob_score_ + 0.02
    assert (model.predict(np.c_[X[:, :3], np.full(800, np.nan)]) == 1).mean() > 0.9


def test_rows_are_drawn_in_proportion_to_their_weights(rng):
    weight = np.array([1.0, 0.5, 2.5, 4.0])
    drawn = np.bincount(row_sampler(weight)(rng, 20_000))
    np.testing.assert_allclose(drawn / 20_000, weight / 8, atol=0.015)  # four deviations
    assert sample_size(None, 4) == 4
    assert sample_size(0.5, 4) == 2
    assert sample_size(9, 4) == 9
    one = row_sampler(np.array([2.0, 0.5, 2.0]))(np.random.default_rng(1), 50)
    two = row_sampler(np.array([1.0, 1.0, 0.5, 2.0]))(np.random.default_rng(1), 50)
    np.testing.assert_array_equal(one, np.maximum(two - 1, 0))


def test_members_of_a_forest_are_trees_and_classes_can_be_weighted(rng):
    X, y = noisy(rng)
    rare = np.flatnonzero((y == 0) | (rng.random(len(y)) < 0.2))
    X, y = X[rare], np.array(["common", "rare"])[y[rare]]
    plain, balanced = (
        RandomForestClassifier(30, max_depth=4, class_weight=w, random_state=0).fit(X, y)
        for w in (None, "balanced")
    )
    assert (balanced.predict(X) == "rare").sum() > (plain.predict(X) == "rare").sum()
    mean = np.mean([tree.predict_proba(X) for tree in plain.estimators_], axis=0)
    np.testing.assert_allclose(plain.predict_proba(X), mean, rtol=1e-12)
    with pytest.raises(ValueError, match="class_weight"):
        RandomForestClassifier(2, class_weight={"common": 0, "rare": 1}).fit(X, y)
    small = RandomForestClassifier(5, max_samples=20, random_state=0).fit(X, y)
    assert all(t.tree_.weighted_n_node_samples[0] == 20 for t in small.estimators_)
