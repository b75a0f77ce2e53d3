"""Components, clusters and mixtures against scikit-learn."""

import warnings

import numpy as np
import pytest
import sklearn.decomposition as peer
from sklearn import cluster, mixture
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from panlearn.latent import PCA, FactorAnalysis, GaussianMixture, KMeans, ProbabilisticPCA

DATA = {
    "iris": load_iris().data,
    "wine": load_wine().data,
    "digits": load_digits().data[:, 2:6] + load_digits().data[:, 10:14],
}
every = pytest.mark.parametrize("name", DATA)


@every
@pytest.mark.parametrize("k", [None, 2, 0.9, "mle"])
@pytest.mark.parametrize("whiten", [False, True])
def test_pca(name, k, whiten):
    X = DATA[name]
    ours = PCA(k, whiten=whiten).fit(X)
    theirs = peer.PCA(k, whiten=whiten, svd_solver="full").fit(X)
    assert ours.n_components_ == theirs.n_components_
    signs = np.sign(np.sum(ours.components_ * theirs.components_, axis=1))
    np.testing.assert_allclose(ours.components_, signs[:, None] * theirs.components_, atol=1e-7)
    np.testing.assert_allclose(ours.transform(X), signs * theirs.transform(X), rtol=1e-6, atol=1e-5)
    for attribute in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(getattr(ours, attribute), getattr(theirs, attribute), rtol=1e-7)
    rounding = 1e-14 * ours.explained_variance_[0]  # each variance has it
    assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, rel=1e-9, abs=rounding)
    if whiten:
        return  # the peer's covariance then has its variances squared
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-6)
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), rtol=1e-7, atol=1e-7)


@every
@pytest.mark.parametrize("k", [3, 8])
def test_k_means_from_the_same_start(name, k):
    X = DATA[name] + 1e-4 * np.random.default_rng(1).normal(size=DATA[name].shape)  # no ties
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    init = X[np.random.default_rng(k).choice(len(X), k, replace=False)]
    ours = KMeans(k, init=init, tol=0).fit(X, sample_weight=weight)
    theirs = cluster.KMeans(k, init=init, n_init=1, tol=0).fit(X, sample_weight=weight)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-9)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.inertia_ == pytest.approx(theirs.inertia_)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-6)
    assert ours.score(X, None, weight) == pytest.approx(theirs.score(X, None, weight))


@every
@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_gaussian_mixture_from_the_same_start(name, kind):
    X = StandardScaler().fit_transform(DATA[name])
    start = mixture.GaussianMixture(3, covariance_type=kind, random_state=0, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start.fit(X)
    same = {
        "covariance_type": kind,
        "weights_init": start.weights_,
        "means_init": start.means_,
        "precisions_init": start.precisions_,
        "max_iter": 40,
        "tol": 0.0,
        "reg_covar": 1e-9,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours = GaussianMixture(3, **same).fit(X)
        theirs = mixture.GaussianMixture(3, **same).fit(X)
    # the peer adds its floor of 1e-9 to the diagonal
    np.testing.assert_allclose(ours.means_, theirs.means_, atol=1e-5)
    np.testing.assert_allclose(ours.weights_, theirs.weights_, atol=1e-5)
    np.testing.assert_allclose(ours.covariances_, theirs.covariances_, atol=1e-5)
    assert ours.score(X) == pytest.approx(theirs.score(X), abs=1e-6)
    assert ours.bic(X) == pytest.approx(theirs.bic(X), abs=1e-2)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@every
@pytest.mark.parametrize("k", [1, 2])
def test_factor_analysis(name, k):
    X = StandardScaler().fit_transform(DATA[name])
    ours = FactorAnalysis(k, tol=1e-12, max_iter=5000).fit(X)
    theirs = peer.FactorAnalysis(k, tol=1e-8, max_iter=2000, svd_method="lapack")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it crawls where noise goes to zero
        theirs.fit(X)
    assert ours.score(X) >= theirs.score(X) - 1e-9
    if name != "wine":
        return  # four features: some noise goes to zero, and the peer is far from done
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=2e-4)
    np.testing.assert_allclose(ours.noise_variance_, theirs.noise_variance_, atol=2e-4)
    signs = np.sign(np.sum(ours.components_ * theirs.components_, axis=1))
    np.testing.assert_allclose(ours.transform(X), signs * theirs.transform(X), atol=2e-2)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), atol=2e-2)


