"""What a solver says of its own answer, against the definition and an independent optimum.

A duality gap bounds how far an objective is above its minimum if the dual point is feasible. The
functions here take the point from a fitted model and everything else from the definitions, in
plain NumPy. Most problems have more columns than rows and a small penalty, where a residual may
point away from y and a solver's own arithmetic may cancel.
"""

import warnings

import numpy as np
import pytest
import sklearn.linear_model as peer
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import xlogy
from sklearn.exceptions import ConvergenceWarning

from panlearn import Batches
from panlearn.kernel import SVC, LinearSVC
from panlearn.linear import (
    ElasticNet,
    Lasso,
    LeastAbsoluteDeviations,
    LogisticRegression,
    lasso_path,
)

MANY = settings(max_examples=300)


def quietly(fit):
    """A fit that may say that it did not converge: what it reports must be true all the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit()


def elastic_net_objective(w, b, X, y, s, alpha, rho):
    r = y - X @ w - b
    return s @ r**2 / (2 * s.sum()) + alpha * (rho * np.abs(w).sum() + (1 - rho) / 2 * w @ w)


def elastic_net_dual(w, X, y, s, alpha, rho, positive, centred):
    """The best of the dual values that the residual of w gives, and the mean square of y."""
    n = s.sum()
    if centred:
        X, y = X - s @ X / n, y - s @ y / n
    Z, t = np.sqrt(s)[:, None] * X, np.sqrt(s) * y
    l1, l2 = n * alpha * rho, n * alpha * (1 - rho)

    def pull(correlations):
        return np.maximum(correlations, 0) if positive else np.abs(correlations)

    # a lasso on more rows, whose dual points are the multiples that no column pulls above l1
    more, zero = np.sqrt(l2) * np.eye(len(w)), np.zeros(len(w))
    long, target = np.append(t - Z @ w, zero - more @ w), np.append(t, zero)
    largest = pull(np.vstack([Z, more]).T @ long).max()
    most = l1 / largest if largest > 0 else np.inf
    multiple = np.clip(long @ target / (long @ long), 0, most)
    dual = multiple * (long @ target) - multiple**2 * (long @ long) / 2
    if l2 > 0:  # and the dual in which the penalty's conjugate is finite everywhere
        r = t - Z @ w
        excess = np.maximum(pull(Z.T @ r) - l1, 0)
        dual = max(dual, r @ t - r @ r / 2 - excess @ excess / (2 * l2))
    return dual / n, t @ t / n


@st.composite
def regressions(draw, most_columns=40):
    """Wide or tall, of several scales and offsets, weighted or not, with a small penalty."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(2, 20)), draw(st.integers(1, most_columns))
    X = rng.standard_normal((n, p)) * 10 ** rng.uniform(-1, 1, p)
    X += draw(st.sampled_from([0.0, 0.0, 10.0]))
    y = X[:, 0] * draw(st.floats(-3, 3)) + rng.standard_normal(n) * draw(st.floats(0.01, 10))
    s = rng.integers(1, 5, n).astype(float) if draw(st.booleans()) else np.ones(n)
    strongest = np.abs(X.T @ (s * y)).max() / s.sum()
    return X, y, s, strongest * 10 ** draw(st.floats(-4, 0.1))


