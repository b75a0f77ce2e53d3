"""NMF: optimality, the updates against plain NumPy, the loss, the penalties, the parameters."""

import contextlib

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls
from scipy.special import kl_div
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.interpretation import forbidden
from panlearn.latent import NMF, _nonnegative, _nonnegative_rows
from panlearn.latent._nonnegative import Penalty, quotients
from panlearn.latent._nonnegative_rows import (
    active_set,
    descend_rows,
    minimise_rows,
    solve_rows,
)

KL = {"solver": "mu", "beta_loss": "kullback-leibler"}


@pytest.fixture(name="X")
def rows(rng):
    return rng.gamma(0.5, size=(40, 3)) @ rng.gamma(0.5, size=(3, 12)) + 0.1 * rng.random((40, 12))


def objective(model, X, W):
    """The formula of the docstring."""
    fitted = W @ model.components_
    n, d = X.shape
    loss = 0.5 * ((X - fitted) ** 2).sum()
    if model.beta_loss != "frobenius":
        loss = kl_div(X, fitted).sum()
    alphas = model.alpha_W, model.alpha_W if model.alpha_H == "same" else model.alpha_H
    for alpha, factor, count in zip(alphas, (W, model.components_), (d, n), strict=True):
        share = model.l1_ratio
        size = share * factor.sum() + (1 - share) / 2 * (factor**2).sum()
        loss += alpha * count * size
    return loss


@pytest.mark.parametrize("way", [{}, {"solver": "mu"}, KL], ids=["cd", "mu", "kl"])
@pytest.mark.parametrize("penalty", [{}, {"alpha_W": 0.01, "l1_ratio": 0.5}])
def test_history_is_the_objective_and_never_rises(X, way, penalty):
    one = NMF(3, tol=0, max_iter=30, random_state=0, **way, **penalty)
    with pytest.warns(match="did not converge"):
        one.fit(X)
    assert np.diff(one.history_["objective"]).max() <= 1e-10
    assert one.components_.min() >= 0
    # the best W of the last H is no worse than the W of the loop
    assert objective(one, X, one.transform(X)) <= one.history_["objective"][-1] * (1 + 1e-12)


@pytest.mark.parametrize("way", [{}, KL], ids=["cd", "kl"])
def test_gradients_at_the_solution(X, way):
    settings = dict(tol=0, max_iter=20_000, alpha_W=0.02, alpha_H=0.03, l1_ratio=0.4, **way)
    model = NMF(2, random_state=0, **settings).fit(X)  # ends when no digit of the objective moves
    W, H = model.transform(X), model.components_
    n, d = X.shape
    if way:
        left, right = 1 - X / (W @ H), H
    else:
        left, right = W @ H - X, H
    for factor, gradient, strength in (
        (W, left @ right.T, 0.02 * d),
        (H, W.T @ left, 0.03 * n),
    ):
        slope = gradient + strength * (0.4 + 0.6 * factor)
        inside = factor > 1e-6
        assert np.abs(slope[inside]).max() < 2e-5  # multiplicative steps end slowly
        assert slope[~inside].min(initial=0) > -1e-5


def test_one_sweep_is_coordinate_descent(rng):
    W, cross, G = rng.random((5, 4)), rng.normal(size=(5, 4)), np.cov(rng.normal(size=(4, 20)))
    l1, l2 = 0.1, 0.2
    expected = W.copy()
    for row, c in zip(expected, cross, strict=True):
        for t in range(4):
            row[t] = max(0, (c[t] - l1 - G[t] @ row + G[t, t] * row[t]) / (G[t, t] + l2))
    descend_rows(W, cross, G, np.array([l1, l2]), 1)
    np.testing.assert_allclose(W, expected, atol=1e-14)
    assert Penalty(l1, l2).value(W, np.ones(5)) == pytest.approx(
        l1 * W.sum() + l2 / 2 * (W**2).sum()
    )


def test_quotients_of_sparse_rows_are_those_of_dense_ones(rng):
    X = sparse.random(20, 7, 0.4, "csr", rng=rng)
    W, Ht = rng.random((20, 3)), rng.random((7, 3))
    expected = X.toarray() / (W @ Ht.T)
    np.testing.assert_allclose(quotients(X, W, Ht).toarray(), expected, rtol=1e-13)
    np.testing.assert_allclose(quotients(X.toarray(), W, Ht), expected, rtol=1e-13)


@pytest.mark.parametrize("way", [{}, KL], ids=["cd", "kl"])
def test_sparse_rows_give_what_dense_ones_give(rng, way):
    X = sparse.random(3000, 300, 0.05, "csr", rng=rng)  # several blocks
    settings = dict(max_iter=5, tol=0, random_state=0, **way)
    with pytest.warns(match="did not converge"):
        ours = NMF(4, **settings).fit(X)
    with pytest.warns(match="did not converge"):
        dense = NMF(4, **settings).fit(X.toarray())
    np.testing.assert_allclose(ours.components_, dense.components_, atol=1e-12)
    assert ours.reconstruction_err_ == pytest.approx(dense.reconstruction_err_, rel=1e-12)


