"""Quantile regression: optimality, the large-problem route, weights and units."""

import numpy as np
import pytest
from scipy import sparse

import panlearn
from panlearn.linear import LeastAbsoluteDeviations
from panlearn.linear import least_absolute_deviations as module


def heavy(rng, n=200, d=3):
    X = rng.normal(size=(n, d))
    return X, X @ np.arange(1.0, d + 1) - 0.5 + rng.standard_t(2, size=n)


def loss(model, X, y, q):
    r = y - X @ model.coef_ - model.intercept_
    return np.maximum(q * r, (q - 1) * r).sum()


@pytest.mark.parametrize("q", [0.1, 0.5, 0.8])
def test_the_quantile_of_the_residuals_is_zero(rng, q):
    X, y = heavy(rng)
    model = LeastAbsoluteDeviations(quantile=q).fit(X, y)
    residual = y - model.predict(X)
    # d + 1 rows are fitted exactly; of the others a share q is below.
    assert (np.abs(residual) < 1e-9).sum() == 4
    assert (residual < -1e-9).sum() <= q * 200 <= (residual < 1e-9).sum()


def test_a_constant_gives_the_median(rng):
    y = rng.normal(size=31)
    model = LeastAbsoluteDeviations().fit(np.zeros((31, 1)), y)
    assert model.intercept_ == pytest.approx(np.median(y), abs=1e-12)


@pytest.mark.parametrize("order", ["shuffled", "sorted"])
@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_many_rows_by_few_are_exact(rng, monkeypatch, order, alpha):
    X, y = heavy(rng, n=4000, d=2)
    if order == "sorted":  # the first sample is then of no use for the sides
        X, y = X[np.argsort(y)], np.sort(y)
    weight = rng.uniform(0.1, 2, 4000)
    fast = LeastAbsoluteDeviations(alpha=alpha).fit(X, y, weight)
    monkeypatch.setattr(module, "_refine", lambda *_: None)
    plain = LeastAbsoluteDeviations(alpha=alpha).fit(X, y, weight)
    np.testing.assert_allclose(fast.coef_, plain.coef_, atol=1e-8)
    assert fast.intercept_ == pytest.approx(plain.intercept_, abs=1e-8)


def test_a_misleading_first_fit_is_mended(rng):
    X, y = heavy(rng, n=4000, d=2)
    design = np.column_stack([X, np.ones(4000)])
    problem = design, y, np.ones(4000), 0.5, np.zeros(2)
    mended = module._refine(problem, rng.normal(size=4000), 400)
    right = module._dual(*problem)
    if mended is not None:  # None asks for the whole problem, and is right too
        np.testing.assert_allclose(mended, right, atol=1e-8)
    near = module._refine(problem, y - design @ (right + 0.05), 400)
    np.testing.assert_allclose(near, right, atol=1e-8)


def test_integer_weights_repeat_rows(rng):
    X, y = heavy(rng)
    weight = rng.integers(0, 4, len(y))
    weighted = LeastAbsoluteDeviations().fit(X, y, sample_weight=weight)
    repeated = LeastAbsoluteDeviations().fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)


def test_sparse_and_dense_agree(rng):
    X, y = heavy(rng)
    X[rng.random(X.shape) < 0.5] = 0
    for intercept in (True, False):
        dense = LeastAbsoluteDeviations(fit_intercept=intercept).fit(X, y)
        for kind in (sparse.csr_array, sparse.csc_matrix):
            other = LeastAbsoluteDeviations(fit_intercept=intercept).fit(kind(X), y)
            np.testing.assert_allclose(other.coef_, dense.coef_, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-120, 1e-6, 1e6, 1e120])
def test_units_do_not_matter(rng, scale):
    X, y = heavy(rng)
    one = LeastAbsoluteDeviations().fit(X, y)
    np.testing.assert_allclose(
        LeastAbsoluteDeviations().fit(X, y * scale).coef_ / scale, one.coef_, rtol=1e-8
    )
    np.testing.assert_allclose(
        LeastAbsoluteDeviations().fit(X * scale, y).coef_ * scale, one.coef_, rtol=1e-8
    )


def test_constant_and_repeated_columns(rng):
    X, y = heavy(rng)
    model = LeastAbsoluteDeviations().fit(np.column_stack([X, np.full(200, 7.0), X[:, 0]]), y)
    assert model.coef_[3] == 0
    plain = LeastAbsoluteDeviations().fit(X, y)
    design = np.column_stack([X, np.full(200, 7.0), X[:, 0]])
    assert loss(model, design, y, 0.5) == pytest.approx(loss(plain, X, y, 0.5), rel=1e-9)


def test_bad_input(rng):
    X, y = heavy(rng)
    with pytest.raises(ValueError, match="quantile"):
        LeastAbsoluteDeviations(quantile=1.0).fit(X, y)
    with pytest.raises(ValueError, match="at least one non-zero"):
        LeastAbsoluteDeviations().fit(X, y, sample_weight=np.zeros(200))


def test_float32_save_and_load(rng, tmp_path):
    X, y = heavy(rng)
    model = LeastAbsoluteDeviations().fit(X.astype(np.float32), y)
    assert model.coef_.dtype == np.float32
    panlearn.save(model, tmp_path / "model")
    np.testing.assert_array_equal(panlearn.load(tmp_path / "model").predict(X), model.predict(X))
