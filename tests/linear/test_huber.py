"""Huber regression: its optimum, its weights, its sources, and fits that are exact."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

import panlearn
from panlearn.linear import HuberRegressor, LeastAbsoluteDeviations


def objective(model, X, y, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    z = (y - X @ model.coef_ - model.intercept_) / model.scale_
    e = model.epsilon
    loss = np.where(np.abs(z) <= e, z**2, 2 * e * np.abs(z) - e**2)
    penalty = model.alpha * model.coef_ @ model.coef_
    return weight @ (model.scale_ * (1 + loss)) + penalty


def contaminated(rng, n=200, d=3, share=0.15):
    X = rng.normal(size=(n, d))
    y = X @ np.arange(1.0, d + 1) + 0.5 + rng.normal(size=n)
    out = rng.random(n) < share
    y[out] += 50 * rng.standard_cauchy(out.sum())
    return X, y


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_no_neighbour_has_a_lower_objective(rng, fit_intercept):
    X, y = contaminated(rng)
    model = HuberRegressor(alpha=2.0, fit_intercept=fit_intercept).fit(X, y)
    best = objective(model, X, y)
    for _ in range(50):
        other = HuberRegressor(alpha=2.0)
        other.coef_ = model.coef_ + 1e-4 * rng.normal(size=3)
        other.intercept_ = model.intercept_ + 1e-4 * rng.normal() * fit_intercept
        other.scale_ = model.scale_ + 1e-4 * rng.normal()
        assert objective(other, X, y) >= best
    # The objective never rises but by rounding, and history_ has its last value.
    assert (np.diff(model.history_["objective"]) <= 1e-14 * best).all()
    assert model.history_["objective"][-1] == pytest.approx(best, rel=1e-12)


def test_integer_weights_repeat_rows(rng):
    X, y = contaminated(rng)
    weight = rng.integers(0, 4, len(y))
    weighted = HuberRegressor().fit(X, y, sample_weight=weight)
    repeated = HuberRegressor().fit(X.repeat(weight, axis=0), y.repeat(weight))
    # a last step of 1e-5 leaves an error of its square, times a constant
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8)
    assert weighted.scale_ == pytest.approx(repeated.scale_, rel=1e-8)


def test_every_source_gives_the_same_parameters(rng):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    X, y = contaminated(rng, n=500)
    whole = HuberRegressor().fit(X, y)
    batches = [(X[i : i + 77], y[i : i + 77]) for i in range(0, 500, 77)]
    with dask.config.set(scheduler="threads"):
        parts = HuberRegressor().fit(da.from_array(X, (120, 3)), da.from_array(y, 120))
    for other in (
        HuberRegressor().fit(batches),
        parts,
        HuberRegressor().fit(sparse.csr_array(X), y),
    ):
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-8)
        assert other.intercept_ == pytest.approx(whole.intercept_, rel=1e-8)
        assert other.scale_ == pytest.approx(whole.scale_, rel=1e-8)


def test_a_long_array_starts_from_some_of_its_rows(rng):
    X, y = contaminated(rng, n=12_000)
    order = np.argsort(y)  # every so many-th row is then still a fair sample
    weight = rng.integers(0, 3, 12_000)
    long = HuberRegressor().fit(X[order], y[order], weight[order])
    stream = HuberRegressor().fit([(X[order], y[order], weight[order])])  # starts from all rows
    np.testing.assert_allclose(long.coef_, stream.coef_, rtol=1e-8)
    assert long.n_iter_ < stream.n_iter_


def test_a_stream_that_ends_is_refused(rng):
    X, y = contaminated(rng)
    with pytest.raises(ValueError, match="several times"):
        HuberRegressor().fit(iter([(X, y)]))


def test_outliers_are_found(rng):
    X = rng.normal(size=(100, 2))
    y = X @ [1.0, -1.0] + 0.1 * rng.normal(size=100)
    y[:7] += 100
    model = HuberRegressor(epsilon=2.5).fit(X, y)
    assert model.outliers_[:7].all()
    assert model.outliers_.sum() < 15
    np.testing.assert_allclose(model.coef_, [1.0, -1.0], atol=0.1)


def test_an_exact_majority_ends_in_least_absolute_deviations(rng):
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, 2.0, 3.0] - 4
    y[:10] += 100 * rng.normal(size=10)
    model = HuberRegressor(alpha=0).fit(X, y)
    exact = LeastAbsoluteDeviations().fit(X, y)
    # The scale stops at 1e-12 of the spread of y, about 40.
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-9)
    assert model.scale_ < 1e-9


@pytest.mark.parametrize("shape", [(5, 20), (12, 9), (22, 11), (8, 5)])
def test_few_rows_converge(rng, shape):
    X, y = rng.normal(size=shape), rng.integers(0, 3, shape[0]).astype(float)
    model = HuberRegressor(max_iter=1000).fit(X, y)
    assert model.converged_


def test_a_large_offset_costs_nothing(rng):
    X, y = contaminated(rng)
    near, far = HuberRegressor().fit(X, y), HuberRegressor().fit(X + 1e8, y + 1e8)
    # X + 1e8 itself is rounded to 1e-8.
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-6)


def test_warm_start_is_quick(rng):
    X, y = contaminated(rng)
    model = HuberRegressor(warm_start=True).fit(X, y)
    first, coef = model.n_iter_, model.coef_
    assert model.fit(X, y).n_iter_ < first
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-8)


def test_float32_stays(rng):
    X, y = contaminated(rng)
    single = HuberRegressor().fit(X.astype(np.float32), y.astype(np.float32))
    assert single.coef_.dtype == np.float32
    assert single.predict(X.astype(np.float32)).dtype == np.float32
    # y is given to 24 bits and is up to 1e4
    np.testing.assert_allclose(single.coef_, HuberRegressor().fit(X, y).coef_, atol=1e-3)


def test_too_few_iterations_warn(rng):
    X, y = contaminated(rng)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 was"):
        HuberRegressor(max_iter=1).fit(X, y)


def test_bad_input(rng):
    X, y = contaminated(rng)
    with pytest.raises(ValueError, match="epsilon"):
        HuberRegressor(epsilon=0.5).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        HuberRegressor().fit(np.where(X > 2, np.nan, X), y)
    with pytest.warns(DataConversionWarning):
        HuberRegressor().fit(X, y[:, None])
    with pytest.raises(ValueError, match="one target"):
        HuberRegressor().fit([(X, y[:, None])])


def test_save_and_load(rng, tmp_path):
    X, y = contaminated(rng)
    model = HuberRegressor().fit(X, y)
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.outliers_, model.outliers_)


def test_overflow_is_said(rng):
    X, y = contaminated(rng)
    with pytest.raises(ValueError, match="similar scales"):
        HuberRegressor().fit(X * 1e150, y * 1e-150)
    with pytest.raises(ValueError, match="too large"):
        HuberRegressor().fit(X * 1e160, y)
