"""Kalman filters whose covariances are singular, against the joint Gaussian written out."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from panlearn.sequence import KalmanFilter

NAMES = ("transition", "observation", "transition_covariance", "observation_covariance")


def matrices(draw, *shape, of=(-1.0, 0.0, 0.5, 1.0)):
    size = int(np.prod(shape))
    values = draw(st.lists(st.sampled_from(of), min_size=size, max_size=size))
    return np.array(values).reshape(shape)


@st.composite
def singular_models(draw, may_vary=True):
    """Small round numbers, so that ranks are plain; and a series that the model may give."""
    n, m, T = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 6))
    lead = (T,) if may_vary and draw(st.booleans()) else ()
    push = matrices(draw, *lead, n, draw(st.integers(1, n)))
    start = matrices(draw, n, draw(st.integers(1, n)))
    blur = matrices(draw, *lead, m, draw(st.integers(1, m)), of=(0.0, 0.0, 1.0, 2.0))
    model = KalmanFilter.from_matrices(
        matrices(draw, *lead, n, n),
        matrices(draw, *lead, m, n, of=(-1.0, 0.0, 1.0)),
        push @ np.swapaxes(push, -1, -2),
        blur @ np.swapaxes(blur, -1, -2),
        initial_mean=matrices(draw, n),
        initial_covariance=start @ start.T,
    )
    Y, _ = model.sample(T, draw(st.integers(0, 1000)))
    gaps = draw(st.lists(st.booleans(), min_size=T * m, max_size=T * m))
    Y[np.array(gaps).reshape(T, m)] = np.nan
    return model, Y


def root_of(covariance):
    """A matrix whose product with its transpose it is; of small round numbers, so zeros are."""
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.where(values > 1e-12, values, 0))


def law_of_all(model, T):
    """The states of all steps, then all that they show: their mean, and their maps of unit noise.

    The product of these maps with their transpose is the covariance, whose condition is the square
    of theirs.
    """

    def at(name, t):
        matrix = getattr(model, name + "_")
        return matrix[t] if matrix.ndim > 2 else matrix

    n = model.observation_.shape[-1]
    # every state is a linear map of the first one and of the noises
    reach = np.zeros((T, n, T * n))
    reach[0, :, :n] = np.eye(n)
    for t in range(1, T):
        reach[t] = at("transition", t - 1) @ reach[t - 1]
        reach[t, :, t * n : t * n + n] += np.eye(n)
    noises = [model.initial_covariance_] + [at("transition_covariance", t) for t in range(T - 1)]
    roots = [root_of(covariance) for covariance in noises]
    show = linalg.block_diag(*[at("observation", t) for t in range(T)])
    blur = linalg.block_diag(*[root_of(at("observation_covariance", t)) for t in range(T)])
    flat = reach.reshape(T * n, T * n)
    mean, states = flat[:, :n] @ model.initial_mean_, flat @ linalg.block_diag(*roots)
    maps = np.block([[states, np.zeros((T * n, len(blur)))], [show @ states, blur]])
    return np.concatenate([mean, show @ mean]), maps


def given_values(mean, maps, seen, values):
    """The law of everything once some entries are known, by a pseudo-inverse."""
    gain = maps @ np.linalg.pinv(maps[seen], rcond=1e-9)
    left = maps - gain @ maps[seen]
    return mean + gain @ (values - mean[seen]), left @ left.T


def undetermined(maps, places):
    """Those entries of a Gaussian that the ones before them leave open."""
    found = []
    for place in places:
        if np.linalg.matrix_rank(maps[[*found, place]], tol=1e-8) > len(found):
            found.append(place)
    return np.array(found, dtype=int)


def log_density(mean, maps, values):
    """That of a Gaussian without a singular covariance."""
    lower = np.linalg.qr(maps.T, mode="r").T
    far = linalg.solve_triangular(lower, values - mean, lower=True)
    log_det = 2 * np.log(np.abs(np.diag(lower))).sum()
    return -0.5 * (far @ far + log_det + len(mean) * np.log(2 * np.pi))


@given(singular_models())
def test_moments_and_likelihood_are_of_the_joint_gaussian(drawn):
    model, Y = drawn
    (T, m), n = Y.shape, model.observation_.shape[-1]
    mean, maps = law_of_all(model, T)
    place = T * n + np.flatnonzero(~np.isnan(Y.ravel()))
    known = Y[~np.isnan(Y)]
    until = place < T * n + m * np.arange(1, T + 1)[:, None]
    filtered, smoothed = model.filter(Y), model.smooth(Y)
    whole = given_values(mean, maps, place, known)
    for t in range(T):
        here = slice(t * n, t * n + n)
        past = given_values(mean, maps, place[until[t]], known[until[t]])
        for found, law in ((filtered, past), (smoothed, whole)):
            np.testing.assert_allclose(found[0][t], law[0][here], atol=1e-7)
            np.testing.assert_allclose(found[1][t], law[1][here, here], atol=1e-7)
    free = undetermined(maps, place)
    density = log_density(mean[free], maps[free], known[np.isin(place, free)]) if len(free) else 0.0
    assert model.score_samples(Y)[0] == pytest.approx(density, rel=1e-8, abs=1e-7)


LEARNED = (*NAMES, "initial_mean", "initial_covariance")


@given(
    singular_models(may_vary=False),
    st.sets(st.sampled_from(LEARNED), min_size=1),
    st.integers(1, 3),
)
def test_em_never_lowers_the_likelihood(drawn, learn, copies):
    model, Y = drawn
    parameters = {name: getattr(model, name + "_") for name in LEARNED}
    parameters["transition_covariance"] = 3 * parameters["transition_covariance"]
    parameters["initial_covariance"] = parameters["initial_covariance"] / 2
    series = [Y] + [model.sample(len(Y) + 3, seed)[0] for seed in range(copies)]
    series[1][1:3] = np.nan
    found = KalmanFilter(**parameters, learn=tuple(learn), max_iter=8, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found.fit(series)
    steps = sum(len(part) for part in series)
    values = [*found.history_["log_likelihood"], found.score_samples(series).sum() / steps]
    assert np.diff(values).min(initial=0.0) > -1e-8 * (1 + abs(values[0]))


def test_an_autoregression_with_gaps():
    model = KalmanFilter.from_matrices(
        [[0.5, 0.3], [1.0, 0.0]], [[1.0, 0.0]], np.diag([1.0, 0.0]), [[0.0]], start="stationary"
    )
    Y = np.array([[1.0], [np.nan], [np.nan], [2.0], [1.0]])
    # what is seen is y_1, y_4 and y_5: condition on these in the joint law of the five
    gamma = [1.0, 0.5 / 0.7]
    for _ in range(3):
        gamma.append(0.5 * gamma[-1] + 0.3 * gamma[-2])
    variance = 1 / (1 - 0.5 * gamma[1] - 0.3 * gamma[2])
    law = variance * linalg.toeplitz(gamma)
    mean, cov = given_values(
        np.zeros(5), root_of(law), np.array([0, 3, 4]), np.array([1.0, 2.0, 1.0])
    )
    means, covariances = model.smooth(Y)
    np.testing.assert_allclose(means[:, 0], mean, atol=1e-12)
    np.testing.assert_allclose(covariances[:, 0, 0], np.diag(cov), atol=1e-12)
    np.testing.assert_allclose(covariances[1:3, 0, 0], [0.8631, 0.8052], atol=1e-4)


def test_em_learns_the_noise_of_an_autoregression_with_gaps():
    F, H, Q = [[0.5, 0.3], [1.0, 0.0]], [[1.0, 0.0]], np.diag([1.0, 0.0])
    truth = KalmanFilter.from_matrices(F, H, Q, [[0.0]], start="stationary")
    Y, _ = truth.sample(2000, 0)
    Y[np.random.default_rng(1).random(2000) < 0.4] = np.nan
    noise = np.diag([True, False])
    model = KalmanFilter(
        transition=F,
        observation=H,
        transition_covariance=2 * Q,
        observation_covariance=[[0.0]],
        initial_covariance=truth.initial_state().covariance,
        initial_mean=np.zeros(2),
        learn={"transition_covariance": noise},
        tol=1e-9,
        max_iter=300,
    ).fit(Y)
    assert np.diff(model.history_["log_likelihood"]).min() > -1e-10
    # of 1200 or so values seen, a standard error of sqrt(2 / 1200)
    assert model.transition_covariance_[0, 0] == pytest.approx(1.0, abs=0.12)
    assert model.score(Y) > truth.score(Y) - 1e-3


def test_what_is_known_for_certain_stays_so():
    """What rounding leaves of a state that was seen exactly is no deviation of the next one."""
    model = KalmanFilter.from_matrices(
        [[0.0, -1.0], [-1.0, -1.0]],
        [[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]],
        [[0.0, 0.0], [0.0, 2.0]],
        [[4.0, 0.0, 4.0], [0.0, 0.0, 0.0], [4.0, 0.0, 4.0]],
        initial_mean=[-1.0, -1.0],
        initial_covariance=[[1.0, 1.0], [1.0, 1.0]],
    )
    gap = np.nan
    Y = np.array(
        [
            [0.859460532447061, gap, gap],
            [0.24031756300007023, gap, -3.5534638893710673],
            [-8.806740149815376, 4.156678600537707, -4.2871644011111],
        ]
    )
    assert model.filter(Y)[1][1, 1, 1] == 0  # half the difference of what is seen
    mean, maps = law_of_all(model, 3)
    seen = ~np.isnan(Y)
    law = given_values(mean, maps, 6 + np.flatnonzero(seen.ravel()), Y[seen])
    np.testing.assert_allclose(model.smooth(Y)[0].ravel(), law[0][:6], atol=1e-12)
