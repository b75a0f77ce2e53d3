"""What EM learns of a linear Gaussian model: never downhill, and only what is asked for."""

import numpy as np
import pytest

from panlearn.core.sources import Sequences
from panlearn.sequence import KalmanFilter
from panlearn.sequence._state_space import root as factor
from panlearn.sequence._state_space_learning import _regress, expect


def test_em_never_lowers_the_likelihood_and_finds_the_dynamics(rng):
    truth = KalmanFilter.from_matrices(
        [[0.9, 0.2], [-0.2, 0.9]], np.eye(2), 0.1 * np.eye(2), 0.05 * np.eye(2), start="stationary"
    )
    series = [truth.sample(300, seed)[0] for seed in range(4)]
    series[1][50:60, 0] = np.nan
    model = KalmanFilter(2, observation=np.eye(2), max_iter=300, tol=1e-7, random_state=0)
    model.fit(series)
    values = np.array(model.history_["log_likelihood"])
    assert np.diff(values).min() > -1e-9
    assert model.score(series) > truth.score(series)
    np.testing.assert_allclose(model.transition_, truth.transition_, atol=0.05)  # 4 * 300 steps
    np.testing.assert_allclose(model.transition_covariance_, 0.1 * np.eye(2), atol=0.02)


def test_expected_moments_give_the_gradient_of_the_likelihood(rng, random_model):
    """Fisher's identity: it is the gradient of the expected complete likelihood."""
    model = random_model(rng, 2, 3, 1)
    U, X = rng.normal(size=(8, 1)), rng.normal(size=(8, 3))
    X[1, 0] = X[3] = X[6, 1:] = np.nan
    values = np.hstack([X, U])
    moments = expect(model._model(), Sequences(values, np.array([0, 8])), None, None)
    state_noise = np.linalg.inv(model.transition_covariance_)
    noise = np.linalg.inv(model.observation_covariance_)
    move = np.hstack([model.transition_, model.control_])
    show = np.column_stack([model.observation_, model.observation_offset_])
    by_move = state_noise @ (moments.across - move @ moments.before)
    by_show = noise @ (moments.shown - show @ moments.shower)
    start = np.linalg.solve(model.initial_covariance_, moments.first - model.initial_mean_)
    left = moments.observed - show @ moments.shown.T - moments.shown @ show.T
    left += show @ moments.shower @ show.T
    spread = 0.5 * noise @ (left - 8 * model.observation_covariance_) @ noise
    for name, expected in (
        ("transition_", by_move[:, :2]),
        ("control_", by_move[:, 2:]),
        ("observation_", by_show[:, :2]),
        ("observation_offset_", by_show[:, 2]),
        ("initial_mean_", start),
        ("observation_covariance_", spread + spread.T - np.diag(np.diag(spread))),
    ):
        value = getattr(model, name)
        found = np.empty(value.shape)
        for place in np.ndindex(value.shape):
            scores = []
            for step in (1e-5, -1e-5):
                moved = value.copy()
                moved[place] += step
                if "covariance" in name:
                    moved[place[::-1]] = moved[place]
                setattr(model, name, moved)
                scores.append(model.score_samples(X, U)[0])
            setattr(model, name, value)
            found[place] = (scores[0] - scores[1]) / 2e-5
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=name)


def test_what_is_masked_stays_and_the_rest_is_learned(rng):
    truth = KalmanFilter.from_matrices(
        [[1.0, 1.0], [0.0, 0.7]], [[1.0, 0.0]], np.diag([0.0, 0.2]), [[0.3]], start="known"
    )
    X = [truth.sample(200, seed)[0] for seed in range(3)]
    model = KalmanFilter(
        transition=[[1.0, 1.0], [0.0, 0.2]],
        observation=[[1.0, 0.0]],
        transition_covariance=np.diag([0.0, 1.0]),
        observation_covariance=[[1.0]],
        initial_mean=np.zeros(2),
        initial_covariance=np.eye(2),
        observation_offset=[0.0],
        learn={
            "transition": [[False, False], [False, True]],
            "transition_covariance": [[False, False], [False, True]],
            "observation_covariance": True,
        },
        max_iter=500,
    ).fit(X)
    assert model.transition_[1, 1] == pytest.approx(0.7, abs=0.1)
    assert model.transition_covariance_[1, 1] == pytest.approx(0.2, abs=0.08)
    assert model.observation_covariance_[0, 0] == pytest.approx(0.3, abs=0.1)
    np.testing.assert_array_equal(model.transition_[0], [1, 1])
    assert model.transition_[1, 0] == 0
    np.testing.assert_array_equal(model.transition_covariance_[0], [0, 0])
    np.testing.assert_array_equal(model.observation_, [[1, 0]])
    assert np.diff(model.history_["log_likelihood"]).min() > -1e-9


