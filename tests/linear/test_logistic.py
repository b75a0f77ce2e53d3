"""Logistic regression: loss, curvature, solver and contract."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime, minimize
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from panlearn import Batches
from panlearn.core.columns import Columns, column_moments
from panlearn.linear import LogisticRegression
from panlearn.linear import _logistic_problem as problem_module
from panlearn.linear._logistic_loss import Loss, LossAndCurvature, rescale
from panlearn.linear._quasi_newton import LassoModel, lasso_sweeps


def make(rng, n=200, d=4, k=2, spread=1.0):
    X = rng.standard_normal((n, d)) * spread + 0.3
    scores = X @ rng.standard_normal((d, k)) + rng.gumbel(size=(n, k))
    return X, scores.argmax(axis=1)


def reference_loss(X, y, weight, coef, intercept):
    """The same sums by plain NumPy, from -log softmax."""
    X = X.toarray() if sparse.issparse(X) else X
    Z = X @ coef.T + intercept
    if Z.shape[1] == 1:
        Z = np.column_stack([np.zeros(len(Z)), Z[:, 0]])
    log_p = Z - logsumexp(Z, axis=1, keepdims=True)
    one_hot = np.eye(Z.shape[1])[y]
    residual = (np.exp(log_p) - one_hot) * weight[:, None]
    residual = residual[:, 1:] if len(coef) == 1 else residual
    gradient = np.column_stack([residual.T @ X, residual.sum(axis=0)])
    return -np.sum(weight * log_p[np.arange(len(y)), y]), gradient


def objective(model, X, y, C=1.0, l1_ratio=0.0, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    codes = np.searchsorted(model.classes_, y)
    loss, _ = reference_loss(X, codes, weight, model.coef_, model.intercept_)
    w = model.coef_
    return C * loss + 0.5 * (1 - l1_ratio) * np.sum(w * w) + l1_ratio * np.abs(w).sum()


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("layout", ["C", "F", "csr"])
def test_loss_is_the_sum_that_numpy_gives(rng, k, weighted, layout):
    X, y = make(rng, k=max(k, 2))
    weight = rng.random(200) if weighted else None
    coef, intercept = rng.standard_normal((k, 4)), rng.standard_normal(k)
    given = {"C": X, "F": np.asfortranarray(X), "csr": sparse.csr_array(X)}[layout]
    found = Loss.of(given, y, weight, coef, intercept)
    loss, gradient = reference_loss(
        X, y, np.ones(200) if weight is None else weight, coef, intercept
    )
    np.testing.assert_allclose(found.loss, loss, rtol=1e-12)
    np.testing.assert_allclose(found.gradient, gradient, rtol=0, atol=1e-11)


@pytest.mark.parametrize("k", [1, 3])
def test_gradient_and_hessian_by_differences(rng, k):
    X, y = make(rng, n=40, k=max(k, 2))
    weight, mean, scale = rng.random(40), X.mean(axis=0), X.std(axis=0)
    at = rng.standard_normal((k, 5))

    def raw(x):
        coef = x[:, :-1] / scale
        return coef, x[:, -1] - coef @ mean

    def gradient(x):
        g = Loss.of(X, y, weight, *raw(x.reshape(k, 5))).gradient
        return np.column_stack([(g[:, :-1] - mean * g[:, -1:]) / scale, g[:, -1]]).ravel()

    def loss(x):
        return Loss.of(X, y, weight, *raw(x.reshape(k, 5))).loss

    found = LossAndCurvature.of(X, y, weight, *raw(at), mean, scale, 1)
    numeric = approx_fprime(at.ravel(), loss, 1e-7)
    np.testing.assert_allclose(gradient(at), numeric, rtol=0, atol=1e-4)
    hessian = approx_fprime(at.ravel(), gradient, 1e-7)
    np.testing.assert_allclose(found.hessian, hessian, rtol=0, atol=1e-4)
    standard = np.column_stack([(X - mean) / scale, np.ones(40)])
    np.testing.assert_allclose(found.squares, weight @ standard**2, rtol=1e-12)


def test_a_sampled_hessian_is_scaled_to_all_rows(rng):
    X, y = make(rng, n=400, k=3)
    args = (X, y, None, rng.standard_normal((3, 4)), np.zeros(3), np.zeros(4), np.ones(4))
    whole, sampled = LossAndCurvature.of(*args, 1), LossAndCurvature.of(*args, 2)
    scaled = rescale(sampled.hessian, sampled.squares, whole.squares, np.eye(3))
    error = np.abs(scaled - whole.hessian).max() / np.abs(whole.hessian).max()
    assert error < 0.2  # half of 400 rows: a sampling error of about 1 / sqrt(200)
    blocks = scaled.reshape(3, 5, 3, 5)
    np.testing.assert_allclose(blocks.sum(axis=0), 0, atol=1e-10)  # a shift of all scores
    same = rescale(whole.hessian, whole.squares, whole.squares, np.eye(3))
    np.testing.assert_allclose(same, whole.hessian, rtol=1e-12, atol=1e-12)


def test_a_column_that_the_sample_lacks_gets_its_own_curvature():
    between = np.array([[0.2, -0.2], [-0.2, 0.2]])
    matrix, squares = np.diag([2.0, 0.0, 2.0, 0.0]), np.array([2.0, 0.0])
    blocks = rescale(matrix, squares, np.array([1.0, 3.0]), between)
    blocks = blocks.reshape(2, 2, 2, 2)
    np.testing.assert_allclose(blocks[:, 1, :, 1], 3 * between)
    np.testing.assert_allclose(blocks[:, 0, :, 0], np.eye(2))


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_columns_merge_to_the_moments_of_all_rows(rng, layout):
    X, weight = rng.standard_normal((50, 3)) + 5, rng.random(50)
    given = sparse.csr_array(X) if layout == "sparse" else X
    parts = sum(Columns.of(given[i : i + 10], weight[i : i + 10]) for i in range(0, 50, 10))
    mean = weight @ X / weight.sum()
    np.testing.assert_allclose(parts.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(parts.squares, weight @ (X - mean) ** 2, rtol=1e-9)
    np.testing.assert_allclose(column_moments(X, weight)[1], weight @ (X - mean) ** 2, rtol=1e-10)


@pytest.mark.parametrize("rank", [30, 4])
def test_lasso_model_minimises_the_model(rng, rank):
    """Also where the curvature has directions without any."""
    A = rng.standard_normal((rank, 6))
    B, x, penalty = A.T @ A, rng.standard_normal(6), np.full(6, 9.0)
    g = B @ rng.standard_normal(6)
    step = LassoModel(B, penalty).step(x, g)
    # optimal: the slope is -penalty * sign where x + s is not zero, and within it elsewhere
    slope, new = g + B @ step, x + step
    np.testing.assert_allclose(slope[new != 0], -9.0 * np.sign(new[new != 0]), atol=1e-3)
    assert (np.abs(slope[new == 0]) <= 9.0 + 1e-3).all()
    assert np.count_nonzero(new) < 6


def test_sweeps_are_coordinate_descent(rng):
    A = rng.standard_normal((9, 4))
    B, slope, point = A.T @ A, rng.standard_normal(4), rng.standard_normal(4)
    expected, gradient = point.copy(), slope.copy()
    for j in range(4):
        target = expected[j] - gradient[j] / B[j, j]
        new = np.sign(target) * max(abs(target) - 0.5 / B[j, j], 0)
        gradient += (new - expected[j]) * B[j]
        expected[j] = new
    lasso_sweeps(B, slope, point, np.full(4, 0.5), 0.0, 1)
    np.testing.assert_allclose(point, expected, rtol=1e-12)
    np.testing.assert_allclose(slope, gradient, rtol=1e-10)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_the_gradient_vanishes_at_the_fit(rng, k, fit_intercept, C):
    X, y = make(rng, k=k)
    model = LogisticRegression(C=C, fit_intercept=fit_intercept).fit(X, y)
    codes = np.searchsorted(model.classes_, y)
    _, gradient = reference_loss(X, codes, np.ones(200), model.coef_, model.intercept_)
    gradient[:, :-1] += model.coef_ / C
    if not fit_intercept:
        np.testing.assert_array_equal(model.intercept_, 0)
        gradient = gradient[:, :-1]
    assert np.abs(gradient).max() < 1e-6
    assert model.converged_


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_l1_satisfies_its_optimality_conditions(rng, k, l1_ratio):
    X, y = make(rng, n=300, d=12, k=k)
    C = 0.05
    model = LogisticRegression(C=C, l1_ratio=l1_ratio).fit(X, y)
    _, gradient = reference_loss(X, y, np.ones(300), model.coef_, model.intercept_)
    slope = C * gradient[:, :-1] + (1 - l1_ratio) * model.coef_
    zero = model.coef_ == 0
    assert 0 < zero.sum() < zero.size
    np.testing.assert_allclose(
        slope[~zero], -l1_ratio * np.sign(model.coef_[~zero]), rtol=0, atol=1e-7
    )
    assert (np.abs(slope[zero]) <= l1_ratio + 1e-7).all()
    np.testing.assert_allclose(gradient[:, -1], 0, atol=1e-5)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("sample", [20, 150])  # with and without a start from a sample
def test_sampled_curvature_does_not_change_the_answer(rng, monkeypatch, k, sample):
    X, y = make(rng, n=3000, k=k)
    whole = LogisticRegression().fit(X, y)
    monkeypatch.setattr(problem_module, "SAMPLE", sample)
    monkeypatch.setattr(problem_module, "PRODUCT", 0)
    sampled = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(sampled.coef_, whole.coef_, rtol=0, atol=1e-8)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_streams_sparse_and_any_layout_give_fit(rng, k, l1_ratio):
    X, y = make(rng, k=k)
    weight = rng.random(200)
    settings = dict(C=0.3, l1_ratio=l1_ratio, class_weight="balanced")
    whole = LogisticRegression(**settings).fit(X, y, weight)
    stream = Batches([(X[i::3], y[i::3], weight[i::3]) for i in range(3)])
    others = [
        LogisticRegression(**settings).fit(stream),
        LogisticRegression(**settings).fit(np.asfortranarray(X), y, weight),
        LogisticRegression(**settings).fit(sparse.csr_array(X), y, weight),
        LogisticRegression(**settings).fit(sparse.csc_array(X), y, weight),
    ]
    for other in others:
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=0, atol=1e-8)
        np.testing.assert_allclose(other.intercept_, whole.intercept_, rtol=0, atol=1e-8)


@pytest.mark.parametrize("k", [2, 3])
def test_integer_weights_are_repetitions_and_zero_is_absence(rng, k):
    X, y = make(rng, n=90, k=k)
    weight = rng.integers(0, 4, 90)
    weighted = LogisticRegression().fit(X, y, weight)
    repeated = LogisticRegression().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=0, atol=1e-8)


def test_a_class_of_weight_zero_is_absent(rng):
    X, y = make(rng, k=3)
    model = LogisticRegression().fit(X, y, (y != 1).astype(float))
    np.testing.assert_array_equal(model.classes_, [0, 2])
    np.testing.assert_allclose(
        model.coef_, LogisticRegression().fit(X[y != 1], y[y != 1]).coef_, atol=1e-8
    )


def test_class_weight_is_a_weight_of_rows(rng):
    X, y = make(rng, k=3)
    named = np.array(["a", "b", "c"])[y]
    given = LogisticRegression(class_weight={"b": 3.0}).fit(X, named)
    by_rows = LogisticRegression().fit(X, named, np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(given.coef_, by_rows.coef_, rtol=0, atol=1e-8)
    with pytest.raises(ValueError, match="class_weight names"):
        LogisticRegression(class_weight={"d": 1.0}).fit(X, named)


@pytest.mark.parametrize("k", [2, 3])
def test_labels_of_any_type(rng, k):
    X, y = make(rng, k=k)
    names = np.array(["oak", "ash", "elm"])
    model, plain = LogisticRegression().fit(X, names[y]), LogisticRegression().fit(X, y)
    assert set(model.predict(X)) <= set(names)
    order = np.argsort(names[:k])
    np.testing.assert_allclose(
        model.predict_proba(X), plain.predict_proba(X)[:, order], rtol=0, atol=1e-8
    )
    assert model.score(X, names[y]) == plain.score(X, y)


@pytest.mark.parametrize("scale", [1e-150, 1e-6, 1e6, 1e150])
def test_extreme_scales_of_a_column(rng, scale):
    X, y = make(rng)
    model = LogisticRegression(C=np.inf).fit(X, y)
    scaled = LogisticRegression(C=np.inf).fit(X * [scale, 1, 1, 1], y)
    np.testing.assert_allclose(scaled.coef_ * [scale, 1, 1, 1], model.coef_, rtol=1e-7)
    penalised = LogisticRegression().fit(X * [scale, 1, 1, 1], y)
    assert np.isfinite(penalised.coef_).all()


def test_an_offset_of_the_columns_moves_the_intercept_alone(rng):
    X, y = make(rng)
    model, moved = LogisticRegression().fit(X, y), LogisticRegression().fit(X + 1e6, y)
    # X + 1e6 itself is rounded to 1e-10
    np.testing.assert_allclose(moved.coef_, model.coef_, rtol=0, atol=1e-8)
    X, y = make(rng, k=3)
    model, moved = LogisticRegression().fit(X, y), LogisticRegression().fit(X + 1e6, y)
    np.testing.assert_allclose(moved.coef_, model.coef_, rtol=0, atol=1e-8)


def test_margins_of_ten_thousand_do_not_overflow(rng):
    X, y = make(rng)
    model = LogisticRegression().fit(X, y)
    model.coef_ = 1e4 * model.coef_
    p, log_p = model.predict_proba(X), model.predict_log_proba(X)
    assert np.isfinite(p).all()
    assert np.isfinite(log_p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.isfinite(Loss.of(X, y, None, model.coef_, model.intercept_).loss)


@pytest.mark.parametrize("k", [2, 3])
def test_separable_data_without_a_penalty_stop_and_warn(k):
    X = (np.repeat(np.arange(k), 10) + np.tile(np.linspace(0, 0.4, 10), k))[:, None]
    y = np.repeat(np.arange(k), 10)
    with pytest.warns(ConvergenceWarning, match="separable"):
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.score(X, y) == 1
    assert model.history_["objective"][-1] < 1e-6


def test_one_feature_against_another_minimiser(rng):
    X, y = make(rng, d=1)

    def loss(t):
        z = X[:, 0] * t[0] + t[1]
        return np.sum(np.logaddexp(0, np.where(y == 1, -z, z))) + 0.5 * t[0] ** 2

    best = minimize(loss, [0, 0], method="Nelder-Mead", options=dict(xatol=1e-9, fatol=1e-12)).x
    model = LogisticRegression().fit(X, y)
    np.testing.assert_allclose([model.coef_[0, 0], model.intercept_[0]], best, atol=1e-5)


def test_constant_and_repeated_columns(rng):
    X, y = make(rng)
    wide = np.column_stack([X, np.full(200, 7.0), X[:, 0]])
    for C in (1.0, np.inf):
        model = LogisticRegression(C=C).fit(wide, y)
        assert model.converged_
        assert model.coef_[0, 4] == pytest.approx(0, abs=1e-6)
    # without a penalty only the sum of the two is determined
    alone = LogisticRegression(C=np.inf).fit(X, y)
    total = model.coef_[0, 0] + model.coef_[0, 5]
    assert total == pytest.approx(alone.coef_[0, 0], abs=1e-6)


def test_float32_in_float32_out(rng):
    X, y = make(rng)
    double, single = LogisticRegression().fit(X, y), LogisticRegression().fit(X.astype("f4"), y)
    assert single.coef_.dtype == single.intercept_.dtype == np.float32
    assert single.predict_proba(X.astype("f4")).dtype == np.float32
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=0, atol=1e-4)


def test_a_warm_start_from_the_solution_is_there_at_once(rng):
    X, y = make(rng, k=3)
    model = LogisticRegression(warm_start=True).fit(X, y)
    cold, before = model.n_iter_, model.coef_
    model.fit(X, y)
    assert model.n_iter_ == 1 < cold
    np.testing.assert_allclose(model.coef_, before, rtol=0, atol=1e-9)
    other = model.set_params(C=0.5).fit(X, y)
    fresh = LogisticRegression(C=0.5).fit(X, y)
    np.testing.assert_allclose(other.coef_, fresh.coef_, rtol=0, atol=1e-8)


def test_too_few_iterations_warn(rng):
    X, y = make(rng)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = LogisticRegression(max_iter=2).fit(X, y)
    assert not model.converged_
    assert len(model.history_["objective"]) == 2


def test_the_objective_falls_at_every_iteration(rng):
    X, y = make(rng, n=400, d=10, k=3, spread=5)
    for l1_ratio in (0.0, 1.0):
        model = LogisticRegression(C=100, l1_ratio=l1_ratio).fit(X, y)
        values = np.array(model.history_["objective"])
        assert (np.diff(values) <= 1e-13 * values[:-1]).all()
        total = objective(model, X, y, 100, l1_ratio) / (100 * 400)
        assert total == pytest.approx(values[-1], rel=1e-10)


def test_one_class_is_refused(rng):
    with pytest.raises(ValueError, match="one class"):
        LogisticRegression().fit(rng.standard_normal((5, 2)), np.ones(5))
