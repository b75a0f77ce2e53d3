"""Factorisations against scikit-learn, implicit and surprise."""

import warnings

import numpy as np
import pytest
import sklearn.decomposition as peer
from scipy import sparse
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from panlearn.core.threads import threads
from panlearn.latent import NMF, MatrixFactorization, Ratings, _nonnegative
from panlearn.latent._rating_factors import Alternation, Loss
from panlearn.latent._stochastic_factors import _steps

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
    for sweeps in ("SWEEPS", "MORE_SWEEPS"):
        monkeypatch.setattr(_nonnegative, sweeps, 1)  # the peer's number
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


@pytest.mark.parametrize("name", ["wine", "digits"])
@pytest.mark.parametrize("beta", ["itakura-saito", -0.5, 0.5, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("penalty", [{}, {"alpha_W": 0.01, "l1_ratio": 0.4}])
def test_nmf_of_any_beta_takes_the_same_steps_from_the_same_start(name, beta, penalty):
    X = DATA[name] + 1.0  # below 0 the divergence of a zero is infinite
    W, H = _start(X, 3)
    settings = dict(init="custom", solver="mu", beta_loss=beta, max_iter=10, tol=0, **penalty)
    ours = NMF(3, **settings).fit(X, W=W, H=H)
    theirs = peer.NMF(3, **settings)
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
    # the peer stops when the rows together move little, far from the solution if parts are alike
    rows = X.toarray() if sparse.issparse(X) else X
    residuals = [np.linalg.norm(rows - m.transform(X) @ m.components_) for m in (ours, theirs)]
    assert residuals[0] <= residuals[1] * (1 + 1e-9)
    assert residuals[0] == pytest.approx(residuals[1], rel=0.03)


def _counts(seed, shape=(80, 30)):
    rng = np.random.default_rng(seed)
    return sparse.csr_array(rng.poisson(rng.gamma(0.3, size=shape)).astype(float))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("exact", [True, False], ids=["cholesky", "conjugate gradients"])
def test_implicit_als_takes_the_same_steps_from_the_same_start(seed, exact):
    als = pytest.importorskip("implicit.als", reason="the peer implicit is not installed")
    X, alpha = _counts(seed), 3.0
    loss = Loss(implicit=True, regularization=0.1, alpha=alpha, mean=0.0, biased=False)
    sides = Alternation(X, loss, 4, np.random.default_rng(seed), exact=exact)
    # the peer's weight of an entry is what it is given
    weights = sparse.csr_matrix((1 + alpha * X.data, X.indices, X.indptr), shape=X.shape)
    with threadpool_limits(1):  # the peer warns if BLAS has more
        theirs = als.AlternatingLeastSquares(
            factors=4, regularization=0.1, iterations=6, use_cg=not exact, dtype=np.float64
        )
        theirs.user_factors, theirs.item_factors = sides.users.copy(), sides.items.copy()
        theirs.fit(weights, show_progress=False)
    with threads() as share:
        for _ in range(6):
            sides.iterate(share)
    expected = theirs.user_factors @ theirs.item_factors.T
    np.testing.assert_allclose(sides.users @ sides.items.T, expected, atol=1e-6)
    model = MatrixFactorization(
        4,
        feedback="implicit",
        alpha=alpha,
        regularization=0.1,
        random_state=seed,
        max_iter=6,
        tol=0,
    )
    model.set_params(solver="als" if exact else "als-cg").fit(X)
    ours = model.recommend(range(10), 5)
    items, scores = theirs.recommend(np.arange(10), weights[:10], N=5)
    np.testing.assert_allclose(ours.scores, scores, atol=1e-6)
    np.testing.assert_array_equal(ours.items, items)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("biased", [True, False])
def test_stochastic_steps_are_those_of_surprise(seed, biased):
    surprise = pytest.importorskip("surprise", reason="the peer scikit-surprise is not installed")
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(np.unique(rng.integers(0, 25, (200, 2)), axis=0), columns=["u", "i"])
    table["r"] = rng.integers(1, 6, len(table)).astype(float)
    data = surprise.Dataset.load_from_df(table, surprise.Reader(rating_scale=(1, 5)))
    train = data.build_full_trainset()
    theirs = surprise.SVD(n_factors=5, n_epochs=4, biased=biased, random_state=seed).fit(train)
    start = np.random.RandomState(seed)
    users, items = np.zeros((train.n_users, 6)), np.zeros((train.n_items, 6))
    users[:, :5] = start.normal(0, 0.1, (train.n_users, 5))
    items[:, :5] = start.normal(0, 0.1, (train.n_items, 5))
    u, i, r = (np.array(column) for column in zip(*train.all_ratings(), strict=True))
    r = r - train.global_mean if biased else r
    for _ in range(4):
        _steps(u, i, r, users, items, biased, np.array([0.005, 1 - 0.005 * 0.02]))
    np.testing.assert_allclose(users[:, :5], theirs.pu, atol=1e-12)
    np.testing.assert_allclose(items[:, :5], theirs.qi, atol=1e-12)
    np.testing.assert_allclose(users[:, 5], theirs.bu, atol=1e-12)
    np.testing.assert_allclose(items[:, 5], theirs.bi, atol=1e-12)


def test_stochastic_gradients_predict_as_well_as_surprise():
    surprise = pytest.importorskip("surprise", reason="the peer scikit-surprise is not installed")
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    P, Q = rng.normal(size=(200, 3)), rng.normal(size=(100, 3))
    pairs = rng.permutation(200 * 100)[:9000]
    u, i = pairs // 100, pairs % 100
    r = 3 + 0.5 * rng.normal(size=200)[u] + (P[u] * Q[i]).sum(axis=1) + 0.3 * rng.normal(size=9000)
    train, test = slice(0, 8000), slice(8000, None)
    table = pd.DataFrame({"u": u[train], "i": i[train], "r": r[train]})
    data = surprise.Dataset.load_from_df(table, surprise.Reader(rating_scale=(r.min(), r.max())))
    theirs = surprise.SVD(n_factors=10, n_epochs=60, random_state=0).fit(data.build_full_trainset())
    expected = [theirs.predict(a, b).est for a, b in zip(u[test], i[test], strict=True)]
    ours = MatrixFactorization(
        10, solver="sgd", regularization=0.02, max_iter=60, tol=0, random_state=0
    ).fit(Ratings.from_table(u[train], i[train], r[train]))
    errors = [
        np.sqrt(np.mean((r[test] - estimate) ** 2))
        for estimate in (ours.predict_ratings(u[test], i[test]).clip(r.min(), r.max()), expected)
    ]
    assert errors[0] <= 1.03 * errors[1]
