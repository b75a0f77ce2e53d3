"""The Kalman filter against filterpy, pykalman and statsmodels."""

import numpy as np
import pytest

from panlearn.sequence import KalmanFilter, unscented_kalman_filter


@pytest.fixture(scope="module")
def tracked():
    """A target with constant acceleration in the plane, its positions seen, some of them not."""
    dt = 0.1
    F = np.kron(np.eye(2), [[0.99, dt, dt**2 / 2], [0, 0.98, dt], [0, 0, 0.95]])
    H = np.kron(np.eye(2), [[1.0, 0.0, 0.0]])
    model = KalmanFilter.from_matrices(F, H, 0.01 * np.eye(6), 0.5 * np.eye(2))
    return model, model.sample(300, 0)[0]


def with_gaps(Y):
    Y = Y.copy()
    Y[50:60] = np.nan
    return Y


def test_filterpy(tracked):
    peer = pytest.importorskip("filterpy.kalman", reason="filterpy is not installed")
    model, Y = tracked
    theirs = peer.KalmanFilter(6, 2)
    theirs.x, theirs.P = np.zeros(6), np.eye(6)
    theirs.F, theirs.H = model.transition_, model.observation_
    theirs.Q, theirs.R = model.transition_covariance_, model.observation_covariance_
    filtered = theirs.batch_filter(Y, update_first=True)[:2]
    smoothed = theirs.rts_smoother(*filtered)[:2]
    for ours, peers in ((model.filter(Y), filtered), (model.smooth(Y), smoothed)):
        for a, b in zip(ours, peers, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-10)


@pytest.mark.parametrize("change", [lambda Y: Y, with_gaps], ids=["whole", "gaps"])
def test_pykalman(tracked, change):
    peer = pytest.importorskip("pykalman", reason="pykalman is not installed")
    model, Y = tracked
    Y = change(Y)
    theirs = peer.KalmanFilter(
        transition_matrices=model.transition_,
        observation_matrices=model.observation_,
        transition_covariance=model.transition_covariance_,
        observation_covariance=model.observation_covariance_,
        initial_state_mean=np.zeros(6),
        initial_state_covariance=np.eye(6),
    )
    masked = np.ma.masked_invalid(Y)
    for ours, peers in (
        (model.filter(Y), theirs.filter(masked)),
        (model.smooth(Y), theirs.smooth(masked)),
    ):
        for a, b in zip(ours, peers, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)
    if not np.isnan(Y).any():
        assert model.score_samples(Y)[0] == pytest.approx(theirs.loglikelihood(masked), rel=1e-10)


@pytest.mark.parametrize("change", [lambda Y: Y, with_gaps], ids=["whole", "gaps"])
def test_statsmodels(tracked, change):
    peer = pytest.importorskip(
        "statsmodels.tsa.statespace.kalman_smoother", reason="statsmodels is not installed"
    )
    model, Y = tracked
    Y = change(Y)
    theirs = peer.KalmanSmoother(k_endog=2, k_states=6, tolerance=0)
    theirs.bind(np.asfortranarray(Y.T))
    theirs["design"], theirs["transition"] = model.observation_, model.transition_
    theirs["selection"], theirs["state_cov"] = np.eye(6), model.transition_covariance_
    theirs["obs_cov"] = model.observation_covariance_
    theirs.initialize_known(np.zeros(6), np.eye(6))
    result = theirs.smooth()
    means, covariances = model.smooth(Y)
    np.testing.assert_allclose(means, result.smoothed_state.T, rtol=0, atol=1e-8)
    theirs_cov = np.moveaxis(result.smoothed_state_cov, -1, 0)
    np.testing.assert_allclose(covariances, theirs_cov, rtol=0, atol=1e-8)
    assert model.score_samples(Y)[0] == pytest.approx(result.llf, rel=1e-8)


