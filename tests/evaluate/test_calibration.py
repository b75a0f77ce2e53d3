"""Calibration against scikit-learn, exact identities and models with a known truth."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss
from sklearn.naive_bayes import GaussianNB

from panlearn.evaluate import calibration


@pytest.fixture
def forecast(rng):
    p = rng.beta(1, 2, size=500)
    return (rng.random(500) < p**1.5).astype(int), p


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_table_agrees_with_scikit_learn(forecast, strategy):
    y, p = forecast
    table = calibration.reliability(y, p, 7, strategy)
    observed, predicted = calibration_curve(y, p, n_bins=7, strategy=strategy)
    np.testing.assert_allclose(table.observed, observed, atol=1e-12)
    np.testing.assert_allclose(table.predicted, predicted, atol=1e-12)
    assert table.weight.sum() == 500


def test_weights_repeat_rows(forecast):
    y, p = forecast
    weights = np.arange(500) % 3
    ours = calibration.reliability(y, p, sample_weight=weights)
    repeated = calibration.reliability(np.repeat(y, weights), np.repeat(p, weights))
    np.testing.assert_allclose(ours.observed, repeated.observed, atol=1e-12)


def test_error_by_hand():
    y, p = [0, 1, 1, 1, 0], [0.2, 0.2, 0.9, 0.9, 0.9]
    gaps, shares = np.array([0.3, 0.9 - 2 / 3]), np.array([0.4, 0.6])
    assert calibration.calibration_error(y, p, 2) == pytest.approx(shares @ gaps)
    assert calibration.calibration_error(y, p, 2, norm_order=2) == pytest.approx(
        np.sqrt(shares @ gaps**2)
    )
    variance = np.array([0.25, (2 / 9) / 2])
    assert calibration.calibration_error(y, p, 2, norm_order=2, debiased=True) == pytest.approx(
        np.sqrt(max(shares @ (gaps**2 - variance), 0))
    )


@pytest.mark.parametrize("order", [1, 2])
def test_chance_is_taken_off(order):
    plain, debiased = [], []
    for seed in range(60):  # perfectly calibrated: the true error is 0
        rng = np.random.default_rng(seed)
        p = rng.random(300)
        y = (rng.random(300) < p).astype(int)
        plain.append(calibration.calibration_error(y, p, norm_order=order))
        debiased.append(calibration.calibration_error(y, p, norm_order=order, debiased=True))
    assert np.mean(plain) > 0.05
    assert np.mean(debiased) < 0.7 * np.mean(plain)


def test_split_adds_up(forecast):
    y, p = forecast
    weights = np.linspace(0.5, 2, 500)
    for bins in (None, 10):
        parts = calibration.brier_split(y, p, bins, weights)
        total = parts.reliability - parts.resolution + parts.uncertainty + parts.within
        assert total == pytest.approx(brier_score_loss(y, p, sample_weight=weights), abs=1e-12)
        assert parts.brier == pytest.approx(total, abs=1e-12)
    assert calibration.brier_split(y, p.round(1)).within == pytest.approx(0, abs=1e-12)
    sharp = calibration.brier_split([0, 1, 0, 1], [0, 1, 0, 1.0])
    assert (sharp.reliability, sharp.resolution, sharp.uncertainty) == (0, 0.25, 0.25)


def test_temperature_is_recovered(rng):
    z = 2 * rng.normal(size=(4000, 3))
    y = np.array([rng.choice(3, p=row) for row in softmax(z, axis=1)])
    assert calibration.temperature(y, 3 * z) == pytest.approx(3, rel=0.1)
    p = calibration.with_temperature(3 * z, 3.0)
    np.testing.assert_allclose(p, softmax(z, axis=1), atol=1e-12)
    with pytest.raises(ValueError, match="above zero"):
        calibration.with_temperature(z, 0)
    with pytest.raises(ValueError, match="row for each label"):
        calibration.temperature([0, 1], z)


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_wrapped_classifier_is_better_calibrated(rng, method):
    X = np.repeat(rng.normal(size=(1500, 1)), 4, axis=1)  # naive Bayes counts the column four times
    y = (X[:, 0] + rng.normal(size=1500) > 0).astype(int)
    naive = GaussianNB().fit(X[:1000], y[:1000])
    model = calibration.calibrated(GaussianNB(), method, cv=3).fit(X[:1000], y[:1000])
    errors = [
        calibration.calibration_error(y[1000:], m.predict_proba(X[1000:])[:, 1])
        for m in (naive, model)
    ]
    assert errors[1] < 0.7 * errors[0]
    with pytest.raises(ValueError, match="method='platt'"):
        calibration.calibrated(GaussianNB(), "platt")


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [([0, 2], [0.1, 0.2], "0 and 1"), ([0, 1], [0.1, 1.2], "in \\[0, 1\\]"), ([0], [], "length")],
)
def test_bad_input(y, p, message):
    with pytest.raises(ValueError, match=message):
        calibration.reliability(y, p)
    with pytest.raises(ValueError, match="n_bins=0"):
        calibration.reliability([0, 1], [0.1, 0.2], n_bins=0)
