"""What the displays of evaluation and trust draw."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from panlearn.evaluate.rates import rates_at
from panlearn.plot import FairnessDisplay, RatesDisplay, RobustAccuracyDisplay
from panlearn.trust import attacks, fairness


@pytest.fixture
def fitted(rng):
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] + rng.normal(size=120) > 0).astype(int)
    return LogisticRegression().fit(X, y), X, y


def test_rates_along_the_threshold(fitted, ax):
    model, X, y = fitted
    display = RatesDisplay.from_estimator(model, X, y, rates=["fnr"], costs=(1, 3), ax=ax)
    scores = model.decision_function(X)
    line = ax.lines[0]
    at, values = line.get_xdata(), line.get_ydata()
    for i in (0, 50, 119):
        assert values[i] == pytest.approx(rates_at(y, scores, at[i]).fnr)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["fnr", "mean cost"]
    assert ax.lines[2].get_xdata()[0] == display.curve.best_threshold(1, 3)


def test_groups_with_intervals(fitted, ax):
    model, X, y = fitted
    d, groups = model.predict(X), np.repeat(["a", "b"], 60)
    display = FairnessDisplay.from_predictions(y, d, groups, rate="tpr", ax=ax, random_state=0)
    table = fairness.group_rates(y, d, groups)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), table.rates.tpr)
    segments = ax.collections[0].get_segments()
    np.testing.assert_allclose(segments[0][:, 0], display.report.intervals["tpr"][0])
    with pytest.raises(ValueError, match="rate='luck'"):
        display.plot(rate="luck")


def test_accuracy_under_attack(fitted, ax):
    model, X, y = fitted
    RobustAccuracyDisplay.from_estimator(
        model, X, y, [0, 0.2], bounds=None, steps=5, label="plain", ax=ax, random_state=0
    )
    exact = [(attacks.linear_margin(model, X, y, e) > 0).mean() for e in (0, 0.2)]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), exact)
    assert ax.get_legend().get_texts()[0].get_text() == "plain"
