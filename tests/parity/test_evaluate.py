"""Bias and variance beside mlxtend's, over many draws of each."""

import pytest
from mlxtend.evaluate import bias_variance_decomp
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from panlearn.evaluate.bias_variance import bias_variance


@pytest.mark.parametrize("loss", ["squared", "zero_one"])
def test_bias_variance(rng, loss):
    X = rng.normal(size=(80, 2))
    y = X[:, 0] ** 2 + X[:, 1] + 0.5 * rng.normal(size=80)
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    if loss == "zero_one":
        y, tree = (y > 0.5).astype(int), DecisionTreeClassifier(max_depth=3, random_state=0)
    train, test = slice(0, 50), slice(50, 80)
    ours = bias_variance(
        tree, X[train], y[train], X[test], y[test], loss=loss, n_draws=300, random_state=0
    )
    name = {"squared": "mse", "zero_one": "0-1_loss"}[loss]
    theirs = bias_variance_decomp(
        tree, X[train], y[train], X[test], y[test], loss=name, num_rounds=300, random_seed=1
    )
    # other draws of the same law: 300 rounds leave some percent
    found = (ours.loss, ours.bias, ours.variance)
    assert found == pytest.approx(theirs, rel=0.15, abs=0.02)
