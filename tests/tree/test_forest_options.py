"""Options of ensembles: warm starts, scores out of bag, several outputs, classes that weigh."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import ensemble
from sklearn.exceptions import NotFittedError
from sklearn.metrics import balanced_accuracy_score, mean_absolute_error

from panlearn.bayes import GaussianNB
from panlearn.tree import (
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    RandomForestClassifier,
    RandomForestRegressor,
    RotationForestClassifier,
    export_text,
)
from panlearn.tree._features import bin_features


def noisy(rng, n=150):
    X = rng.normal(size=(n, 4))
    signal = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=n)
    return X, np.digitize(signal, [-0.5, 0.5])


@pytest.mark.parametrize(
    "make",
    [
        lambda **k: RandomForestClassifier(random_state=3, oob_score=True, **k),
        lambda **k: RandomForestRegressor(random_state=3, oob_score=True, **k),
        lambda **k: BaggingClassifier(random_state=3, oob_score=True, max_features=3, **k),
        lambda **k: AdaBoostClassifier(**k),
        lambda **k: AdaBoostClassifier(GaussianNB(), **k),
    ],
    ids=["labels", "numbers", "bagging", "stumps", "boosted"],
)
def test_a_warm_start_ends_where_one_fit_does(rng, make):
    X, y = noisy(rng)
    once = make(n_estimators=20).fit(X, y)
    warm = make(n_estimators=12, warm_start=True).fit(X, y)
    first = list(warm.estimators_)
    warm.set_params(n_estimators=20).fit(X, y)
    assert warm.estimators_[: len(first)] == first
    np.testing.assert_array_equal(warm.predict(X), once.predict(X))
    if hasattr(once, "oob_score_"):
        assert warm.oob_score_ == once.oob_score_
    else:
        np.testing.assert_allclose(warm.estimator_weights_, once.estimator_weights_, rtol=1e-12)


@pytest.mark.parametrize("cls", [RandomForestClassifier, BaggingClassifier])
def test_a_warm_start_that_cannot_go_on_is_refused(rng, cls):
    X, y = noisy(rng)
    model = cls(n_estimators=5, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="n_estimators=3"):
        model.set_params(n_estimators=3).fit(X, y)
    if cls is RandomForestClassifier:
        with pytest.warns(UserWarning, match="does not fit new trees"):
            model.set_params(n_estimators=5).fit(X, y)
        model.set_params(n_estimators=6)
        with pytest.raises(ValueError, match="features"):
            model.fit(X[:, :2], y)
        with pytest.raises(ValueError, match="classes"):
            model.fit(X, y > 0)
    assert len(model.estimators_) == 5


@pytest.mark.parametrize("cls", [RandomForestClassifier, RandomForestRegressor])
def test_a_row_in_every_bag_has_no_score_and_a_warning(rng, cls):
    X, y = noisy(rng)
    with pytest.warns(UserWarning, match="out-of-bag"):
        model = cls(1, oob_score=True, random_state=0).fit(X, y)
    outside = getattr(model, "oob_decision_function_", getattr(model, "oob_prediction_", None))
    blank = np.isnan(outside.reshape(len(X), -1)).all(axis=1)
    tree = model.estimators_[0]
    assert blank.sum() == tree.tree_.n_node_samples[0]
    np.testing.assert_array_equal(outside[~blank], answers(tree, X[~blank]))
    # grown on the blank rows: the leaves of these are pure
    np.testing.assert_allclose(tree.predict(X[blank]), y[blank], atol=1e-12)


def answers(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def test_a_bag_of_everything_is_told_too(rng):
    X, y = noisy(rng, 40)
    with pytest.warns(UserWarning, match="out-of-bag"):
        BaggingClassifier(n_estimators=2, oob_score=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="no row is out of any bag"):
        RandomForestClassifier(2, oob_score=True, max_samples=2000).fit(X, y)


def test_the_score_out_of_bag_may_be_any_function(rng):
    X, y = noisy(rng, 300)
    labels = np.array(["a", "b", "c"])[y]
    for cls in (RandomForestClassifier, BaggingClassifier):
        model = cls(n_estimators=60, oob_score=balanced_accuracy_score, random_state=0)
        model.fit(X, labels)
        best = model.classes_[model.oob_decision_function_.argmax(axis=1)]
        assert model.oob_score_ == balanced_accuracy_score(labels, best)
    model = RandomForestRegressor(60, oob_score=mean_absolute_error, random_state=0).fit(X, y)
    assert model.oob_score_ == mean_absolute_error(y, model.oob_prediction_)


def test_forests_of_several_outputs_are_as_good_as_those_of_scikit_learn(rng):
    X, y = noisy(rng, 600)
    both = np.c_[y, X[:, 3] + 0.3 * rng.normal(size=600) > 0].astype(int)
    ours = RandomForestClassifier(40, oob_score=True, random_state=0).fit(X[:400], both[:400])
    theirs = ensemble.RandomForestClassifier(40, random_state=0).fit(X[:400], both[:400])
    hits = [(m.predict(X[400:]) == both[400:]).mean(axis=0) for m in (ours, theirs)]
    np.testing.assert_allclose(hits[0], hits[1], atol=0.06)  # two deviations of 200 rows
    parts = ours.predict_proba(X)
    assert [p.shape for p in parts] == [(600, 3), (600, 2)]
    for part, log in zip(parts, ours.predict_log_proba(X), strict=True):
        np.testing.assert_allclose(np.exp(log), part, atol=1e-15)
    members = [tree.predict_proba(X) for tree in ours.estimators_]
    np.testing.assert_allclose(parts[1], np.mean([m[1] for m in members], axis=0), rtol=1e-12)
    assert [p.shape for p in ours.oob_decision_function_] == [(400, 3), (400, 2)]
    inside = (ours.predict(X[400:]) == both[400:]).all(axis=1).mean()
    assert abs(ours.oob_score_ - inside) < 0.1

    numbers = np.c_[X[:, 0] * X[:, 1], X[:, 2]]
    ours = RandomForestRegressor(30, oob_score=True, random_state=0).fit(X[:400], numbers[:400])
    theirs = ensemble.RandomForestRegressor(30, oob_score=True, random_state=0)
    theirs.fit(X[:400], numbers[:400])
    assert ours.predict(X).shape == (600, 2)
    assert ours.oob_prediction_.shape == (400, 2)
    assert ours.oob_score_ > theirs.oob_score_ - 0.03  # the spread over seeds is about 0.015
    assert ours.score(X[400:], numbers[400:]) > theirs.score(X[400:], numbers[400:]) - 0.03


def test_without_chance_the_forest_is_the_exact_tree_by_every_criterion(rng):
    """Binned, sorted or counted: with few distinct values the same splits are found."""
    X = rng.integers(0, 40, (200, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.c_[rng.exponential(size=200), rng.exponential(size=200)]
    plain = {"max_features": None, "bootstrap": False}
    for criterion in ("squared_error", "absolute_error", "poisson"):
        for target in (y[:, 0], y):
            options = {"criterion": criterion, "max_leaf_nodes": 20, "min_samples_leaf": 2}
            exact = DecisionTreeRegressor(**options).fit(X, target)
            forest = RandomForestRegressor(1, **plain, **options).fit(X, target)
            np.testing.assert_array_equal(forest.estimators_[0].tree_.feature, exact.tree_.feature)
            np.testing.assert_allclose(forest.predict(X), exact.predict(X), rtol=1e-9)
    labels = np.c_[rng.integers(3, size=200), rng.integers(2, size=200)]
    options = {"criterion": "entropy", "max_depth": 5}
    exact = DecisionTreeClassifier(**options).fit(X, labels)
    forest = RandomForestClassifier(1, **plain, **options).fit(X, labels)
    np.testing.assert_array_equal(forest.predict(X), exact.predict(X))


def test_classes_are_balanced_in_each_bag(rng):
    X = rng.normal(size=(300, 2))
    y = np.repeat([0, 1], [285, 15])
    model = RandomForestClassifier(20, class_weight="balanced_subsample", random_state=0)
    for tree in model.fit(X, y).estimators_:
        np.testing.assert_allclose(tree.tree_.value[0], [0.5, 0.5], rtol=1e-12)
    whole = RandomForestClassifier(20, class_weight="balanced", random_state=0).fit(X, y)
    roots = np.array([tree.tree_.value[0] for tree in whole.estimators_])
    assert np.ptp(roots[:, 1]) > 0.1  # of all rows, so not of each bag
    with pytest.raises(ValueError, match="list of mappings"):
        RandomForestClassifier(class_weight={0: 1}).fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="1 entries for 2 outputs"):
        RandomForestClassifier(class_weight=[{0: 1}]).fit(X, np.c_[y, y])


def test_leaves_and_paths_of_a_forest_are_those_of_its_trees(rng):
    X, y = noisy(rng)
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y)
    leaves = model.apply(X)
    paths, ends = model.decision_path(X)
    for m, tree in enumerate(model.estimators_):
        np.testing.assert_array_equal(leaves[:, m], tree.apply(X))
        own = paths[:, ends[m] : ends[m + 1]]
        np.testing.assert_array_equal(own.toarray(), tree.decision_path(X).toarray())


def ask(model, name, arguments):
    answer = getattr(model, name)(*arguments)
    next(answer)  # what is staged begins when it is asked for


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(),
        BaggingClassifier(),
        DecisionTreeClassifier(),
        DecisionTreeRegressor(),
        ID3Classifier(),
        RandomForestClassifier(),
        RandomForestRegressor(),
        RotationForestClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_is_not_fitted_says_so(model):
    words = ("predict", "apply", "decision_", "staged_", "get_depth", "get_n")
    names = [n for n in dir(type(model)) if n.startswith(words)]
    assert len(names) > 1
    for name in names:
        arguments = [] if name.startswith("get") else [[[0.0]]]
        arguments += [[0]] if name == "staged_score" else []
        with pytest.raises(NotFittedError):
            ask(model, name, arguments)
    with pytest.raises(NotFittedError):
        export_text(model)


def test_few_rows_are_binned_as_many_are(rng):
    X = np.round(rng.normal(size=(60, 5)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3], X[:, 4] = 2.0, np.nan
    few = bin_features(X, np.ones(60))
    many = bin_features(np.tile(X, (5, 1)), np.ones(300))  # the same values, by the other way
    np.testing.assert_array_equal(np.tile(few.columns.bins, (5, 1)), many.columns.bins)
    np.testing.assert_array_equal(few.cuts, many.cuts)
    sparse_rows = bin_features(sparse.csr_array(np.nan_to_num(X)), np.ones(60))
    dense = bin_features(np.nan_to_num(X), np.ones(60))
    np.testing.assert_array_equal(sparse_rows.columns.bins, dense.columns.bins)


def test_columns_without_a_value_are_not_among_the_features_that_a_node_looks_at(rng):
    X = np.full((400, 6), np.nan)
    X[:, 3] = rng.normal(size=400)
    y = X[:, 3] > 0.3
    model = RandomForestClassifier(8, max_features=1, bootstrap=False, random_state=0).fit(X, y)
    assert [tree.score(X, y) for tree in model.estimators_] == [1.0] * 8
