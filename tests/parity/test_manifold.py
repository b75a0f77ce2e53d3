"""Manifolds, Boltzmann machines and Dirichlet-process mixtures against scikit-learn."""

import numpy as np
import pytest
import sklearn.manifold as peer
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits, make_s_curve, make_swiss_roll
from sklearn.mixture import BayesianGaussianMixture
from sklearn.neural_network import BernoulliRBM as PeerRBM

from panlearn.latent import (
    BernoulliRBM,
    DirichletProcessMixture,
    Isomap,
    LocallyLinearEmbedding,
)

# a little noise on the digits, whose whole numbers tie
noise = np.random.default_rng(0).normal(size=(500, 64))
DATA = {
    "digits": load_digits().data[:500] + 1e-3 * noise,
    "swiss roll": make_swiss_roll(400, random_state=0)[0],
    "s curve": make_s_curve(250, random_state=0)[0],
}
every = pytest.mark.parametrize("name", DATA)


def new_rows(X):
    return X[:50] + 0.05 * np.random.default_rng(1).normal(size=(50, X.shape[1]))


@every
@pytest.mark.parametrize("k", [2, 4])
def test_isomap(name, k):
    X = DATA[name]
    ours = Isomap(9, n_components=k).fit(X)
    theirs = peer.Isomap(n_neighbors=9, n_components=k).fit(X)
    scale = np.abs(theirs.embedding_).max()
    sign = np.sign((ours.embedding_ * theirs.embedding_).sum(axis=0))
    np.testing.assert_allclose(ours.dist_matrix_, theirs.dist_matrix_, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ours.embedding_, sign * theirs.embedding_, atol=1e-8 * scale)
    Q = new_rows(X)
    np.testing.assert_allclose(ours.transform(Q), sign * theirs.transform(Q), atol=1e-8 * scale)
    assert ours.reconstruction_error() == pytest.approx(theirs.reconstruction_error(), rel=1e-8)


@every
@pytest.mark.parametrize("k", [2, 3])
def test_locally_linear_embedding(name, k):
    X = DATA[name]
    ours = LocallyLinearEmbedding(12, n_components=k).fit(X)
    theirs = peer.LocallyLinearEmbedding(
        n_neighbors=12, n_components=k, eigen_solver="dense", random_state=0
    ).fit(X)
    # the eigenvalues are around 1e-8 and the matrix has entries of ten: half the digits remain
    assert np.sin(subspace_angles(ours.embedding_, theirs.embedding_)).max() < 1e-5
    error = pytest.approx(theirs.reconstruction_error_, rel=1e-5, abs=1e-13)
    assert ours.reconstruction_error_ == error
    Q = new_rows(X)
    sign = np.sign((ours.embedding_ * theirs.embedding_).sum(axis=0))
    np.testing.assert_allclose(ours.transform(Q), sign * theirs.transform(Q), atol=1e-5)


def test_rbm_learns_as_much_as_the_peer():
    X = load_digits().data[:600] / 16
    parameters = dict(n_components=40, learning_rate=0.06, n_iter=8, random_state=0)
    ours, theirs = BernoulliRBM(**parameters).fit(X), PeerRBM(**parameters).fit(X)
    twin = BernoulliRBM(**parameters).fit(X[:10])
    for name in ("components_", "intercept_hidden_", "intercept_visible_"):
        setattr(twin, name, getattr(theirs, name))
    np.testing.assert_allclose(twin.transform(X), theirs.transform(X), rtol=1e-9)
    np.testing.assert_allclose(twin.free_energy(X), theirs._free_energy(X), rtol=1e-9)
    # the peer's score is an estimate of ours from one feature a row
    estimates = [theirs.set_params(random_state=s).score_samples(X).mean() for s in range(30)]
    assert twin.score(X) == pytest.approx(np.mean(estimates), abs=4 * np.std(estimates) / 30**0.5)
    assert ours.score(X) > twin.score(X) - 0.5


@pytest.mark.parametrize("d", [2, 5])
def test_dirichlet_process_mixture_predicts_as_well_as_the_variational_peer(d):
    rng = np.random.default_rng(d)
    centres = 6 * rng.normal(size=(4, d))
    X, new = (centres[rng.integers(4, size=300)] + rng.normal(size=(300, d)) for _ in range(2))
    ours = DirichletProcessMixture(n_iter=100, n_burn_in=50, random_state=0).fit(X)
    theirs = BayesianGaussianMixture(
        n_components=12, weight_concentration_prior=1.0, max_iter=1000, random_state=0
    ).fit(X)
    assert ours.score(new) > theirs.score(new) - 0.1
    found, expected = ours.predict(new), theirs.predict(new)
    together = (found[:, None] == found) == (expected[:, None] == expected)
    assert together.mean() > 0.95
