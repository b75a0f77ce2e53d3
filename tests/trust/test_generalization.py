"""Errors of groups, of other domains and under attack, where the truth is known."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from panlearn.trust import attacks, generalization


def test_groups(rng):
    y, p, groups = rng.integers(2, size=100), rng.integers(2, size=100), rng.integers(3, size=100)
    found = generalization.group_errors(y, p, groups)
    expected = [(y != p)[groups == g].mean() for g in range(3)]
    np.testing.assert_allclose(found.errors, expected)
    assert found.worst == max(expected)
    assert found.worst_group == int(np.argmax(expected))
    assert found.average == pytest.approx((y != p).mean())
    squared = generalization.group_errors(y, p, groups, loss=lambda a, b: 4.0 * (a - b) ** 2)
    np.testing.assert_allclose(squared.errors, 4 * np.array(expected))


def test_shift_is_undone(rng):
    source, target = rng.normal(size=(4000, 1)), rng.normal(0.8, 1, size=(4000, 1))
    weights = generalization.importance_weights(source, target)
    exact = np.exp(0.8 * source[:, 0] - 0.32)  # the ratio of the two densities
    np.testing.assert_allclose(weights, exact / exact.mean(), rtol=0.25)
    losses = (source[:, 0] > 1).astype(float)
    found = generalization.shifted_error(losses, weights)
    truth = 0.4207  # P(N(0.8, 1) > 1)
    assert abs(found.error - truth) < 4 * found.standard_error
    assert found.standard_error < 0.03
    assert losses.mean() < 0.2
    assert 1000 < found.effective_size < 4000


def test_domains_that_hardly_meet(rng):
    source, target = rng.normal(size=(300, 1)), rng.normal(5, 1, size=(300, 1))
    with pytest.warns(UserWarning, match="the domains hardly overlap"):
        weights = generalization.importance_weights(source, target)
    assert generalization.effective_size(weights) < 30
    assert generalization.effective_size(np.ones(7)) == pytest.approx(7)
    assert generalization.effective_size([1e200, 0, 0]) == pytest.approx(1)
    with pytest.raises(ValueError, match="not all zero"):
        generalization.effective_size([0, 0])


def test_adversarial_error(rng):
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    clean = generalization.adversarial_error(model, X, y, 0.0, bounds=None)
    assert clean == pytest.approx(1 - model.score(X, y))
    found = generalization.adversarial_error(model, X, y, 0.3, bounds=None, random_state=0)
    assert found == pytest.approx((attacks.linear_margin(model, X, y, 0.3) <= 0).mean())
