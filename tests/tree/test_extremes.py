"""Trees and ensembles on numbers at the ends of the floats, on ties, and on next to nothing."""

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
    RotationForestClassifier,
)

MODELS = [
    AdaBoostClassifier(n_estimators=3),
    BaggingClassifier(n_estimators=3, random_state=0),
    DecisionTreeClassifier(),
    DecisionTreeClassifier(max_leaf_nodes=4),
    DecisionTreeRegressor(),
    DecisionTreeRegressor(criterion="absolute_error"),
    RandomForestClassifier(4, random_state=0),
    RandomForestRegressor(4, random_state=0),
    RotationForestClassifier(3, random_state=0),
]
models = pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m!r:.50}")


def answers(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@models
@pytest.mark.parametrize(
    ("unit", "dtype"),
    [(1e30, np.float32), (1e-44, np.float32), (1e200, float), (1e308, float), (1e-310, float)],
)
def test_units_of_the_features_do_not_matter(model, unit, dtype):
    """Powers of two, and even multiples of the least float: nothing is rounded, nor is a middle."""
    rng = np.random.default_rng(0)
    X = rng.integers(-100, 100, (60, 3)) / 128
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    factor = max(2.0 ** np.floor(np.log2(unit)), 256 * float(np.finfo(dtype).smallest_subnormal))
    new = rng.integers(-120, 120, (40, 3)) / 128
    expected = answers(clone(model).fit(X, y), new)
    answer = answers(clone(model).fit((X * factor).astype(dtype), y), (new * factor).astype(dtype))
    assert np.isfinite(answer).all()
    np.testing.assert_allclose(answer, expected, atol=1e-6)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("unit", [1e-310, 1e-160, 1e150, 1e200, 1e307])
def test_units_of_the_targets_do_not_matter_or_are_refused(criterion, unit):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.exponential(size=60)
    model = DecisionTreeRegressor(criterion=criterion, max_depth=3, max_leaf_nodes=6)
    expected = clone(model).fit(X, y)
    if criterion == "squared_error" and not 1e-153 < unit < 1e153:
        with pytest.raises(ValueError, match="squared errors are beyond the floats"):
            model.fit(X, unit * y)
        return
    model.fit(X, unit * y)
    np.testing.assert_allclose(model.predict(X) / unit, expected.predict(X), rtol=1e-6)
    if 1e-150 < unit:
        np.testing.assert_allclose(
            model.feature_importances_, expected.feature_importances_, atol=1e-9
        )


@models
def test_constant_columns_are_never_split(model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.tile([0, 1], 20)
    answer = answers(clone(model).fit(np.c_[np.full(40, 7.0), X, np.zeros(40)], y), np.ones((3, 4)))
    assert np.isfinite(answer).all()
    flat = clone(model).fit(np.ones((40, 2)), y)
    if not isinstance(model, AdaBoostClassifier):  # whose member votes for one class
        np.testing.assert_allclose(answers(flat, np.zeros((1, 2))).ravel()[0], 0.5, atol=0.2)
    tree = DecisionTreeClassifier().fit(np.c_[np.full(40, 7.0), X], y)
    assert tree.feature_importances_[0] == 0


def test_one_row_is_a_leaf_and_one_class_is_refused():
    tree = DecisionTreeRegressor().fit([[1.0, 2.0]], [3.0])
    assert tree.predict([[0.0, 0.0]]) == [3.0]
    assert tree.get_n_leaves() == 1
    assert RandomForestRegressor(3).fit([[1.0]], [3.0]).predict([[5.0]]) == [3.0]
    for model in MODELS:
        if hasattr(model, "predict_proba"):
            with pytest.raises(ValueError, match="one class"):
                clone(model).fit([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]], ["a", "a"])
    both = DecisionTreeClassifier().fit([[1.0], [2.0]], [["a", "b"], ["a", "c"]])
    assert both.predict([[0.0], [3.0]]).tolist() == [["a", "b"], ["a", "c"]]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=2))
