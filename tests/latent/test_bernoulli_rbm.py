"""Restricted Boltzmann machines against the table of all their states."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from panlearn.latent import BernoulliRBM
from panlearn.latent._rbm_layers import Layers, drawn


def states(n):
    return np.array(list(itertools.product([0.0, 1.0], repeat=n)))


def machine(rng, hidden, visible, scale=1.0):
    """A model with given weights, and the table of log p(v, h) by the definition."""
    model = BernoulliRBM(hidden, n_iter=1, random_state=0).fit(np.eye(visible))
    model.components_ = scale * rng.normal(size=(hidden, visible))
    model.intercept_visible_ = rng.normal(size=visible)
    model.intercept_hidden_ = rng.normal(size=hidden)
    joint = [
        [
            model.intercept_visible_ @ v + model.intercept_hidden_ @ h + h @ model.components_ @ v
            for h in states(hidden)
        ]
        for v in states(visible)
    ]
    return model, np.array(joint)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("times", [1, 20])
def test_probabilities_have_their_digits_in_few_rows_and_in_many(times, dtype):
    field = np.append(np.linspace(-80, 80, 331), [-1e4, -800, -0.0, 800, 1e4]).astype(dtype)
    v, one = np.tile(field, times)[:, None], np.ones(1, dtype)
    with np.errstate(all="raise", under="ignore"):
        found = Layers(one[:, None], one, 0 * one).hidden(v)
    expected = 1 / (1 + np.exp(-v.astype(np.longdouble)))
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps, atol=1e-37)


@pytest.mark.parametrize(("hidden", "visible"), [(3, 5), (6, 4), (1, 2)])
def test_energies_and_likelihoods_are_those_of_the_table(rng, hidden, visible):
    model, joint = machine(rng, hidden, visible)
    V = states(visible)
    np.testing.assert_allclose(model.free_energy(V), -logsumexp(joint, axis=1), rtol=1e-12)
    assert model.log_partition() == pytest.approx(logsumexp(joint), rel=1e-12)
    log_p = logsumexp(joint, axis=1) - logsumexp(joint)
    np.testing.assert_allclose(model.log_likelihood(V), log_p, rtol=1e-10)
    up = np.exp(joint - logsumexp(joint, axis=1, keepdims=True)) @ states(hidden)
    np.testing.assert_allclose(model.transform(V), up, rtol=1e-10)
    parts = model.transform(np.tile(V, (2**15, 1))[:40_000])
    np.testing.assert_allclose(parts, np.tile(up, (2**15, 1))[:40_000], rtol=1e-10)
    pseudo = np.zeros(len(V))
    place = {tuple(v): p for v, p in zip(V, log_p, strict=True)}
    for i in range(visible):
        for j, v in enumerate(V):
            other = v.copy()
            other[i] = 1 - v[i]
            pseudo[j] += place[tuple(v)] - np.logaddexp(place[tuple(v)], place[tuple(other)])
    np.testing.assert_allclose(model.score_samples(V), pseudo, rtol=1e-10)
    assert model.score(V) == pytest.approx(pseudo.mean())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [0.3, 30.0, 3000.0])
@pytest.mark.parametrize("bits", [True, False])
def test_pseudo_likelihoods_are_those_of_energies_however_large(rng, scale, bits, dtype):
    W = (scale * rng.standard_normal((40, 6))).astype(dtype)
    b, c = rng.standard_normal(6).astype(dtype), rng.standard_normal(40).astype(dtype)
    V = rng.random((2000, 6)).astype(dtype)
    V = np.round(V) if bits else V

    def energy(v):
        return -v @ b - np.logaddexp(0, v @ W.T.astype(float) + c).sum(axis=1)

    expected, wide = np.zeros(len(V)), V.astype(float)
    for i in range(6):
        turned = wide.copy()
        turned[:, i] = 1 - turned[:, i]
        expected -= np.logaddexp(0, energy(wide) - energy(turned))
    tolerance = 1e-9 if dtype == np.float64 else 2e-4
    atol = tolerance * max(1.0, np.abs(expected).max())
    found = Layers(W, b, c).pseudo_log_likelihood(V)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=atol)


@pytest.mark.parametrize("units", [1, 7, 300])
@pytest.mark.parametrize("scale", [0.01, 1.0, 4.0])
def test_pseudo_likelihoods_of_bits_are_those_of_any_numbers(rng, units, scale):
    """The products for bits, against the loop over features that takes any number."""
    W, b, c = scale * rng.normal(size=(units, 90)), rng.normal(size=90), rng.normal(size=units)
    layers, V = Layers(W, b, 1000 * c), np.round(rng.random((40, 90)))
    expected = layers._pseudo_by_features(V.T.copy(), 500.0)
    np.testing.assert_allclose(layers.pseudo_log_likelihood(V), expected, rtol=1e-11)
    few = np.array([layers.pseudo_log_likelihood(V[i : i + 1])[0] for i in range(3)])
    np.testing.assert_allclose(few, expected[:3], rtol=1e-11)


def test_rows_that_are_all_but_certain_or_impossible_keep_their_digits(rng):
    layers = Layers(rng.normal(size=(3, 40)), np.linspace(40, 60, 40), np.zeros(3))
    for v in (np.ones((1, 40)), np.zeros((1, 40))):
        turned = np.abs(v - np.eye(40))
        expected = -np.logaddexp(0, layers.free_energy(v) - layers.free_energy(turned)).sum()
        found = layers.pseudo_log_likelihood(v)[0]
        assert found == pytest.approx(expected, rel=1e-10, abs=0)


def test_gibbs_leaves_the_law_of_the_model_as_it_is(rng):
    model, joint = machine(rng, 2, 3)
    p = np.exp(logsumexp(joint, axis=1) - logsumexp(joint))
    V = states(3)
    n = 20_000
    after = model.gibbs(V[rng.choice(8, p=p, size=n)], random_state=1)
    seen = np.bincount((after @ [4, 2, 1]).astype(int), minlength=8) / n
    np.testing.assert_allclose(seen, p, atol=4 * np.sqrt(0.25 / n))
    ends = model.sample(n, random_state=2, n_steps=50)
    seen = np.bincount((ends @ [4, 2, 1]).astype(int), minlength=8) / n
    np.testing.assert_allclose(seen, p, atol=4 * np.sqrt(0.25 / n))


@pytest.mark.parametrize("persistent", [True, False])
def test_a_step_goes_along_the_gradient_of_the_likelihood(rng, persistent):
    """With chains that are long enough the mean step is the gradient, here by differences."""
    model, _ = machine(rng, 2, 3, scale=0.5)
    X = np.repeat(states(3), rng.integers(1, 5, size=8), axis=0)

    def mean_likelihood():
        return model.log_likelihood(X).mean()

    step, gradient = 1e-5, np.empty((2, 3))
    for at in np.ndindex(2, 3):
        start = model.components_[at]
        model.components_[at] = start + step
        high = mean_likelihood()
        model.components_[at] = start - step
        gradient[at] = (high - mean_likelihood()) / (2 * step)
        model.components_[at] = start
    before = model.components_.copy()
    learner = model.set_params(
        learning_rate=1e-3, persistent=persistent, n_gibbs=30, random_state=0
    )
    learner.h_samples_ = drawn(np.full((4000, 2), 0.5), rng)
    big = np.repeat(X, 4000 // len(X), axis=0)
    moved = (learner.partial_fit(big).components_ - before) / 1e-3
    # a mean over about 4000 chains is off by sqrt(1/4 / 4000) = 0.008
    np.testing.assert_allclose(moved, gradient, atol=0.035)


@pytest.mark.parametrize("persistent", [True, False])
def test_fitting_raises_the_exact_likelihood(rng, persistent):
    prototypes = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 1, 0, 1, 0]])
    X = prototypes[rng.integers(3, size=300)] ^ (rng.random((300, 6)) < 0.05)
    first = BernoulliRBM(6, n_iter=1, learning_rate=1e-6, random_state=0).fit(X)
    # fifty chains, lest their noise hide what is learned of so sharp a law
    model = BernoulliRBM(6, n_iter=200, batch_size=50, persistent=persistent, random_state=0)
    model.fit(X)
    assert model.log_likelihood(X).mean() > first.log_likelihood(X).mean() + 1
    assert len(model.history_["reconstruction_error"]) == 200
    assert model.history_["reconstruction_error"][-1] < 0.15
    assert model.n_steps_ == 200 * 6


def test_partial_fit_takes_other_draws_at_each_call_and_the_same_again(rng):
    X = (rng.random((30, 5)) < 0.4).astype(float)
    one, other = (BernoulliRBM(3, random_state=4) for _ in range(2))
    for model in (one, other):
        for _ in range(3):
            model.partial_fit(X)
    np.testing.assert_array_equal(one.components_, other.components_)
    assert one.n_steps_ == 3
    states_before = one.h_samples_.copy()
    assert not np.array_equal(one.partial_fit(X).h_samples_, states_before)


def test_a_large_model_refuses_to_count_its_states(rng):
    model = BernoulliRBM(30, n_iter=1, random_state=0).fit(rng.random((10, 25)))
    with pytest.raises(ValueError, match=r"25 units and so 2\^25 states"):
        model.log_partition()


def test_coins_have_their_probabilities(rng):
    p = np.array([0.0, 0.2, 1.0])
    coins = drawn(np.tile(p, (20_000, 1)), rng)
    np.testing.assert_allclose(coins.mean(axis=0), p, atol=0.01)
    assert drawn(p.astype(np.float32), rng).dtype == np.float32
    layers = Layers(np.zeros((2, 3)), np.zeros(3), np.zeros(2))
    np.testing.assert_allclose(layers.free_energy(np.ones((1, 3))), -2 * np.log(2))


@pytest.mark.parametrize("persistent", [True, False])
@pytest.mark.parametrize("rows", [3, 10, 17])
def test_a_batch_of_any_size_weighs_as_much_as_the_chains(rng, persistent, rows):
    """With visible units that are always on, what a step subtracts is known exactly."""
    X = (rng.random((rows, 4)) < 0.4).astype(float)
    model = BernoulliRBM(
        2, batch_size=10, learning_rate=0.5, persistent=persistent, random_state=0
    ).partial_fit(X)
    model.components_ = np.zeros((2, 4))
    model.intercept_visible_ = np.full(4, 60.0)  # σ(60) is 1 to rounding
    model.intercept_hidden_ = np.array([0.3, -1.2])
    model.partial_fit(X)
    gap = X.mean(axis=0) - 1
    np.testing.assert_allclose(model.intercept_visible_ - 60, 0.5 * gap, atol=1e-12)
    on = 1 / (1 + np.exp([-0.3, 1.2]))
    np.testing.assert_allclose(model.components_, 0.5 * np.outer(on, gap), atol=1e-12)
    np.testing.assert_allclose(model.intercept_hidden_, [0.3, -1.2], atol=1e-12)


def test_chains_go_on_from_where_they_were(rng):
    """With weights that copy, a persistent chain keeps its state, one at the rows takes theirs."""
    X = np.tile([1.0, 0.0, 1.0], (5, 1))
    for persistent, expected in ((True, [0.0, 1.0, 0.0]), (False, [1.0, 0.0, 1.0])):
        model = BernoulliRBM(
            3, batch_size=5, learning_rate=1e-9, persistent=persistent, random_state=0
        ).partial_fit(X)
        model.components_ = 200.0 * np.eye(3)
        model.intercept_visible_ = model.intercept_hidden_ = np.full(3, -100.0)
        model.h_samples_ = np.tile([0.0, 1.0, 0.0], (5, 1))
        before = model.intercept_visible_.copy()
        model.partial_fit(X)
        moved = (model.intercept_visible_ - before) / 1e-9
        np.testing.assert_allclose(moved, X[0] - expected, atol=1e-3)
        np.testing.assert_array_equal(model.h_samples_, np.tile([0.0, 1.0, 0.0], (5, 1)))
