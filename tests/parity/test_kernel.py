"""Kernel methods against scikit-learn's."""

import numpy as np
import pytest
import sklearn.kernel_ridge as peer
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from panlearn.kernel import KernelRidge


def simulated(n, d, targets):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d))
    return X, np.sin(X @ rng.normal(size=(d, targets))) + 0.1 * rng.normal(size=(n, targets))


DIABETES = load_diabetes(return_X_y=True)
DATA = {
    "diabetes": (StandardScaler().fit_transform(DIABETES[0]), DIABETES[1]),
    "two targets": simulated(120, 4, 2),
    "wide": simulated(20, 40, 1),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "cosine"])
@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_ridge(name, kernel, weighted):
    X, y = DATA[name]
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    ours = KernelRidge(0.7, kernel=kernel).fit(X, y, weight)
    theirs = peer.KernelRidge(alpha=0.7, kernel=kernel).fit(X, y, weight)
    for a, b in [(ours.dual_coef_, theirs.dual_coef_), (ours.predict(X), theirs.predict(X))]:
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-8 * np.abs(b).max())
