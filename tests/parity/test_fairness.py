"""Gaps of groups beside fairlearn's."""

import numpy as np
import pytest

fairlearn = pytest.importorskip("fairlearn.metrics")

from panlearn.trust import fairness  # noqa: E402


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
