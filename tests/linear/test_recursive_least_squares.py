"""Recursive least squares: kernel against reference, batch answers, forgetting, a million rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import panlearn
from panlearn.linear import BayesianLinearRegression, RecursiveLeastSquares, Ridge
from panlearn.linear._recursive_kernels import absorb


def reference(theta, P, X, y, noise, past):
    """The textbook step in NumPy."""
    theta, P = theta.copy(), P.copy()
    if X.shape[1] < len(P):
        X = np.column_stack([X, np.ones(len(X))])
    for x, target, r, f in zip(X, y, noise, past, strict=True):
        P = P / f
        K = P @ x / (x @ P @ x + r)
        theta = theta + np.outer(K, target - x @ theta)
        rest = np.eye(len(P)) - np.outer(K, x)
        P = rest @ P @ rest.T + r * np.outer(K, K)
    return theta, P


def line(rng, n=60, d=3):
    X = rng.normal(size=(n, d))
    return X, X @ np.arange(1.0, d + 1) + 2 + 0.3 * rng.normal(size=n)


def test_the_kernel_is_the_reference(rng):
    X, Y = rng.normal(size=(50, 3)), rng.normal(size=(50, 2))
    noise, past = rng.uniform(0.1, 2, 50), rng.uniform(0.8, 1, 50)
    noise[7] = np.inf  # a row that counts for nothing
    A = rng.normal(size=(3, 3))
    theta, P = rng.normal(size=(3, 2)), A @ A.T
    counts = np.isfinite(noise)
    expected = reference(theta, P, X[counts], Y[counts], noise[counts], past[counts])
    start = np.linalg.cholesky(np.linalg.inv(P)).T
    triangle = np.hstack([start, start @ theta])
    absorb(triangle, X, Y, noise, past)
    R, z = triangle[:, :3], triangle[:, 3:]
    np.testing.assert_array_equal(R, np.triu(R))
    np.testing.assert_allclose(np.linalg.solve(R, z), expected[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.linalg.inv(R.T @ R), expected[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_squares_of_rows_neither_overflow_nor_vanish(rng, scale):
    X, y = line(rng)
    near = RecursiveLeastSquares(fit_intercept=False, prior_covariance=1e-8).fit(X, y)
    far = RecursiveLeastSquares(
        fit_intercept=False, prior_covariance=1e-8, noise_variance=scale**-1
    ).fit(X, y)
    assert np.isfinite(far.coef_).all()
    # rows of weight 1e200 leave nothing of the prior, those of weight 1e-200 all of it
    limit = np.linalg.lstsq(X, y)[0] if scale > 1 else np.zeros(3)
    np.testing.assert_allclose(far.coef_, limit, rtol=1e-9, atol=1e-200)
    assert not np.allclose(near.coef_, limit, rtol=1e-3)


@pytest.mark.parametrize("noise", [1.0, 1e-12])
def test_a_million_rows_leave_it_positive_definite(rng, noise):
    X = rng.normal(size=(1_000_000, 6))
    X[:, 5] = X[:, 4] + 1e-3 * X[:, 5]  # nearly collinear
    model = RecursiveLeastSquares(noise_variance=noise).fit(X, X @ np.ones(6))
    np.testing.assert_array_equal(model.covariance_, model.covariance_.T)
    assert np.linalg.eigvalsh(model.covariance_)[0] > 0
    np.testing.assert_allclose(model.coef_, 1.0, atol=1e-3)


def test_rows_blocks_and_fit_agree(rng):
    X, y = line(rng)
    whole = RecursiveLeastSquares(forgetting=0.95).fit(X, y)
    rows, blocks = RecursiveLeastSquares(forgetting=0.95), RecursiveLeastSquares(forgetting=0.95)
    for i in range(60):
        rows.partial_fit(X[i : i + 1], y[i : i + 1])
    for i in range(0, 60, 7):
        blocks.partial_fit(X[i : i + 7].tolist(), y[i : i + 7])
    for other in (rows, blocks):
        np.testing.assert_array_equal(other.theta_, whole.theta_)
        np.testing.assert_array_equal(other.covariance_, whole.covariance_)
    assert whole.n_samples_seen_ == 60


def test_streams_dask_and_sparse_agree(rng):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    X, y = line(rng)
    whole = RecursiveLeastSquares(forgetting=0.9).fit(X, y)
    stream = ((X[i : i + 7], y[i : i + 7]) for i in range(0, 60, 7))
    with dask.config.set(scheduler="threads"):
        parts = RecursiveLeastSquares(forgetting=0.9).fit(
            da.from_array(X, (20, 3)), da.from_array(y, 20)
        )
    for other in (
        RecursiveLeastSquares(forgetting=0.9).fit(stream),
        RecursiveLeastSquares(forgetting=0.9).fit(sparse.csr_array(X), y),
        parts,
    ):
        np.testing.assert_array_equal(other.theta_, whole.theta_)


def test_it_is_the_bayesian_posterior_and_ridge(rng):
    X, y = line(rng)
    A = rng.normal(size=(3, 3))
    prior = dict(prior_mean=[1.0, 0.0, -1.0], prior_covariance=A @ A.T, noise_variance=0.1)
    rls = RecursiveLeastSquares(fit_intercept=False, **prior).fit(X, y)
    bayes = BayesianLinearRegression(fit_intercept=False, **prior).fit(X, y)
    np.testing.assert_allclose(rls.coef_, bayes.coef_, rtol=1e-10)
    np.testing.assert_allclose(rls.covariance_, bayes.sigma_, rtol=1e-8)
    for ours, theirs in zip(rls.predict(X, True), bayes.predict(X, True), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    # A flat prior on the intercept is a very wide one.
    rls = RecursiveLeastSquares(prior_covariance=0.5, intercept_prior_variance=1e10).fit(X, y)
    ridge = Ridge(alpha=2.0).fit(X, y)
    np.testing.assert_allclose(rls.coef_, ridge.coef_, rtol=1e-6)
    assert rls.intercept_ == pytest.approx(ridge.intercept_, rel=1e-6)


@pytest.mark.parametrize("forgetting", [1.0, 0.9])
def test_integer_weights_repeat_rows(rng, forgetting):
    X, y = line(rng)
    weight = rng.integers(0, 4, 60)
    weighted = RecursiveLeastSquares(forgetting=forgetting).fit(X, y, sample_weight=weight)
    repeated = RecursiveLeastSquares(forgetting=forgetting).fit(
        X.repeat(weight, axis=0), y.repeat(weight)
    )
    np.testing.assert_allclose(weighted.theta_, repeated.theta_, rtol=1e-11)
    np.testing.assert_allclose(weighted.covariance_, repeated.covariance_, rtol=1e-10)


def test_forgetting_follows_a_change(rng):
    X, _ = line(rng, n=400)
    y = np.where(np.arange(400) < 200, X[:, 0], -X[:, 0])
    keeps, forgets = (RecursiveLeastSquares(forgetting=f).fit(X, y) for f in (1.0, 0.9))
    assert abs(forgets.coef_[0] + 1) < 1e-6 < abs(keeps.coef_[0])
    assert abs(keeps.coef_[0]) < 0.2


def test_several_targets_are_learned_apart(rng):
    X, y = line(rng)
    both = RecursiveLeastSquares().fit(X, np.column_stack([y, -2 * y]))
    one = RecursiveLeastSquares().fit(X, y)
    np.testing.assert_allclose(both.coef_, [one.coef_, -2 * one.coef_], rtol=1e-9)
    mean, std = both.predict(X, return_std=True)
    assert mean.shape == std.shape == (60, 2)
    with pytest.raises(ValueError, match="3 targets"):
        both.partial_fit(X, np.zeros((60, 3)))


def test_what_is_frozen_stays(rng):
    X, y = line(rng)
    model = RecursiveLeastSquares(prior_mean=[5.0, 0.0, 0.0], prior_covariance=[0.0, 1.0, 1.0])
    assert model.fit(X, y).coef_[0] == 5.0
    assert not model.covariance_[0].any()
    # a direction that is frozen: the sum of the first two
    flat = np.array([[1.0, -1, 0], [-1, 1, 0], [0, 0, 1]])
    turned = RecursiveLeastSquares(prior_mean=[2.0, 1.0, 0.0], prior_covariance=flat).fit(X, y)
    assert turned.coef_[:2].sum() == pytest.approx(3.0)


def test_variance_without_bound_is_told(rng):
    X, y = line(rng, n=3000)
    X[:, 1] = 0.0  # never seen again, while all is forgotten
    with pytest.raises(ValueError, match="grow without bound"):
        RecursiveLeastSquares(forgetting=0.5).fit(X, y)


def test_the_covariance_is_found_when_asked_for(rng):
    X, y = line(rng)
    with pytest.raises(NotFittedError):
        _ = RecursiveLeastSquares().covariance_
    model = RecursiveLeastSquares(noise_variance=0.1, prior_covariance=2.0, fit_intercept=False)
    expected = np.linalg.inv(X.T @ X / 0.1 + np.eye(3) / 2)
    np.testing.assert_allclose(model.fit(X, y).covariance_, expected, rtol=1e-12)


def test_a_bad_row_changes_nothing(rng):
    X, y = line(rng)
    model = RecursiveLeastSquares().fit(X, y)
    before = model.theta_.copy()
    for row, target, message in [
        (np.full((1, 3), np.nan), np.ones(1), "NaN"),
        (np.full((1, 3), np.inf), np.ones(1), "infinity"),
        (np.ones((1, 3)), np.array([np.nan]), "NaN"),
        (np.ones((1, 2)), np.ones(1), "2 features"),
        (np.ones((2, 3)), np.ones(1), "inconsistent"),
        (np.full((1, 3), 1e306), np.ones(1), "overflows"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(row, target)
        np.testing.assert_array_equal(model.theta_, before)


@pytest.mark.parametrize(
    "covariance", [-np.eye(3), np.eye(2), [1.0, 2.0], np.triu(np.ones((3, 3)))]
)
def test_a_bad_prior_is_named(rng, covariance):
    with pytest.raises(ValueError, match="prior_covariance"):
        RecursiveLeastSquares(prior_covariance=covariance).fit(*line(rng))


def test_float32_fortran_and_read_only(rng):
    X, y = line(rng)
    single = X.astype(np.float32)
    model = RecursiveLeastSquares().fit(single, y)
    assert model.coef_.dtype == model.predict(single).dtype == np.float32
    frozen = np.asfortranarray(X)
    frozen.flags.writeable = False
    same = RecursiveLeastSquares().fit(frozen, y)
    np.testing.assert_array_equal(same.theta_, RecursiveLeastSquares().fit(X, y).theta_)
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=1e-4)


def test_save_load_and_go_on(rng, tmp_path):
    X, y = line(rng)
    model = RecursiveLeastSquares().fit(X[:30], y[:30])
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model").partial_fit(X[30:], y[30:])
    np.testing.assert_array_equal(loaded.theta_, RecursiveLeastSquares().fit(X, y).theta_)


def test_a_prior_without_doubt_stays_and_nothing_is_written_to_the_screen(capfd):
    """A system of no unknowns is not LAPACK's to complain of."""
    model = RecursiveLeastSquares(prior_covariance=0.0, prior_mean=0.7, fit_intercept=False)
    assert model.fit(np.ones((4, 1)), [1.0, 4.0, -2.0, 3.0]).coef_ == [0.7]
    assert capfd.readouterr() == ("", "")
