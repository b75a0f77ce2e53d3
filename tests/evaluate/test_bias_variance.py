"""The split of a loss against mlxtend's and its own identities."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from panlearn.evaluate.bias_variance import bias_variance


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 2))
    return X, X[:, 0] ** 2 + 0.3 * rng.normal(size=60), (X[:, 0] + X[:, 1] > 0).astype(int)


def test_squared_loss_is_bias_plus_variance(data):
    X, y, _ = data
    found = bias_variance(DecisionTreeRegressor(), X, y, X, y, n_draws=25, random_state=0)
    assert found.loss == pytest.approx(found.bias + found.variance, rel=1e-12)
    np.testing.assert_allclose(found.main, found.predictions.mean(axis=0))
    line = bias_variance(LinearRegression(), X, y, X, y, n_draws=25, random_state=0)
    assert line.bias > found.bias
    assert line.variance < found.variance


def test_zero_one_loss(data):
    X, _, y = data
    labels = np.array(["no", "yes"])[y]
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    found = bias_variance(tree, X, labels, X, labels, loss="zero_one", n_draws=15, random_state=1)
    votes = found.predictions
    assert found.loss == pytest.approx((votes != labels).mean())
    majority = np.where((votes == "yes").mean(axis=0) > 0.5, "yes", "no")
    assert found.bias == pytest.approx((majority != labels).mean())
    assert found.variance == pytest.approx((votes != majority).mean())
    assert found.net_variance == pytest.approx(found.loss - found.bias)


def test_losses_of_your_own(data):
    X, y, _ = data
    options = {"n_draws": 21, "random_state": 2}
    tree = DecisionTreeRegressor(random_state=0)
    named = bias_variance(tree, X, y, X, y, loss="absolute", **options)
    own = bias_variance(tree, X, y, X, y, loss=lambda a, b: np.abs(a - b), **options)
    np.testing.assert_allclose(own.main, named.main)  # an odd number of votes has its median
    assert own.variance == pytest.approx(named.variance)


def test_same_seed_and_bad_arguments(data):
    X, y, _ = data
    constant = DummyRegressor(strategy="constant", constant=1.0)
    found = bias_variance(constant, X, y, X, y, n_draws=3, random_state=0)
    assert found.variance == 0
    with pytest.raises(ValueError, match="n_draws=1"):
        bias_variance(constant, X, y, X, y, n_draws=1)
    with pytest.raises(ValueError, match="'hinge'"):
        bias_variance(constant, X, y, X, y, loss="hinge")
