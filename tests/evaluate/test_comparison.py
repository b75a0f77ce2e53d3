"""Tests of a difference against SciPy, statsmodels and their error under no difference."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import RepeatedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from statsmodels.stats.contingency_tables import mcnemar as reference

from panlearn.evaluate import comparison


def test_without_the_correction_it_is_the_paired_t_test(rng):
    a, b = rng.normal(size=(2, 12))
    found = comparison.corrected_t_test(a, b, 10**12, 1)
    expected = stats.ttest_rel(a, b)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-6)
    interval = expected.confidence_interval()
    assert found.interval == pytest.approx((interval.low, interval.high), rel=1e-6)
    wider = comparison.corrected_t_test(a, b, 90, 10)
    ratio = np.sqrt(1 + 12 * 10 / 90)
    assert wider.interval[1] - wider.difference == pytest.approx(
        ratio * (found.interval[1] - found.difference), rel=1e-6
    )


def test_equal_scores():
    assert comparison.corrected_t_test([0.5, 0.5], [0.5, 0.5], 8, 2).p_value == 1
    assert comparison.corrected_t_test([0.6, 0.6], [0.5, 0.5], 8, 2).p_value == 0
    with pytest.raises(ValueError, match="two or more splits"):
        comparison.corrected_t_test([0.5], [0.4], 8, 2)


def test_models_on_the_same_splits(rng):
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] + rng.normal(size=120) > 0).astype(int)
    cv = RepeatedKFold(n_splits=4, n_repeats=2, random_state=0)
    found = comparison.compare_models(LogisticRegression(), GaussianNB(), X, y, cv=cv)
    scores = [cross_val_score(m, X, y, cv=cv) for m in (LogisticRegression(), GaussianNB())]
    assert found.difference == pytest.approx((scores[0] - scores[1]).mean())
    by_hand = comparison.corrected_t_test(*scores, 90, 30)
    assert found.p_value == pytest.approx(by_hand.p_value)


@pytest.mark.parametrize("exact", [True, False])
def test_mcnemar_agrees_with_statsmodels(rng, exact):
    y = rng.integers(3, size=300)
    a = np.where(rng.random(300) < 0.8, y, 0)
    b = np.where(rng.random(300) < 0.7, y, 1)
    right, other = a == y, b == y
    table = [
        [(right & other).sum(), (right & ~other).sum()],
        [(~right & other).sum(), (~right & ~other).sum()],
    ]
    found = comparison.mcnemar(y, a, b, exact=exact)
    assert found.p_value == pytest.approx(reference(table, exact=exact, correction=True).pvalue)
    assert found.difference == pytest.approx(right.mean() - other.mean())
    d = right.astype(float) - other
    half = 1.959964 * d.std() / np.sqrt(300)
    assert found.interval == pytest.approx((d.mean() - half, d.mean() + half), abs=1e-6)


def test_mcnemar_of_the_same_predictions():
    assert comparison.mcnemar([0, 1], [0, 0], [0, 0]).p_value == 1
    assert comparison.mcnemar([0, 1], [0, 0], [0, 0], exact=False).p_value == 1
    with pytest.raises(ValueError, match="one length"):
        comparison.mcnemar([0, 1], [0], [0, 1])


def test_bootstrap_of_a_difference(rng):
    y = rng.integers(2, size=400)
    good, bad = (np.where(rng.random(400) < q, y, 1 - y) for q in (0.9, 0.7))
    found = comparison.bootstrap_difference(
        accuracy_score, y, good, bad, n_draws=400, random_state=0
    )
    d = (good == y).astype(float) - (bad == y)
    half = 1.96 * d.std() / np.sqrt(400)
    assert found.interval == pytest.approx((d.mean() - half, d.mean() + half), abs=0.02)
    assert found.p_value < 0.01
    same = comparison.bootstrap_difference(accuracy_score, y, good, good, n_draws=50)
    assert same.p_value == 1
    assert same.interval == (0, 0)