@MANY
@given(
    regressions(),
    st.sampled_from([1.0, 1.0, 0.9, 0.3]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([1e-2, 1e-4, 1e-9]),
    st.sampled_from(["array", "sparse", "stream", "one iteration"]),
)
def test_the_gap_of_lasso_and_elastic_net(problem, rho, positive, centred, tol, form):
    X, y, s, alpha = problem
    model = Lasso(alpha) if rho == 1 else ElasticNet(alpha, l1_ratio=rho)
    model.set_params(positive=positive, fit_intercept=centred, tol=tol)
    if form == "one iteration":
        model.set_params(max_iter=1)
    data = (sparse.csr_array(X) if form == "sparse" else X, y, s)
    if form == "stream":
        data = (Batches([(X[::2], y[::2], s[::2]), (X[1::2], y[1::2], s[1::2])]),)
    quietly(lambda: model.fit(*data))
    value = elastic_net_objective(model.coef_, model.intercept_, X, y, s, alpha, rho)
    dual, size = elastic_net_dual(model.coef_, X, y, s, alpha, rho, positive, centred)
    rounding = 1e-11 * (size + (1 - centred) * np.mean(y**2))  # of 10 in X and four digits of alpha
    assert value - dual <= model.dual_gap_ + rounding
    assert not model.converged_ or model.dual_gap_ <= tol * size + rounding


@settings(max_examples=60)
@given(regressions(), st.sampled_from([1.0, 0.5]), st.booleans(), st.booleans())
def test_the_gap_bounds_the_excess_over_the_peers_optimum(problem, rho, positive, centred):
    X, y, s, alpha = problem
    rest = dict(l1_ratio=rho, positive=positive, fit_intercept=centred)
    model = quietly(lambda: ElasticNet(alpha, tol=1e-6, **rest).fit(X, y, s))
    theirs = peer.ElasticNet(alpha, tol=1e-14, max_iter=5000, **rest)
    quietly(lambda: theirs.fit(X, y, s))
    ours, best = (
        elastic_net_objective(m.coef_, m.intercept_, X, y, s, alpha, rho) for m in (model, theirs)
    )
    assert ours - best <= model.dual_gap_ + 1e-12 * np.mean(y**2)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("rho", [1.0, 0.5])
def test_a_residual_that_points_away_from_y(positive, rho):
    """A dual scale below zero is no certificate: these ended at twice the least objective."""
    rng = np.random.RandomState(5)
    X = rng.standard_normal((10, 30))
    y = 3 * X[:, 0] + rng.standard_normal(10)
    model = ElasticNet(0.01, l1_ratio=rho, positive=positive, fit_intercept=False).fit(X, y)
    theirs = peer.ElasticNet(0.01, l1_ratio=rho, positive=positive, fit_intercept=False)
    theirs.set_params(tol=1e-12, max_iter=100_000).fit(X, y)
    one = np.ones(10)
    ours, best = (
        elastic_net_objective(m.coef_, 0.0, X, y, one, 0.01, rho) for m in (model, theirs)
    )
    assert -1e-12 <= ours - best <= model.dual_gap_ + 1e-12
    assert model.dual_gap_ <= 1e-4 * np.mean(y**2)


@pytest.mark.parametrize("alpha", [1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize("p", [30, 300])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_gap_is_no_smaller_than_its_rounding(seed, p, alpha):
    """Columns that differ by 1e-5 give weights of 1e5, whose products cancel in the residual.

    A gap of zero was reported for a true one of 1e-6; and the iterations must not follow the
    directions in which rounding makes the Gram matrix indefinite.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((19, 1)) + 1e-5 * rng.standard_normal((19, p))
    y = 3 * X[:, 0] + rng.standard_normal(19)
    model = quietly(lambda: Lasso(alpha, tol=1e-13).fit(X, y))
    one = np.ones(19)
    value = elastic_net_objective(model.coef_, model.intercept_, X, y, one, alpha, 1.0)
    dual, size = elastic_net_dual(model.coef_, X, y, one, alpha, 1.0, False, True)
    assert value - dual <= 1.01 * model.dual_gap_
    assert value <= 1e-2 * size


@settings(max_examples=60)
@given(regressions(), st.booleans(), st.sampled_from([1e-4, 1e-9]))
def test_every_gap_of_a_path(problem, positive, tol):
    X, y, _, alpha = problem
    found = quietly(
        lambda: lasso_path(X, y, alphas=[alpha, alpha / 3, alpha / 30], positive=positive, tol=tol)
    )
    s = np.ones(len(y))
    for value, coef, gap in zip(found[0], found[1].T, found[2], strict=True):
        dual, size = elastic_net_dual(coef, X, y, s, value, 1.0, positive, False)
        objective = elastic_net_objective(coef, 0.0, X, y, s, value, 1.0)
        assert objective - dual <= gap + 1e-10 * size


@st.composite
def classifications(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(4, 20)), draw(st.integers(1, 40))
    X = rng.standard_normal((n, p))
    y = (X[:, 0] + rng.standard_normal(n) > 0).astype(int)
    y[:2] = 0, 1
    return X, y, rng.integers(1, 4, n).astype(float), 10 ** draw(st.floats(-1, 2))


@settings(max_examples=100)
@given(classifications())
def test_l1_logistic_regression_by_its_dual(problem):
    """Maximise sum c H(a), H the entropy, over a in [0, 1] with |sum c a y x| at most 1."""
    X, y, s, C = problem
    model = LogisticRegression(C=C, l1_ratio=1, fit_intercept=False).fit(X, y, s)
    sign, c, w = 2 * y - 1, C * s, model.coef_[0]
    margin = sign * (X @ w)
    value = c @ np.logaddexp(0, -margin) + np.abs(w).sum()
    a = 1 / (1 + np.exp(margin))
    a /= max(1, np.abs(X.T @ (c * a * sign)).max())
    dual = -c @ (xlogy(a, a) + xlogy(1 - a, 1 - a))
    assert model.converged_
    # the decrement ends at 1e-8, which leaves about as much of the derivative
    assert value - dual <= 1e-6 * c.sum()


@settings(max_examples=30)
@given(classifications(), st.booleans(), st.sampled_from([0.5, 1.0]))
def test_penalised_logistic_regression_by_the_peers_optimum(problem, centred, rho):
    X, y, s, C = problem
    C = min(C, 1.0)  # beyond, the peer needs too many passes

    def value(model):
        margin = (2 * y - 1) * (X @ model.coef_[0] + model.intercept_[0])
        w = model.coef_[0]
        return C * s @ np.logaddexp(0, -margin) + rho * np.abs(w).sum() + (1 - rho) / 2 * w @ w

    ours = LogisticRegression(C=C, l1_ratio=rho, fit_intercept=centred).fit(X, y, s)
    theirs = peer.LogisticRegression(
        C=C, l1_ratio=rho, fit_intercept=centred, solver="saga", tol=1e-8, max_iter=3000
    )
    quietly(lambda: theirs.set_params(random_state=0).fit(X, y, s))
    assert value(ours) <= value(theirs) * (1 + 1e-10)


@settings(max_examples=100)
@given(regressions(most_columns=20), st.floats(0.1, 0.9), st.booleans(), st.booleans())
def test_least_absolute_deviations_by_the_primal_programme(problem, q, centred, penalised):
    """Over w = w⁺ - w⁻, b = b⁺ - b⁻ and residuals r⁺ - r⁻, none below zero."""
    X, y, s, _ = problem
    n, p = X.shape
    alpha = 0.01 * penalised
    fitted = LeastAbsoluteDeviations(quantile=q, alpha=alpha, fit_intercept=centred).fit(X, y, s)
    r = y - X @ fitted.coef_ - fitted.intercept_
    value = s @ np.maximum(q * r, (q - 1) * r) + alpha * s.sum() * np.abs(fitted.coef_).sum()
    ones = np.ones((n, 1)) * centred
    best = linprog(
        np.concatenate([np.full(2 * p, alpha * s.sum()), [0, 0], q * s, (1 - q) * s]),
        A_eq=np.hstack([X, -X, ones, -ones, np.eye(n), -np.eye(n)]),
        b_eq=y,
        method="highs",
    )
    assert best.status == 0
    assert value == pytest.approx(best.fun, rel=1e-6, abs=1e-6 * s @ np.abs(y))


@settings(max_examples=60)
@given(classifications(), st.sampled_from(["linear", "rbf"]))
def test_support_vector_machine_by_its_dual(problem, kernel):
    X, y, _, C = problem
    model = SVC(C, kernel=kernel, gamma=0.1, tol=1e-3).fit(X, y)
    K = X @ X.T
    if kernel == "rbf":
        square = (X**2).sum(axis=1)
        K = np.exp(-0.1 * (square[:, None] + square - 2 * K))
    signed = np.zeros(len(y))
    signed[model.support_] = model.dual_coef_[0]
    alpha, sign = signed * (2 * y - 1), 2 * y - 1
    assert (alpha >= 0).all()
    assert (alpha <= C * (1 + 1e-6)).all()
    assert abs(signed.sum()) <= 1e-6 * C * len(y)
    length = signed @ K @ signed / 2
    dual = alpha.sum() - length
    primal = length + C * np.maximum(1 - sign * (K @ signed + model.intercept_[0]), 0).sum()
    assert model.converged_
    assert model.dual_objective_[0] == pytest.approx(dual, rel=1e-4)  # a kernel in float32
    # no row violates its condition by more than tol, and weighs C at most
    assert primal - dual <= 1e-3 * C * len(y) * (1 + 1e-6)


@settings(max_examples=20)
@given(classifications(), st.booleans())
def test_linear_hinge_by_the_peers_optimum(problem, dual):
    X, y, _, C = problem
    C = min(C, 10.0)

    def value(w, b):
        margin = (2 * y - 1) * (X @ w + b)
        return w @ w / 2 + C * np.maximum(1 - margin, 0).sum()

    ours = quietly(
        lambda: LinearSVC(C, loss="hinge", dual=dual, tol=1e-6, max_iter=5000, random_state=0).fit(
            X, y
        )
    )
    theirs = sklearn.svm.SVC(C=C, kernel="linear", tol=1e-9).fit(X, y)
    best = value(theirs.coef_[0], theirs.intercept_[0])
    if ours.converged_:
        assert value(ours.coef_[0], ours.intercept_[0]) <= best * (1 + 1e-4) + 1e-4 * C