def test_control_is_learned(rng, random_model):
    truth = random_model(rng, 2, 2, 1, observation_offset=np.zeros(2))
    U = [rng.normal(size=(150, 1)) for _ in range(3)]
    X = [truth.sample(150, seed, u)[0] for seed, u in enumerate(U)]
    names = ("transition", "observation", "transition_covariance", "observation_covariance")
    given = {name: getattr(truth, name + "_") for name in names}
    given |= {"observation_offset": np.zeros(2), "initial_mean": truth.initial_mean_}
    given |= {"initial_covariance": truth.initial_covariance_}
    model = KalmanFilter(**given, learn=("control",), tol=1e-9, max_iter=500).fit(X, control=U)
    at_truth = truth.score_samples(X, U).sum()
    # twice the gain over the truth is a chi-square of two degrees of freedom
    assert 0 < model.score_samples(X, U).sum() - at_truth < 5
    assert model.smooth(X, U)[0][0].shape == (150, 2)
    with pytest.raises(ValueError, match="needs the inputs"):
        model.filter(X)


def test_nothing_to_learn_takes_no_step(rng, random_model):
    truth = random_model(rng)
    names = [n for n in vars(truth) if n.endswith("_") and n != "n_features_in_"]
    given = {n[:-1]: getattr(truth, n) for n in names if n != "control_"}
    X = truth.sample(20, 0)[0]
    model = KalmanFilter(**given, learn=()).fit(X)
    assert model.n_iter_ == 0
    np.testing.assert_array_equal(model.filter(X)[0], truth.filter(X)[0])


@pytest.mark.parametrize("start", ["known", "diffuse"])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_series_are_the_sums_of_those_of_each(rng, start, weighted, random_model):
    """Also of series that share their covariances: of one length, the same entries missing."""
    model = random_model(rng, 2, 3, 1)
    model.start = start
    series = [rng.normal(size=(length, 4)) for length in (7, 5, 7, 7, 5, 7)]
    series[0][[2, 4], 1] = series[3][[2, 4], 1] = series[5][3, :3] = np.nan
    weight = rng.uniform(0.5, 2.0, size=6) if weighted else None
    offsets = np.cumsum([0, *map(len, series)])
    found = expect(model._model(), Sequences(np.vstack(series), offsets), None, weight)
    alone = [
        expect(model._model(), Sequences(X, np.array([0, len(X)])), None, None) for X in series
    ]
    for name, value in vars(found).items():
        each = np.array([vars(moments)[name] for moments in alone])
        expected = np.tensordot(np.ones(6) if weight is None else weight, each, axes=1)
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("varying", [False, True])
def test_an_offset_that_is_not_learned_is_zero(rng, varying):
    X = 50 + np.cumsum(rng.normal(size=(60, 1)), axis=0)
    observation = np.ones((60, 1, 1)) if varying else [[1.0]]
    parameters = {"initial_mean": [0.0], "initial_covariance": [[1e4]], "transition": [[1.0]]}
    learn = None if varying else ("transition_covariance",)
    model = KalmanFilter(
        **parameters, observation=observation, observation_covariance=[[1.0]], learn=learn
    )
    assert model.set_params(tol=1e-3).fit(X).observation_offset_ == [0.0]


def test_gaps_may_be_learned_from_without_noise(rng):
    X = rng.normal(size=(50, 2))
    X[rng.random(X.shape) < 0.2] = np.nan
    model = KalmanFilter(2, observation_covariance=np.zeros((2, 2)), max_iter=5, tol=1.0).fit(X)
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize("noise", ["whole", "of rank one"])
@pytest.mark.parametrize("which", ["all", "some"])
def test_the_free_entries_of_a_matrix_are_the_best_and_the_others_stay(rng, which, noise):
    """Least squares over whatever may move: no step of it, in any direction, is better."""
    given, free = rng.normal(size=(2, 3)), np.ones((2, 3), dtype=bool)
    if which == "some":
        free[0, 1] = free[1, 2] = False
    z, root = rng.normal(size=(20, 3)) * [1, 10, 0.1], rng.normal(size=(2, 2))
    if noise == "of rank one":  # what has no noise is exact, and may not move
        root = np.array([[1.0], [0.5]])
    x = z @ given.T + rng.normal(size=(20, 2))
    covariance = root @ root.T
    found = _regress(given, free, x.T @ z, z.T @ z, factor(covariance))

    def loss(matrix):
        residual = np.linalg.lstsq(root, (x - z @ matrix.T).T)[0]
        return np.sum(residual**2)

    np.testing.assert_array_equal(found[~free], given[~free])
    if noise == "of rank one":
        np.testing.assert_allclose([0.5, -1.0] @ (found - given), 0.0, atol=1e-12)
    assert loss(found) < loss(given)
    for step in rng.normal(size=(20, 2, 3)) * free * 1e-3:
        if noise == "of rank one":
            step = root @ step[:1] * free.all(axis=0)
        assert loss(found + step) > loss(found)
        assert loss(found - step) > loss(found)
