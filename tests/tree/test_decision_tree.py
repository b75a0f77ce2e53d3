"""CART against brute force and closed forms."""

import dataclasses

import numpy as np
import pytest
from scipy.special import xlogy

import panlearn
from panlearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text
from panlearn.tree._rows import divide
from panlearn.tree._structure import Tree


def impurity(y, w, criterion):
    """The readable reference: criterion of targets y with weights w."""
    if criterion == "squared_error":
        return np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    if criterion == "absolute_error":  # a median is one of the targets
        return min(np.average(np.abs(y - median), weights=w) for median in y)
    if criterion == "poisson":
        mean = np.average(y, weights=w)
        return np.average(xlogy(y, y / mean), weights=w) if mean > 0 else np.inf
    p = np.bincount(y, w) / w.sum()
    return 1 - (p**2).sum() if criterion == "gini" else -(p[p > 0] * np.log2(p[p > 0])).sum()


def stump(X, y, w, criterion):
    """Try every threshold of every feature, missing values on either side."""
    best = (np.inf,)
    for j in range(X.shape[1]):
        x = X[:, j]
        known = np.unique(x[~np.isnan(x)])
        cuts = [*((known[:-1] + known[1:]) / 2), *([np.inf] if np.isnan(x).any() else [])]
        for to_left in (False, True) if np.isnan(x).any() else (False,):
            for cut in cuts:
                left = np.where(np.isnan(x), to_left, x <= cut)
                if left.all() or not left.any():
                    continue
                mass = sum(w[s].sum() * impurity(y[s], w[s], criterion) for s in (left, ~left))
                if mass < best[0] - 1e-12:
                    best = (mass, j, cut, to_left)
    return best


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize(
    "criterion", ["gini", "entropy", "squared_error", "absolute_error", "poisson"]
)
def test_the_root_is_the_best_of_all_splits(rng, criterion, missing):
    for _ in range(10):
        X = rng.integers(0, 9, (30, 3)).astype(float)
        X[rng.random(X.shape) < missing] = np.nan
        w = rng.integers(1, 4, 30).astype(float)
        if criterion not in ("gini", "entropy"):
            y = rng.normal(size=30)
            if criterion == "poisson":  # with zeros, so that some sides would have no mean
                y = np.where(rng.random(30) < 0.7, 0, np.abs(y))
            model = DecisionTreeRegressor(criterion=criterion, max_depth=1).fit(X, y, w)
            tree = model.tree_
        else:
            y = rng.integers(0, 3, 30)
            model = DecisionTreeClassifier(criterion=criterion, max_depth=1).fit(X, y, w)
            tree = model.tree_
        mass, feature, cut, to_left = stump(X, y, w, criterion)
        assert tree.feature[0] == feature
        assert tree.threshold[0] == cut
        if np.isnan(X[:, feature]).any():
            assert tree.missing_go_to_left[0] == to_left
        ours = tree.weighted_n_node_samples[1:] @ tree.impurity[1:]
        np.testing.assert_allclose(ours, mass, rtol=1e-12)  # sums of 30 terms
        np.testing.assert_allclose(tree.impurity[0], impurity(y, w, criterion), rtol=1e-12)


def test_ties_go_to_the_first_feature_then_to_the_lowest_threshold():
    x = np.array([0.0, 1.0, 2.0, 3.0])
    tree = DecisionTreeClassifier(max_depth=1).fit(np.c_[x, x], [0, 1, 1, 0]).tree_
    assert (tree.feature[0], tree.threshold[0]) == (0, 0.5)


def test_a_full_tree_reproduces_distinct_rows(rng):
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    np.testing.assert_allclose(DecisionTreeRegressor().fit(X, y).predict(X), y, rtol=1e-12)
    labels = rng.integers(0, 4, 200)
    assert DecisionTreeClassifier(criterion="entropy").fit(X, labels).score(X, labels) == 1


def test_values_next_to_each_other_are_split(rng):
    x = np.array([1.0, np.nextafter(1.0, 2), 1e300, np.nextafter(1e300, np.inf)])
    model = DecisionTreeRegressor().fit(x[:, None], np.arange(4.0))
    np.testing.assert_array_equal(model.predict(x[:, None]), np.arange(4.0))


def test_an_offset_of_the_targets_costs_no_digits(rng):
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    near, far = (DecisionTreeRegressor(max_depth=4).fit(X, t).tree_ for t in (y, y + 1e9))
    np.testing.assert_array_equal(near.feature, far.feature)
    np.testing.assert_allclose(near.impurity, far.impurity, rtol=1e-5)  # y has 1e-7 left


