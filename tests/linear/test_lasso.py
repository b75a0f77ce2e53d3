"""The lasso and the elastic net against the conditions that define them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from panlearn import Batches
from panlearn.linear import ElasticNet, Lasso, LinearRegression, Ridge, lasso_path

# Few features are solved from their moments, many by working sets; (n, p), tall and wide.
SHAPES = [(80, 12), (15, 30), (60, 400), (500, 300)]


def regression(rng, n, p, k=5, noise=0.5, offset=0.0):
    X = rng.standard_normal((n, p)) + offset
    w = np.zeros(p)
    w[:k] = rng.uniform(1, 2, k) * rng.choice([-1, 1], k)
    return X, X @ w + noise * rng.standard_normal(n) + 3


def optimality(model, X, y, weight=None):
    """The largest violation of the subgradient conditions, in units of alpha."""
    X = X.toarray() if sparse.issparse(X) else X
    weight = np.ones(len(y)) if weight is None else weight
    ratio = getattr(model, "l1_ratio", 1.0)
    l1, l2 = model.alpha * ratio, model.alpha * (1 - ratio)
    residual = weight * (y - X @ model.coef_ - model.intercept_)
    pull = X.T @ residual / weight.sum() - l2 * model.coef_
    active = model.coef_ != 0
    inside = np.maximum((pull if model.positive else np.abs(pull)) - l1, 0)
    edge = np.abs(pull - l1 * np.sign(model.coef_))
    violation = np.where(active, edge, inside).max()
    if model.fit_intercept:
        violation = max(violation, abs(residual.sum() / weight.sum()))
    return violation / model.alpha


def soft_threshold(z, level):
    return np.sign(z) * np.maximum(np.abs(z) - level, 0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_optimality(rng, shape, positive, fit_intercept):
    X, y = regression(rng, *shape)
    for model in (Lasso(0.1), ElasticNet(0.1, l1_ratio=0.6)):
        model.set_params(positive=positive, fit_intercept=fit_intercept, tol=1e-14).fit(X, y)
        # a gap of 1e-14 leaves a gradient of about its root, 1e-7
        assert optimality(model, X, y) < 1e-5
        assert model.converged_
        assert model.n_iter_ == len(model.history_["change"]) > 0
        if positive:
            assert (model.coef_ >= 0).all()
        if not fit_intercept:
            assert model.intercept_ == 0


@pytest.mark.parametrize("p", [20, 300])
def test_the_gap_bounds_the_excess(rng, p):
    X, y = regression(rng, 50, p)

    def objective(model):
        residual = y - model.predict(X)
        return residual @ residual / 100 + 0.05 * np.abs(model.coef_).sum()

    best = objective(Lasso(0.05, tol=1e-13).fit(X, y))
    loose = Lasso(0.05, tol=1e-2).fit(X, y)
    assert objective(loose) - best <= loose.dual_gap_ + 1e-12
    assert loose.dual_gap_ <= 1e-2 * np.var(y)
    assert loose.history_["objective"][-1] == pytest.approx(objective(loose), rel=1e-9)


@given(st.integers(1, 12), st.floats(0.01, 3), st.floats(0, 1), st.integers(0, 99))
def test_orthonormal_columns_are_soft_thresholded(p, alpha, l1_ratio, seed):
    rng = np.random.default_rng(seed)
    n = p + 3
    Q = np.linalg.qr(rng.standard_normal((n, p)))[0] * np.sqrt(n)  # ZᵀZ = n I
    y = 2 * rng.standard_normal(n)
    model = ElasticNet(alpha, l1_ratio=l1_ratio, fit_intercept=False, tol=1e-14).fit(Q, y)
    expected = soft_threshold(Q.T @ y / n, alpha * l1_ratio) / (1 + alpha * (1 - l1_ratio))
    np.testing.assert_allclose(model.coef_, expected, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_alpha_max_is_where_the_first_feature_enters(rng, shape):
    X, y = regression(rng, *shape)
    largest = np.abs((X - X.mean(0)).T @ (y - y.mean())).max() / len(y)
    assert not Lasso(largest * (1 + 1e-9)).fit(X, y).coef_.any()
    assert np.count_nonzero(Lasso(largest * 0.99, tol=1e-9).fit(X, y).coef_) == 1


@pytest.mark.parametrize("p", [20, 300])
def test_warm_start(rng, p):
    X, y = regression(rng, 60, p)
    model = Lasso(0.02, tol=1e-10, warm_start=True).fit(X, y)
    cold = model.n_iter_
    coef = model.coef_.copy()
    model.fit(X, y)
    assert model.n_iter_ == 1 < cold
    np.testing.assert_array_equal(model.coef_, coef)
    value = np.mean((y - model.predict(X)) ** 2) / 2 + 0.02 * np.abs(coef).sum()
    assert model.history_["objective"][-1] == pytest.approx(value)
    model.fit(X[:, :7], y)  # another number of features: a fresh start
    assert model.coef_.shape == (7,)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("shape", [(60, 20), (60, 400)])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_sparse_is_dense(rng, shape, form, index, fit_intercept):
    X = sparse.random_array(shape, density=0.2, format=form, rng=rng)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    y = X @ np.r_[3, -2, 1, np.zeros(shape[1] - 3)] + 0.01 * rng.standard_normal(60) + 1
    weight = rng.uniform(0.5, 2, 60)
    options = dict(alpha=0.003, tol=1e-13, fit_intercept=fit_intercept)
    a = Lasso(**options).fit(X, y, weight)
    b = Lasso(**options).fit(X.toarray(), y, weight)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-5)
    assert a.intercept_ == pytest.approx(b.intercept_, abs=1e-5)
    assert optimality(a, X, y, weight) < 1e-3


@pytest.mark.parametrize("p", [10, 300])
def test_a_weight_is_a_repetition(rng, p):
    X, y = regression(rng, 40, p)
    weight = rng.integers(0, 4, 40)
    a = Lasso(0.1, tol=1e-13).fit(X, y, sample_weight=weight)
    b = Lasso(0.1, tol=1e-13).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-6)
    assert a.intercept_ == pytest.approx(b.intercept_, abs=1e-6)
    assert optimality(a, X, y, weight) < 1e-4


@pytest.mark.parametrize("shape", SHAPES)
def test_float32(rng, shape):
    X, y = regression(rng, *shape)
    half = Lasso(0.1).fit(X.astype(np.float32), y.astype(np.float32))
    full = Lasso(0.1).fit(X, y)
    assert half.coef_.dtype == np.float32
    assert half.predict(X.astype(np.float32)).dtype == np.float32
    # both stop at a gap of 1e-4 of the variance of y
    np.testing.assert_allclose(half.predict(X), full.predict(X), atol=0.1 * np.std(y))
    assert half.converged_


@pytest.mark.parametrize("p", [12, 400])
def test_targets_are_separate_problems(rng, p):
    X, y = regression(rng, 50, p)
    Y = np.column_stack([y, rng.standard_normal(50), np.full(50, 2.0), -y])
    both = ElasticNet(0.1, l1_ratio=0.8, tol=1e-12).fit(X, Y)
    assert both.coef_.shape == (4, p)
    assert both.intercept_.shape == both.dual_gap_.shape == (4,)
    for coef, intercept, column in zip(both.coef_, both.intercept_, Y.T, strict=True):
        one = ElasticNet(0.1, l1_ratio=0.8, tol=1e-12).fit(X, column)
        np.testing.assert_allclose(coef, one.coef_, atol=1e-5)
        assert intercept == pytest.approx(one.intercept_, abs=1e-5)
    assert both.predict(X).shape == (50, 4)
    assert both.sparse_coef_.shape == (4, p)
    np.testing.assert_array_equal(both.sparse_coef_.toarray(), both.coef_)


@pytest.mark.parametrize("p", [10, 300])
def test_constant_and_duplicate_columns(rng, p):
    X, y = regression(rng, 40, p)
    X[:, 7] = 5.0
    X[:, 8] = X[:, 0]
    X[:, 9] = -X[:, 1]
    model = Lasso(0.05, tol=1e-12).fit(X, y)
    assert model.coef_[7] == 0
    assert optimality(model, X, y) < 1e-4
    net = ElasticNet(0.05, l1_ratio=0.5, tol=1e-14).fit(X, y)
    assert net.coef_[8] == pytest.approx(net.coef_[0], abs=1e-6)
    assert net.coef_[9] == pytest.approx(-net.coef_[1], abs=1e-6)


def test_badly_conditioned(rng):
    """Correlation 0.9999: thousands of epochs for coordinate descent alone."""
    common = rng.standard_normal((200, 1))
    X = common + 0.01 * rng.standard_normal((200, 30))
    y = X[:, 0] - X[:, 1] + 0.01 * rng.standard_normal(200)
    model = Lasso(1e-6, tol=1e-10).fit(X, y)
    assert model.n_iter_ < 20
    assert optimality(model, X, y) < 1e-2  # alpha is tiny


@pytest.mark.parametrize("p", [5, 300])
def test_an_offset_costs_no_digits(rng, p):
    X, y = regression(rng, 60, p)
    near = Lasso(0.1, tol=1e-10).fit(X, y)
    far = Lasso(0.1, tol=1e-10).fit(X + 1e6, y)
    # X + 1e6 keeps X to 1e-10; the gap leaves 1e-5
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-5)


@pytest.mark.parametrize("shape", [(40, 6), (8, 12)])
def test_no_penalty_is_least_squares(rng, shape):
    X, y = regression(rng, *shape)
    plain = LinearRegression().fit(X, y)
    for model in (Lasso(0.0), ElasticNet(0.0)):
        model.fit(X, y)
        np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-9)
        assert model.intercept_ == pytest.approx(plain.intercept_)
        assert model.dual_gap_ == 0
        assert model.converged_


@pytest.mark.parametrize("p", [10, 300])
def test_no_penalty_but_positive_is_nonnegative_least_squares(rng, p):
    X, y = regression(rng, 400, p)
    model = Lasso(0.0, positive=True, fit_intercept=False).fit(X, y)
    _, norm = nnls(X, y)
    assert model.converged_
    assert np.linalg.norm(y - X @ model.coef_) == pytest.approx(norm, rel=1e-6)


@pytest.mark.parametrize("positive", [False, True])
def test_no_l1_is_ridge(rng, positive):
    X, y = regression(rng, 60, 12)
    y += 30 * X.sum(axis=1) * positive  # so that the constraint does not bind
    model = ElasticNet(0.3, l1_ratio=0.0, tol=1e-14, positive=positive).fit(X, y)
    np.testing.assert_allclose(model.coef_, Ridge(0.3 * 60).fit(X, y).coef_, rtol=1e-6)


def test_a_stream_is_an_array(rng):
    X, y = regression(rng, 90, 10)
    whole = Lasso(0.1).fit(X, y)
    stream = Lasso(0.1).fit(Batches([(X[i::3], y[i::3]) for i in range(3)]))
    np.testing.assert_allclose(stream.coef_, whole.coef_, rtol=1e-8)


def test_layouts_of_memory(rng):
    X, y = regression(rng, 40, 600)
    expected = Lasso(0.1).fit(X, y).coef_
    strided = np.zeros((80, 1200))
    strided[::2, ::2] = X
    for same in (np.asfortranarray(X), strided[::2, ::2]):
        same.flags.writeable = False
        np.testing.assert_allclose(Lasso(0.1).fit(same, y).coef_, expected, rtol=1e-9)


@pytest.mark.parametrize("p", [8, 300])
def test_path_is_a_fit_for_each_alpha(rng, p):
    X, y = regression(rng, 50, p)
    X, y = X - X.mean(0), y - y.mean()
    alphas, coefs, gaps = lasso_path(X, y, alphas=12, eps=0.05, tol=1e-12)
    assert coefs.shape == (p, 12)
    assert alphas[0] == pytest.approx(np.abs(X.T @ y).max() / 50)
    assert alphas[-1] == pytest.approx(0.05 * alphas[0])
    assert not coefs[:, 0].any()
    assert (gaps <= 1e-12 * np.mean(y**2)).all()
    for alpha, coef in zip(alphas, coefs.T, strict=True):
        model = Lasso(alpha, tol=1e-12).fit(X, y)
        np.testing.assert_allclose(coef, model.coef_, atol=1e-5)


def test_path_of_given_values(rng):
    X, y = regression(rng, 50, 8)
    alphas, coefs, _ = lasso_path(sparse.csr_array(X), y, alphas=[0.1, 1.0], positive=True)
    np.testing.assert_array_equal(alphas, [1.0, 0.1])
    assert (coefs >= 0).all()
    _, again, _ = lasso_path(X, y, alphas=[0.1], positive=True, coef_init=coefs[:, 1])
    np.testing.assert_array_equal(again[:, 0], coefs[:, 1])


@pytest.mark.parametrize(
    "bad",
    [{"alphas": 0}, {"alphas": [-1.0]}, {"alphas": []}, {"tol": -1.0}, {"max_iter": 0}, {"eps": 0}],
)
def test_path_refuses(rng, bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        lasso_path(*regression(rng, 10, 5), **bad)


def test_the_warning_names_iteration_gap_tolerance_and_remedy(rng):
    X, y = regression(rng, 40, 300, noise=5.0)
    with pytest.warns(ConvergenceWarning, match=r"iteration 1 .*tol=1e-09.*raise max_iter"):
        model = Lasso(0.01, max_iter=1, tol=1e-9).fit(X, y)
    assert not model.converged_
    with pytest.warns(ConvergenceWarning, match=r"alpha=.*tol=1e-09.*raise max_iter"):
        lasso_path(X, y, max_iter=1, tol=1e-9, alphas=5)


@pytest.mark.parametrize("p", [20, 300])
def test_a_gap_is_of_the_coefficients_beside_it(rng, p):
    """Also where the iterations ran out before the gap was looked at."""
    X, y = regression(rng, 40, p, noise=5.0)
    with pytest.warns(ConvergenceWarning):
        alphas, coefs, gaps = lasso_path(X, y, max_iter=1, tol=1e-9, alphas=15)
    with pytest.warns(ConvergenceWarning):
        model = Lasso(alphas[-1], max_iter=1, tol=1e-9, fit_intercept=False).fit(X, y)
    found = [*zip(alphas, coefs.T, gaps, strict=True), (alphas[-1], model.coef_, model.dual_gap_)]
    for alpha, w, gap in found:
        r = y - X @ w
        scale = min(r @ y / (r @ r), 40 * alpha / np.abs(X.T @ r).max())
        primal = r @ r / 80 + alpha * np.abs(w).sum()
        assert gap == pytest.approx(primal - (scale * r @ y - scale**2 * r @ r / 2) / 40, abs=1e-12)


def test_what_is_not_finite_is_refused(rng):
    for p in (10, 300):
        X, y = regression(rng, 20, p)
        X[3, 4] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            Lasso().fit(X, y)
