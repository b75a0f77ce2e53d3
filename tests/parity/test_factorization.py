"""Factorisations against scikit-learn, implicit and surprise."""

import warnings

import numpy as np
import pytest
import sklearn.decomposition as peer
from scipy import sparse
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning

from panlearn.latent import NMF, _nonnegative

DATA = {
    "wine": load_wine().data,
    "digits": load_digits().data[:300],
    "sparse": sparse.random(200, 50, 0.1, "csr", rng=np.random.default_rng(0)),
}
every = pytest.mark.parametrize("name", DATA)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def _start(X, k):
    rng = np.random.default_rng(k)
    scale = np.sqrt(X.mean() / k)
    return scale * rng.random((X.shape[0], k)), scale * rng.random((k, X.shape[1]))


@every
@pytest.mark.parametrize("k", [2, 6])
@pytest.mark.parametrize(
    "way",
    [
        {},
        {"alpha_W": 0.01, "alpha_H": 0.02, "l1_ratio": 0.3},
        {"solver": "mu"},
        {"solver": "mu", "beta_loss": "kullback-leibler"},
        {"solver": "mu", "beta_loss": "kullback-leibler", "alpha_W": 0.01, "l1_ratio": 0.5},
    ],
    ids=["cd", "cd penalised", "mu", "kl", "kl penalised"],
)
def test_nmf_takes_the_same_steps_from_the_same_start(name, k, way, monkeypatch):
    monkeypatch.setattr(_nonnegative, "SWEEPS", 1)  # the peer's number of sweeps
    X = DATA[name]
    W, H = _start(X, k)
    settings = dict(init="custom", max_iter=12, tol=0, **way)
    ours = NMF(k, **settings).fit(X, W=W, H=H)
    theirs = peer.NMF(k, **settings)
    theirs.fit_transform(X, W=W.copy(), H=H.copy())
    np.testing.assert_allclose(
        ours.components_, theirs.components_, rtol=1e-6, atol=1e-6 * theirs.components_.max()
    )
    assert ours.reconstruction_err_ == pytest.approx(theirs.reconstruction_err_, rel=1e-6)


@every
@pytest.mark.parametrize("k", [2, 6])
def test_nmf_left_alone_fits_as_well(name, k):
    X = DATA[name]
    ours = NMF(k, random_state=0).fit(X)
    theirs = peer.NMF(k, random_state=0, max_iter=400).fit(X)
    assert ours.reconstruction_err_ <= theirs.reconstruction_err_ * 1.005


@every
def test_nmf_transform(name):
    X = DATA[name]
    theirs = peer.NMF(3, random_state=0, max_iter=500, tol=1e-7).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours = NMF(3, init="custom", max_iter=1).fit(X, W=theirs.transform(X), H=theirs.components_)
    ours.components_ = theirs.components_
    # the peer stops when the rows together move little: ours is the lesser residual, and close
    rows = X.toarray() if sparse.issparse(X) else X
    residuals = [np.linalg.norm(rows - m.transform(X) @ m.components_) for m in (ours, theirs)]
    assert residuals[0] <= residuals[1] * (1 + 1e-6)
    assert residuals[0] == pytest.approx(residuals[1], rel=1e-3)
