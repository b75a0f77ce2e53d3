"""Hidden Markov models agree with hmmlearn, iteration by iteration, on the same sequences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from panlearn.sequence import CategoricalHMM, GaussianHMM

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
