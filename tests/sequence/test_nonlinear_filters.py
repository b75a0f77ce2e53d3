import numpy as np
import pytest

from panlearn.sequence import KalmanFilter, extended_kalman_filter, unscented_kalman_filter


@pytest.fixture
def linear(rng):
    F, H = 0.4 * rng.normal(size=(3, 3)), rng.normal(size=(2, 3))
    Q, R, P = 0.2 * np.eye(3), np.array([[0.5, 0.1], [0.1, 0.3]]), np.eye(3)
    Y = rng.normal(size=(30, 2))
    Y[4, 0] = Y[9] = np.nan
    return F, H, Q, R, P, Y


@pytest.mark.parametrize("method", [extended_kalman_filter, unscented_kalman_filter])
def test_on_a_linear_model_they_are_the_kalman_filter(linear, method):
    F, H, Q, R, P, Y = linear
    model = KalmanFilter.from_matrices(F, H, Q, R, initial_covariance=P)
    found = method(Y, lambda x: F @ x, lambda x: H @ x, Q, R, np.zeros(3), P)
    means, covariances = model.filter(Y)
    np.testing.assert_allclose(found.means, means, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.covariances, covariances, rtol=0, atol=1e-8)
    assert found.log_likelihood == pytest.approx(model.score_samples(Y)[0], rel=1e-8)


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 1.0, 2.0])
def test_the_unscented_mean_of_a_square_is_exact(alpha):
    found = unscented_kalman_filter(
        *([[4.0]], lambda x: x, lambda x: x**2, [[0.0]], [[1.0]], [2.0], [[0.25]]),
        **{"alpha": alpha},
    )
    # y = x^2 with x ~ N(2, 1/4) has mean 4.25 and, for beta 2, the variance 4 m^2 s^2 + 2 s^4
    innovation, spread, across = 4 - 4.25, 4 + 2 / 16 + 1.0, 2 * 2 * 0.25
    assert found.means[0, 0] == pytest.approx(2 + across / spread * innovation)


def test_given_jacobians_are_used(linear):
    F, H, Q, R, P, Y = linear
    calls = []

    def slope(x):
        calls.append(1)
        return F

    extended_kalman_filter(
        *(Y, lambda x: F @ x, lambda x: H @ x, Q, R, np.zeros(3), P), transition_jacobian=slope
    )
    assert len(calls) == len(Y) - 1


def test_a_pendulum_is_tracked(rng):
    dt = 0.05

    def swing(x):
        return np.array([x[0] + dt * x[1], x[1] - dt * 9.81 * np.sin(x[0])])

    def shadow(x):
        return np.sin(x[:1])

    states = [np.array([1.5, 0.0])]
    for _ in range(200):
        states.append(swing(states[-1]))
    states = np.array(states)
    Y = np.sin(states[:, :1]) + 0.1 * rng.normal(size=(201, 1))
    noise = (1e-5 * np.eye(2), [[0.01]], [1.2, 0.3], 0.2 * np.eye(2))
    for method in (extended_kalman_filter, unscented_kalman_filter):
        found = method(Y, swing, shadow, *noise)
        assert np.sqrt(np.mean((found.means[50:, 0] - states[50:, 0]) ** 2)) < 0.06


@pytest.mark.parametrize("beta", [0.5, 2.0])
def test_the_unscented_filter_step_by_step(rng, beta):
    """Against points, weights and moments as the papers write them, over many steps."""
    alpha, kappa, n = 0.8, 0.5, 2
    Q, R, P = 0.02 * np.eye(2), np.array([[0.1]]), np.array([[0.5, 0.1], [0.1, 0.3]])
    spread = alpha**2 * (n + kappa) - n
    weight = np.full(2 * n + 1, 0.5 / (n + spread))
    weight[0] = spread / (n + spread)
    weight_2 = weight.copy()
    weight_2[0] += 1 - alpha**2 + beta

    def move(x):
        return np.array([x[0] + 0.1 * x[1], 0.9 * x[1] - 0.1 * np.sin(x[0])])

    def see(x):
        return np.array([x[0] ** 2 + x[1]])

    def through(g, mean, P):
        step = np.linalg.cholesky((n + spread) * P).T
        points = np.vstack([mean, mean + step, mean - step])
        values = np.array([g(x) for x in points])
        centre = weight @ values
        off = (values - centre).T * weight_2
        return centre, off @ (values - centre), (points - mean).T * weight_2 @ (values - centre)

    Y = 1 + rng.normal(size=(25, 1))
    Y[7] = np.nan
    found = unscented_kalman_filter(
        Y, move, see, Q, R, [1.0, 0.5], P, alpha=alpha, beta=beta, kappa=kappa
    )
    mean = np.array([1.0, 0.5])
    for t, y in enumerate(Y):
        if not np.isnan(y).any():
            centre, S, across = through(see, mean, P)
            gain = across / (S + R)
            mean, P = mean + gain @ (y - centre), P - gain @ (S + R) @ gain.T
        np.testing.assert_allclose(found.means[t], mean, atol=1e-9)
        np.testing.assert_allclose(found.covariances[t], P, atol=1e-9)
        mean, P, _ = through(move, mean, P)
        P = P + Q


@pytest.mark.parametrize("noise", [1e-2, 1e-10, 1e-16, 0.0])
@pytest.mark.parametrize("method", [extended_kalman_filter, unscented_kalman_filter])
def test_tiny_noise_after_a_vague_start_leaves_covariances_positive(method, noise):
    F, H, Q, P = np.array([[1, 0.1], [0, 1]]), np.eye(2)[:1], 1e-12 * np.eye(2), 1e6 * np.eye(2)
    model = KalmanFilter.from_matrices(F, H, Q, [[noise]], initial_covariance=P)
    Y, _ = model.sample(300, 0)
    slopes = {"transition_jacobian": lambda x: F, "observation_jacobian": lambda x: H}
    options = slopes if method is extended_kalman_filter else {}
    found = method(Y, lambda x: F @ x, lambda x: H @ x, Q, [[noise]], np.zeros(2), P, **options)
    means, covariances = model.filter(Y)
    # the factors lose no digits to squares: a state of size 1e3 is right to 1e-8
    np.testing.assert_allclose(found.means, means, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.covariances[9:], covariances[9:], rtol=1e-6, atol=1e-22)
    assert np.linalg.eigvalsh(found.covariances).min() > -1e-22


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [1.0, 2.0]}, "one series"),
        ({"X": [[np.inf]]}, "infinity"),
        ({"observation_covariance": np.eye(2)}, "observation_covariance must have the shape"),
        ({"transition_covariance": [[-1.0]]}, "transition_covariance must be positive"),
        ({"initial_covariance": [[np.nan]]}, "initial_covariance must hold finite"),
        ({"transition": lambda x: x * np.nan}, "transition gave NaN or infinity .* step 0"),
        ({"observation": lambda x: np.append(x, x)}, "observation must give 1 numbers"),
    ],
)
def test_bad_input_is_said(change, message):
    arguments = {
        "X": [[1.0], [1.0]],
        "transition": lambda x: x,
        "observation": lambda x: x,
        "transition_covariance": [[1.0]],
        "observation_covariance": [[1.0]],
        "initial_mean": [0.0],
        "initial_covariance": [[1.0]],
    }
    with pytest.raises(ValueError, match=message):
        unscented_kalman_filter(**(arguments | change))
    with pytest.raises(ValueError, match="must be positive"):
        unscented_kalman_filter(**arguments, kappa=-1.0)
