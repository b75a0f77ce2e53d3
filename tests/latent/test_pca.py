"""PCA: its definition, its three ways, its density."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal

from panlearn.core.sources import ArrayRows
from panlearn.latent import PCA
from panlearn.latent._spectrum import from_moments, from_rows, randomised
from panlearn.latent.pca import _moments


@pytest.fixture(name="X")
def rows(rng):
    return rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6)) + 5


def test_components_are_eigenvectors_of_the_covariance(X):
    model = PCA().fit(X)
    assert model.svd_solver_ == "covariance_eigh"
    covariance = np.cov(X.T)
    np.testing.assert_allclose(
        covariance @ model.components_.T,
        model.components_.T * model.explained_variance_,
        atol=1e-12,
    )
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-13)
    np.testing.assert_allclose(model.get_covariance(), covariance, atol=1e-12)
    np.testing.assert_allclose(model.get_precision() @ covariance, np.eye(6), atol=1e-9)
    assert model.explained_variance_ratio_.sum() == pytest.approx(1)


@pytest.mark.parametrize("weighted", [False, True])
def test_three_ways_one_answer(X, rng, weighted):
    weight = rng.integers(0, 3, len(X)).astype(float) if weighted else None
    models = [
        PCA(3, svd_solver=solver, random_state=0).fit(X, sample_weight=weight)
        for solver in ("covariance_eigh", "full", "randomized")
    ]
    for model in models[1:]:
        assert model.svd_solver_ == model.svd_solver
        for name in ("components_", "explained_variance_", "singular_values_", "mean_"):
            # eigenvalues of the squares: twice the digits of the gaps are lost
            np.testing.assert_allclose(
                getattr(model, name), getattr(models[0], name), rtol=1e-8, atol=1e-9
            )
        assert model.noise_variance_ == pytest.approx(models[0].noise_variance_)


def test_the_way_is_chosen_by_shape(rng):
    assert PCA().fit(rng.normal(size=(100, 10))).svd_solver_ == "covariance_eigh"
    assert PCA(2).fit(rng.normal(size=(20, 60))).svd_solver_ == "full"
    wide = PCA(2, random_state=0).fit(rng.normal(size=(60, 600)))
    assert wide.svd_solver_ == "randomized"
    many = sparse.random(50, 1200, 0.05, "csr", rng=rng)
    assert PCA(3, random_state=0).fit(many).svd_solver_ == "randomized"


def test_sparse_rows_randomised(rng):
    X = sparse.random(80, 1200, 0.1, "csr", rng=rng) * 3
    weight = rng.random(80)
    ours = PCA(4, svd_solver="randomized", random_state=0).fit(X, sample_weight=weight)
    dense = PCA(4, svd_solver="full").fit(X.toarray(), sample_weight=weight)
    np.testing.assert_allclose(ours.explained_variance_, dense.explained_variance_, rtol=1e-2)
    assert ours.noise_variance_ == pytest.approx(dense.noise_variance_, rel=1e-3)


def test_signs_are_settled_when_two_entries_are_equally_large(rng):
    x = rng.normal(size=300)
    X = np.c_[x, -x] + 0.1 * rng.normal(size=(300, 2))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for rows in (X, X[::-1], X * (1 + 1e-14)):
        np.testing.assert_allclose(PCA(1).fit(rows).components_, [[0.5**0.5, -(0.5**0.5)]])


def test_share_of_the_variance(X):
    ratio = PCA().fit(X).explained_variance_ratio_.cumsum()
    for share in (0.1, 0.7, 0.99):
        k = PCA(share).fit(X).n_components_
        assert ratio[k - 1] > share
        assert k == 1 or ratio[k - 2] <= share


def test_flat_rows_have_as_many_components_as_they_vary_in(rng):
    X = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 5)) + 7
    assert PCA().fit(X).n_components_ == 2
    assert PCA(svd_solver="full").fit(X).n_components_ == 2
    assert PCA().fit(np.ones((30, 2))).n_components_ == 1
    with pytest.raises(ValueError, match=r"n_components=9 is more than n_features=5"):
        PCA(9).fit(X)


def test_whitening_and_the_way_back(X):
    model = PCA(whiten=True).fit(X)
    np.testing.assert_allclose(np.cov(model.transform(X).T), np.eye(6), atol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-10)
    short = PCA(2).fit(X)
    error = ((X - short.inverse_transform(short.transform(X))) ** 2).sum() / (len(X) - 1)
    assert error == pytest.approx(4 * short.noise_variance_)
    with pytest.raises(ValueError, match=r"\(n_samples, 2\)"):
        short.inverse_transform(X)


@pytest.mark.parametrize("k", [1, 3, 6])
def test_density(X, k):
    model = PCA(k).fit(X)
    expected = multivariate_normal(model.mean_, model.get_covariance()).logpdf(X)
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-9)
    np.testing.assert_allclose(model.score_samples(sparse.csr_array(X)), expected, rtol=1e-9)
    assert model.score(X) == pytest.approx(expected.mean())


def test_partial_fit_after_another_way_is_refused(X):
    model = PCA(2, svd_solver="full").fit(X)
    with pytest.raises(ValueError, match="kept no statistics"):
        model.partial_fit(X)
    with pytest.raises(ValueError, match="in memory"):
        PCA(svd_solver="full").fit([X, X])
    with pytest.raises(TypeError, match="sparse"):
        PCA(svd_solver="full").fit(sparse.csr_array(X))


def test_spectra_agree(X, rng):
    rows = ArrayRows(X, None, None)
    one, two, three = from_moments(_moments(rows)), from_rows(rows), randomised(rows, 6, rng)
    for other in (two, three):
        np.testing.assert_allclose(other.squares, one.squares, rtol=1e-9)
        assert other.total == pytest.approx(one.total)
        assert other.rank == one.rank == 6
