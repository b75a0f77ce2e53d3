"""Fair decisions, features and training: exact optima, routing, and what users trip over."""

import itertools

import numpy as np
import pytest
import sklearn
from scipy.optimize import minimize
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import panlearn
from panlearn.trust import CorrelationRemover, FairPostprocessor, FairRegularizer, fairness


@pytest.fixture
def people(rng):
    n = 900
    group = rng.choice(["a", "b", "c"], n)
    shift = np.select([group == "a", group == "b"], [0.0, 0.6], 1.2)
    X = rng.normal(size=(n, 3)) + shift[:, None] * [1, 0.5, 0]
    y = (X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n) > 0.8).astype(int)
    return X, y, group


def expected_rates(model, X, y, group):
    q = model.decision_probability(X, group)
    names = np.unique(group)
    return {
        "acceptance": [q[group == g].mean() for g in names],
        "tpr": [q[(group == g) & (y == 1)].mean() for g in names],
        "fpr": [q[(group == g) & (y == 0)].mean() for g in names],
    }, q


@pytest.mark.parametrize(
    ("constraint", "kinds"),
    [
        ("demographic_parity", ["acceptance"]),
        ("equal_opportunity", ["tpr"]),
        ("equalized_odds", ["tpr", "fpr"]),
    ],
)
@pytest.mark.parametrize("tolerance", [0.0, 0.05])
def test_expected_rates_are_alike(people, constraint, kinds, tolerance):
    X, y, group = people
    model = FairPostprocessor(constraint=constraint, tolerance=tolerance)
    model.fit(X, y, sensitive_features=group)
    rates, q = expected_rates(model, X, y, group)
    for kind in kinds:
        assert np.ptp(rates[kind]) <= tolerance + 1e-8
    error = np.mean(np.where(y == 1, 1 - q, q))
    assert model.cost_ == pytest.approx(error, abs=1e-8)
    free = (LogisticRegression().fit(X, y).predict(X) != y).mean()
    assert free - 0.02 <= error < free + 0.15
    decided = model.predict(X, group)
    assert (decided == 1).mean() == pytest.approx(q.mean(), abs=0.03)


def test_the_optimum_is_exact():
    """Two groups with few scores: no mixture of a fine grid of rules does better."""
    rng = np.random.default_rng(3)
    X = rng.integers(4, size=(60, 1)).astype(float)
    group = np.repeat([0, 1], 30)
    y = (rng.random(60) < (X[:, 0] + group) / 5).astype(int)
    model = FairPostprocessor(
        FrozenEstimator(LogisticRegression().fit(X, y)), constraint="demographic_parity"
    ).fit(X, y, sensitive_features=group)

    def least_error(g, acceptance):
        """Over every mixture of two thresholds that accepts so much."""
        rules = [(X[group == g, 0] >= t).astype(float) for t in range(5)]
        own, found = y[group == g], []
        for one, other in itertools.product(rules, rules):
            low, high = one.mean(), other.mean()
            if not min(low, high) <= acceptance <= max(low, high):
                continue
            share = (acceptance - low) / (high - low) if high != low else 0.0
            q = (1 - share) * one + share * other
            found.append(np.where(own == 1, 1 - q, q).sum())
        return min(found)

    levels = np.linspace(0, 1, 301)  # every thirtieth is a corner of both groups
    best = min((least_error(0, level) + least_error(1, level)) / 60 for level in levels)
    assert model.cost_ == pytest.approx(best, abs=1e-9)


def test_costs_move_the_decision(people):
    X, y, group = people
    accept = []
    for cost in (1.0, 8.0):
        model = FairPostprocessor(false_negative_cost=cost).fit(X, y, sensitive_features=group)
        accept.append(model.decision_probability(X, group).mean())
    assert accept[1] > accept[0] + 0.1


def test_a_row_is_decided_alike_in_any_company(people):
    X, y, group = people
    model = FairPostprocessor().fit(X, y, sensitive_features=group)
    all_at_once = model.predict(X, group)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(model.predict(X[order], group[order]), all_at_once[order])
    one = [model.predict(X[i : i + 1], group[i : i + 1])[0] for i in range(40)]
    np.testing.assert_array_equal(one, all_at_once[:40])
    other = FairPostprocessor(seed=1).fit(X, y, sensitive_features=group).predict(X, group)
    assert 0 < (other != all_at_once).mean() < 0.4


@pytest.mark.parametrize("rounded", [-1, 1])
def test_a_decision_does_not_hang_on_the_last_bit_of_a_score(people, monkeypatch, rounded):
    X, y, group = people
    model = FairPostprocessor().fit(X, y, sensitive_features=group)
    decided, chances = model.predict(X, group), model.decision_probability(X, group)
    scores = model._scores
    monkeypatch.setattr(
        type(model), "_scores", lambda self, X: np.nextafter(scores(X), rounded * np.inf)
    )
    np.testing.assert_array_equal(model.decision_probability(X, group), chances)
    np.testing.assert_array_equal(model.predict(X, group), decided)