def test_active_set_is_non_negative_least_squares(rng):
    for size in (1, 3, 8):
        A, b = rng.normal(size=(10, size)), rng.normal(size=10)
        np.testing.assert_allclose(active_set(A.T @ b, A.T @ A), nnls(A, b)[0], atol=1e-10)
    flat = np.ones((3, 3))  # many solutions: any will do
    assert active_set(np.ones(3), flat).sum() == pytest.approx(1)


def test_transform_is_non_negative_least_squares(X):
    model = NMF(3, random_state=0).fit(X)
    expected = np.array([nnls(model.components_.T, x)[0] for x in X])
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-6)
    nearly = X[:2].repeat(2, axis=0) + 1e-4 * X[2:6]  # parts that are almost two and two the same
    model.components_ = nearly
    expected = np.array([nnls(nearly.T, x)[0] for x in X])
    model.n_components_ = 4
    np.testing.assert_allclose(model.transform(X) @ nearly, expected @ nearly, atol=1e-9)
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-4 * expected.max())
    model = NMF(3, random_state=0).fit(X)
    np.testing.assert_allclose(model.transform(X[3:4]), model.transform(X)[3:4], atol=1e-14)
    np.testing.assert_array_equal(NMF(3, random_state=0).fit_transform(X), model.transform(X))


@pytest.mark.parametrize("way", [{}, KL], ids=["cd", "kl"])
def test_reconstruction_error(X, rng, way):
    W, H = rng.random((40, 3)), rng.random((3, 12))
    weight = rng.random(40)
    model = NMF(3, init="custom", max_iter=1, tol=0, **way)
    with pytest.warns(match="did not converge"):
        model.fit(X, sample_weight=weight, W=W, H=H)
    assert model.reconstruction_err_ > 0
    exact = rng.random((30, 2)) @ rng.random((2, 5))
    model = NMF(2, tol=1e-14, max_iter=20_000, random_state=0, **way).fit(exact)
    # divergences are differences of sums: they lose half the digits when there is no error
    assert model.reconstruction_err_ < 1e-3
    np.testing.assert_allclose(model.inverse_transform(model.transform(exact)), exact, atol=1e-3)


def test_the_first_factors_can_be_given(X, rng):
    W, H = rng.random((40, 3)), rng.random((3, 12))
    kept = W.copy(), H.copy()
    with pytest.warns(match="did not converge"):
        NMF(3, init="custom", max_iter=2, tol=0).fit(X, W=W, H=H)
    np.testing.assert_array_equal(W, kept[0])
    np.testing.assert_array_equal(H, kept[1])
    with pytest.raises(ValueError, match="W is None"):
        NMF(3, init="custom").fit(X, H=H)
    with pytest.raises(ValueError, match=r"H must have shape \(3, 12\)"):
        NMF(3, init="custom").fit(X, W=W, H=H[:2])
    with pytest.raises(ValueError, match="Negative"):
        NMF(3, init="custom").fit(X, W=W, H=-H)


def test_what_does_not_go_together_is_refused(X):
    with pytest.raises(ValueError, match="solver='mu'"):
        NMF(beta_loss="kullback-leibler").fit(X)
    with pytest.raises(ValueError, match="init='random'"):
        NMF(13, init="nndsvd").fit(X)
    with pytest.raises(ValueError, match="ask for fewer"):
        NMF(41).fit(X)
    with pytest.raises(ValueError, match="Negative"):
        NMF(2).fit(-X)
    with pytest.raises(ValueError, match=r"\(n_samples, 2\)"):
        NMF(2, random_state=0).fit(X).inverse_transform(X)


def divergence(x, y, beta):
    """By its limits at 0 and 1, which are integrals of (x - t) t^(β-2) like all the others."""
    if beta == 0:
        return (x / y - np.log(x / y) - 1).sum()
    if beta == 1:
        return (x * np.log(x / y) - x + y).sum()
    return (
        (x**beta + (beta - 1) * y**beta - beta * x * y ** (beta - 1)) / (beta * (beta - 1))
    ).sum()


