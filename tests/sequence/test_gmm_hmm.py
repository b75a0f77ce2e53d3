"""States with mixtures: the special cases that other models solve, and the law of the parts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import dirichlet, invgamma, invwishart, multivariate_normal
from sklearn.base import clone

from panlearn.latent import GaussianMixture
from panlearn.sequence import GMMHMM, GaussianHMM

COVARIANCES = ("diag", "full", "tied", "spherical")


def sequences(rng, missing=False):
    X = [rng.normal(size=(n, 2)) * [1, 3] + 4 * rng.integers(2, size=(n, 1)) for n in (30, 1, 25)]
    if missing:
        X[0][3], X[2][4, 0] = np.nan, np.nan
    return X


@pytest.mark.parametrize("kind", COVARIANCES)
def test_with_one_part_it_is_the_gaussian_model(kind, rng, library):
    X, means = sequences(rng, missing=True), rng.normal(size=(3, 2))
    same = {"covariance_type": kind, "max_iter": 5, "random_state": 0}
    plain = GaussianHMM(3, means_init=means, **same)
    mixed = GMMHMM(3, 1, means_init=means[:, None], **same)
    for model in (plain, mixed):
        library.quietly(lambda model=model: model.fit(X))
    assert_allclose(mixed.means_[:, 0], plain.means_, atol=1e-12)
    assert_allclose(mixed.covars_.reshape(plain.covars_.shape), plain.covars_, atol=1e-12)
    assert_allclose(mixed.transmat_, plain.transmat_, atol=1e-12)
    assert_array_equal(mixed.weights_, np.ones((3, 1)))
    assert_allclose(mixed.score_samples(X), plain.score_samples(X), rtol=1e-12)
    assert_allclose(mixed.bic(X), plain.bic(X), rtol=1e-12)


@pytest.mark.parametrize("kind", COVARIANCES)
def test_with_one_state_it_is_the_mixture(kind, rng, library):
    X = np.vstack(sequences(rng, missing=True))
    means = rng.normal(size=(3, 2))
    shape = {"diag": (3, 2), "full": (3, 2, 2), "tied": (2, 2), "spherical": (3,)}[kind]
    start = np.broadcast_to(np.eye(2), shape) if kind in ("full", "tied") else np.ones(shape)
    mixture = GaussianMixture(
        3,
        covariance_type=kind,
        weights_init=[0.2, 0.3, 0.5],
        means_init=means,
        precisions_init=start,
        max_iter=6,
        tol=0.0,
    )
    model = GMMHMM(
        1,
        3,
        covariance_type=kind,
        weights_init=[[0.2, 0.3, 0.5]],
        means_init=means[None],
        covars_init=start if kind == "tied" else start[None],
        max_iter=6,
        tol=0.0,
    )
    library.quietly(lambda: mixture.fit(X))
    library.quietly(lambda: model.fit(X))
    assert_allclose(model.weights_[0], mixture.weights_, atol=1e-12)
    assert_allclose(model.means_[0], mixture.means_, atol=1e-10)
    covariances = model.covars_ if kind == "tied" else model.covars_[0]
    assert_allclose(covariances, mixture.covariances_, atol=1e-10)
    assert_allclose(model.score(X), mixture.score_samples(X).sum(), rtol=1e-12)


@pytest.mark.parametrize("training", ["baum-welch", "viterbi"])
@pytest.mark.parametrize("kind", COVARIANCES)
def test_the_likelihood_never_falls(kind, training, rng, library):
    X = sequences(rng, missing=True)
    model = GMMHMM(
        2, 3, covariance_type=kind, training=training, max_iter=15, tol=0.0, random_state=0
    )
    library.quietly(lambda: model.fit(X))
    history = model.history_["log_likelihood"]
    assert np.diff(history).min() > -1e-9
    assert_allclose(model.weights_.sum(axis=1), 1, atol=1e-12)


def test_densities_and_samples_are_those_of_the_mixtures(rng):
    model = GMMHMM(2, 2, covariance_type="full", random_state=0).fit(sequences(rng))
    x = rng.normal(size=(5, 2))
    expected = [
        [
            sum(
                model.weights_[i, j]
                * multivariate_normal(model.means_[i, j], model.covars_[i, j]).pdf(row)
                for j in range(2)
            )
            for i in range(2)
        ]
        for row in x
    ]
    assert_allclose(np.exp(model._emission().log_densities(x)), expected, rtol=1e-9)
    drawn, states = model.sample(40_000, random_state=0)
    for i in range(2):
        here = drawn[states == i]
        mean = model.weights_[i] @ model.means_[i]
        spread = here.std(axis=0) / np.sqrt(len(here))
        assert (np.abs(here.mean(axis=0) - mean) < 5 * spread).all()


def test_known_states_hold_their_own_parts(rng):
    near = np.where(rng.random(60) < 0.5, -1.0, 1.0) + 0.1 * rng.normal(size=60)
    far = np.where(rng.random(60) < 0.5, 6.0, 12.0) + 0.1 * rng.normal(size=60)
    X, y = np.r_[near, far, near][:, None], np.full(180, -1)
    y[60:80], y[:20] = 0, 1
    model = GMMHMM(2, 2, random_state=0).fit(X, y)
    assert_array_equal(model.predict(X), np.repeat([1, 0, 1], 60))
    assert_allclose(np.sort(model.means_[0].ravel()), [6, 12], atol=0.1)  # five standard errors
    with pytest.raises(ValueError, match="weights_init"):
        GMMHMM(2, 2, weights_init=[[0.5, 0.6], [1, 0]]).fit(X)


def test_restarts_find_states_whose_parts_lie_apart(rng):
    places = np.array([[[-4.0, 0.0], [4.0, 0.0]], [[0.0, -4.0], [0.0, 4.0]]])
    truth = np.repeat([0, 1, 0, 1], 60)
    X = places[truth, rng.integers(2, size=240)] + rng.normal(size=(240, 2))
    model = GMMHMM(2, 2, n_init=12, random_state=0).fit(X)  # a third of the deals are right
    agree = np.mean(model.predict(X) == truth)
    assert max(agree, 1 - agree) > 0.98


@pytest.mark.parametrize("model", [GaussianHMM(2, covariance_type="full"), GMMHMM(2, 2)])
def test_covariances_stay_definite_in_single_precision(model, rng, library):
    a = rng.normal(size=(400, 3))
    X = 100 * np.column_stack([a, a @ rng.normal(size=(3, 2))]).astype(np.float32)
    model = clone(model).set_params(covariance_type="full", random_state=0)
    library.quietly(lambda: model.fit(X))
    assert model.covars_.dtype == np.float32
    assert np.isfinite(model.score(X))


PRIORS = {
    "diag": {"covars_prior": 1.5, "covars_weight": 0.8},
    "spherical": {"covars_prior": 1.5, "covars_weight": 0.8},
    "full": {"covars_prior": np.broadcast_to(0.5 * np.eye(2), (2, 2, 2, 2)), "covars_weight": 4.0},
    "tied": {"covars_prior": np.array([[0.9, 0.2], [0.2, 0.6]]), "covars_weight": 4.0},
}
MEANS_PRIOR, MEANS_WEIGHT, WEIGHTS_PRIOR = 0.5, 2.0, 3.0


def log_posterior(model, kind, X):
    """The likelihood times the densities of the priors, as SciPy has them."""
    total, prior = model.score(X), PRIORS[kind]
    for state in range(2):
        total += dirichlet(np.full(2, WEIGHTS_PRIOR)).logpdf(model.weights_[state])
        for part in range(2):
            covariance = model.covars_ if kind == "tied" else model.covars_[state, part]
            matrix = covariance if np.ndim(covariance) == 2 else covariance * np.eye(2)
            mean = multivariate_normal(np.full(2, MEANS_PRIOR), matrix / MEANS_WEIGHT)
            total += mean.logpdf(model.means_[state, part])
            if kind in ("diag", "spherical"):
                variance = invgamma(prior["covars_prior"], scale=prior["covars_weight"])
                total += variance.logpdf(covariance).sum()
            elif kind == "full":
                total += invwishart(4.0, prior["covars_prior"][state, part]).logpdf(matrix)
    return total + (invwishart(4.0, prior["covars_prior"]).logpdf(matrix) if kind == "tied" else 0)


@pytest.mark.parametrize("kind", COVARIANCES)
def test_with_priors_the_mode_of_the_posterior_is_found(kind, rng, library):
    X = sequences(rng)[0]
    options = {"means_prior": MEANS_PRIOR, "means_weight": MEANS_WEIGHT}
    options |= {"weights_prior": WEIGHTS_PRIOR, "covariance_type": kind, "tol": 0.0}
    options |= {"means_init": rng.normal(size=(2, 2, 2))}
    values = []
    for steps in (1, 2, 4, 150):
        model = GMMHMM(2, 2, max_iter=steps, **options, **PRIORS[kind])
        library.quietly(lambda model=model: model.fit(X))
        values.append(log_posterior(model, kind, X))
    assert np.diff(values).min() > -1e-9
    for name in ("means_", "covars_", "weights_"):
        found = getattr(model, name)
        for _ in range(8):
            move = 1e-3 * rng.normal(size=found.shape)
            if name == "covars_" and found.ndim > 1 and kind in ("full", "tied"):
                move = move + move.swapaxes(-1, -2)
            near = found + move
            setattr(model, name, near / near.sum(axis=1)[:, None] if name == "weights_" else near)
            assert log_posterior(model, kind, X) < values[-1], name
        setattr(model, name, found)


def test_priors_that_are_none_are_named(rng):
    X = sequences(rng)[0]
    for bad, says in (
        ({"weights_prior": 0.5}, "weights_prior"),
        ({"means_prior": np.zeros(3)}, "means_prior must hold finite numbers of shape"),
        ({"covars_prior": -3.0}, "take weight away"),
        ({"means_weight": np.full((2, 2), -1.0)}, "means_weight must not be negative"),
    ):
        with pytest.raises(ValueError, match=says):
            GMMHMM(2, 2, **bad).fit(X)
