"""Kernel methods against scikit-learn's."""

import numpy as np
import pytest
import sklearn.decomposition as peer_decomposition
import sklearn.gaussian_process as peer_gp
import sklearn.kernel_ridge as peer
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris
from sklearn.gaussian_process import kernels as peer_kernels
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import StandardScaler

from panlearn.kernel import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelPCA,
    KernelRidge,
)
from panlearn.kernel.kernels import RBF, Constant, Matern, White


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


GP_KERNELS = {
    "rbf": (
        1.0 * RBF(1.0) + White(0.1),
        1.0 * peer_kernels.RBF(1.0) + peer_kernels.WhiteKernel(0.1),
    ),
    "matern": (
        Constant(2.0) * Matern([1.0, 1.0], nu=2.5) + White(0.1),
        2.0 * peer_kernels.Matern([1.0, 1.0], nu=2.5) + peer_kernels.WhiteKernel(0.1),
    ),
}


@pytest.mark.parametrize("name", GP_KERNELS)
@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("normalize_y", [False, True])
def test_gaussian_process_regressor(name, targets, normalize_y):
    rng = np.random.default_rng(1)
    X = rng.uniform(-3, 3, (50, 2))
    Y = np.sin(X @ rng.normal(size=(2, targets))) + 0.1 * rng.normal(size=(50, targets))
    y, (ours, theirs) = (Y if targets > 1 else Y[:, 0]), GP_KERNELS[name]
    a = GaussianProcessRegressor(ours, normalize_y=normalize_y).fit(X, y)
    b = peer_gp.GaussianProcessRegressor(theirs, normalize_y=normalize_y).fit(X, y)
    # both stop where L-BFGS-B sees no gain: the value agrees to more digits than the parameters
    value = b.log_marginal_likelihood_value_
    assert a.log_marginal_likelihood_value_ == pytest.approx(value, rel=1e-6)
    same = GaussianProcessRegressor(
        ours.with_theta(b.kernel_.theta), normalize_y=normalize_y, optimizer=None
    ).fit(X, y)
    assert same.log_marginal_likelihood_value_ == pytest.approx(value, rel=1e-9)
    new = rng.uniform(-3, 3, (20, 2))
    for wish in ({"return_std": True}, {"return_cov": True}):
        for one, other in zip(same.predict(new, **wish), b.predict(new, **wish), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)
    adapted = GaussianProcessRegressor(theirs, normalize_y=normalize_y).fit(X, y)
    assert adapted.log_marginal_likelihood_value_ == pytest.approx(value, rel=1e-6)


def test_without_a_kernel_the_same_one_is_learned():
    rng = np.random.default_rng(1)
    X = rng.uniform(-3, 3, (50, 2))
    y = 3 * np.sin(X @ [1.0, 0.5]) + 0.1 * rng.normal(size=50)
    ours = GaussianProcessRegressor(alpha=0.01).fit(X, y)
    theirs = peer_gp.GaussianProcessRegressor(alpha=0.01).fit(X, y)
    assert np.abs(theirs.kernel_.theta).min() > 0.5  # far from where both begin
    # both stop where L-BFGS-B sees no gain
    np.testing.assert_allclose(ours.kernel_.theta, theirs.kernel_.theta, rtol=0, atol=1e-3)


def test_gaussian_process_classifier():
    X, y = load_iris(return_X_y=True)
    X, y = X[50::2], y[50::2]
    a = GaussianProcessClassifier(1.0 * RBF(1.0)).fit(X, y)
    b = peer_gp.GaussianProcessClassifier(1.0 * peer_kernels.RBF(1.0)).fit(X, y)
    value = b.log_marginal_likelihood_value_
    assert a.log_marginal_likelihood_value_ == pytest.approx(value, rel=1e-6)
    same = GaussianProcessClassifier(a.kernel_.with_theta(b.kernel_.theta), optimizer=None)
    same.fit(X, y)
    assert same.log_marginal_likelihood_value_ == pytest.approx(value, rel=1e-6)
    for one, other in zip(
        same.latent_mean_and_variance(X), b.latent_mean_and_variance(X), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4)  # the peer stops a step earlier
    # the peer averages the logistic function by five error functions, good to 1e-3
    np.testing.assert_allclose(same.predict_proba(X), b.predict_proba(X), atol=1e-3)
    np.testing.assert_array_equal(same.predict(X), b.predict(X))


