"""Bagging: what the members are fitted to, and what they say together."""

import numpy as np
import pytest
from sklearn import ensemble
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from panlearn.linear import LogisticRegression
from panlearn.neighbors import KNeighborsClassifier
from panlearn.tree import BaggingClassifier, DecisionTreeClassifier, ID3Classifier

pd = pytest.importorskip("pandas")


def problem(rng, n=200, k=3):
    X = rng.normal(size=(n, 5))
    return X, np.digitize(X[:, 0] + 0.5 * X[:, 1] * X[:, 2], [-0.5, 0.5][: k - 1])


def test_probabilities_are_the_mean_of_members_on_their_samples(rng):
    X, y = problem(rng)
    labels = np.array(["a", "b", "c"])[y]
    model = BaggingClassifier(
        DecisionTreeClassifier(max_depth=3), 8, max_samples=0.6, max_features=3, random_state=1
    ).fit(X, labels)
    members = []
    for rows, features in zip(model.estimators_samples_, model.estimators_features_, strict=True):
        assert len(rows) == 120
        assert len(set(features)) == 3
        again = DecisionTreeClassifier(max_depth=3).fit(X[rows][:, features], y[rows])
        members.append(again.predict_proba(X[:, features]))
    np.testing.assert_allclose(model.predict_proba(X), np.mean(members, axis=0), rtol=1e-12)
    assert set(model.predict(X)) <= set(labels)


def test_without_chance_all_members_are_the_estimator(rng):
    X, y = problem(rng)
    weight = rng.random(len(X))
    plain = dict(n_estimators=3, bootstrap=False)
    ours = BaggingClassifier(DecisionTreeClassifier(max_depth=3), **plain).fit(X, y, weight)
    one = DecisionTreeClassifier(max_depth=3).fit(X, y, weight)
    np.testing.assert_allclose(ours.predict_proba(X), one.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("weights", [False, True])
def test_the_same_members_as_scikit_learn_give_the_same_probabilities(rng, weights):
    """Exactly: fitted to the rows and features that scikit-learn drew."""
    X, y = problem(rng)
    weight = rng.integers(1, 4, len(X)).astype(float) if weights else None
    base = LogisticRegression(C=0.5)
    theirs = ensemble.BaggingClassifier(base, 6, max_samples=1.0, max_features=0.8, random_state=0)
    theirs.fit(X, y, sample_weight=weight)
    ours = BaggingClassifier(base, 6, max_features=0.8, random_state=0).fit(X, y, weight)
    ours.estimators_ = [
        LogisticRegression(C=0.5).fit(X[rows][:, features], y[rows])
        for rows, features in zip(
            theirs.estimators_samples_, theirs.estimators_features_, strict=True
        )
    ]
    ours.estimators_features_ = theirs.estimators_features_
    if not weights:  # with weights scikit-learn draws as many rows as they sum to
        sizes = [[len(r) for r in m.estimators_samples_] for m in (ours, theirs)]
        assert sizes[0] == sizes[1]
    # solved to the tolerance of the optimiser
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


def test_as_accurate_as_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    ours = BaggingClassifier(n_estimators=40, oob_score=True, random_state=0).fit(X, y)
    theirs = ensemble.BaggingClassifier(n_estimators=40, oob_score=True, random_state=0).fit(X, y)
    assert abs(ours.oob_score_ - theirs.oob_score_) < 0.02  # the spread over seeds is about 0.005


@pytest.mark.parametrize(
    "base",
    [
        None,
        KNeighborsClassifier(3),  # takes no weights
        Perceptron(),  # votes
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=["tree", "neighbours", "votes", "pipeline"],
)
@pytest.mark.filterwarnings("ignore:.*out-of-bag")  # a few rows are in all six bags
def test_any_classifier_and_the_same_bits_for_any_number_of_threads(rng, base):
    X, y = problem(rng, 120)
    one, two = (
        BaggingClassifier(base, 6, oob_score=True, n_jobs=jobs, random_state=2).fit(X, y)
        for jobs in (None, 2)
    )
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert one.oob_score_ == two.oob_score_
    assert one.score(X, y) > 0.7
    np.testing.assert_allclose(one.predict_proba(X).sum(axis=1), 1, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:.*out-of-bag")
def test_the_score_out_of_bag_leaves_out_the_members_that_saw_the_row(rng):
    X, y = problem(rng, 100, 2)
    model = BaggingClassifier(n_estimators=7, oob_score=True, random_state=0).fit(X, y)
    row = 3
    outside = [
        m.predict_proba(X[[row]])[0]
        for m, rows in zip(model.estimators_, model.estimators_samples_, strict=True)
        if row not in rows
    ]
    np.testing.assert_allclose(model.oob_decision_function_[row], np.mean(outside, axis=0))


def test_categories_are_bagged_too():
    X = pd.DataFrame({"colour": ["red", "blue"] * 20, "size": ["s", "s", "l", "l"] * 10})
    y = X["colour"] == "red"
    assert BaggingClassifier(ID3Classifier(), 5, random_state=0).fit(X, y).score(X, y) == 1


def test_what_cannot_be_drawn_is_said(rng):
    X, y = problem(rng, 60, 2)
    with pytest.raises(ValueError, match="one class"):
        BaggingClassifier(max_samples=1).fit(X, y)
    with pytest.raises(ValueError, match="oob_score"):
        BaggingClassifier(bootstrap=False, oob_score=True).fit(X, y)
    with pytest.raises(ValueError, match="bootstrap=True"):
        BaggingClassifier(KNeighborsClassifier(), bootstrap=False).fit(X, y, rng.random(60))
    with pytest.raises(ValueError, match="estimator must be a classifier"):
        BaggingClassifier(StandardScaler()).fit(X, y)


def test_an_array_is_fitted_as_the_list_and_the_frame_that_hold_it(rng):
    X, y = problem(rng, n=60)
    model = BaggingClassifier(random_state=0).fit(X, y)
    expected = model.predict_proba(X)
    assert model.n_features_in_ == 5
    listed = BaggingClassifier(random_state=0).fit(X.tolist(), y.tolist())
    np.testing.assert_array_equal(listed.predict_proba(X), expected)
    model.fit(pd.DataFrame(X, columns=list("abcde")), y)
    np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), expected)
    assert not hasattr(model, "feature_names_in_")


def test_what_is_no_number_is_refused_in_a_row_that_no_sample_has(rng):
    X, y = rng.uniform(size=(40, 3)).astype(object), np.arange(40) % 2
    X[7, 1] = {"not": "a number"}
    for seed in range(8):  # one sample leaves each row out in a third of all fits
        for tree in (None, DecisionTreeClassifier(max_depth=2)):
            with pytest.raises(TypeError, match="number"):
                BaggingClassifier(tree, n_estimators=1, random_state=seed).fit(X, y)
