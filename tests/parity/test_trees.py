"""Trees against scikit-learn's, node for node where no two splits are equally good."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import ensemble
from sklearn import tree as peer
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics import roc_auc_score

from panlearn.tree import (
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RotationForestClassifier,
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
    tree, peers = ours.tree_, theirs.tree_
    assert tree.node_count == peers.node_count
    inner = ~tree.is_leaf
    for name in ARRAYS:
        value, expected = getattr(tree, name), getattr(peers, name)
        if name == "value":  # the classes of one output after the other
            sizes = np.broadcast_to(np.atleast_1d(peers.n_classes), peers.n_outputs)
            expected = np.hstack([expected[:, o, :k] for o, k in enumerate(sizes)])
        if name == "missing_go_to_left":  # of a leaf it means nothing
            value, expected = value[inner], expected[inner]
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


# Pure but for rounding, a node is split by scikit-learn and not by us.
SOUND = {"min_samples_leaf": 12, "min_impurity_decrease": 1e-4}
OPTIONS = {
    "leaves": {"max_leaf_nodes": 13, "min_samples_leaf": 10},
    "leaves of a depth": {"max_leaf_nodes": 20, "max_depth": 5, **SOUND},
    "parts of rows": {"min_samples_leaf": 0.03, "min_samples_split": 0.2},
    "part of weight": {"min_weight_fraction_leaf": 0.06, "min_impurity_decrease": 1e-4},
    "pruned": {"ccp_alpha": 0.004, "min_samples_leaf": 5},
    "pruned best first": {"ccp_alpha": 0.002, "max_leaf_nodes": 25, "min_samples_leaf": 8},
    "monotone": {"monotonic_cst": [1, 0, -1, 0, 1], "min_samples_leaf": 15},
    "monotone best first": {"monotonic_cst": [0, -1, 1, 0, 0], "max_leaf_nodes": 12},
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_options_of_growth(rng, name, missing):
    X, signal, weight = problem(rng, missing)
    options = OPTIONS[name]
    for y, mine, peers in (
        (signal > 0.2, DecisionTreeClassifier, peer.DecisionTreeClassifier),
        (signal, DecisionTreeRegressor, peer.DecisionTreeRegressor),
    ):
        ours = mine(**options).fit(X, y, weight)
        theirs = peers(random_state=0, **options).fit(X, y, weight)
        if name == "pruned best first":  # it numbers the nodes anew
            np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)
            assert ours.get_n_leaves() == theirs.get_n_leaves()
        else:
            assert_same_nodes(ours, theirs)
            paths = theirs.decision_path(X).toarray()
            np.testing.assert_array_equal(ours.decision_path(X).toarray(), paths)


@pytest.mark.parametrize(
    "limits",
    [{"max_depth": 4, "min_samples_leaf": 10}, {"max_leaf_nodes": 15, "min_samples_leaf": 10}],
)
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize(
    ("criterion", "missing"),
    [("absolute_error", 0.0), ("poisson", 0.0), ("poisson", 0.2), ("squared_error", 0.2)],
)
def test_criteria_of_numbers(rng, criterion, missing, n_outputs, limits):
    X, signal, weight = problem(rng, missing)
    y = np.c_[signal, rng.random(800) - np.cos(3 * signal), signal**2][:, :n_outputs]
    y = y - (y.min(axis=0) if criterion == "poisson" else 0)
    y = y[:, 0] if n_outputs == 1 else y
    options = {"criterion": criterion, **limits}
    ours = DecisionTreeRegressor(**options).fit(X, y, weight)
    theirs = peer.DecisionTreeRegressor(random_state=0, **options).fit(X, y, weight)
    assert_same_nodes(ours, theirs)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
def test_several_outputs_of_labels(rng, criterion, missing):
    X, signal, weight = problem(rng, missing)
    y = np.c_[np.digitize(signal, [-0.7, 0.7]), rng.random(800) + signal > 0.5, X[:, 4] > 0]
    options = {"criterion": criterion, "min_samples_leaf": 12, "class_weight": "balanced"}
    ours = DecisionTreeClassifier(max_depth=3, **options).fit(X, y, weight)
    theirs = peer.DecisionTreeClassifier(random_state=0, max_depth=3, **options)
    # scikit-learn balances counts, not weights
    balance = [{k: 1 / (np.average(c == k, weights=weight)) for k in set(c)} for c in y.T]
    theirs.set_params(class_weight=balance).fit(X, y, weight)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.tree_.node_count == theirs.tree_.node_count
    for mine, other in zip(ours.predict_proba(X), theirs.predict_proba(X), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-6)
    plain = {"criterion": criterion, "max_depth": 4, "min_samples_leaf": 10}
    ours = DecisionTreeClassifier(**plain).fit(X, y, weight)
    assert_same_nodes(ours, peer.DecisionTreeClassifier(random_state=0, **plain).fit(X, y, weight))
    assert ours.n_outputs_ == 3
    assert [c.tolist() for c in ours.classes_] == [[0, 1, 2], [0, 1], [0, 1]]


@pytest.mark.parametrize("target", ["labels", "numbers"])
def test_the_path_of_pruning(rng, target):
    X, signal, weight = problem(rng, 0.0)
    ours, theirs, y = DecisionTreeRegressor(), peer.DecisionTreeRegressor(random_state=0), signal
    if target == "labels":
        ours, theirs = DecisionTreeClassifier(), peer.DecisionTreeClassifier(random_state=0)
        y = np.digitize(signal, [-0.7, 0.7])
    limits = {"min_samples_leaf": 8}
    path = ours.set_params(**limits).cost_complexity_pruning_path(X, y, weight)
    expected = theirs.set_params(**limits).cost_complexity_pruning_path(X, y, weight)
    np.testing.assert_allclose(path.ccp_alphas, expected.ccp_alphas, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(path.impurities, expected.impurities, rtol=1e-6)
    assert not hasattr(ours, "tree_")


@pytest.mark.parametrize("form", ["csr_array", "csc_matrix"])
def test_sparse_rows_give_the_trees_of_dense_ones_and_of_scikit_learn(rng, form):
    X, signal, weight = problem(rng, 0.0)
    X[rng.random(X.shape) < 0.5] = 0
    y = np.digitize(signal, [0.0])
    rows = getattr(sparse, form)(X)
    limits = {"max_depth": 4, "min_samples_leaf": 10}
    ours = DecisionTreeClassifier(**limits).fit(rows, y, weight)
    theirs = peer.DecisionTreeClassifier(random_state=0, **limits).fit(rows, y, weight)
    assert_same_nodes(ours, theirs)
    np.testing.assert_array_equal(ours.apply(rows), theirs.apply(rows))
    for model in (
        DecisionTreeRegressor(max_depth=6),
        RandomForestClassifier(5, random_state=0),
        BaggingClassifier(n_estimators=3, random_state=0),
        AdaBoostClassifier(n_estimators=8),
    ):
        one, two = clone(model).fit(rows, y, weight), clone(model).fit(X, y, weight)
        np.testing.assert_array_equal(one.predict(rows), two.predict(X))
        if hasattr(model, "predict_proba"):
            np.testing.assert_array_equal(one.predict_proba(rows), two.predict_proba(X))


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
    np.testing.assert_allclose(
        ours.predict_log_proba(new), theirs.predict_log_proba(new), atol=1e-5
    )
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
    labels = rng.integers(k, size=300)
    for name, extra in (
        ("staged_decision_function", ()),
        ("staged_predict_proba", ()),
        ("staged_predict", ()),
        ("staged_score", (labels, rng.random(300))),
    ):
        stages = zip(
            getattr(ours, name)(new, *extra), getattr(theirs, name)(new, *extra), strict=True
        )
        for mine, other in stages:
            np.testing.assert_allclose(mine, other, atol=1e-5, err_msg=name)


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


@pytest.mark.parametrize("seed", range(2))
def test_a_forest_is_as_good_as_that_of_lightgbm(seed):
    """The same mode: bagged trees on binned features that are averaged, half of these a tree."""
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1500, 8)).round(1)  # few values, so that the bins are the same
    signal = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.5 * X[:, 3]
    y = signal + rng.normal(size=1500) > 0
    scores = []
    for model in (
        RandomForestClassifier(60, max_depth=8, min_samples_leaf=5, random_state=seed),
        lightgbm.LGBMClassifier(
            boosting_type="rf",
            n_estimators=60,
            max_depth=8,
            num_leaves=255,
            min_child_samples=5,
            bagging_freq=1,
            bagging_fraction=0.632,
            feature_fraction=0.6,
            n_jobs=1,
            verbose=-1,
            random_state=seed,
        ),
    ):
        model.fit(X[:1000], y[:1000])
        scores.append(roc_auc_score(y[1000:], model.predict_proba(X[1000:])[:, 1]))
    assert scores[0] > scores[1] - 0.03  # the spread over seeds is about 0.01


def rotation_forest(X, y, n_trees, rng):
    """Rodríguez, Kuncheva and Alonso (2006), figure 1, with aeon's defaults; labels from 0 on."""
    low, high = X.min(axis=0), X.max(axis=0)
    X = (X - low) / np.where(high > low, high - low, 1)
    d, members = X.shape[1], []
    for _ in range(n_trees):
        rotation, order = np.zeros((d, d)), rng.permutation(d)
        for group in np.split(order, range(3, d, 3)):
            classes = rng.permutation(y.max() + 1)[: rng.integers(1, y.max() + 2)]
            rows = np.flatnonzero(np.isin(y, classes))
            rows = rng.choice(rows, size=len(rows) // 2)
            axes = np.linalg.svd(X[rows][:, group] - X[rows][:, group].mean(axis=0))[2].T
            rotation[np.ix_(group, group)] = axes
        tree = peer.DecisionTreeClassifier(random_state=int(rng.integers(2**31)))
        members.append((rotation, tree.fit(X @ rotation, y)))

    def predict(new):
        new = (new - low) / np.where(high > low, high - low, 1)
        return np.mean([t.predict_proba(new @ r) for r, t in members], axis=0).argmax(axis=1)

    return predict


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_a_rotation_forest_is_as_good_as_one_written_from_the_paper(load):
    X, y = load(return_X_y=True)
    ours, theirs = [], []
    for seed in range(3):
        fold = np.random.default_rng(seed).permutation(len(y))
        train, test = fold[::2], fold[1::2]
        model = RotationForestClassifier(12, random_state=seed).fit(X[train], y[train])
        predict = rotation_forest(X[train], y[train], 12, np.random.default_rng(seed))
        ours.append(model.score(X[test], y[test]))
        theirs.append((predict(X[test]) == y[test]).mean())
    assert abs(np.mean(ours) - np.mean(theirs)) < 0.02  # of one half the spread is about 0.01
