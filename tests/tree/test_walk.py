"""Rows find the leaves that the nodes of a tree lead to, however the nodes are laid out."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from panlearn.tree import (
    DecisionTreeClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from panlearn.tree._features import BLOCK_ROWS
from panlearn.tree._walk import LOWER, SURE, lay_out


def leaf_of(tree, row):
    """By the words of the docstring of `Tree`."""
    node = 0
    while tree.children_left[node] >= 0:
        x = row[tree.feature[node]]
        left = tree.missing_go_to_left[node] if np.isnan(x) else x <= tree.threshold[node]
        node = (tree.children_left if left else tree.children_right)[node]
    return node


@pytest.fixture(name="data")
def rows_with_holes(rng):
    X = np.round(rng.normal(size=(90, 3)), 1)  # values lie on thresholds, too
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, rng.integers(3, size=90)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("most", [None, 7], ids=["depth first", "best first"])
def test_every_row_ends_in_its_leaf(data, dtype, most):
    X, y = data[0].astype(dtype), data[1]
    forest = RandomForestClassifier(5, max_leaf_nodes=most, random_state=0).fit(X, y)
    trees = [member.tree_ for member in forest.estimators_]
    assert {bool(b) for t in trees for b in t.missing_go_to_left[~t.is_leaf]} == {True, False}
    # new rows: as they were, on the thresholds themselves, and with nothing in them
    on = np.array([t.threshold[~t.is_leaf][:3] for t in trees if t.n_leaves > 3], dtype=dtype)
    rows = np.vstack([X, np.where(np.isfinite(on), on, 0), np.full((1, 3), np.nan, dtype)])
    expected = np.array([[leaf_of(t, row) for t in trees] for row in rows])
    for n in (1, 7, 8, 9, len(rows)):  # some rows walk side by side, the last ones alone
        assert_array_equal(forest.apply(rows[:n]), expected[:n])
        total = np.zeros((n, 3))
        for m, tree in enumerate(trees):
            total += tree.value[expected[:n, m]]
            assert_array_equal(tree.apply(rows[:n]), expected[:n, m])
            assert_array_equal(tree.predict(rows[:n]), tree.value[expected[:n, m]])
        assert_array_equal(forest.predict_proba(rows[:n]), (total / 5).astype(dtype))


def test_layouts_and_threads_change_no_bit(data, monkeypatch):
    monkeypatch.setattr("panlearn.tree._walk.MANY", 0)  # so that threads share these few
    X, y = np.nan_to_num(data[0]), data[1].astype(float)
    forest = RandomForestRegressor(4, random_state=0).fit(X, y)
    many = np.tile(X, (400, 1))
    assert len(many) > BLOCK_ROWS
    expected = np.tile(forest.predict(X), 400)
    assert_array_equal(forest.predict(many), expected)
    assert_array_equal(forest.set_params(n_jobs=2).predict(np.asfortranarray(many)), expected)
    assert_array_equal(forest.predict(sparse.csr_array(many)), expected)
    assert_array_equal(forest.predict(np.repeat(many, 2, axis=1)[:, ::2]), expected)


def test_children_lie_side_by_side(data):
    trees = [m.tree_ for m in RandomForestClassifier(3, random_state=0).fit(*data).estimators_]
    walk = lay_out(trees)
    counts = [tree.node_count for tree in trees]
    assert_array_equal(walk.root, np.cumsum([0, *counts[:-1]]))
    places = np.arange(sum(counts))
    child = walk.node & LOWER
    leaf = child == places
    assert leaf.sum() == sum(tree.n_leaves for tree in trees)
    reached = np.concatenate([walk.root, child[~leaf], child[~leaf] + np.uint64(1)])
    assert_array_equal(np.sort(reached), places)
    assert_array_equal(walk.depth, [tree.depths.max() for tree in trees])


def test_rows_side_by_side_reach_the_leaves_of_a_tree_deeper_than_the_steps_that_are_sure(rng):
    X = np.sort(rng.standard_normal(4 * SURE))[:, None]
    y = np.arange(len(X)) % 2  # a split can but cut off one row
    model = DecisionTreeClassifier().fit(X, y)
    assert model.get_depth() > 2 * SURE
    assert_array_equal(model.apply(X), [leaf_of(model.tree_, row) for row in X])
    assert_array_equal(model.predict(X), y)


def test_trees_that_are_taken_out_no_longer_count(data):
    forest = RandomForestClassifier(3, random_state=0).fit(*data)
    forest.predict(data[0])
    last = forest.estimators_.pop(0)
    rest = [member.predict_proba(data[0]) for member in forest.estimators_]
    assert_array_equal(forest.predict_proba(data[0]), (rest[0] + rest[1]) / 2)
    forest.estimators_[0] = last
    rest[0] = last.predict_proba(data[0])
    assert_array_equal(forest.predict_proba(data[0]), (rest[0] + rest[1]) / 2)


def test_equal_probabilities_go_to_the_first_class():
    X, y = [[0.0], [0.0], [1.0], [1.0], [1.0]], list("bacab")
    model = DecisionTreeClassifier().fit(X, y)
    assert model.predict([[0.0], [1.0]]).tolist() == ["a", "a"]


@pytest.mark.parametrize("child", ["children_left", "children_right"])
def test_a_node_that_two_others_lead_to_is_no_tree(data, child):
    tree = DecisionTreeClassifier().fit(*data).tree_
    wrong = getattr(tree, child).copy()
    wrong[0] = getattr(tree, "children_right" if child == "children_left" else "children_left")[0]
    with pytest.raises(ValueError, match="do not describe a tree"):
        replace(tree, **{child: wrong})