@pytest.mark.parametrize("rotation", ["varimax", "quartimax"])
def test_rotated_factors(rotation):
    X = StandardScaler().fit_transform(DATA["wine"])
    ours = FactorAnalysis(2, rotation=rotation, tol=1e-12).fit(X)
    theirs = peer.FactorAnalysis(2, rotation=rotation, tol=1e-10, svd_method="lapack").fit(X)
    overlap = np.abs(ours.components_ @ theirs.components_.T)
    order = overlap.argmax(axis=1)
    signs = np.sign(np.sum(ours.components_ * theirs.components_[order], axis=1))
    expected = signs[:, None] * theirs.components_[order]
    np.testing.assert_allclose(ours.components_, expected, atol=1e-2)  # theirs stops at 1e-6


@every
def test_probabilistic_pca(name):
    """scikit-learn has its density, with variances over n - 1 instead of n."""
    X = DATA[name]
    n = len(X)
    ours, theirs = ProbabilisticPCA(2).fit(X), peer.PCA(2).fit(X)
    covariance = theirs.get_covariance() * (n - 1) / n
    np.testing.assert_allclose(ours.get_covariance(), covariance, atol=1e-9 * covariance.max())
    assert ours.score(X) >= theirs.score(X)


@pytest.mark.parametrize("noise", [0.2, 1.0, 2.0])
def test_the_most_probable_number_of_components(noise):
    """Few rows, so that the width of the posterior has a say and not the fit alone."""
    chosen = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(25, 3)) @ rng.normal(size=(3, 8)) + noise * rng.normal(size=(25, 8))
        ours = PCA("mle", svd_solver="full").fit(X).n_components_
        assert ours == peer.PCA("mle", svd_solver="full").fit(X).n_components_
        chosen.append(ours)
    assert min(chosen) < 7


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("init_params", ["random", "random_from_data", "k-means++", "kmeans"])
def test_mixtures_from_any_start_are_as_likely(kind, init_params):
    X = load_iris().data
    # without a floor a component may sit on a few rows of iris that lie in a plane
    options = dict(covariance_type=kind, init_params=init_params, reg_covar=0.02, max_iter=500)
    ours = GaussianMixture(3, n_init=10, random_state=0, **options).fit(X)
    theirs = mixture.GaussianMixture(3, n_init=10, random_state=0, **options).fit(X)
    # either may find the better maximum: ten starts find one about as good
    assert ours.score(X) >= theirs.score(X) - 0.02


def test_a_mixture_goes_on_where_it_was():
    X = load_iris().data
    options = dict(init_params="k-means++", tol=0.0, warm_start=True, random_state=0)
    model = GaussianMixture(3, max_iter=2, **options)
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    at = dict(
        weights_init=model.weights_, means_init=model.means_, precisions_init=model.precisions_
    )
    theirs = mixture.GaussianMixture(3, max_iter=2, tol=0.0, reg_covar=0, **at)
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    with pytest.warns(ConvergenceWarning):
        theirs.fit(X)
    np.testing.assert_allclose(model.means_, theirs.means_, rtol=1e-6)
    np.testing.assert_allclose(model.covariances_, theirs.covariances_, rtol=1e-5, atol=1e-8)


def test_kmeans_with_a_function_for_a_start():
    X, seen = load_iris().data, []

    def first_rows(rows, n_clusters, random_state):
        seen.append(random_state.randint(10**6))
        return rows[np.lexsort(rows.T)][:n_clusters]

    ours = KMeans(3, init=first_rows, random_state=0).fit(X)
    assert len(set(seen)) == 10
    start = np.unique(X, axis=0)
    start = start[np.lexsort(start.T)][:3]
    theirs = cluster.KMeans(3, init=start, n_init=1).fit(X)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-10)
    with pytest.raises(ValueError, match=r"finite centres of shape \(3, 4\)"):
        KMeans(3, init=lambda rows, k, random_state: rows[:1]).fit(X)


@pytest.mark.parametrize("shape", [(40, 90), (90, 40)])
def test_pca_of_noise_by_every_way_of_the_peer(rng, shape):
    X = rng.normal(size=shape)
    theirs = peer.PCA(4, svd_solver="full").fit(X)
    for solver in ("auto", "full", "covariance_eigh", "arpack"):
        ours = PCA(4, svd_solver=solver, tol=0.0, random_state=0).fit(X)
        for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9)
        assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, rel=1e-9)
        np.testing.assert_allclose(np.abs(ours.components_), np.abs(theirs.components_), atol=1e-9)
        np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-8)
    few, many = (
        PCA(4, svd_solver="randomized", iterated_power=p, n_oversamples=o, random_state=0).fit(X)
        for p, o in ((0, 1), (60, 20))
    )
    np.testing.assert_allclose(many.explained_variance_, theirs.explained_variance_, rtol=1e-6)
    assert (few.explained_variance_ < 0.98 * theirs.explained_variance_).any()
