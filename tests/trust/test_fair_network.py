"""A network with the penalty on mean scores: its value, its limit, and what it buys."""

import numpy as np
import pytest
import torch

import panlearn
from panlearn.linear import LogisticRegression
from panlearn.neural import MLPClassifier
from panlearn.trust import FairRegularizer, attacks
from panlearn.trust._fair_objective import penalty


@pytest.fixture
def unequal(rng):
    group = np.where(rng.random(400) < 0.3, "x", "y")
    X = rng.normal(size=(400, 3)) + np.outer(group == "x", [1.5, 0, 0])
    y = np.where(X.sum(axis=1) + rng.normal(size=400) > 0.5, "yes", "no")
    return X, y, group


def network(hidden=(), **options):
    given = {"max_epochs": 60, "batch_size": 400, "learning_rate": 0.1, "weight_decay": 0.0}
    return MLPClassifier(hidden, random_state=0, **{**given, **options})


def test_penalty_by_hand(rng):
    scores, weight = rng.normal(size=(9, 2)), rng.random(9)
    part = np.array([0, 0, 0, 1, 1, 1, -1, -1, 0])
    group = np.array([0, 1, 1, 0, 1, 2, 0, 1, 0])
    expected = 0.0
    for c in (0, 1):
        whole = np.average(scores[part == c], axis=0, weights=weight[part == c])
        for a in np.unique(group[part == c]):
            own = (part == c) & (group == a)
            gap = np.average(scores[own], axis=0, weights=weight[own]) - whole
            expected += gap @ gap
    found = penalty(*(torch.from_numpy(a) for a in (scores, weight, part, group)))
    assert found.item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("constraint", ["demographic_parity", "equal_opportunity"])
def test_without_hidden_units_it_is_the_logistic_one(unequal, constraint):
    X, y, group = unequal
    options = {"constraint": constraint}
    weight = np.random.default_rng(0).integers(0, 3, size=400).astype(float)
    linear = FairRegularizer(2.0, C=1e4, **options)
    linear.fit(X, y, sample_weight=weight, sensitive_features=group)
    deep = FairRegularizer(2.0, estimator=network(max_epochs=300), **options)
    deep.fit(X, y, sample_weight=weight, sensitive_features=group)
    scores, expected = deep.decision_function(X), linear.decision_function(X)
    assert np.abs(scores - expected).max() < 0.05 * np.ptp(expected)


def test_the_gap_falls_and_labels_are_told_still(unequal):
    X, y, group = unequal
    gaps, rates = [], []
    for strength in (0.0, 5.0):
        model = FairRegularizer(strength, estimator=network((8,)))
        model.fit(X, y, sensitive_features=group)
        scores = model.decision_function(X)
        gaps.append(scores[group == "x"].mean() - scores[group == "y"].mean())
        rates.append(model.score(X, y))
    assert gaps[1] < 0.1 * gaps[0]
    assert rates[1] > 0.6
    assert len(model.history_["unfairness"]) == 60


def test_no_penalty_is_the_network_alone(unequal):
    X, y, group = unequal
    plain = network((8,)).fit(X, y)
    for options in ({"penalty": 0.0}, {"penalty": 3.0}):
        groups = group if options["penalty"] == 0 else None
        model = FairRegularizer(estimator=network((8,)), **options)
        model.fit(X, y, sensitive_features=groups)
        np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    assert attacks.fgsm(model, X[:9], y[:9], 0.1, bounds=None, gradient="exact").queries


def test_files_and_refusals(unequal, tmp_path):
    X, y, group = unequal
    model = FairRegularizer(estimator=network(max_epochs=2)).fit(X, y, sensitive_features=group)
    panlearn.save(model, tmp_path / "fair.panlearn")
    loaded = panlearn.load(tmp_path / "fair.panlearn")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="must be an MLPClassifier or None"):
        FairRegularizer(estimator=LogisticRegression()).fit(X, y)
