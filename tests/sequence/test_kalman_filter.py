"""The Kalman filter against the joint Gaussian of a whole series, written out."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import linalg, stats

from panlearn.sequence import KalmanFilter
from panlearn.sequence._echelon import divide, triangularise
from panlearn.sequence._state_space import root


def at(matrix, t, ndim=2):
    return matrix[t] if matrix.ndim > ndim else matrix


def joint(model, T, U=None):
    """Mean and covariance of all states, then all observations, one below the other."""
    n = model.observation_.shape[-1]
    mean, cov = np.zeros(T * n), np.zeros((T * n, T * n))
    mean[:n], cov[:n, :n] = model.initial_mean_, model.initial_covariance_
    for t in range(1, T):
        F, Q = at(model.transition_, t - 1), at(model.transition_covariance_, t - 1)
        now, last = slice(t * n, t * n + n), slice(t * n - n, t * n)
        push = 0 if U is None else at(model.control_, t - 1) @ U[t - 1]
        mean[now] = F @ mean[last] + push
        cov[now, : t * n] = F @ cov[last, : t * n]
        cov[: t * n, now] = cov[now, : t * n].T
        cov[now, now] = F @ cov[last, last] @ F.T + Q
    H = linalg.block_diag(*[at(model.observation_, t) for t in range(T)])
    R = linalg.block_diag(*[at(model.observation_covariance_, t) for t in range(T)])
    offset = np.tile(model.observation_offset_, T)
    whole = np.block([[cov, cov @ H.T], [H @ cov, H @ cov @ H.T + R]])
    return np.concatenate([mean, H @ mean + offset]), whole


def conditioned(mean, cov, wanted, seen, values):
    """The law of some entries of a Gaussian given others."""
    if not len(seen):
        return mean[wanted], cov[np.ix_(wanted, wanted)]
    gain = linalg.solve(cov[np.ix_(seen, seen)], cov[np.ix_(seen, wanted)]).T
    return (
        mean[wanted] + gain @ (values - mean[seen]),
        cov[np.ix_(wanted, wanted)] - gain @ cov[np.ix_(seen, wanted)],
    )


@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize("p", [0, 2])
def test_filter_smoother_and_likelihood_are_of_the_joint_gaussian(rng, varying, p, random_model):
    T, n, m = 6, 3, 2
    model = random_model(rng, n, m, p, T if varying else None)
    U = rng.normal(size=(T, p)) if p else None
    Y = rng.normal(size=(T, m))
    Y[1, 0] = Y[3] = Y[4, 1] = np.nan
    mean, cov = joint(model, T, U)
    flat, place = Y.ravel(), np.arange(T * m) + T * n
    seen = ~np.isnan(flat)
    filtered, filtered_cov = model.filter(Y, U)
    smoothed, smoothed_cov = model.smooth(Y, U)
    for t in range(T):
        state = np.arange(t * n, t * n + n)
        past = seen & (np.arange(T * m) < (t + 1) * m)
        for known, means, covs in (
            (past, filtered, filtered_cov),
            (seen, smoothed, smoothed_cov),
        ):
            expected = conditioned(mean, cov, state, place[known], flat[known])
            np.testing.assert_allclose(means[t], expected[0], atol=1e-10)
            np.testing.assert_allclose(covs[t], expected[1], atol=1e-10)
    law = stats.multivariate_normal(mean[place[seen]], cov[np.ix_(place[seen], place[seen])])
    np.testing.assert_allclose(model.score_samples(Y, U), [law.logpdf(flat[seen])], rtol=1e-10)


def test_more_observations_than_states_are_collapsed_without_loss(rng, random_model):
    T, n, m = 5, 2, 6
    model = random_model(rng, n, m)
    Y = rng.normal(size=(T, m))
    mean, cov = joint(model, T)
    place = np.arange(T * m) + T * n
    assert model._model()._collapse is not None
    means, covariances = model.smooth(Y)
    for t in range(T):
        state = np.arange(t * n, t * n + n)
        expected = conditioned(mean, cov, state, place, Y.ravel())
        np.testing.assert_allclose(means[t], expected[0], atol=1e-10)
        np.testing.assert_allclose(covariances[t], expected[1], atol=1e-10)
    law = stats.multivariate_normal(mean[place], cov[np.ix_(place, place)])
    np.testing.assert_allclose(model.score_samples(Y), [law.logpdf(Y.ravel())], rtol=1e-10)


def test_forecasts_are_of_the_joint_gaussian_and_intervals_hold_their_share(rng, random_model):
    T, steps, n, m = 5, 3, 3, 2
    model = random_model(rng, n, m, 1)
    U = rng.normal(size=(T + steps, 1))
    Y = rng.normal(size=(T, m))
    mean, cov = joint(model, T + steps, U)
    place = np.arange((T + steps) * m) + (T + steps) * n
    found = model.forecast(Y, steps, U[:T], U[T : T + steps - 1])
    ahead, covariance = conditioned(mean, cov, place[T * m :], place[: T * m], Y.ravel())
    np.testing.assert_allclose(found.mean.ravel(), ahead, atol=1e-10)
    for k in range(steps):
        block = slice(k * m, k * m + m)
        np.testing.assert_allclose(found.covariance[k], covariance[block, block], atol=1e-10)
    low, high = found.interval(0.9)
    np.testing.assert_allclose((high - low)[0, 0], 2 * 1.6448536 * found.covariance[0, 0, 0] ** 0.5)


def test_covariances_that_came_to_rest_are_those_of_the_whole_recursion(rng, random_model):
    model = random_model(rng)
    Y, _ = model.sample(500, 0)
    Y[200, 1] = np.nan  # wakes it up
    varying = KalmanFilter.from_matrices(
        *(
            np.broadcast_to(M, (500, *M.shape))
            for M in (
                model.transition_,
                model.observation_,
                model.transition_covariance_,
                model.observation_covariance_,
            )
        ),
        initial_mean=model.initial_mean_,
        initial_covariance=model.initial_covariance_,
        observation_offset=model.observation_offset_,
    )
    for ours, whole in zip(model.smooth(Y), varying.smooth(Y), strict=True):
        np.testing.assert_allclose(ours, whole, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.score_samples(Y), varying.score_samples(Y), rtol=1e-12)
    ahead, gain = model.steady_state()
    state, H = model.filter(Y)[1][-1], model.observation_
    F, Q = model.transition_, model.transition_covariance_
    np.testing.assert_allclose(F @ state @ F.T + Q, ahead, atol=1e-10)
    np.testing.assert_allclose((np.eye(3) - gain @ H) @ ahead, state, atol=1e-10)


def test_a_sensor_that_is_dead_and_comes_back(random_model, rng):
    """Covariances come to rest with one sensor, and again with two: each has its own gain."""
    model = random_model(rng)
    Y, _ = model.sample(600, 0)
    Y[:250, 1] = Y[400:, 0] = np.nan
    F, H = model.transition_, model.observation_
    Q, R = model.transition_covariance_, model.observation_covariance_
    mean, P = model.initial_mean_, model.initial_covariance_
    means, covariances = model.filter(Y)
    for t, y in enumerate(Y):
        seen = ~np.isnan(y)
        gain = P @ H[seen].T @ np.linalg.inv(H[seen] @ P @ H[seen].T + R[np.ix_(seen, seen)])
        mean = mean + gain @ (y - H @ mean - model.observation_offset_)[seen]
        P = P - gain @ H[seen] @ P
        np.testing.assert_allclose(means[t], mean, atol=1e-9)
        np.testing.assert_allclose(covariances[t], P, atol=1e-9)
        mean, P = F @ mean, F @ P @ F.T + Q


def test_forecasts_take_the_matrices_of_their_steps(rng, random_model):
    T, steps, n, m = 4, 3, 2, 2
    model = random_model(rng, n, m, 1, T + steps)
    U, Y = rng.normal(size=(T + steps, 1)), rng.normal(size=(T, m))
    mean, cov = joint(model, T + steps, U)
    place = np.arange((T + steps) * m) + (T + steps) * n
    found = model.forecast(Y, steps, U[:T], U[T : T + steps - 1])
    ahead, covariance = conditioned(mean, cov, place[T * m :], place[: T * m], Y.ravel())
    np.testing.assert_allclose(found.mean.ravel(), ahead, atol=1e-10)
    for k in range(steps):
        block = slice(k * m, k * m + m)
        np.testing.assert_allclose(found.covariance[k], covariance[block, block], atol=1e-10)


def test_a_sharp_sensor_after_a_vague_start_is_exact_to_the_last_digits():
    """The short form P - K H P loses 1e6 beside 1e-12; rational numbers lose nothing."""
    F, H = [[1, 1], [0, 1]], [1, 1]
    P = [[Fraction(10**6), Fraction(0)], [Fraction(0), Fraction(10**6)]]
    Q, R = [Fraction(1, 10**13), Fraction(1, 10**14)], Fraction(1, 10**12)
    model = KalmanFilter.from_matrices(
        F, [H], np.diag([float(q) for q in Q]), [[float(R)]], initial_covariance=1e6 * np.eye(2)
    )
    _, covariances = model.filter(np.zeros((8, 1)))
    for t in range(8):
        across = [P[i][0] * H[0] + P[i][1] * H[1] for i in range(2)]
        spread = across[0] * H[0] + across[1] * H[1] + R
        P = [[P[i][j] - across[i] * across[j] / spread for j in range(2)] for i in range(2)]
        if t >= 2:
            expected = np.array(P, dtype=float)
            # a factor of 1e3 beside one of 1e-6 keeps seven digits, and its square six
            np.testing.assert_allclose(covariances[t], expected, rtol=1e-5)
            assert np.linalg.eigvalsh(covariances[t]).min() > 0
        half = [[sum(F[i][k] * P[k][j] for k in range(2)) for j in range(2)] for i in range(2)]
        P = [[sum(half[i][k] * F[j][k] for k in range(2)) for j in range(2)] for i in range(2)]
        P[0][0], P[1][1] = P[0][0] + Q[0], P[1][1] + Q[1]


def test_covariances_stay_positive_definite_with_tiny_noise():
    dt = 1e-3
    F = np.array([[1, dt, dt**2 / 2], [0, 1, dt], [0, 0, 1]])
    model = KalmanFilter.from_matrices(
        np.broadcast_to(F, (1_000_000, 3, 3)),  # so that nothing comes to rest
        [[1.0, 0.0, 0.0]],
        1e-14 * np.eye(3),
        [[1e-12]],
        initial_covariance=1e6 * np.eye(3),
    )
    _, covariances = model.filter(np.zeros((1_000_000, 1)))
    assert np.array_equal(covariances, np.swapaxes(covariances, 1, 2))
    assert np.linalg.eigvalsh(covariances).min() > 0


def test_update_and_advance_walk_as_filter_does(rng, random_model):
    model = random_model(rng, p=1)
    Y, U = rng.normal(size=(4, 2)), rng.normal(size=(4, 1))
    Y[2, 0] = np.nan
    state = model.initial_state()
    means, covariances = model.filter(Y, U)
    for t in range(4):
        state = model.update(state, Y[t])
        np.testing.assert_allclose(state.mean, means[t], atol=1e-12)
        np.testing.assert_allclose(state.covariance, covariances[t], atol=1e-12)
        state = model.advance(state, U[t])


def test_starts(rng, random_model):
    known = random_model(rng)
    matrices = {
        name: getattr(known, name + "_")
        for name in ("transition", "observation", "transition_covariance", "observation_covariance")
    }
    stationary = KalmanFilter.from_matrices(**matrices, start="stationary").initial_state()
    F, Q = matrices["transition"], matrices["transition_covariance"]
    P = stationary.covariance
    np.testing.assert_allclose(F @ P @ F.T + Q, P, atol=1e-12)
    level = KalmanFilter.from_matrices([[1.0]], [[1.0]], [[0.0]], [[1.0]], start="diffuse")
    means, covariances = level.filter([[3.0], [5.0]])
    np.testing.assert_allclose(means.ravel(), [3, 4], rtol=1e-6)  # the start weighs 1e-7
    np.testing.assert_allclose(covariances.ravel(), [1, 0.5], rtol=1e-6)
    with pytest.raises(ValueError, match="no stationary law"):
        KalmanFilter.from_matrices([[1.0]], [[1.0]], [[1.0]], [[1.0]], start="stationary").score(
            [[1.0]]
        )


def test_samples_have_the_moments_of_the_model():
    model = KalmanFilter.from_matrices(
        [[0.8]], [[1.0], [2.0]], [[0.36]], 0.1 * np.eye(2), start="stationary"
    )
    X, states = model.sample(40_000, 0)
    assert np.var(states) == pytest.approx(1.0, rel=0.05)  # standard error 0.015
    np.testing.assert_allclose(np.cov(X.T), [[1.1, 2.0], [2.0, 4.1]], rtol=0.06)
    assert np.mean(states[1:] * states[:-1]) == pytest.approx(0.8, rel=0.06)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"transition": np.ones((2, 3))}, "different dimensions|shape"),
        ({"transition_covariance": [[1.0, 2.0], [2.0, 1.0]]}, "semidefinite"),
        ({"observation_covariance": [[1.0, 2.0], [0.0, 1.0]]}, "symmetric"),
        ({"n_states": 2, "initial_mean": [0.0]}, "initial_mean must have the shape"),
        ({"learn": ("gain",)}, "learn names"),
        ({"n_states": 2, "learn": {"transition_covariance": [[1, 0], [1, 1]]}}, "block"),
        ({"transition": [[np.nan]]}, "finite"),
        ({"transition": np.ones((5, 2, 2)), "learn": ("transition",)}, "varies with time"),
        ({"observation_covariance": np.ones((5, 2, 2)), "learn": ("observation",)}, "varies with"),
        ({"learn": ("observation",)}, "transition is neither given nor learned"),
    ],
)
def test_what_does_not_fit_together_is_said(rng, parameters, message):
    with pytest.raises(ValueError, match=message):
        KalmanFilter(**parameters).fit(rng.normal(size=(5, 2)))


def test_a_matrix_that_varies_has_to_be_long_enough(rng, random_model):
    model = random_model(rng, T=4)
    with pytest.raises(ValueError, match="has 4 steps, and the series has 6"):
        model.filter(rng.normal(size=(6, 2)))
    with pytest.raises(ValueError, match="4 steps; 5 are needed"):
        model.forecast(rng.normal(size=(4, 2)), 1)


def test_triangularise_keeps_the_product(rng):
    A = rng.normal(size=(4, 6))
    A[1] = 2 * A[0]  # takes no column
    B = A.copy()
    triangularise(B, 4, 6, np.abs(A).sum(axis=1))
    np.testing.assert_allclose(B @ B.T, A @ A.T, atol=1e-13)
    assert not B[:, 3:].any()
    assert (B[[0, 2, 3], [0, 1, 2]] > 0).all()
    assert not B[[1, 0, 2], [1, 1, 2]].any()
    C = np.empty((2, 4))
    wanted = rng.normal(size=(2, 4))
    divide(wanted @ B[:, :4], np.ascontiguousarray(B[:, :4]), C, np.empty(4, np.int64))
    np.testing.assert_allclose(C @ B, wanted @ B, atol=1e-13)
    P = A @ A.T
    S = root(P)
    np.testing.assert_allclose(S @ S.T, P, atol=1e-13)
    np.testing.assert_array_equal(S, np.tril(S))


@pytest.mark.parametrize("far", [1e3, 1e9])
def test_a_diffuse_start_does_not_draw_a_series_to_zero(rng, far):
    trend = [[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 1e-4 * np.eye(2), [[1e-4]]
    model = KalmanFilter.from_matrices(*trend, start="diffuse", control=[[0.0], [1.0]])
    Y, U = 0.01 * rng.normal(size=(2, 40, 1))
    Y[[0, 5]] = np.nan
    # the rounding of the shifted series, in units of the noise, is what is left
    loss = 1e-7 + 1e3 * far * np.finfo(float).eps
    near, away = model.filter(Y, U)[0], model.filter(Y + far, U)[0]
    np.testing.assert_array_equal(model.filter(Y[:3], U[:3])[0], near[:3])  # no look ahead
    np.testing.assert_allclose(away[2:] - [far, 0.0], near[2:], rtol=0, atol=0.1 * loss)
    assert model.score_samples(Y + far, U)[0] == pytest.approx(
        model.score_samples(Y, U)[0], abs=loss
    )


def test_what_streams_in_has_the_shape_of_the_model():
    model = KalmanFilter.from_matrices(
        np.eye(2), np.eye(2), np.eye(2), np.eye(2), control=np.eye(2)
    )
    state = model.initial_state()
    for x in ([1.0], [1.0, 2.0, 3.0], [np.inf, 0.0]):
        with pytest.raises(ValueError, match=r"x must be finite numbers of shape \(2,\)"):
            model.update(state, x)
    with pytest.raises(ValueError, match="needs the input"):
        model.advance(state)
    for control in ([1.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match="control must be finite"):
            model.advance(state, control)


def test_inputs_to_come_have_the_steps_that_are_asked_for():
    model = KalmanFilter.from_matrices(*[[[1.0]]] * 4, control=[[1.0]])
    with pytest.raises(ValueError, match=r"control must be finite numbers of shape \(5, 1\)"):
        model.sample(5, control=[[100.0]])
    U = np.ones((4, 1))
    with pytest.raises(ValueError, match=r"future_control must be finite .* \(2, 1\)"):
        model.forecast(U, 3, U, np.ones((3, 1)))
    with pytest.raises(ValueError, match="steps must be 1 or more"):
        model.forecast(U, 0, U)


def test_a_control_that_varies_serves_series_of_any_lengths(rng):
    B, U, Y = rng.normal(size=(5, 1, 1)), rng.normal(size=(6, 1)), rng.normal(size=(6, 1))
    varying = KalmanFilter.from_matrices(*[[[1.0]]] * 4, control=B)
    plain = KalmanFilter.from_matrices(*[[[1.0]]] * 4, control=[[1.0]])
    pushes = np.vstack([B[:, 0] * U[:5], [[0.0]]])
    for found, T in zip(varying.filter([Y, Y[:3]], [U, U[:3]])[0], (6, 3), strict=True):
        np.testing.assert_allclose(found, plain.filter(Y[:T], pushes[:T])[0], rtol=1e-14)


@pytest.mark.parametrize("start", ["known", "diffuse"])
@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize("m", [2, 5])
def test_series_together_are_as_each_by_itself(rng, start, varying, m, random_model):
    """Those that are alike share their covariances, whatever the order that they come in."""
    T, n = 9, 3
    model = random_model(rng, n, m, 1, T if varying else None)
    model.start = start
    series = [rng.normal(size=(length, m)) for length in (T, 6, T, T, 6, T)]
    series[2][[2, 5], 0] = series[5][[2, 5], 0] = np.nan
    series[3][4, 1] = np.nan
    control = [rng.normal(size=(len(X), 1)) for X in series]
    for method in (model.filter, model.smooth):
        means, covariances = method(series, control)
        alone = [method(X, U) for X, U in zip(series, control, strict=True)]
        for mean, covariance, expected in zip(means, covariances, alone, strict=True):
            np.testing.assert_allclose(mean, expected[0], rtol=1e-9, atol=1e-10)
            np.testing.assert_allclose(covariance, expected[1], rtol=1e-9, atol=1e-10)
    scores = [model.score_samples(X, U)[0] for X, U in zip(series, control, strict=True)]
    np.testing.assert_allclose(model.score_samples(series, control), scores)


def test_what_is_told_of_one_series_may_be_changed_without_the_others(random_model, rng):
    model = random_model(rng, 2, 2)
    means, covariances = model.filter([np.zeros((4, 2)), np.zeros((4, 2))])
    means[0][:], covariances[0][:] = 7.0, 7.0
    assert not (means[1] == 7.0).any()
    assert not (covariances[1] == 7.0).any()
