"""A start of which nothing is known, against generalised least squares and published numbers."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import linalg, optimize

from panlearn.sequence import KalmanFilter

# the flow of the Nile at Aswan, 1871 to 1970, in 1e8 cubic metres (Durbin and Koopman, 2012)
NILE = np.fromstring(
    """
    1120 1160 963 1210 1160 1160 813 1230 1370 1140 995 935 1110 994 1020 960 1180 799 958
    1140 1100 1210 1150 1250 1260 1220 1030 1100 774 840 874 694 940 833 701 916 692 1020 1050
    969 831 726 456 824 702 1120 1100 832 764 821 768 845 864 862 698 845 744 796 1040 759 781
    865 845 944 984 897 822 1010 771 676 649 846 812 742 801 1040 860 874 848 890 744 749 838
    1050 918 986 797 923 975 815 1020 906 901 1170 912 746 919 718 714 740
    """,
    sep=" ",
)[:, None]


def level(noise, blur):
    return KalmanFilter.from_matrices([[1.0]], [[1.0]], [[noise]], [[blur]], start="diffuse")


def test_the_likelihood_of_the_nile_has_its_published_maximum():
    def lost(logs):
        return -level(*np.exp(logs)).score_samples(NILE)[0]

    found = optimize.minimize(lost, np.log([1e3, 1e4]), method="Nelder-Mead", tol=1e-9)
    noise, blur = np.exp(found.x)
    # Durbin and Koopman (2012), section 2.10.3, and KFAS, which counts no log(2 pi) for the level
    assert blur == pytest.approx(15099, abs=1)
    assert noise == pytest.approx(1469, abs=1)
    assert -found.fun == pytest.approx(-632.5456 - 0.5 * np.log(2 * np.pi), abs=1e-3)


def test_em_climbs_to_that_maximum():
    given = {"transition": [[1.0]], "observation": [[1.0]], "observation_offset": [0.0]}
    start = {"transition_covariance": [[1e3]], "observation_covariance": [[1e4]]}
    model = KalmanFilter(
        **given, **start, start="diffuse", learn=tuple(start), max_iter=3000, tol=1e-10
    ).fit(NILE)
    assert np.diff(model.history_["log_likelihood"]).min() > -1e-12
    best = level(1469.1, 15098.5).score_samples(NILE)[0]
    assert model.score_samples(NILE)[0] == pytest.approx(best, abs=1e-3)
    # the top is flat: a change of 1e-10 a step leaves a percent
    assert model.observation_covariance_[0, 0] == pytest.approx(15099, rel=0.01)
    assert model.transition_covariance_[0, 0] == pytest.approx(1469, rel=0.03)


def dense(F, H, Q, R, Y, diffuse, P):
    """Smoothed states and the diffuse log-likelihood, by least squares in the whole series.

    All that is seen is Z c + e with the first diffuse states c free and e of covariance V.
    """
    T, n = len(Y), len(F)
    powers = [np.linalg.matrix_power(F, t) for t in range(T)]
    reach = np.block([[powers[t - s] if s <= t else 0 * F for s in range(T)] for t in range(T)])
    states = reach @ linalg.block_diag(P, *[Q] * (T - 1)) @ reach.T
    show = linalg.block_diag(*[H] * T)
    free = reach[:, :n][:, diffuse]
    seen = ~np.isnan(Y.ravel())
    Z, A, y = (show @ free)[seen], show[seen], Y.ravel()[seen]
    V = A @ states @ A.T + linalg.block_diag(*[R] * T)[np.ix_(seen, seen)]
    W = linalg.inv(V)
    precision = Z.T @ W @ Z
    c = linalg.solve(precision, Z.T @ W @ y)
    left = y - Z @ c
    gain = states @ A.T @ W
    mean, open_ = free @ c + gain @ left, free - gain @ Z
    cov = states - gain @ A @ states + open_ @ linalg.inv(precision) @ open_.T
    logs = sum(np.linalg.slogdet(M)[1] for M in (V, precision))
    value = -0.5 * (len(y) * np.log(2 * np.pi) + logs + left @ W @ left)
    blocks = [cov[t * n : t * n + n, t * n : t * n + n] for t in range(T)]
    return mean.reshape(T, n), np.array(blocks), value


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_the_smoother_is_generalised_least_squares(seed, n, m, partly):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, n)) + 0.3 * np.eye(n)
    F /= max(1.0, np.linalg.norm(F, 2))  # the dense way loses digits where states grow
    H, T = rng.normal(size=(m, n)), 9
    Q, R = (M @ M.T for M in (rng.normal(size=(n, n)), rng.normal(size=(m, m)) + 2 * np.eye(m)))
    words = np.where(rng.random(n) < 0.5, "known", "diffuse") if partly else ["diffuse"] * n
    diffuse = np.array(words) == "diffuse"
    P = np.diag(np.where(diffuse, 0.0, 1.5))
    Y = rng.normal(size=(T, m)) + 10
    Y[rng.random(Y.shape) < 0.25] = np.nan
    Y[-4:] = rng.normal(size=(4, m)) + 10
    model = KalmanFilter.from_matrices(
        F, H, Q, R, start=tuple(words), initial_covariance=np.where(P > 0, P, 0.0)
    )
    mean, cov, value = dense(F, H, Q, R, Y, diffuse, P)
    means, covariances = model.smooth(Y)
    # a state that shows only through others that fade is known to as few digits, and the dense way
    # has lost them all where the filter has not
    scale = np.abs(cov).max()
    assume(scale < 1e7)
    np.testing.assert_allclose(covariances, cov, rtol=1e-6, atol=1e-9 * scale)
    np.testing.assert_allclose(means, mean, rtol=1e-6, atol=1e-7 * (1 + np.sqrt(scale)))
    assert model.score_samples(Y)[0] == pytest.approx(value, rel=1e-9, abs=1e-8)


def test_what_has_not_shown_has_an_infinite_variance():
    trend = KalmanFilter.from_matrices(
        [[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], np.diag([0.5, 0.1]), [[2.0]], start="diffuse"
    )
    _, covariances = trend.filter([[np.nan], [3.0], [np.nan], [5.0]])
    assert np.isinf(covariances[0].diagonal()).all()
    np.testing.assert_array_equal(np.isinf(covariances[1]), [[False, False], [False, True]])
    assert covariances[1, 0, 0] == pytest.approx(2.0)  # that of the observation
    assert np.isinf(covariances[2].diagonal()).all()  # one level says nothing of the next
    assert np.isfinite(covariances[3]).all()
    unknown = trend.forecast([[3.0]], 2)
    assert np.isinf(unknown.covariance).all()
    assert np.isfinite(trend.forecast([[3.0], [4.0]], 2).covariance).all()
    low, high = unknown.interval()
    assert (low == -np.inf).all()
    assert (high == np.inf).all()
    with pytest.raises(ValueError, match="leaves part of its diffuse first state open"):
        KalmanFilter(
            transition=trend.transition_,
            observation=trend.observation_,
            transition_covariance=trend.transition_covariance_,
            observation_covariance=[[1.0]],
            start="diffuse",
            learn=("observation_covariance",),
        ).fit([[[1.0], [2.0], [4.0]], [[1.0]]])


def test_a_state_that_is_forgotten_stays_open():
    model = KalmanFilter.from_matrices(
        [[0.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]], np.eye(2), [[1.0]], start="diffuse"
    )
    means, covariances = model.smooth([[np.nan], [1.0], [2.0]])
    assert np.isinf(covariances[0, 0, 0])
    assert np.isfinite(covariances[1:]).all()
    # the second component walks, with white noise of variance 2 on what is seen of it
    walk = KalmanFilter.from_matrices([[1.0]], [[1.0]], [[1.0]], [[2.0]], start="diffuse")
    np.testing.assert_allclose(means[:, 1], walk.smooth([[np.nan], [1.0], [2.0]])[0][:, 0])


def test_update_and_advance_know_what_has_not_shown():
    model = KalmanFilter.from_matrices(
        [[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], np.diag([0.5, 0.1]), [[2.0]], start="diffuse"
    )
    Y = np.array([[3.0], [np.nan], [5.0], [4.0]])
    state = model.initial_state()
    means, covariances = model.filter(Y)
    for t, y in enumerate(Y):
        state = model.update(state, y)
        if t < 2:
            assert state.diffuse.shape == (2, 1)
        else:
            assert state.diffuse is None
            np.testing.assert_allclose(state.mean, means[t], rtol=1e-12)
            np.testing.assert_allclose(state.covariance, covariances[t], rtol=1e-12)
        state = model.advance(state)


def test_states_may_start_each_in_its_way():
    F, H, Q = np.diag([1.0, 0.5]), [[1.0, 1.0]], np.diag([0.1, 0.3])
    model = KalmanFilter.from_matrices(F, H, Q, [[1.0]], start=("diffuse", "stationary"))
    first = model.initial_state()
    np.testing.assert_allclose(first.covariance, np.diag([0.0, 0.3 / 0.75]), atol=1e-15)
    np.testing.assert_array_equal(first.diffuse, [[1.0], [0.0]])
    assert model.sample(3, 0)[1][0, 0] == 0.0
    with pytest.raises(ValueError, match="start must be one of"):
        KalmanFilter.from_matrices(F, H, Q, [[1.0]], start=("diffuse", "wild"))
    with pytest.raises(ValueError, match="each of the 2 states"):
        KalmanFilter.from_matrices(F, H, Q, [[1.0]], start=("diffuse",))
    tied = np.array([[1.0, 0.0], [0.2, 0.5]])
    with pytest.raises(ValueError, match="must not move with"):
        KalmanFilter.from_matrices(
            tied, H, Q, [[1.0]], start=("diffuse", "stationary")
        ).initial_state()
