"""Standard errors: their truth by simulation, how they print, and where there are none."""

import numpy as np
import pandas as pd
import pytest

from panlearn.linear import HuberRegressor, LinearRegression, LogisticRegression


def test_intervals_cover_the_truth_as_often_as_they_say(rng):
    X, inside = rng.normal(size=(12, 2)), []
    for _ in range(400):
        y = X @ [1.0, -2.0] + 3 + rng.normal(size=12)
        interval = LinearRegression().fit(X, y).summary(X, y, confidence=0.9).interval
        inside.append((interval[:, 0] < [3, 1, -2]) & ([3, 1, -2] < interval[:, 1]))
    np.testing.assert_allclose(np.mean(inside, axis=0), 0.9, atol=0.045)  # three deviations


def test_names_and_print(rng):
    X = pd.DataFrame(rng.normal(size=(30, 2)), columns=["age", "height"])
    y = X["age"] + rng.normal(size=30)
    found = LinearRegression().fit(X, y).summary(X, y)
    assert found.names == ["intercept", "age", "height"]
    lines = repr(found).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert "p-value" in lines[0]
    assert lines[2].startswith("age")
    assert f"{found.std_err[1]:.4g}" in lines[2]


def test_refusals(rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    labels = y > 0
    model = LinearRegression().fit(X, y)
    for call, words in (
        (lambda: LogisticRegression().fit(X, labels).summary(X, labels), "C=np.inf"),
        (lambda: HuberRegressor().fit(X, y).summary(X, y), "alpha=0"),
        (lambda: LinearRegression(positive=True).fit(X, y).summary(X, y), "positive=True"),
        (lambda: LinearRegression().fit(X, np.c_[y, y]).summary(X, np.c_[y, y]), "one target"),
        (lambda: model.summary(X[:, :1], y), "2 columns"),
        (lambda: model.summary(X, y[:-1]), "20 values"),
        (lambda: model.summary(X, y, sample_weight=-np.ones(20)), "none below zero"),
        (lambda: model.summary(X[:3], y[:3]), "nothing to judge"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    flat = np.c_[X, np.ones(20)]
    with pytest.warns(match="rank"):
        constant = LinearRegression().fit(flat, y)
    with pytest.raises(ValueError, match="not determined"):
        constant.summary(flat, y)
