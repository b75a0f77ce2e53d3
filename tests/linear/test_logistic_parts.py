"""Logistic regression in parts: a quadratic stands for the rows that were seen."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import log_loss

import panlearn
from panlearn.linear import LogisticRegression


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(600, 3)) * [1.0, 0.1, 20.0] + [0.0, 3.0, -100.0]
    score = (X - [0.0, 3.0, -100.0]) @ [1.0, 8.0, -0.05] - 0.5
    return X, (score + rng.logistic(size=600) > 0).astype(int)


def test_one_part_is_the_fit(rows):
    X, y = rows
    for labels in (y, y + (X[:, 0] > 0.8), np.array(["no", "yes"])[y]):
        for options in ({}, {"fit_intercept": False}, {"C": np.inf}, {"class_weight": None}):
            whole = LogisticRegression(**options).fit(X, labels)
            part = LogisticRegression(**options).partial_fit(X, labels)
            np.testing.assert_allclose(
                part.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-6
            )
            assert part.classes_.tolist() == whole.classes_.tolist()


def _loss(theta, X, y):
    z = X @ theta[:-1] + theta[-1]
    return np.sum(np.logaddexp(0, z) - y * z)


def _hessian(theta, X):
    rows = np.column_stack([X, np.ones(len(X))])
    p = 1 / (1 + np.exp(-rows @ theta))
    return (rows * (p * (1 - p))[:, None]).T @ rows


def test_parts_are_laplaces_approximation_renewed(rng):
    X = rng.normal(size=(90, 2))
    y = (X @ [1.0, -1.0] + 0.3 + rng.logistic(size=90) > 0).astype(int)
    model, theta, curvature = LogisticRegression(C=0.5), np.zeros(3), np.diag([2.0, 2.0, 0.0])
    for part in (slice(0, 40), slice(40, 60), slice(60, 90)):
        model.partial_fit(X[part], y[part])
        before, quadratic = theta, curvature

        def objective(at, part=part, before=before, quadratic=quadratic):
            away = at - before
            return _loss(at, X[part], y[part]) + 0.5 * away @ quadratic @ away

        theta = minimize(objective, theta, tol=1e-12, options={"gtol": 1e-8}).x
        curvature = curvature + _hessian(theta, X[part])
        np.testing.assert_allclose([*model.coef_[0], model.intercept_[0]], theta, atol=1e-5)


def test_many_parts_come_close_to_the_fit_in_any_order(rows):
    X, y = rows
    whole = log_loss(y, LogisticRegression().fit(X, y).predict_proba(X))
    for order in (range(0, 600, 60), range(540, -60, -60)):
        model = LogisticRegression()
        for start in order:
            model.partial_fit(X[start : start + 60], y[start : start + 60])
        assert log_loss(y, model.predict_proba(X)) < whole + 2e-3


def test_a_fit_goes_on_with_parts(rng):
    X = rng.normal(size=(3000, 3)) * [1, 10, 0.1] + [0, 5, 1]
    y = (X @ [1.0, -0.1, 10.0] - 9.5 + rng.logistic(size=3000) > 0).astype(int)
    whole = LogisticRegression(C=np.inf).fit(X, y)
    model = LogisticRegression(C=np.inf).fit(X[:2000], y[:2000])
    assert model.weight_seen_ == 2000
    begun = model.coef_.copy()
    for part in np.array_split(np.arange(2000, 3000), 5):
        model.partial_fit(X[part], y[part])
    far, near = np.abs(begun - whole.coef_), np.abs(model.coef_ - whole.coef_)
    assert near.max() < 0.05 * far.max()
    # Rows of the fit stand for themselves: the quadratic is the Hessian at the minimum.
    again = LogisticRegression(C=2.0).fit(X, y)
    twice = LogisticRegression(C=2.0).fit(np.r_[X, X], np.r_[y, y])
    np.testing.assert_allclose(again.partial_fit(X, y).coef_, twice.coef_, rtol=1e-3)
    three = rng.integers(3, size=3000)
    every = LogisticRegression().fit(X, three).predict_proba(X)
    some = LogisticRegression().fit(X[:2000], three[:2000])
    far = np.abs(some.predict_proba(X) - every).max()
    some.partial_fit(X[2000:], three[2000:])
    assert np.abs(some.predict_proba(X) - every).max() < 0.2 * far


def test_classes_that_come_later_and_parts_of_one_class(rng):
    X = rng.normal(size=(300, 2)) + 3.0
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [2.6, 3.4])]
    first = np.flatnonzero(y == "a")[:10]
    model = LogisticRegression()
    for part in (first, *np.array_split(np.setdiff1d(np.arange(300), first), 5)):
        model.partial_fit(X[part], y[part], classes=["c", "b", "a"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.score(X, y) > 0.8
    with pytest.raises(ValueError, match=r"y holds labels \['d'\], which are not among classes"):
        model.partial_fit(X[:2], ["d", "a"])


def test_streams_weights_and_files(rows, tmp_path):
    X, y = rows
    times = np.arange(len(y)) % 3
    model = LogisticRegression().partial_fit(X[:300], y[:300], sample_weight=times[:300])
    many = np.repeat(np.arange(300), times[:300])
    batches = panlearn.Batches([(X[i], y[i]) for i in np.array_split(many, 4)])
    other = LogisticRegression().partial_fit(batches)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-6)
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model").partial_fit(X[300:], y[300:])
    np.testing.assert_array_equal(loaded.coef_, model.partial_fit(X[300:], y[300:]).coef_)


def test_what_cannot_be_learned_in_parts_is_refused(rows):
    X, y = rows
    with pytest.raises(ValueError, match="l2 penalty alone"):
        LogisticRegression(l1_ratio=0.5).partial_fit(X, y)
    with pytest.raises(ValueError, match="counts of all rows"):
        LogisticRegression(class_weight="balanced").partial_fit(X, y)
    with pytest.raises(ValueError, match="one class only"):
        LogisticRegression().partial_fit(X[:5], np.zeros(5))
