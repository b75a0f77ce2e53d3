"""Rates against scikit-learn, fractions and counting of pairs."""

import numpy as np
import pytest
from sklearn import metrics

from panlearn.evaluate import rates


@pytest.fixture
def scored(rng):
    y = rng.integers(2, size=200)
    return y, np.round(y + rng.normal(size=200), 1), rng.random(200)  # rounded: with ties


def test_every_name_by_hand():
    found = rates.Rates(tp=30, fp=10, tn=40, fn=20)
    expected = {
        "tpr": 30 / 50, "fpr": 10 / 50, "fnr": 20 / 50, "tnr": 40 / 50, "precision": 30 / 40,
        "npv": 40 / 60, "fdr": 10 / 40, "false_omission_rate": 20 / 60, "accuracy": 70 / 100,
        "balanced_accuracy": (30 / 50 + 40 / 50) / 2, "prevalence": 0.5, "acceptance": 0.4,
        "f1": 2 / 3, "jaccard": 0.5, "youden": 0.4, "positive_likelihood_ratio": 3.0,
        "negative_likelihood_ratio": 0.5, "matthews": 1000 / np.sqrt(40 * 50 * 50 * 60),
    }  # fmt: skip
    for name, value in expected.items():
        assert getattr(found, name) == pytest.approx(value, abs=1e-12), name
    assert found.f_beta(2.0) == pytest.approx(5 * 30 / (5 * 30 + 4 * 20 + 10))
    assert found.cost(fp=2, fn=5) == pytest.approx(1.2)


def test_nothing_to_divide_by_is_nan():
    found = rates.rates([0, 0], [0, 0])
    assert np.isnan([found.tpr, found.precision, found.f1, found.matthews]).all()
    assert found.accuracy == 1


def test_agrees_with_scikit_learn(scored):
    y, s, w = scored
    found = rates.rates(y, s > 0.5, sample_weight=w)
    p = (s > 0.5).astype(int)
    assert found.precision == pytest.approx(metrics.precision_score(y, p, sample_weight=w))
    assert found.tpr == pytest.approx(metrics.recall_score(y, p, sample_weight=w))
    assert found.f1 == pytest.approx(metrics.f1_score(y, p, sample_weight=w))
    assert found.matthews == pytest.approx(metrics.matthews_corrcoef(y, p, sample_weight=w))
    named = rates.rates(np.where(y, "yes", "no"), np.where(p, "yes", "no"), pos_label="no")
    assert named.tpr == pytest.approx(metrics.recall_score(y, p, pos_label=0))


def test_curves_agree_with_scikit_learn(scored):
    y, s, w = scored
    curve = rates.rate_curve(y, s, sample_weight=w)
    fpr, tpr, thresholds = metrics.roc_curve(y, s, sample_weight=w, drop_intermediate=False)
    np.testing.assert_allclose(curve.rates.fpr, fpr, atol=1e-12)
    np.testing.assert_allclose(curve.rates.tpr, tpr, atol=1e-12)
    np.testing.assert_array_equal(curve.thresholds, thresholds)
    assert curve.auroc == pytest.approx(metrics.roc_auc_score(y, s, sample_weight=w))
    assert curve.average_precision == pytest.approx(
        metrics.average_precision_score(y, s, sample_weight=w)
    )


def test_area_counts_pairs(scored):
    y, s, _ = scored
    gaps = s[y == 1][:, None] - s[y == 0]
    area = (gaps > 0).mean() + (gaps == 0).mean() / 2
    assert rates.rate_curve(y, s).auroc == pytest.approx(area, abs=1e-12)
    assert rates.rate_curve(y, np.exp(3 * s)).auroc == pytest.approx(area, abs=1e-12)


def test_a_threshold_of_the_curve(scored):
    y, s, w = scored
    curve = rates.rate_curve(y, s, sample_weight=w)
    for threshold in (s[3], 0.4321, -99.0, 99.0):
        direct = rates.rates_at(y, s, threshold, sample_weight=w)
        found = curve.at(threshold)
        for name in ("tp", "fp", "tn", "fn"):
            assert getattr(found, name) == pytest.approx(getattr(direct, name), abs=1e-9)
    costs = [rates.rates_at(y, s, t, sample_weight=w).cost(1, 4) for t in curve.thresholds]
    assert curve.best_threshold(1, 4) == curve.thresholds[int(np.argmin(costs))]


def test_equal_error_and_det(rng):
    y = np.repeat([0, 1], 20_000)
    s = rng.normal(size=40_000) + 2 * y
    curve = rates.rate_curve(y, s)
    assert curve.equal_error_rate == pytest.approx(0.1587, abs=0.01)  # Phi(-1)
    x, z = curve.det
    inside = (np.abs(x) < 1.5) & (np.abs(z) < 1.5)
    slope, offset = np.polyfit(x[inside], z[inside], 1)
    assert (slope, offset) == pytest.approx((-1, -2), abs=0.1)


def test_bootstrap_covers_the_area(rng):
    y = np.repeat([0, 1], 150)
    truth, inside = 0.7602, 0  # Phi(1 / sqrt 2)
    for seed in range(20):
        s = np.random.default_rng(seed).normal(size=300) + y
        band = rates.bootstrap_roc(y, s, n_draws=200, random_state=0)
        inside += band.auroc[0] <= truth <= band.auroc[1]
    assert inside >= 17
    curve = rates.rate_curve(y, s)
    tpr = np.interp(band.fpr, curve.rates.fpr, curve.rates.tpr)
    assert ((band.low <= tpr + 1e-9) & (tpr <= band.high + 1e-9)).mean() > 0.9
    again = rates.bootstrap_roc(y, s, n_draws=200, random_state=0)
    np.testing.assert_array_equal(band.low, again.low)


@pytest.mark.parametrize(
    ("y", "score", "message"),
    [
        ([0, 0], [0.1, 0.2], "one kind of label"),
        ([0, 1, 2], [0.1, 0.2, 0.3], "more than two"),
        ([0, 1], [0.1], "one length"),
        ([0, 1], [0.1, np.nan], "finite"),
    ],
)
def test_bad_scores_are_refused(y, score, message):
    with pytest.raises(ValueError, match=message):
        rates.rate_curve(y, score)
    with pytest.raises(ValueError, match="sample_weight"):
        rates.rate_curve([0, 1], [0.1, 0.2], sample_weight=[1, -1])
