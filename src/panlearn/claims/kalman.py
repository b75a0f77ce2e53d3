"""State estimation: propagation, the Kalman filter and smoother."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import linalg

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal
from panlearn.linear import RecursiveLeastSquares
from panlearn.sequence import KalmanFilter


def _stable(seed: int = 0, n: int = 3, m: int = 2) -> KalmanFilter:
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, n))
    F *= 0.8 / np.abs(np.linalg.eigvals(F)).max()
    A, B = rng.normal(size=(n, n)), rng.normal(size=(m, m))
    return KalmanFilter.from_matrices(
        F, rng.normal(size=(m, n)), A @ A.T, B @ B.T + 0.1 * np.eye(m), start="stationary"
    )


@claim("B304")
def mean_and_covariance_propagate() -> Iterator[Evidence]:
    """A step ahead has the mean F m + G u and the covariance F P F' + Q.

    Where the spectral radius of F is below one, the covariance comes to the fixed point of this.
    """
    rng = np.random.default_rng(0)
    F, G, Q = np.array([[0.9, 0.2], [0.0, 0.7]]), np.array([[1.0], [0.5]]), np.diag([0.2, 0.1])
    model = KalmanFilter.from_matrices(
        F, np.eye(2), Q, np.eye(2), control=G, initial_mean=[1.0, -1.0]
    )
    ahead = model.advance(model.initial_state(), [2.0])
    x = np.array([1.0, -1.0]) + rng.normal(size=(200_000, 2))
    drawn = x @ F.T + 2.0 * G[:, 0] + rng.normal(size=x.shape) * np.sqrt(np.diag(Q))
    error = np.sqrt(np.diag(ahead.covariance) / len(x))
    away = np.abs(drawn.mean(axis=0) - ahead.mean) / error
    yield at_most("mean of draws, in standard errors", away.max(), 4)
    yield equal("covariance of draws", np.cov(drawn.T), ahead.covariance, 0.02)
    state = model.initial_state()
    for _ in range(500):
        state = model.advance(state, [0.0])
    fixed = linalg.solve_discrete_lyapunov(F, Q)
    yield equal("covariance after 500 steps", state.covariance, fixed, 1e-14)


@claim("B305")
def one_step_of_a_scalar_filter() -> Iterator[Evidence]:
    """With F = Q = R = P = 1, x = 0 and y = 1: the variance ahead is 2, gain and the rest 2/3.

    The text leaves out the covariance ahead, F P F' + Q, and prints F u for F x + G u.
    """
    model = KalmanFilter.from_matrices([[1.0]], [[1.0]], [[1.0]], [[1.0]])
    ahead = model.advance(model.initial_state())
    after = model.update(ahead, [1.0])
    yield equal("variance ahead", ahead.covariance, [[2.0]], 1e-15)
    yield equal("mean after, which is the gain", after.mean, [2 / 3], 1e-15)
    yield equal("variance after", after.covariance, [[2 / 3]], 1e-15)


@claim("B306")
def the_filter_conditions_the_joint_gaussian() -> Iterator[Evidence]:
    """What the filter says of a state is its law given the observations so far, exactly."""
    model, T, n, m = _stable(1), 5, 3, 2
    F, H = model.transition_, model.observation_
    first = model.initial_state().covariance
    powers = [np.linalg.matrix_power(F, t) for t in range(T)]
    states = np.zeros((T * n, T * n))
    for s in range(T):
        for t in range(T):
            block = powers[abs(s - t)] @ first  # the start is stationary
            states[s * n : s * n + n, t * n : t * n + n] = block if s > t else block.T
    seen = np.kron(np.eye(T), H)
    noise = np.kron(np.eye(T), model.observation_covariance_)
    Y = np.random.default_rng(2).normal(size=(T, m))
    means, covariances = model.filter(Y)
    for t in range(T):
        G = seen[: (t + 1) * m]
        S = G @ states @ G.T + noise[: (t + 1) * m, : (t + 1) * m]
        now = slice(t * n, t * n + n)
        gain = np.linalg.solve(S, G @ states[:, now]).T
        yield equal(f"mean {t}", means[t], gain @ Y[: t + 1].ravel(), 1e-10)
        left = states[now, now] - gain @ G @ states[:, now]
        yield equal(f"covariance {t}", covariances[t], left, 1e-10)


@claim("B307")
def a_state_that_rests_is_recursive_least_squares() -> Iterator[Evidence]:
    """With F = I, Q = 0 and no control the filter is recursive least squares, step by step."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    model = KalmanFilter.from_matrices(
        np.eye(3), X[:, None, :], np.zeros((3, 3)), [[0.5]], initial_covariance=4 * np.eye(3)
    )
    means, covariances = model.filter(y[:, None])
    squares = RecursiveLeastSquares(prior_covariance=4.0, noise_variance=0.5, fit_intercept=False)
    apart = []
    for t in range(30):
        squares.partial_fit(X[t : t + 1], y[t : t + 1])
        apart.append(np.abs(squares.coef_ - means[t]).max())
    yield at_most("largest distance of the two on their way", max(apart), 1e-12)
    batch = np.linalg.inv(X.T @ X / 0.5 + np.eye(3) / 4)
    yield equal("last covariance", covariances[-1], batch, 1e-12)


