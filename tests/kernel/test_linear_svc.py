"""Linear support vector classification: one optimum, whatever the way to it."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from panlearn.kernel import SVC, LinearSVC
from panlearn.kernel._hinge_dual import Dual, dense_pass, sparse_pass

LOSSES = {
    "hinge": lambda t: np.maximum(0, 1 - t),
    "squared_hinge": lambda t: np.maximum(0, 1 - t) ** 2,
}


def overlapping(rng, n=150, d=4):
    X = rng.normal(size=(n, d))
    return X, np.where(X @ np.linspace(1, -1, d) + 0.7 + rng.normal(size=n) > 0, 1, -1)


def objective(model, X, y, C=1.0):
    margin = y * (X @ model.coef_[0] + model.intercept_[0])
    return 0.5 * model.coef_[0] @ model.coef_[0] + C * LOSSES[model.loss](margin).sum()


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_squared_hinge_is_minimised(rng, C):
    X, y = overlapping(rng)

    def value(u):
        margin = y * (X @ u[:-1] + u[-1])
        slope = X.T @ (y * np.maximum(0, 1 - margin)), y @ np.maximum(0, 1 - margin)
        gradient = np.r_[u[:-1] - 2 * C * slope[0], -2 * C * slope[1]]
        return 0.5 * u[:-1] @ u[:-1] + C * LOSSES["squared_hinge"](margin).sum(), gradient

    model = LinearSVC(C, tol=1e-10).fit(X, y)
    peer = minimize(value, np.zeros(5), jac=True, method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(np.r_[model.coef_[0], model.intercept_], peer.x, atol=1e-6)
    assert np.abs(value(np.r_[model.coef_[0], model.intercept_])[1]).max() < 1e-7 * max(1, C)
    assert model.history_["objective"][-1] == pytest.approx(objective(model, X, y, C), rel=1e-12)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_hinge_has_no_gap_to_its_dual(rng, C, fit_intercept):
    X, y = overlapping(rng)
    model = LinearSVC(C, loss="hinge", tol=1e-10, fit_intercept=fit_intercept).fit(X, y)
    assert model.converged_
    assert np.all(np.diff(model.history_["change"][2:]) < 0)
    best = objective(model, X, y, C)
    for _ in range(50):  # no point near it is better
        other = LinearSVC(loss="hinge")
        other.coef_ = model.coef_ + 1e-3 * rng.normal(size=(1, 4))
        other.intercept_ = model.intercept_ + fit_intercept * 1e-3 * rng.normal(size=1)
        assert objective(other, X, y, C) >= best * (1 - 1e-10)


def test_the_hinge_is_the_linear_kernel(rng):
    X, y = overlapping(rng)
    linear, kernel = LinearSVC(loss="hinge", tol=1e-9), SVC(kernel="linear", tol=1e-9)
    linear.fit(X, y)
    kernel.fit(X, y)
    np.testing.assert_allclose(linear.coef_, kernel.coef_, atol=1e-6)
    np.testing.assert_allclose(linear.intercept_, kernel.intercept_, atol=1e-6)
    assert objective(linear, X, y) == pytest.approx(kernel.dual_objective_[0], rel=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_primal_and_dual_dense_and_sparse_agree(rng, loss, fit_intercept):
    X, y = overlapping(rng)
    X *= rng.random(X.shape) < 0.7
    weight = rng.uniform(0.5, 2, len(y))
    options = dict(loss=loss, fit_intercept=fit_intercept, tol=1e-8, max_iter=100_000)
    expected = LinearSVC(dual=False, **options).fit(X, y, weight)
    for dual in (False, True):
        for rows in (X, sparse.csr_array(X)):
            model = LinearSVC(dual=dual, random_state=0, **options).fit(rows, y, weight)
            # a gap of 1e-8 leaves the weights, by strong convexity, 1e-4 at the very most
            np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-5)
            np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-5)


@pytest.mark.parametrize("dual", [False, True])
def test_an_offset_changes_no_prediction(rng, dual):
    X, y = overlapping(rng)
    options = dict(dual=dual, tol=1e-9, max_iter=100_000, random_state=0)
    here, there = LinearSVC(**options).fit(X, y), LinearSVC(**options).fit(X + 1e3, y)
    np.testing.assert_allclose(here.coef_, there.coef_, atol=1e-7)
    np.testing.assert_allclose(
        here.decision_function(X), there.decision_function(X + 1e3), atol=1e-6
    )


def test_several_classes_are_each_against_the_rest(rng):
    X = rng.normal(size=(120, 3))
    y = X.argmax(axis=1)
    model = LinearSVC(tol=1e-9).fit(X, y)
    assert model.coef_.shape == (3, 3)
    for k in range(3):
        one = LinearSVC(tol=1e-9).fit(X, y == k)
        np.testing.assert_allclose(model.coef_[k], one.coef_[0], atol=1e-8)
        assert model.intercept_[k] == pytest.approx(one.intercept_[0], abs=1e-8)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dual", [False, True])
def test_class_weights_are_row_weights(rng, loss, dual):
    X, y = overlapping(rng)
    options = dict(loss=loss, dual=dual, tol=1e-8, max_iter=100_000, random_state=0)
    by_class = LinearSVC(class_weight={1: 3.0}, **options).fit(X, y)
    by_row = LinearSVC(**options).fit(X, y, np.where(y > 0, 3.0, 1.0))
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, atol=1e-6)


def reference_pass(X, order, y, q, high, curvature, alpha, w, b, sigma, total):
    """One pass of coordinate descent, as the formulas say."""
    alpha, w = alpha.copy(), w.copy()
    for i in order:
        slope = y[i] * (X[i] @ w + b + sigma * total) - 1 + q[i] * alpha[i]
        new = np.clip(alpha[i] - slope / curvature[i], 0, high[i])
        w += (new - alpha[i]) * y[i] * X[i]
        total += (new - alpha[i]) * y[i]
        alpha[i] = new
    return alpha, w


@pytest.mark.parametrize("squared", [False, True])
def test_a_pass_is_that_of_the_reference(rng, squared):
    X, y = overlapping(rng, 40)
    y = y.astype(float)
    q, high = np.full(40, 0.5 * squared), np.full(40, np.inf if squared else 1.0)
    curvature = (X**2).sum(axis=1) + q + 0.3
    alpha = rng.uniform(0, 1, 40).round(0) / 2
    w, order = X.T @ (alpha * y), rng.permutation(40)
    rest = (q, high, curvature, alpha, w, 0.2, 0.3, alpha @ y)
    expected = reference_pass(X, order, y, *rest)
    csr = sparse.csr_array(X)
    for walk, rows in ((dense_pass, (X,)), (sparse_pass, (csr.data, csr.indices, csr.indptr))):
        a, v = alpha.copy(), w.copy()
        _, _, kept = walk(*rows, order.copy(), y, *rest[:3], a, v, *rest[5:], np.inf, -np.inf)
        assert kept == 40
        np.testing.assert_allclose(a, expected[0], atol=1e-12)
        np.testing.assert_allclose(v, expected[1], atol=1e-12)


def test_rows_that_are_left_out_are_looked_at_again(rng):
    X, y = overlapping(rng, 400)
    machine = Dual(
        X, y.astype(float), np.ones(400), squared=False, fit_intercept=True, tol=1e-6, rng=rng
    )
    sizes = []
    for _ in range(100_000):
        machine.step()
        sizes.append(len(machine._active))
        if machine.change <= 1e-6:
            break
    assert min(sizes) < 200
    exact = LinearSVC(loss="hinge", tol=1e-10).fit(X, y)
    np.testing.assert_allclose(machine.w, exact.coef_[0], atol=1e-5)
    assert machine.b == pytest.approx(exact.intercept_[0], abs=1e-5)


def test_wide_rows_go_to_the_dual(rng):
    X = rng.normal(size=(30, 600))
    y = np.arange(30) % 2
    model = LinearSVC(random_state=0).fit(X, y)
    primal = LinearSVC(dual=False, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, primal.coef_, atol=1e-4 * np.abs(primal.coef_).max())
    again = LinearSVC(random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_dual_that_has_not_converged_says_what_does(rng, loss):
    X, y = overlapping(rng, 400)
    says = r"did not converge.*dual=False, which has 4 unknowns"
    with pytest.warns(ConvergenceWarning, match=says):
        slow = LinearSVC(1e3, loss=loss, dual=True, max_iter=20, random_state=0).fit(X, y)
    assert not slow.converged_
    fast = LinearSVC(1e3, loss=loss, dual=False, max_iter=20).fit(X, y)
    assert fast.converged_
    assert objective(fast, X, y, 1e3) < objective(slow, X, y, 1e3)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_intercept_costs_the_dual_no_passes_on_wide_rows(rng, loss):
    X = rng.normal(size=(60, 300))
    y = np.where(X[:, 0] + rng.normal(size=60) > 1, 1, -1)
    passes = [
        LinearSVC(loss=loss, dual=True, fit_intercept=b, random_state=0).fit(X, y).n_iter_
        for b in (True, False)
    ]
    assert passes[0] <= 1.5 * passes[1]
