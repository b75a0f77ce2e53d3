"""The perceptron against scikit-learn's, which is the same walk."""

import numpy as np
import pytest
import sklearn.linear_model as peer
from sklearn.exceptions import ConvergenceWarning

from panlearn.linear import Perceptron


@pytest.mark.parametrize("weight", [None, {0: 0.5, 1: 4.0}, "balanced"])
@pytest.mark.parametrize("k", [2, 3])
def test_the_same_weights_after_the_same_passes(rng, k, weight):
    X, y = rng.integers(-4, 5, (60, 4)).astype(float), rng.integers(k, size=60)
    with pytest.warns(ConvergenceWarning):
        ours = Perceptron(max_iter=7, class_weight=weight).fit(X, y)
    options = dict(tol=1e-9, n_iter_no_change=100, shuffle=False, class_weight=weight)
    theirs = peer.Perceptron(max_iter=7, **options)
    with pytest.warns(ConvergenceWarning):
        theirs.fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_the_same_separating_hyperplane(rng):
    X = rng.standard_normal((80, 3))
    y = np.where(X @ [1.0, 2.0, -1.0] > 0, "yes", "no")
    X = X[np.abs(X @ [1.0, 2.0, -1.0]) > 0.3]
    y = np.where(X @ [1.0, 2.0, -1.0] > 0, "yes", "no")
    ours = Perceptron().fit(X, y)
    theirs = peer.Perceptron(max_iter=ours.n_iter_, tol=None, shuffle=False).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-12)
    assert ours.score(X, y) == theirs.score(X, y) == 1
