"""Hidden Markov models agree with hmmlearn, iteration by iteration, on the same sequences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from panlearn.sequence import GMMHMM, CategoricalHMM, GaussianHMM

hmm = pytest.importorskip("hmmlearn.hmm", reason="needs hmmlearn: pip install 'panlearn[peers]'")

K, D, V = 4, 3, 6
LENGTHS = [40, 7, 1, 90]


@pytest.fixture
def start(rng):
    return {
        "startprob": rng.dirichlet(np.ones(K)),
        "transmat": rng.dirichlet(np.ones(K), K),
        "means": rng.normal(size=(K, D)),
        "emissionprob": rng.dirichlet(np.ones(V), K),
    }


def _covariances(kind):
    eye = np.eye(D)
    return {
        "diag": np.ones((K, D)),
        "full": np.stack([eye] * K),
        "tied": eye,
        "spherical": np.ones(K),
    }[kind]


def _peer(model, **learned):
    for name, value in learned.items():
        setattr(model, f"{name}_", value)
    return model


def _ours(cls, start, names, n_iter, library, X, **more):
    given = {f"{name}_init": start[name] for name in names}
    model = cls(K, max_iter=n_iter, tol=0.0, **given, **more)
    return library.quietly(lambda: model.fit(X))


@pytest.mark.parametrize("implementation", ["log", "scaling"])
@pytest.mark.parametrize("kind", ["diag", "full", "tied", "spherical"])
def test_gaussian(kind, implementation, start, rng, library):
    X = rng.normal(size=(sum(LENGTHS), D)) + rng.integers(2, size=(sum(LENGTHS), 1))
    parts = np.split(X, np.cumsum(LENGTHS)[:-1])
    # the peer adds a prior to covariances by default; this is none
    none = {"covars_prior": 0.0, "covars_weight": 1.0 if kind in ("diag", "spherical") else 0.0}
    peer = hmm.GaussianHMM(
        K, kind, n_iter=8, tol=-np.inf, init_params="", implementation=implementation, **none
    )
    peer.n_features = D  # covars_ is held against it
    covariances = _covariances(kind)
    _peer(peer, **{name: start[name] for name in ("startprob", "transmat", "means")})
    peer.covars_ = covariances
    peer.fit(X, LENGTHS)
    ours = _ours(
        GaussianHMM,
        {**start, "covars": covariances},
        ("startprob", "transmat", "means", "covars"),
        8,
        library,
        parts,
        covariance_type=kind,
    )
    assert_allclose(ours.startprob_, peer.startprob_, atol=1e-10)
    assert_allclose(ours.transmat_, peer.transmat_, atol=1e-10)
    assert_allclose(ours.means_, peer.means_, atol=1e-9)
    raw = peer._covars_  # the property of the peer gives matrices for every kind
    assert_allclose(ours.covars_, raw[:, 0] if kind == "spherical" else raw, atol=1e-9)
    history = np.array(ours.history_["log_likelihood"]) * len(X)
    assert_allclose(history, list(peer.monitor_.history), rtol=1e-10)
    assert_allclose(ours.score_samples(parts).sum(), peer.score(X, LENGTHS), rtol=1e-10)
    assert_allclose(np.vstack(ours.predict_proba(parts)), peer.predict_proba(X, LENGTHS), atol=1e-9)
    value, states = ours.decode(parts)
    expected, path = peer.decode(X, LENGTHS)
    assert_allclose(value.sum(), expected, rtol=1e-10)
    assert_array_equal(np.concatenate(states), path)
    assert_allclose(ours.bic(parts), peer.bic(X, LENGTHS), rtol=1e-10)
    assert_allclose(ours.aic(parts), peer.aic(X, LENGTHS), rtol=1e-10)


# covariances without means are not compared: the peer then collects no sum of the steps
@pytest.mark.parametrize("params", ["stmc", "smc", "tm"])
@pytest.mark.parametrize("kind", ["diag", "full", "tied", "spherical"])
def test_gaussian_priors(kind, params, start, rng, library):
    X = rng.normal(size=(sum(LENGTHS), D)) + rng.integers(2, size=(sum(LENGTHS), 1))
    weight, means = rng.uniform(0.5, 3, size=K), rng.normal(size=(K, D))
    priors = {"startprob_prior": 1.5, "transmat_prior": 2.0, "means_prior": means}
    priors |= {"covars_prior": 0.3, "covars_weight": 6.5}
    # a number for each state: of the peer's broadcasting a column, and for matrices one number
    column = weight[:, None] if kind in ("diag", "spherical") else 1.7
    weight = weight if kind in ("diag", "spherical") else np.full(K, 1.7)
    options = {"n_iter": 6, "tol": -np.inf, "init_params": "", "params": params}
    peer = hmm.GaussianHMM(K, kind, means_weight=column, **options, **priors)
    peer.n_features = D
    given = {name: start[name] for name in ("startprob", "transmat", "means")}
    _peer(peer, **given).covars_ = _covariances(kind)
    peer.fit(X, LENGTHS)
    ours = GaussianHMM(
        K,
        covariance_type=kind,
        means_weight=weight,
        max_iter=6,
        tol=0.0,
        params=params,
        init_params="",
        **priors,
    )
    _peer(ours, **given, covars=_covariances(kind))
    library.quietly(lambda: ours.fit(X, lengths=LENGTHS))
    for name in ("startprob_", "transmat_", "means_"):
        assert_allclose(getattr(ours, name), getattr(peer, name), atol=1e-9, err_msg=name)
    raw = peer._covars_
    raw = raw[:, 0] if raw.ndim > np.ndim(ours.covars_) else raw  # a spherical one is repeated
    assert_allclose(ours.covars_, raw, atol=1e-9)
    assert_array_equal(np.concatenate(ours.predict(X, LENGTHS)), peer.predict(X, LENGTHS))
    value, path = ours.decode(X, LENGTHS)
    assert_allclose(value.sum(), peer.decode(X, LENGTHS)[0], rtol=1e-10)
    assert_allclose(ours.score_samples(X, LENGTHS).sum(), peer.score(X, LENGTHS), rtol=1e-10)
    told = GaussianHMM.from_parameters(
        peer.startprob_, peer.transmat_, peer.means_, ours.covars_, covariance_type=kind
    )
    assert_array_equal(np.concatenate(told.predict(X, LENGTHS)), np.concatenate(path))


@pytest.mark.parametrize("prior", [1.0, 1.5])
@pytest.mark.parametrize("implementation", ["log", "scaling"])
def test_categorical(implementation, prior, start, rng, library):
    X = rng.integers(V, size=sum(LENGTHS))
    parts = np.split(X, np.cumsum(LENGTHS)[:-1])
    priors = {f"{n}_prior": prior for n in ("startprob", "transmat", "emissionprob")}
    peer = hmm.CategoricalHMM(
        K, n_iter=8, tol=-np.inf, init_params="", implementation=implementation, **priors
    )
    peer.n_features = V
    names = ("startprob", "transmat", "emissionprob")
    _peer(peer, **{name: start[name] for name in names}).fit(X[:, None], LENGTHS)
    ours = _ours(CategoricalHMM, start, names, 8, library, parts, **priors)
    for name in names:
        assert_allclose(
            getattr(ours, f"{name}_"), getattr(peer, f"{name}_"), atol=1e-10, err_msg=name
        )
    column = X[:, None]
    assert_allclose(ours.score_samples(parts).sum(), peer.score(column, LENGTHS), rtol=1e-10)
    assert_allclose(
        np.vstack(ours.predict_proba(parts)), peer.predict_proba(column, LENGTHS), atol=1e-9
    )
    expected, path = peer.decode(column, LENGTHS)
    value, states = ours.decode(parts)
    assert_allclose(value.sum(), expected, rtol=1e-10)
    assert_array_equal(np.concatenate(states), path)


@pytest.mark.parametrize("kind", ["diag", "full", "spherical"])
def test_mixtures(kind, start, rng, library):
    X = rng.normal(size=(sum(LENGTHS), D)) * [1, 2, 3] + 4 * rng.integers(2, size=(sum(LENGTHS), 1))
    parts, m = np.split(X, np.cumsum(LENGTHS)[:-1]), 2
    means, weights = rng.normal(size=(K, m, D)), rng.dirichlet(np.ones(m), K)
    shape = {"diag": (K, m, D), "full": (K, m, D, D), "spherical": (K, m)}[kind]
    covariances = np.broadcast_to(np.eye(D), shape) if kind == "full" else np.ones(shape)
    options = {"n_iter": 1, "tol": -np.inf, "init_params": "", "min_covar": 0.0}
    if kind == "spherical":  # the peer's own default is a prior; this is none
        options["covars_prior"] = np.full((K, m), -D / 2 - 1)
    peer = hmm.GMMHMM(K, m, covariance_type=kind, **options)
    peer.n_features = D
    _peer(peer, startprob=start["startprob"], transmat=start["transmat"])
    _peer(peer, means=means.copy(), covars=covariances.copy(), weights=weights.copy())
    peer.fit(X, LENGTHS)
    names = ("startprob", "transmat", "means", "weights", "covars")
    given = {**start, "means": means, "weights": weights, "covars": covariances}
    more = {"covariance_type": kind, "n_mix": m, "min_covar": 0.0}
    ours = _ours(GMMHMM, given, names, 1, library, parts, **more)
    for name in names[:-1]:
        found, expected = getattr(ours, f"{name}_"), getattr(peer, f"{name}_")
        assert_allclose(found, expected, atol=1e-9, err_msg=name)
    # the peer takes covariances about the means that were, which is no maximum
    step = ours.means_ - means
    about = {
        "diag": step**2,
        "full": step[..., :, None] * step[..., None, :],
        "spherical": (step**2).mean(axis=2),
    }[kind]
    assert_allclose(ours.covars_ + about, peer.covars_, atol=1e-9)
    peer.covars_ = ours.covars_
    assert_allclose(ours.score_samples(parts).sum(), peer.score(X, LENGTHS), rtol=1e-10)
    assert_allclose(np.vstack(ours.predict_proba(parts)), peer.predict_proba(X, LENGTHS), atol=1e-9)
    assert_array_equal(np.concatenate(ours.predict(parts)), peer.predict(X, LENGTHS))


# both at once are not compared: the peer takes covariances about the means that were
@pytest.mark.parametrize("params", ["stmw", "stcw"])
@pytest.mark.parametrize("kind", ["diag", "full", "spherical"])
def test_priors_of_mixtures(kind, params, start, rng, library):
    X = rng.normal(size=(sum(LENGTHS), D)) * [1, 2, 3] + 4 * rng.integers(2, size=(sum(LENGTHS), 1))
    parts, m = np.split(X, np.cumsum(LENGTHS)[:-1]), 2
    means, weights = rng.normal(size=(K, m, D)), rng.dirichlet(np.ones(m), K)
    shape = {"diag": (K, m, D), "full": (K, m, D, D), "spherical": (K, m)}[kind]
    covariances = np.broadcast_to(np.eye(D), shape) if kind == "full" else np.ones(shape)
    scale = np.broadcast_to(2 * np.eye(D), shape) if kind == "full" else rng.uniform(1, 3, (K, m))
    priors = {"means_prior": rng.normal(size=(K, m, D)), "weights_prior": 2.5}
    priors |= {"means_weight": rng.uniform(3, 9, (K, m)), "covars_weight": 6.5}
    priors |= {"startprob_prior": 1.5, "transmat_prior": 2.0}
    column = scale[:, :, None] if kind == "diag" else scale
    options = {"n_iter": 5, "tol": -np.inf, "init_params": "", "min_covar": 0.0}
    options["params"] = params
    peer = hmm.GMMHMM(K, m, covariance_type=kind, covars_prior=column, **options, **priors)
    peer.n_features = D
    _peer(peer, startprob=start["startprob"], transmat=start["transmat"])
    _peer(peer, means=means.copy(), covars=covariances.copy(), weights=weights.copy())
    peer.fit(X, LENGTHS)
    names = ("startprob", "transmat", "means", "weights", "covars")
    given = {**start, "means": means, "weights": weights, "covars": covariances}
    more = {"covariance_type": kind, "n_mix": m, "min_covar": 0.0, "covars_prior": scale}
    more["params"] = params
    ours = _ours(GMMHMM, given, names, 5, library, parts, **more, **priors)
    for name in names:
        assert_allclose(getattr(ours, f"{name}_"), getattr(peer, f"{name}_"), atol=1e-9)
