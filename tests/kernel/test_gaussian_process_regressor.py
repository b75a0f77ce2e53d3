"""Gaussian process regression: the posterior, the evidence, what it says when in trouble."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import LinAlgWarning
from scipy.stats import multivariate_normal
from sklearn.callback import ScoringMonitor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as peer

import panlearn
from panlearn.kernel import GaussianProcessRegressor
from panlearn.kernel._ascent import _Problem
from panlearn.kernel._evidence import evidence
from panlearn.kernel.kernels import RBF, Constant, Linear, Matern, White


def _data(rng, n=40, d=2):
    X = rng.uniform(-2, 2, (n, d))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(n)


def test_posterior_is_that_of_the_joint_gaussian(rng):
    X, y = _data(rng, 12)
    new, kernel, noise = rng.uniform(-2, 2, (5, 2)), 2 * RBF([1.0, 0.5]), rng.uniform(0.1, 0.2, 12)
    model = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(X, y)
    K, cross = kernel(X) + np.diag(noise), kernel(new, X)
    mean, covariance = model.predict(new, return_cov=True)
    assert_allclose(mean, cross @ np.linalg.solve(K, y), rtol=1e-9)
    expected = kernel(new) - cross @ np.linalg.solve(K, cross.T)
    assert_allclose(covariance, expected, atol=1e-10)
    _, std = model.predict(new, return_std=True)
    assert_allclose(std, np.sqrt(np.diag(expected)), rtol=1e-8)
    value = multivariate_normal(np.zeros(12), K).logpdf(y)
    assert model.log_marginal_likelihood() == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize(
    "kernel", [2 * RBF([1.0, 0.5]) + White(0.1), Matern(nu=2.5) * Linear() + 1]
)
def test_the_gradient_of_the_evidence_is_that_of_finite_differences(rng, kernel):
    X, y = _data(rng)
    Y = np.c_[y, y**2]
    model = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(X, Y)
    theta, step = kernel.theta, 1e-6
    _, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    numeric = [
        (model.log_marginal_likelihood(theta + e) - model.log_marginal_likelihood(theta - e)) / 2e-6
        for e in step * np.eye(len(theta))
    ]
    assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kernel", [2 * RBF([1.0, 0.5]) + White(0.1), 2 * peer.RBF([1.0, 0.5])])
def test_tiles_make_the_whole(rng, monkeypatch, kernel):
    X, y = _data(rng)
    whole = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(X, y)
    value, gradient = whole.log_marginal_likelihood(eval_gradient=True)
    _, std = whole.predict(X, return_std=True)
    monkeypatch.setattr("panlearn.kernel._tiles.TILE", 7)
    monkeypatch.setattr("panlearn.kernel._tiles.FEW", 0)
    monkeypatch.setattr("panlearn.kernel._evidence.FEW", 0)
    monkeypatch.setattr("panlearn.kernel.gaussian_process_regressor.BLOCK", 300)
    tiled = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(X, y)
    assert_allclose(tiled.L_, whole.L_, rtol=1e-10, atol=1e-13)
    again, slope = tiled.log_marginal_likelihood(eval_gradient=True)
    assert again == pytest.approx(value, rel=1e-12)
    assert_allclose(slope, gradient, rtol=1e-9)
    assert_allclose(tiled.predict(X, return_std=True)[1], std, rtol=1e-9)


def test_the_record_of_the_ascent(rng):
    X, y = _data(rng)
    kernel = 1.0 * RBF(1.0) + White(0.1)
    model = GaussianProcessRegressor(kernel).fit(X, y)
    values = model.history_["log_marginal_likelihood"]
    assert model.converged_
    assert model.n_iter_ == len(values) == len(model.history_["change"]) > 3
    assert (np.diff(values) >= 0).all()
    assert values[-1] == pytest.approx(model.log_marginal_likelihood_value_, rel=1e-12)
    with pytest.warns(ConvergenceWarning, match="max_iter=2 was reached") as caught:
        early = GaussianProcessRegressor(kernel, max_iter=2).fit(X, y)
    assert caught[0].filename == __file__
    assert early.n_iter_ == 2
    assert early.log_marginal_likelihood_value_ == pytest.approx(values[1], rel=1e-12)
    fixed = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)
    assert (fixed.n_iter_, fixed.converged_) == (1, True)


def test_a_callback_and_ctrl_c_keep_the_model_so_far(rng, monkeypatch):
    X, y = _data(rng)
    monitor = ScoringMonitor(scoring="r2")
    model = GaussianProcessRegressor(1.0 * RBF(1.0) + White(0.1), max_iter=3)
    with pytest.warns(ConvergenceWarning):
        model.set_callbacks(monitor).fit(X, y)
    scores = [row["r2"] for row in monitor.get_logs().data if row["task_name"] == "iteration"]
    assert len(scores) == 3
    assert scores[-1] == pytest.approx(model.score(X, y))
    calls = iter(range(100))

    def interrupted(*args):
        if next(calls) == 6:
            raise KeyboardInterrupt
        return evidence(*args)

    monkeypatch.setattr("panlearn.kernel.gaussian_process_regressor.evidence", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = GaussianProcessRegressor(1.0 * RBF(1.0) + White(0.1)).fit(X, y)
    last = model.history_["log_marginal_likelihood"][-1]
    assert model.log_marginal_likelihood_value_ == pytest.approx(last, rel=1e-12)


def test_the_optimum_has_no_slope_and_restarts_find_no_worse(rng):
    X, y = _data(rng)
    kernel = Constant(1.0) * RBF([1.0, 1.0]) + White(0.1)
    with pytest.warns(ConvergenceWarning, match=r"RBF.length_scale\[1\].*upper bound") as caught:
        model = GaussianProcessRegressor(kernel).fit(X, y)
    assert caught[0].filename == __file__
    _, slope = model.log_marginal_likelihood(eval_gradient=True)
    assert_allclose(slope[[0, 1, 3]], 0, atol=1e-2)
    with pytest.warns(ConvergenceWarning):
        more = GaussianProcessRegressor(kernel, n_restarts_optimizer=3, random_state=0).fit(X, y)
    assert more.log_marginal_likelihood() >= model.log_marginal_likelihood() - 1e-6


def test_targets_share_the_kernel_and_keep_their_scales(rng):
    X, y = _data(rng)
    kernel = RBF() + White(0.1)
    both = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(
        X, np.c_[y, 100 * y + 7]
    )
    one = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(X, y)
    (mean, std), (alone, spread) = both.predict(X, True), one.predict(X, True)
    assert_allclose(mean, np.c_[alone, 100 * alone + 7], rtol=1e-8)
    assert_allclose(std, np.c_[spread, 100 * spread], rtol=1e-8)
    _, covariance = both.predict(X[:3], return_cov=True)
    assert covariance.shape == (3, 3, 2)
    assert both.sample_y(X[:3], 5, random_state=0).shape == (3, 2, 5)


def test_draws_have_the_posterior_moments(rng):
    X, y = _data(rng, 10)
    model = GaussianProcessRegressor(RBF(), alpha=0.1, optimizer=None).fit(X, y)
    new = rng.uniform(-2, 2, (3, 2))
    draws = model.sample_y(new, 20_000, random_state=0)
    mean, covariance = model.predict(new, return_cov=True)
    # four standard errors of 20,000 draws
    assert_allclose(draws.mean(axis=1), mean, atol=4 * np.sqrt(covariance.diagonal().max() / 2e4))
    assert_allclose(np.cov(draws), covariance, atol=4 * covariance.max() * np.sqrt(2 / 2e4))
    assert_allclose(draws, model.sample_y(new, 20_000, random_state=0))


def test_jitter_is_reported(rng):
    X = np.repeat(rng.normal(size=(5, 2)), 4, axis=0)
    with pytest.warns(LinAlgWarning, match="to the diagonal") as caught:
        model = GaussianProcessRegressor(RBF(), alpha=0.0, optimizer=None).fit(X, X[:, 0])
    assert caught[0].filename == __file__
    assert 0 < model.jitter_ < 1e-8
    assert_allclose(model.predict(X), X[:, 0], atol=1e-6)
    clean = GaussianProcessRegressor(RBF(), alpha=0.1, optimizer=None).fit(X, X[:, 0])
    assert clean.jitter_ == 0


def test_what_cannot_be_is_refused(rng, tmp_path):
    X, y = _data(rng, 10)
    for alpha in ([0.1, 0.2], [[0.1]] * 10, [-1.0] * 10):
        with pytest.raises(ValueError, match="alpha"):
            GaussianProcessRegressor(alpha=alpha).fit(X, y)
    with pytest.raises(ValueError, match="not positive definite"):
        GaussianProcessRegressor(lambda x, z: -abs(x[0] - z[0])).fit(X, y)
    model = GaussianProcessRegressor(RBF() + White(), normalize_y=True, optimizer=None).fit(X, y)
    with pytest.raises(ValueError, match="not both"):
        model.predict(X, return_std=True, return_cov=True)
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    for a, b in zip(loaded.predict(X, True), model.predict(X, True), strict=True):
        assert_allclose(a, b, rtol=0)


def smooth(n=40):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        (RBF(100.0, (1e-2, 10.0)) + White(0.1), r"RBF.length_scale = 100 is above .* bound 10"),
        (RBF(1e-4, (1e-2, 10.0)) + White(0.1), r"RBF.length_scale = 0.0001 is below .* bound 0.01"),
        (
            peer.RBF(100.0, (1e-2, 10.0)) + peer.WhiteKernel(0.1),
            r"k1__length_scale = 100 is above .* bound 10",
        ),
    ],
)
@pytest.mark.parametrize("restarts", [0, 1])
def test_a_start_outside_the_bounds_is_said_and_optimised(kernel, says, restarts):
    X, y = smooth()
    free = GaussianProcessRegressor(RBF(1.0) + White(0.1)).fit(X, y)
    model = GaussianProcessRegressor(kernel, n_restarts_optimizer=restarts, random_state=0)
    with pytest.warns(UserWarning, match=says):
        model.fit(X, y)
    assert model.converged_
    value = free.log_marginal_likelihood_value_
    assert model.log_marginal_likelihood_value_ == pytest.approx(value, rel=1e-6)
    assert_allclose(model.kernel_.theta, free.kernel_.theta, atol=1e-3)
    assert kernel == model.kernel  # the hyper-parameter is as it was given


def test_a_start_outside_bounds_that_bind_ends_at_the_bound():
    X, y = smooth()
    model = GaussianProcessRegressor(RBF(9.0, (0.1, 0.5)) + White(0.1))
    with (
        pytest.warns(UserWarning, match="above its upper bound 0.5"),
        pytest.warns(ConvergenceWarning, match=r"RBF.length_scale = 0.5 is at its upper bound"),
    ):
        model.fit(X, y)
    assert model.kernel_.left.length_scale == pytest.approx(0.5, rel=1e-12)
    left = GaussianProcessRegressor(RBF(9.0, (0.1, 0.5)) + White(0.1), optimizer=None).fit(X, y)
    assert left.kernel_.left.length_scale == 9.0  # bounds are for the optimiser


@pytest.mark.parametrize("bounds", [(1e-5, np.inf), (0, 1e5), (0, np.inf)])
@pytest.mark.parametrize("restarts", [0, 2])
def test_bounds_may_be_zero_and_infinity(bounds, restarts):
    X, y = smooth()
    expected = GaussianProcessRegressor(RBF(1.0) + White(0.1)).fit(X, y)
    theirs = peer.RBF(1.0, bounds) + peer.WhiteKernel(0.1, bounds)
    for kernel in (RBF(1.0, bounds) + White(0.1, bounds), theirs):
        model = GaussianProcessRegressor(kernel, n_restarts_optimizer=restarts, random_state=0)
        model.fit(X, y)
        assert model.log_marginal_likelihood_value_ == pytest.approx(
            expected.log_marginal_likelihood_value_, rel=1e-6
        )


@given(
    start=st.floats(-6, 6),
    low=st.floats(-4, 3),
    width=st.floats(0.1, 4),
)
@settings(max_examples=15, deadline=None)
def test_the_end_is_within_the_bounds_and_no_lower_than_their_ends(start, low, width):
    """Whatever the start, the end is in the bounds and at least as likely as any of a grid."""
    X, y = smooth(25)
    bounds = (np.exp(low), np.exp(low + width))
    model = GaussianProcessRegressor(RBF(np.exp(start), bounds), alpha=0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert low - 1e-9 <= model.kernel_.theta[0] <= low + width + 1e-9
    from_start = model.log_marginal_likelihood([np.clip(start, low, low + width)])
    assert model.log_marginal_likelihood_value_ >= from_start - 1e-9
    eps, (value, slope) = 1e-3, model.log_marginal_likelihood(model.kernel_.theta, True)
    inside = low + eps < model.kernel_.theta[0] < low + width - eps
    assert not inside or abs(slope[0]) < 1e-2 * max(1.0, abs(value))


def test_a_compound_kernel_is_refused_by_name():
    X, y = smooth()
    compound = peer.CompoundKernel([peer.RBF(1.0), peer.RBF(2.0)])
    for kernel in (compound, peer.Exponentiation(compound, 2.0)):
        with pytest.raises(ValueError, match="CompoundKernel is a list of kernels"):
            GaussianProcessRegressor(kernel).fit(X, y)


def test_a_line_search_in_vain_goes_back_without_computing():
    """The likelihood of the highest place is known, however many lower ones were tried since."""
    tried = []

    def counted(kernel):
        tried.append(float(kernel.theta[0]))
        return -(kernel.theta[0] ** 2), -2 * kernel.theta

    problem = _Problem(RBF(), counted, {})
    places = [np.array([place]) for place in (0.5, 3.0, 2.0, 0.5)]
    found = [problem.objective(place)[0] for place in places]
    assert_allclose(tried, [0.5, 3.0, 2.0])
    assert_allclose(found, [0.25, 9.0, 4.0, 0.25])