def test_scores_with_ties_and_one_group(people):
    X, y, group = people
    tree = FairPostprocessor(DecisionTreeClassifier(max_depth=2)).fit(
        X, y, sensitive_features=group
    )
    rates, _ = expected_rates(tree, X, y, group)
    assert max(np.ptp(rates["tpr"]), np.ptp(rates["fpr"])) < 1e-8
    alone = FairPostprocessor().fit(X, y)
    assert set(np.concatenate(alone.probabilities_)) == {1.0}
    assert alone.score(X, y) >= LogisticRegression().fit(X, y).score(X, y) - 1e-12


def test_what_is_refused(people):
    X, y, group = people
    model = FairPostprocessor().fit(X, y, sensitive_features=group)
    with pytest.raises(ValueError, match=r"\['all'\], and the fit had \['a', 'b', 'c'\]"):
        model.predict(X)
    with pytest.raises(ValueError, match=r"\['z'\], and the fit had"):
        model.predict(X[:1], ["z"])
    lone = group.copy()
    lone[:3] = "q"
    with pytest.raises(ValueError, match="group 'q' lacks rows of a label"):
        FairPostprocessor().fit(X, np.where(lone == "q", 0, y), sensitive_features=lone)


def test_routing_through_a_pipeline_and_cross_validation(people):
    X, y, group = people
    with sklearn.config_context(enable_metadata_routing=True):
        remover = CorrelationRemover().set_fit_request(sensitive_features=True)
        remover.set_transform_request(sensitive_features=True)
        fair = FairPostprocessor().set_fit_request(sensitive_features=True)
        fair.set_predict_request(sensitive_features=True)
        fair.set_score_request(sensitive_features=True)
        model = make_pipeline(remover, fair)
        model.fit(X, y, sensitive_features=group)
        decided = model.predict(X, sensitive_features=group)
        scores = cross_val_score(model, X, y, cv=3, params={"sensitive_features": group})
    assert fairness.group_rates(y, decided, group).gaps["separation"] < 0.15
    assert scores.min() > 0.5


def test_correlation_is_removed(people):
    X, _, group = people
    number = np.searchsorted(["a", "b", "c"], group).astype(float)
    for sensitive in (number, np.c_[number, number**2]):
        Z = CorrelationRemover().fit_transform(X, sensitive_features=sensitive)
        centred = sensitive - sensitive.mean(axis=0)
        assert np.abs(centred.T @ (Z - Z.mean(axis=0))).max() < 1e-8
    Z = CorrelationRemover().fit_transform(X, sensitive_features=group)
    means = [Z[group == g].mean(axis=0) for g in "abc"]  # indicators: all means are alike
    assert np.ptp(means, axis=0).max() < 1e-10
    half = CorrelationRemover(alpha=0.5).fit_transform(X, sensitive_features=number)
    full = CorrelationRemover().fit_transform(X, sensitive_features=number)
    np.testing.assert_allclose(half, (X + full) / 2, atol=1e-12)
    model = CorrelationRemover().fit(X, sensitive_features=group)
    with pytest.raises(ValueError, match=r"\['z'\], which the fit had not"):
        model.transform(X[:1], sensitive_features=["z"])
    with pytest.raises(ValueError, match="0 columns, and the fit had 2"):
        model.transform(X)
    np.testing.assert_array_equal(CorrelationRemover().fit_transform(X), X)


def test_regularizer_minimises_what_it_says(people):
    X, y, group = people
    lam, C = 0.3, 0.05
    model = FairRegularizer(lam, C=C, tol=1e-12, constraint="equalized_odds", max_iter=1000)
    model.fit(X, y, sensitive_features=group)

    def objective(p):
        w, b = p[:3], p[3]
        z = X @ w + b
        value = C * np.logaddexp(0, np.where(y == 1, -z, z)).sum() + w @ w / 2
        for label, g in itertools.product((0, 1), "abc"):
            part = y == label
            gap = X[part & (group == g)].mean(axis=0) - X[part].mean(axis=0)
            value += lam * C * len(y) * (w @ gap) ** 2
        return value

    run = minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose([*model.coef_[0], *model.intercept_], run.x, atol=1e-4)


def test_gap_falls_with_the_penalty(people):
    X, y, group = people
    gaps = []
    for penalty in (0, 0.01, 0.1, 1, 100):
        model = FairRegularizer(penalty).fit(X, y, sensitive_features=group)
        scores = model.decision_function(X)
        gaps.append(np.ptp([scores[group == g].mean() for g in "abc"]))
    assert (np.diff(gaps) < 0).all()
    plain = panlearn.linear.LogisticRegression().fit(X, y)
    np.testing.assert_allclose(FairRegularizer(0.0).fit(X, y, None, group).coef_, plain.coef_)
    three = FairRegularizer().fit(X, y + (X[:, 2] > 1), sensitive_features=group)
    assert three.predict_proba(X).shape == (900, 3)


def test_saved_and_loaded(people, tmp_path):
    X, y, group = people
    model = FairPostprocessor().fit(X, y, sensitive_features=group)
    panlearn.save(model, tmp_path / "model")
    again = panlearn.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X, group), model.predict(X, group))
