"""Gaps of groups beside fairlearn's."""

import numpy as np
import pytest
from fairlearn import metrics as fairlearn
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.preprocessing import CorrelationRemover as Remover
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from panlearn.trust import CorrelationRemover, FairPostprocessor, fairness


@pytest.mark.filterwarnings("ignore")
def test_gaps_are_fairlearns(rng):
    n = 2000
    groups = rng.integers(5, size=n)
    y = rng.integers(2, size=n)
    d = (rng.random(n) < 0.3 + 0.3 * y + 0.05 * groups).astype(int)
    weights = rng.random(n)
    for w in (None, weights):
        ours = fairness.group_rates(y, d, groups, sample_weight=w).gaps
        options = {"sensitive_features": groups, "sample_weight": w}
        parity = fairlearn.demographic_parity_difference(y, d, **options)
        odds = fairlearn.equalized_odds_difference(y, d, **options)
        chance = fairlearn.equal_opportunity_difference(y, d, **options)
        found = (ours["independence"], ours["separation"], ours["equal_opportunity"])
        np.testing.assert_allclose(found, (parity, odds, chance), atol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("constraint", ["demographic_parity", "equalized_odds"])
def test_thresholds_are_no_worse_than_fairlearns(rng, constraint):
    n = 1500
    group = rng.integers(3, size=n)
    X = rng.normal(size=(n, 2)) + 0.5 * group[:, None]
    y = (X[:, 0] + rng.normal(size=n) > 0.7).astype(int)
    scorer = LogisticRegression().fit(X, y)
    theirs = ThresholdOptimizer(
        estimator=scorer, constraints=constraint, prefit=True, predict_method="predict_proba"
    ).fit(X, y, sensitive_features=group)
    ours = FairPostprocessor(FrozenEstimator(scorer), constraint=constraint)
    q = ours.fit(X, y, sensitive_features=group).decision_probability(X, group)
    p = theirs._pmf_predict(X, sensitive_features=group)[:, 1]
    errors = [np.mean(np.where(y == 1, 1 - v, v)) for v in (q, p)]
    assert errors[0] <= errors[1] + 1e-9
    parts = [y == 0, y == 1] if constraint == "equalized_odds" else [y >= 0]
    gaps = [
        max(np.ptp([v[part & (group == g)].mean() for g in range(3)]) for part in parts)
        for v in (q, p)
    ]
    assert gaps[0] <= gaps[1] + 1e-9


@pytest.mark.parametrize("alpha", [1.0, 0.4])
def test_correlation_remover_is_fairlearns(rng, alpha):
    S = rng.normal(size=(60, 2))
    X = rng.normal(size=(60, 3)) + S @ rng.normal(size=(2, 3))
    theirs = Remover(sensitive_feature_ids=[0, 1], alpha=alpha).fit_transform(np.c_[S, X])
    ours = CorrelationRemover(alpha=alpha).fit_transform(X, sensitive_features=S)
    np.testing.assert_allclose(ours, theirs, atol=1e-10)