def test_gaussian_process_classifier_of_three_classes():
    X, y = load_iris(return_X_y=True)
    a = GaussianProcessClassifier(9 * RBF(2.0), optimizer=None).fit(X, y)
    peer_kernel = 9 * peer_kernels.RBF(2.0)
    b = peer_gp.GaussianProcessClassifier(peer_kernel, optimizer=None).fit(X, y)
    value = b.log_marginal_likelihood_value_
    assert a.log_marginal_likelihood_value_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-3)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))


@pytest.mark.parametrize("name", ["two targets", "wide"])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "cosine"])
@pytest.mark.parametrize("n_components", [None, 3])
def test_kernel_pca(name, kernel, n_components):
    X, new = DATA[name][0], DATA[name][0][:7] + 0.1
    options = {"kernel": kernel, "fit_inverse_transform": True, "alpha": 0.1}
    a = KernelPCA(n_components, **options).fit(X)
    b = peer_decomposition.KernelPCA(n_components, **options).fit(X)
    np.testing.assert_allclose(a.eigenvalues_, b.eigenvalues_, rtol=1e-9)
    # a small eigenvalue takes digits from its vector
    gap = 1e-14 * a.eigenvalues_[0] / a.eigenvalues_[-1]
    np.testing.assert_allclose(a.transform(new), b.transform(new), rtol=0, atol=max(gap, 1e-8))
    if n_components:
        scores = b.transform(new)
        np.testing.assert_allclose(
            a.inverse_transform(scores), b.inverse_transform(scores), rtol=0, atol=1e-8
        )


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "cosine"])
def test_sparse_rows_and_given_matrices(kernel):
    X, y = DATA["two targets"]
    X = np.where(np.abs(X) > 0.7, X, 0)
    S = sparse.csr_array(X)
    ours = KernelRidge(0.7, kernel=kernel).fit(S, y)
    theirs = peer.KernelRidge(alpha=0.7, kernel=kernel).fit(S, y)
    np.testing.assert_allclose(ours.predict(S), theirs.predict(S), atol=1e-8)
    a = KernelPCA(3, kernel=kernel).fit(S)
    b = peer_decomposition.KernelPCA(3, kernel=kernel).fit(S)
    np.testing.assert_allclose(a.transform(S[:9]), b.transform(S[:9]), atol=1e-8)
    K = pairwise_kernels(X, metric=kernel)
    ours = KernelRidge(0.7, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(ours.predict(K[:9]), theirs.predict(S[:9]), atol=1e-8)
    a = KernelPCA(3, kernel="precomputed").fit(K)
    b = peer_decomposition.KernelPCA(3, kernel="precomputed").fit(K)
    np.testing.assert_allclose(a.transform(K[:9]), b.transform(K[:9]), atol=1e-8)


@pytest.mark.parametrize("coef0", [1.0, -0.5])
def test_kernel_pca_of_a_kernel_that_is_no_inner_product(coef0):
    X, new = DATA["two targets"][0], DATA["two targets"][0][:7] + 0.1
    options = {"kernel": "sigmoid", "gamma": 0.3, "coef0": coef0}
    a, b = KernelPCA(3, **options).fit(X), peer_decomposition.KernelPCA(3, **options).fit(X)
    np.testing.assert_allclose(a.eigenvalues_, b.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(a.transform(new)), np.abs(b.transform(new)), atol=1e-8)


def test_kernel_ridge_of_a_kernel_that_is_no_inner_product():
    X, y = DATA["wide"]
    options = {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.2}
    ours, theirs = KernelRidge(2.0, **options).fit(X, y), peer.KernelRidge(2.0, **options).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-9)