def test_the_limits_hold(rng):
    X, y = rng.normal(size=(300, 4)), rng.normal(size=300)
    weight = rng.random(300)
    deep = DecisionTreeRegressor().fit(X, y).tree_
    assert DecisionTreeRegressor(max_depth=3).fit(X, y).get_depth() == 3
    tree = DecisionTreeRegressor(min_samples_leaf=7).fit(X, y).tree_
    assert tree.n_node_samples[tree.is_leaf].min() >= 7
    tree = DecisionTreeRegressor(min_samples_split=20).fit(X, y).tree_
    assert tree.n_node_samples[~tree.is_leaf].min() >= 20
    tree = DecisionTreeRegressor(min_weight_fraction_leaf=0.1).fit(X, y, weight).tree_
    assert tree.weighted_n_node_samples[tree.is_leaf].min() >= 0.1 * weight.sum()
    tree = DecisionTreeRegressor(min_impurity_decrease=0.01).fit(X, y).tree_
    mass = tree.weighted_n_node_samples * tree.impurity / 300
    inner = ~tree.is_leaf
    gains = mass[inner] - mass[tree.children_left[inner]] - mass[tree.children_right[inner]]
    assert 1 < tree.node_count < deep.node_count
    assert gains.min() >= 0.01


def test_features_are_drawn_at_random_and_more_if_they_are_constant(rng):
    X, y = np.c_[np.ones((100, 5)), rng.normal(size=(100, 2))], rng.normal(size=100)
    trees = [DecisionTreeRegressor(max_features=1, random_state=s).fit(X, y) for s in range(8)]
    assert {int(t.tree_.feature[0]) for t in trees} == {5, 6}
    np.testing.assert_allclose(trees[0].predict(X), y)
    again = DecisionTreeRegressor(max_features=1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.tree_.feature, trees[0].tree_.feature)


def test_rows_and_what_goes_with_them_are_divided_stably(rng):
    rows, goes_left = rng.permutation(50).astype(np.int32), rng.random(50) < 0.4
    values = rng.normal(size=50)
    order = np.r_[np.flatnonzero(goes_left[rows]), np.flatnonzero(~goes_left[rows])]
    expected = rows[order], values[order]
    assert divide(values, rows, goes_left, np.empty(50)) == goes_left.sum()
    assert divide(rows, rows, goes_left, np.empty(50, np.int32)) == goes_left.sum()
    np.testing.assert_array_equal(rows, expected[0])
    np.testing.assert_array_equal(values, expected[1])


def test_class_weight_is_a_weight_of_rows(rng):
    X, y = rng.normal(size=(90, 3)), np.repeat(["a", "b", "c"], [60, 20, 10])
    weights = {"a": 0.5, "b": 1.5, "c": 3.0}
    rows = np.array([weights[label] for label in y])
    expected = DecisionTreeClassifier(max_depth=3).fit(X, y, rows).predict_proba(X)
    for given in (weights, "balanced"):
        ours = DecisionTreeClassifier(max_depth=3, class_weight=given).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(ours, expected, rtol=1e-12)


def test_missing_values_not_seen_in_training_go_where_more_rows_are():
    X = np.arange(10.0)[:, None]
    y = X[:, 0] >= 3
    assert DecisionTreeClassifier().fit(X, y).predict([[np.nan]]) == [True]


def test_text_has_names_and_depth(rng):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(rng.normal(size=(50, 2)), columns=["age", "height"])
    model = DecisionTreeRegressor(max_depth=3).fit(X, X["age"] > 0)
    assert export_text(model).splitlines()[0].startswith("|--- age <= ")
    deep = DecisionTreeRegressor().fit(X, rng.normal(size=50))
    lines = export_text(deep, max_depth=1).splitlines()
    assert lines[1] == lines[3] == "|   |--- ..."
    with pytest.raises(ValueError, match="1 feature_names for 2 features"):
        export_text(deep, feature_names=["one"])


def test_text_tells_all_outputs():
    X = [[0.0], [1.0], [2.0]]
    model = DecisionTreeClassifier().fit(X, [["a", "x"], ["a", "y"], ["b", "y"]])
    assert export_text(model).count("class: [a, y]") == 1
    model = DecisionTreeRegressor(max_depth=1).fit(X, [[1.0, 2.0], [3.0, 4.0], [3.0, 4.0]])
    assert export_text(model).splitlines()[1] == "|   |--- value: [1.00, 2.00]"


@pytest.mark.parametrize(
    "change",
    [
        {"children_left": [1, 0, -1]},
        {"children_left": [1, 7, -1]},
        {"children_right": [-1, -1, -1]},
        {"feature": [5, -2, -2]},
        {"threshold": [0.5, -2.0]},
    ],
)
def test_arrays_that_are_no_tree_are_refused_also_from_a_file(change, tmp_path):
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    arrays = {k: np.array(v, dtype=getattr(model.tree_, k).dtype) for k, v in change.items()}
    with pytest.raises(ValueError, match="do not describe a tree"):
        dataclasses.replace(model.tree_, **arrays)
    for name, value in arrays.items():
        object.__setattr__(model.tree_, name, value)
    panlearn.save(model, tmp_path / "model")
    with pytest.raises(panlearn.core.persistence.ModelFileError, match="tree"):
        panlearn.load(tmp_path / "model")


def test_a_saved_tree_is_the_same_tree(rng, tmp_path):
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    model = DecisionTreeRegressor().fit(X, y)
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model").tree_
    for field in dataclasses.fields(Tree):
        np.testing.assert_array_equal(getattr(loaded, field.name), getattr(model.tree_, field.name))
