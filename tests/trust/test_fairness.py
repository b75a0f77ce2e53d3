"""Rates of groups against counting, and intervals against drawing rows."""

import numpy as np
import pandas as pd
import pytest

from panlearn.evaluate.rates import rates
from panlearn.trust import fairness


@pytest.fixture
def decisions(rng):
    n = 600
    sex, age = rng.choice(["f", "m"], n), rng.choice([20, 40, 60], n)
    y = (rng.random(n) < np.where(sex == "m", 0.6, 0.4)).astype(int)
    d = (rng.random(n) < 0.2 + 0.5 * y + 0.1 * (age == 20)).astype(int)
    return y, d, sex, age


def test_groups_by_counting(decisions):
    y, d, sex, _ = decisions
    weights = np.linspace(0.5, 2, len(y))
    table = fairness.group_rates(y, d, sex, sample_weight=weights)
    for i, group in enumerate(table.groups):
        own = sex == group
        alone = rates(y[own], d[own], sample_weight=weights[own])
        for name in ("tpr", "fpr", "precision", "npv", "acceptance", "accuracy"):
            assert getattr(table.rates, name)[i] == pytest.approx(getattr(alone, name)), name
        assert table.counts[i] == pytest.approx(weights[own].sum())
    r = table.rates
    assert table.gaps["independence"] == pytest.approx(np.ptp(r.acceptance))
    assert table.gaps["separation"] == pytest.approx(max(np.ptp(r.tpr), np.ptp(r.fpr)))
    assert table.gaps["sufficiency"] == pytest.approx(max(np.ptp(r.precision), np.ptp(r.npv)))
    assert table.worst_group == table.groups[int(np.argmin(r.accuracy))]


def test_intersections(decisions):
    y, d, sex, age = decisions
    frame = pd.DataFrame({"sex": sex, "age": age, "all": "x"})
    table = fairness.group_rates(y, d, frame)
    assert table.groups == [(s, a, "x") for s in "fm" for a in (20, 40, 60)]
    own = (sex == "m") & (age == 40)
    assert table.rates.tpr[4] == pytest.approx(d[own & (y == 1)].mean())
    same = fairness.group_rates(y, d, {"sex": sex, "age": age})
    np.testing.assert_array_equal(same.rates.tp, table.rates.tp)
    missing = fairness.group_rates(y[own], d[own], frame[own])  # what does not occur is no group
    assert missing.groups == [("m", 40, "x")]


def test_labels_and_groups_of_any_kind(decisions):
    y, d, sex, _ = decisions
    plain = fairness.group_rates(y, d, sex).gaps
    words = np.array(["no", "yes"])
    assert fairness.group_rates(words[y], words[d], sex).gaps == plain
    assert fairness.group_rates(y == 1, d == 1, (sex == "m") * 10**12).gaps == plain
    assert fairness.group_rates(y, d, (sex == "m") - 0.5).gaps == plain
    turned = fairness.group_rates(y, d, sex, pos_label=0)
    np.testing.assert_allclose(turned.rates.tpr, fairness.group_rates(y, d, sex).rates.tnr)


def test_a_group_without_positives():
    table = fairness.group_rates([1, 0, 0, 0], [1, 0, 1, 0], ["a", "a", "b", "b"])
    assert np.isnan(table.rates.tpr[1])
    assert table.gaps["separation"] == pytest.approx(0.5)  # of false positives alone
    only = fairness.group_rates([0, 0], [0, 0], ["a", "b"])
    assert only.gaps["independence"] == 0
    assert np.isnan(only.gaps["equal_opportunity"])


def test_intervals_are_those_of_drawing_rows(decisions):
    y, d, sex, _ = decisions
    found = fairness.fairness_report(y, d, sex, n_draws=2000, random_state=0)
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(1000):
        rows = rng.integers(len(y), size=len(y))
        draws.append(fairness.group_rates(y[rows], d[rows], sex[rows]).gaps["separation"])
    value, low, high = found.gaps["separation"]
    assert value == fairness.group_rates(y, d, sex).gaps["separation"]
    np.testing.assert_allclose([low, high], np.quantile(draws, [0.025, 0.975]), atol=0.012)
    accept = found.intervals["acceptance"][0]
    p, n = d[sex == "f"].mean(), (sex == "f").sum()
    half = 1.96 * np.sqrt(p * (1 - p) / n)
    np.testing.assert_allclose(accept, [p - half, p + half], atol=0.01)
    again = fairness.fairness_report(y, d, sex, n_draws=2000, random_state=0)
    assert again.gaps == found.gaps


def test_small_groups_are_named(decisions):
    y, d, sex, _ = decisions
    groups = sex.astype(object)
    groups[:5] = "x"
    with pytest.warns(UserWarning, match=r"1 of 3 groups have fewer than 30 rows \('x'\)"):
        report = fairness.fairness_report(y, d, groups, n_draws=50, random_state=0)
    assert report.small_groups == ["x"]


def test_group_calibration(rng):
    n = 40_000
    group, p = rng.integers(2, size=n), rng.random(n)
    honest = (rng.random(n) < p).astype(int)
    found = fairness.group_calibration(honest, p, group)
    assert found.errors.max() < 0.01
    assert found.sufficiency_gap < 0.06
    biased = (rng.random(n) < np.where(group, p, p**2)).astype(int)
    found = fairness.group_calibration(biased, p, group)
    assert found.errors[0] > 0.1 > found.errors[1]
    assert found.sufficiency_gap == pytest.approx(0.25, abs=0.06)


def test_impossibility_on_data(decisions):
    y, d, sex, _ = decisions
    found = fairness.impossibility(y, d, sex)
    assert not found.possible
    assert np.ptp(found.implied_fpr) > 0.05
    table = fairness.group_rates(y, d, sex).rates
    np.testing.assert_allclose(
        fairness.implied_fpr(table.prevalence, table.precision, table.fnr), table.fpr, atol=1e-12
    )
    assert fairness.impossibility(y, y, sex).possible


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a"], "1 rows, and there are 3"),
        (["a", None, "b"], "missing entries"),
        ([0.0, np.nan, 1.0], "missing entries"),
        (np.zeros((3, 0)), "column or a table"),
    ],
)
def test_bad_groups_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        fairness.group_rates([0, 1, 1], [0, 1, 0], groups)
    with pytest.raises(ValueError, match="more than two"):
        fairness.group_rates([0, 1, 2], [0, 1, 0], [0, 0, 1])