@claim("B308")
def a_measurement_never_hurts() -> Iterator[Evidence]:
    """The covariance after a measurement is at most the one ahead of it, and stays semidefinite.

    In single precision the short form (I - K H) P need not; a form that is a sum of squares does.
    The text's listing needs np.matrix: with arrays its products would be taken entry by entry.
    """
    model = _stable(4)
    Y, _ = model.sample(40, 0)
    _, after = model.filter(Y)
    F, Q = model.transition_, model.transition_covariance_
    ahead = np.concatenate([model.initial_state().covariance[None], F @ after[:-1] @ F.T + Q])
    gained = np.linalg.eigvalsh(ahead - after).min()
    yield at_least("least eigenvalue of ahead - after", gained, -1e-12)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 1, 3)).astype(np.float32)
    P, R = 1e4 * np.eye(3, dtype=np.float32), np.array([[1e-4]], dtype=np.float32)
    least = np.inf
    for H in rows:
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
        P = (np.eye(3, dtype=np.float32) - K @ H) @ P
        least = min(least, float(np.linalg.eigvalsh((P + P.T) / 2).min()))
    yield at_most("least eigenvalue of the short form in float32", least, 0.0)
    tight = KalmanFilter.from_matrices(
        np.eye(3), rows, np.zeros((3, 3)), R, initial_covariance=1e4 * np.eye(3)
    )
    kept = tight.filter(np.zeros((50, 1)))[1]
    yield at_least("least eigenvalue of ours", np.linalg.eigvalsh(kept).min(), 1e-8)
    yield at_most("its asymmetry", np.abs(kept - np.swapaxes(kept, 1, 2)).max(), 0.0)


@claim("B309")
def more_observations_mean_less_variance() -> Iterator[Evidence]:
    """Smoothed variances are at most filtered ones, and these at most predicted ones."""
    for seed in range(3):
        model = _stable(seed + 5)
        Y, _ = model.sample(30, seed)
        filtered, smoothed = model.filter(Y)[1], model.smooth(Y)[1]
        F, Q = model.transition_, model.transition_covariance_
        ahead = F @ filtered[:-1] @ F.T + Q
        gained = np.linalg.eigvalsh(ahead - filtered[1:]).min()
        yield at_least("least eigenvalue of predicted - filtered", gained, -1e-12)
        gained = np.linalg.eigvalsh(filtered - smoothed).min()
        yield at_least("least eigenvalue of filtered - smoothed", gained, -1e-12)
