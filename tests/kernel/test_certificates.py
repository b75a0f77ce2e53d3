"""Support vector machines against their definition: what is claimed to be optimal is.

The functions here are the formulas in plain NumPy and share nothing with the library. By weak
duality any feasible multipliers bound the optimum from below, and any weights from above; where the
two meet, both are optimal.
"""

import warnings
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from panlearn.kernel import SVC, LinearSVC

KINDS = ["linear", "narrow", "wide", "duplicates", "constant", "zero", "one row of each"]


def problem(seed):
    """A random kernel matrix with its rows, labels, and a bound for each multiplier."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    n, d = int(rng.integers(6, 26)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 2)
    y = rng.permutation(np.where(np.arange(n) < rng.integers(2, n - 1), 1.0, -1.0))
    if kind == "duplicates":  # of either label
        X = X[rng.integers(0, max(2, n // 3), n)]
    if kind == "one row of each":
        X, y = X[:2] + np.array([[0.0], [1.0]]), np.array([1.0, -1.0])
    K = X @ X.T
    if kind in ("narrow", "wide"):
        squares = np.square(X[:, None] - X).sum(axis=2)
        K = np.exp(-squares * (100.0 if kind == "narrow" else 1e-4))
    if kind in ("constant", "zero"):
        K = np.full((len(X), len(X)), float(kind == "constant"))
    # a linear kernel of few columns with bounds of many sizes takes millions of steps
    most = 1 if kind == "linear" else 3
    weight = 10.0 ** rng.uniform(-3, most, len(y)) if seed % 3 == 0 else np.ones(len(y))
    C = 10.0 ** rng.uniform(-5, most)
    return K, X, y, C, weight


def dual_value(K, y, alpha):
    return alpha.sum() - 0.5 * (alpha * y) @ K @ (alpha * y)


def primal_value(K, y, c, alpha, b):
    scores = K @ (alpha * y) + b
    return 0.5 * (alpha * y) @ K @ (alpha * y) + c @ np.maximum(0, 1 - y * scores)


def multipliers(model, n):
    alpha = np.zeros(n)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    return alpha


@pytest.mark.parametrize("block", range(8))
def test_svc_is_feasible_and_its_gap_is_closed(block):
    tol = 1e-8
    for seed in range(40 * block, 40 * block + 40):
        K, _, y, C, weight = problem(seed)
        c = C * weight
        model = SVC(C, kernel="precomputed", tol=tol).fit(K, y, sample_weight=weight)
        alpha = multipliers(model, len(y))
        assert model.converged_, seed
        assert ((alpha >= 0) & (alpha <= c * (1 + 1e-15))).all(), seed
        assert abs(alpha @ y) <= 1e-12 * alpha.sum(), seed
        signed = np.zeros(len(y))
        signed[model.support_] = model.dual_coef_[0]
        assert_allclose(signed, alpha * y, err_msg=str(seed))
        # the conditions of optimality, of which tol is the largest violation
        g = y - K @ (alpha * y)
        rounding = 1e-13 * np.abs(K).max() * alpha.sum()
        up = np.where(y > 0, alpha < c, alpha > 0)
        down = np.where(y > 0, alpha > 0, alpha < c)
        assert g[up].max() - g[down].min() <= tol + rounding, seed
        value = dual_value(K, y, alpha)
        # rows of the matrix may be kept in float32, to half of tol in g
        assert abs(model.dual_objective_[0] - value) <= tol * alpha.sum() + 1e-12 * value, seed
        gap = primal_value(K, y, c, alpha, model.intercept_[0]) - value
        # each row adds at most its bound times the violation
        assert -1e-9 * abs(value) <= gap <= c.sum() * (tol + rounding) + 1e-9 * abs(value), seed
        scores = model.decision_function(K)
        assert_allclose(scores, K @ signed + model.intercept_[0], rtol=1e-9, atol=1e-12)


def exact_optimum(K, y, c):
    """The highest dual value over all ways to put multipliers at a bound or between them."""
    n, best = len(y), 0.0
    Q = np.outer(y, y) * K
    for places in product((0, 1, 2), repeat=n):
        places = np.array(places)
        alpha, free = np.where(places == 2, c, 0.0), places == 1
        m = free.sum()
        if m:
            system = np.zeros((m + 1, m + 1))
            system[:m, :m] = Q[np.ix_(free, free)]
            system[m, :m] = system[:m, m] = y[free]
            right = np.append(1 - Q[np.ix_(free, ~free)] @ alpha[~free], -y[~free] @ alpha[~free])
            alpha[free] = np.linalg.lstsq(system, right, rcond=1e-13)[0][:m]
        feasible = (alpha >= -1e-12).all() and (alpha <= c * (1 + 1e-12)).all()
        if feasible and abs(alpha @ y) <= 1e-10 * max(alpha.sum(), 1e-300):
            best = max(best, dual_value(K, y, alpha))
    return best


@pytest.mark.parametrize("seed", range(14))
def test_svc_reaches_the_best_of_all_active_sets(seed):
    K, _, y, C, weight = problem(seed)
    keep = np.r_[np.flatnonzero(y > 0)[:3], np.flatnonzero(y < 0)[:2]]
    K, y, c = K[np.ix_(keep, keep)], y[keep], (C * weight)[keep]
    model = SVC(1.0, kernel="precomputed", tol=1e-10).fit(K, y, sample_weight=c)
    best = exact_optimum(K, y, c)
    assert model.dual_objective_[0] == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("dual", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_linear_svc_meets_a_bound_from_below(loss, dual, fit_intercept):
    """The primal value of its weights against the dual value of multipliers found elsewhere."""
    converged = 0
    for seed in range(0, 140, 14 if dual else 3):
        _, X, y, C, weight = problem(seed)
        C, weight = np.clip(C, 1e-4, 10.0), np.clip(weight, 0.1, 10.0)
        X = X / max(1.0, np.abs(X).max())
        c = C * weight
        options = dict(loss=loss, dual=dual, fit_intercept=fit_intercept, random_state=0)
        model = LinearSVC(C, tol=1e-8, max_iter=2000 if dual else 1000, **options)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", ConvergenceWarning)
            model.fit(X, y, sample_weight=weight)
        assert model.converged_ != bool(said), seed
        converged += model.converged_
        if not model.converged_:
            continue
        w, b = model.coef_[0], model.intercept_[0]
        assert b == 0 or fit_intercept
        slack = np.maximum(0, 1 - y * (X @ w + b))
        primal = 0.5 * w @ w + c @ (slack if loss == "hinge" else slack**2)
        bound = lower_bound(X, y, c, loss, fit_intercept)
        assert bound <= primal * (1 + 1e-9) + 1e-12, seed
        assert primal - bound <= 1e-5 * abs(bound) + 1e-7 * c.sum() + 1e-10, seed
        if not dual:
            assert model.history_["objective"][-1] == pytest.approx(primal, rel=1e-6, abs=1e-12)
    # the method of multipliers, which the dual with an intercept needs, may take longer
    assert converged >= (4 if dual and fit_intercept else 10 if dual else 47)


def lower_bound(X, y, c, loss, fit_intercept, passes=200_000):
    """A dual value by steps on single multipliers, or on pairs that keep the sum of α y."""
    K = X @ X.T + (np.diag(1 / (2 * c)) if loss == "squared_hinge" else 0)
    high = np.full(len(y), np.inf) if loss == "squared_hinge" else c
    low, high, beta, g = np.minimum(0, y * high), np.maximum(0, y * high), 0 * y, y.copy()
    for _ in range(passes):
        if fit_intercept:
            i = np.where(beta < high, g, -np.inf).argmax()
            j = np.where(beta > low, g, np.inf).argmin()
            if g[i] - g[j] <= 1e-12:
                break
            step = (g[i] - g[j]) / max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
            step = min(step, high[i] - beta[i], beta[j] - low[j])
            beta[i], beta[j] = beta[i] + step, beta[j] - step
            g -= step * (K[i] - K[j])
        else:
            room = np.where(g > 0, high - beta, beta - low)
            i = np.where(room > 0, np.abs(g), 0).argmax()
            if not (room[i] > 0 and abs(g[i]) > 1e-12):
                break
            new = np.clip(beta[i] + g[i] / max(K[i, i], 1e-12), low[i], high[i])
            g, beta[i] = g - (new - beta[i]) * K[i], new
    return y @ beta - 0.5 * beta @ K @ beta