def test_ties_go_to_the_first_feature_and_the_lowest_threshold_for_labels_and_numbers(rows):
    """Doubling the columns changes nothing: a copy is never better than the first."""
    table = np.array(rows, dtype=float)
    X, y = table[:, :2], table[:, 2]
    for model in (
        DecisionTreeRegressor(max_depth=3),
        DecisionTreeRegressor(criterion="absolute_error", max_depth=3),
    ):
        once, twice = clone(model).fit(X, y), clone(model).fit(np.c_[X, X], y)
        np.testing.assert_array_equal(once.tree_.feature, twice.tree_.feature)
        np.testing.assert_array_equal(once.tree_.threshold, twice.tree_.threshold)


@given(seed=st.integers(0, 10_000), alpha=st.floats(0, 0.1))
def test_a_pruned_tree_is_the_cheapest_of_all_subtrees(seed, alpha):
    rng = np.random.default_rng(seed)
    X, y, w = rng.normal(size=(30, 2)), rng.integers(0, 3, 30), rng.random(30) + 0.1
    full = DecisionTreeClassifier().fit(X, y, w).tree_
    small = DecisionTreeClassifier(ccp_alpha=alpha).fit(X, y, w).tree_

    def cost(tree):
        return tree.weighted_n_node_samples * tree.impurity / w.sum() + alpha

    def cheapest(at):
        below = full.children(at)
        return min(cost(full)[at], sum(map(cheapest, below))) if below else cost(full)[at]

    np.testing.assert_allclose(cost(small)[small.is_leaf].sum(), cheapest(0), atol=1e-12)


@given(seed=st.integers(0, 10_000), best_first=st.booleans())
def test_predictions_rise_where_they_must(seed, best_first):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    options = {"monotonic_cst": [1, -1, 0], "max_leaf_nodes": 12 if best_first else None}
    for model, target in (
        (DecisionTreeRegressor(**options), y),
        (DecisionTreeClassifier(**options), y > 0),
        (RandomForestRegressor(3, random_state=0, **options), y),
    ):
        model.fit(X, target)
        for feature, sign in ((0, 1), (1, -1)):
            line = np.repeat(rng.normal(size=(1, 3)), 50, axis=0)
            line[:, feature] = np.linspace(-3, 3, 50)
            answer = model.predict_proba(line)[:, 1] if target is not y else model.predict(line)
            assert (sign * np.diff(answer) >= -1e-12).all()


@pytest.mark.parametrize(
    ("options", "y", "says"),
    [
        ({"monotonic_cst": [1]}, [0.0, 1.0], "1 .*features|features"),
        ({"monotonic_cst": [2, 0]}, [0.0, 1.0], "-1, 0 or 1"),
        ({"monotonic_cst": [1, 0]}, [[0.0, 1.0], [1.0, 0.0]], "one output"),
        ({"monotonic_cst": [1, 0], "criterion": "absolute_error"}, [0.0, 1.0], "absolute_error"),
        ({"criterion": "poisson"}, [-1.0, 1.0], "negative"),
        ({"criterion": "poisson"}, [0.0, 0.0], "zero"),
    ],
)
def test_options_that_contradict_are_refused_by_name(options, y, says):
    with pytest.raises(ValueError, match=says):
        DecisionTreeRegressor(**options).fit([[0.0, 1.0], [1.0, 2.0]], y)


def test_sparse_rows_that_would_not_fit_are_refused_before_they_are_made(monkeypatch):
    sparse = pytest.importorskip("scipy.sparse")
    monkeypatch.setattr("panlearn.core.memory.SMALL", 0)
    monkeypatch.setattr("panlearn.core.memory.available", lambda: 1000)
    X = sparse.random_array((100, 200), density=0.01, rng=0)
    for model in (DecisionTreeRegressor(), RandomForestRegressor(2)):
        with pytest.raises(MemoryError, match="keeps of X"):
            model.fit(X, np.arange(100.0))