@pytest.mark.parametrize("beta", [-1.0, 0, 0.5, 1, 1.5, 2, 2.5, 4])
def test_beta_divergences_never_rise_and_rows_are_solved(rng, beta):
    X = rng.gamma(2.0, size=(40, 8)) + 0.1
    weight = rng.integers(1, 4, 40).astype(float)
    model = NMF(3, solver="mu", beta_loss=beta, init="random", random_state=0, max_iter=60, tol=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, sample_weight=weight)
    objective = np.array(model.history_["objective"])
    assert (np.diff(objective) <= 1e-10 * objective[:-1]).all()
    W = model.transform(X)
    fitted = W @ model.components_
    reached = divergence(X, fitted, beta)
    for step in (0.999, 1.001):  # no share of a part near by is better
        for k in range(3):
            other = W.copy()
            other[:, k] *= step
            assert divergence(X, other @ model.components_, beta) >= reached * (1 - 1e-7)
    repeated = NMF(
        3, solver="mu", beta_loss=beta, init="random", random_state=0, max_iter=60, tol=0
    )
    with pytest.warns(ConvergenceWarning):
        repeated.fit(np.repeat(X, weight.astype(int), axis=0))
    np.testing.assert_allclose(model.components_, repeated.components_, rtol=1e-6)
    pairs = zip(weight, X, fitted, strict=True)
    least = sum(w * divergence(x, y, beta) for w, x, y in pairs)
    if 1 <= beta <= 2:  # where it is convex in W: the iterations have no better W
        assert model.reconstruction_err_**2 / 2 >= least * (1 - 1e-6)
    assert model.reconstruction_err_**2 / 2 <= objective[-1] * (1 + 1e-14)  # the root was rounded


def test_a_divergence_says_what_it_does_not_take(rng):
    X = rng.random((9, 4))
    with pytest.raises(ValueError, match="no coordinate descent"):
        NMF(2, beta_loss=1.5).fit(X)
    X[0, 0] = 0
    with pytest.raises(ValueError, match="infinite where X is 0"):
        NMF(2, solver="mu", beta_loss="itakura-saito").fit(X)
    with pytest.raises(ValueError, match="does not take sparse"):
        NMF(2, solver="mu", beta_loss=0.5).fit(sparse.csr_array(X))
    np.testing.assert_allclose(
        NMF(2, solver="mu", beta_loss=2, random_state=0).fit(X).components_,
        NMF(2, solver="mu", random_state=0).fit(X).components_,
    )


@pytest.mark.parametrize("ridge", [3.0, 0.3, 0.01])  # sweeps end all rows, or three quarters
@pytest.mark.parametrize("groups", [4, 0])
def test_rows_are_solved_by_sweeps_and_newton_steps_alike(rng, monkeypatch, ridge, groups):
    monkeypatch.setattr(_nonnegative_rows, "GROUPS", groups)
    k, n = 5, 150  # not a multiple of the rows that go side by side
    A = np.vstack([rng.random((12, k)), ridge * np.eye(k)])
    X = np.vstack([rng.normal(size=(n - 1, len(A))), np.zeros(len(A))])
    found = minimise_rows(X @ A, A.T @ A, np.zeros(2))
    expected = np.array([nnls(A, x)[0] for x in X])
    assert 0.1 < np.mean(expected == 0) < 0.9
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_rows_that_have_ended_are_left_alone(rng):
    A = rng.random((9, 3))
    cross, rows = rng.normal(size=(2, 9)) @ A, np.zeros((2, 3))
    ended = np.array([True, False])
    solve_rows(rows, cross, A.T @ A, np.zeros(2), 100, 1e-14, ended)
    assert ended.all()
    assert not rows[0].any()
    np.testing.assert_allclose(rows[1], minimise_rows(cross, A.T @ A, np.zeros(2))[1], atol=1e-12)


def test_small_rows_are_swept_more_often_and_get_further(rng, monkeypatch):
    X = rng.random((60, 9))
    often = NMF(3, random_state=0, max_iter=5, tol=1.0).fit(X)
    monkeypatch.setattr(_nonnegative, "MORE_SWEEPS", 1)
    once = NMF(3, random_state=0, max_iter=5, tol=1.0).fit(X)
    assert often.n_iter_ == once.n_iter_ == 1
    assert often.history_["objective"][0] < once.history_["objective"][0]


@pytest.mark.parametrize("how", [contextlib.nullcontext, forbidden])  # NumPy, or compiled
def test_rows_side_by_side_descend_as_each_by_itself(rng, how):
    n, k = 150, 3  # more than go side by side, and not a multiple
    rows, cross = rng.random((n, k)), rng.normal(size=(n, k))
    root = rng.normal(size=(k, k))
    gram, penalty = root @ root.T, np.array([0.1, 0.2])
    expected = rows.copy()
    for w, c in zip(expected, cross, strict=True):
        for _ in range(2):
            for t in range(k):
                slope = gram[t] @ w - c[t] + penalty[0] + penalty[1] * w[t]
                w[t] = max(w[t] - slope / (gram[t, t] + penalty[1]), 0)
    with how():
        descend_rows(rows, cross, gram, penalty, 2)
    np.testing.assert_allclose(rows, expected, rtol=1e-10, atol=1e-12)  # rounding of sums of k