AUTOREGRESSION = [[1.0, 0.0, 0.0], [0.0, 0.5, 0.3], [0.0, 1.0, 0.0]]
DIFFUSE = {
    "level": ([[1.0]], [[1.0]], [[1469.0]], [[15099.0]], ["diffuse"]),
    "trend": (
        [[1.0, 1.0], [0.0, 1.0]],
        [[1.0, 0.0]],
        np.diag([0.5, 0.1]),
        [[2.0]],
        ["diffuse"] * 2,
    ),
    "exact": (
        [[1.0, 1.0], [0.0, 1.0]],
        [[1.0, 0.0]],
        np.diag([0.5, 0.1]),
        [[0.0]],
        ["diffuse"] * 2,
    ),
    "partly": (
        AUTOREGRESSION,
        [[1.0, 1.0, 0.0]],
        np.diag([0.3, 1.0, 0.0]),
        [[0.2]],
        ["diffuse", "stationary", "stationary"],
    ),
    "several": (
        [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.9]],
        [[1.0, 0.0, 0.0], [1.0, 0.0, 1.0]],
        np.diag([0.5, 0.1, 0.3]),
        np.diag([2.0, 0.5]),
        ["diffuse"] * 3,
    ),
}


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", DIFFUSE)
def test_the_diffuse_start_of_statsmodels(name, gaps, rng):
    reason = "statsmodels is not installed"
    peer = pytest.importorskip("statsmodels.tsa.statespace.kalman_smoother", reason=reason)
    starts = pytest.importorskip("statsmodels.tsa.statespace.initialization", reason=reason)
    *matrices, words = DIFFUSE[name]
    F, H, Q, R = (np.array(M) for M in matrices)
    n, m = len(F), len(H)
    Y = 100 + 3 * np.cumsum(rng.normal(size=(30, m)), axis=0)
    if gaps:
        Y[1] = Y[7:10, 0] = Y[0, -1] = np.nan
    theirs = peer.KalmanSmoother(k_endog=m, k_states=n, tolerance=0)
    theirs.bind(np.asfortranarray(Y.T))
    theirs["design"], theirs["transition"], theirs["obs_cov"] = H, F, R
    theirs["selection"], theirs["state_cov"] = np.eye(n), Q
    start, known = starts.Initialization(n), words.count("diffuse")
    start.set((0, known), "diffuse")
    if known < n:
        start.set((known, n), "stationary")
    theirs.initialize(start)
    result = theirs.smooth()
    ours = KalmanFilter.from_matrices(F, H, Q, R, start=tuple(words))
    assert ours.score_samples(Y)[0] == pytest.approx(result.llf, rel=1e-10, abs=1e-8)
    means, covariances = ours.smooth(Y)
    np.testing.assert_allclose(means, result.smoothed_state.T, rtol=1e-9, atol=1e-8)
    expected = np.moveaxis(result.smoothed_state_cov, -1, 0)
    np.testing.assert_allclose(covariances, expected, rtol=1e-9, atol=1e-8)
    d = result.nobs_diffuse
    assert np.isinf(ours.filter(Y)[1][: d - 1]).any(axis=(1, 2)).all()
    expected = np.moveaxis(result.filtered_state_cov, -1, 0)
    np.testing.assert_allclose(ours.filter(Y)[1][d:], expected[d:], rtol=1e-9, atol=1e-8)


def test_em_reaches_what_pykalman_reaches(tracked):
    peer = pytest.importorskip("pykalman", reason="pykalman is not installed")
    model, Y = tracked
    Y = Y[:80]
    names = ["transition_covariance", "observation_covariance"]
    theirs = peer.KalmanFilter(
        transition_matrices=model.transition_,
        observation_matrices=model.observation_,
        transition_covariance=np.eye(6),
        observation_covariance=np.eye(2),
        initial_state_mean=np.zeros(6),
        initial_state_covariance=np.eye(6),
        em_vars=names,
    ).em(Y, n_iter=10)
    ours = KalmanFilter(
        transition=model.transition_,
        observation=model.observation_,
        transition_covariance=np.eye(6),
        observation_covariance=np.eye(2),
        initial_mean=np.zeros(6),
        initial_covariance=np.eye(6),
        observation_offset=np.zeros(2),
        learn=tuple(names),
        max_iter=10,
        tol=0.0,
    )
    with pytest.warns(UserWarning, match="did not converge"):
        ours.fit(Y)
    np.testing.assert_allclose(
        ours.transition_covariance_, theirs.transition_covariance, rtol=0, atol=1e-8
    )
    np.testing.assert_allclose(
        ours.observation_covariance_, theirs.observation_covariance, rtol=0, atol=1e-8
    )


def swing(x, dt=0.05):
    return np.array([x[0] + dt * x[1], x[1] - dt * 9.81 * np.sin(x[0])])


def turn(x, dt=0.05):
    return np.array([[0.99, 0.1], [-0.1, 0.97]]) @ x


UNSCENTED = {
    "pendulum": (swing, lambda x: np.sin(x[:1])),
    "polar": (turn, lambda x: np.array([np.hypot(x[0], x[1] + 3), x[0] * x[1]])),
    "linear": (turn, lambda x: np.array([[1.0, 0.5], [0.0, 2.0]]) @ x),
}


@pytest.mark.parametrize("scale", [{"alpha": 0.5, "kappa": 1.0}, {"alpha": 1.0, "kappa": 0.0}])
@pytest.mark.parametrize("name", UNSCENTED)
def test_the_unscented_filter_of_filterpy(name, scale, rng):
    peer = pytest.importorskip("filterpy.kalman", reason="filterpy is not installed")
    move, see = UNSCENTED[name]
    Q, mean, P = np.array([[2e-3, 1e-3], [1e-3, 3e-3]]), np.array([1.2, 0.3]), 0.1 * np.eye(2)
    state, Y = mean, []
    for _ in range(60):
        state = move(state) + rng.multivariate_normal(np.zeros(2), Q)
        Y.append(see(state))
    m = len(Y[0])
    R = 0.02 * np.eye(m) + 0.005
    Y = np.array(Y) + 0.1 * rng.normal(size=(60, m))
    points = peer.MerweScaledSigmaPoints(2, beta=2.0, **scale)
    theirs = peer.UnscentedKalmanFilter(2, m, 0.05, hx=see, fx=move, points=points)
    theirs.x, theirs.P, theirs.Q, theirs.R = mean.copy(), P.copy(), Q, R
    means, covariances, total = [], [], 0.0
    for y in Y:
        theirs.predict()
        theirs.update(y)
        means.append(theirs.x)
        covariances.append(theirs.P)
        total += theirs.log_likelihood
    # it moves before it sees: nothing is seen of the first state
    ours = unscented_kalman_filter(
        np.vstack([np.full((1, m), np.nan), Y]), move, see, Q, R, mean, P, **scale
    )
    np.testing.assert_allclose(ours.means[1:], means, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.covariances[1:], covariances, rtol=0, atol=1e-9)
    assert ours.log_likelihood == pytest.approx(total, rel=1e-9)
