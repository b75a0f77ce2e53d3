"""Hopfield networks: storage, descent, recall."""

import itertools

import numpy as np
import pytest

from panlearn.latent import HopfieldNetwork
from panlearn.latent.hopfield import settle


def settle_slowly(weights, state):
    """The dynamics by the definition, fields computed anew for each unit."""
    state, flipped, moved = state.copy(), [], True
    while moved:
        moved = False
        for unit in range(len(state)):
            field = weights[unit] @ state
            if state[unit] * field < -1e-12:
                state[unit] *= -1
                flipped.append(unit)
                moved = True
    return state, flipped


def random_patterns(rng, p, d):
    return rng.choice([-1.0, 1.0], size=(p, d))


def test_storage_by_hand():
    memory = HopfieldNetwork().fit([[1, -1, 1], [1, 1, -1]])
    np.testing.assert_allclose(3 * memory.weights_, [[0, 0, 0], [0, 0, -2], [0, -2, 0]])
    assert memory.capacity_ == pytest.approx(3 / (2 * np.log(3)))


def test_the_kernel_follows_the_definition(rng):
    weights = rng.normal(size=(15, 15))
    weights = weights + weights.T
    np.fill_diagonal(weights, 0)
    for start in random_patterns(rng, 20, 15):
        state = start.copy()
        flipped = settle(weights, state, weights @ state, 1e-12)
        expected, units = settle_slowly(weights, start)
        np.testing.assert_array_equal(state, expected)
        assert flipped.tolist() == units


@pytest.mark.parametrize("rule", ["hebb", "projection"])
def test_recall_ends_at_a_local_minimum_and_each_flip_lowers_the_energy(rng, rule):
    memory = HopfieldNetwork(rule=rule).fit(random_patterns(rng, 3, 12))
    states = np.array(list(itertools.product([-1.0, 1.0], repeat=12)))
    energy = memory.energy(states)
    np.testing.assert_allclose(energy, [-0.5 * s @ memory.weights_ @ s for s in states], atol=1e-12)
    place = {tuple(s): e for s, e in zip(states, energy, strict=True)}
    for start in random_patterns(rng, 30, 12):
        path = memory.trajectory(start)
        np.testing.assert_array_equal(path[0], start)
        np.testing.assert_array_equal(path[-1], memory.transform([start])[0])
        assert (np.abs(np.diff(path, axis=0)).sum(axis=1) == 2).all()
        assert (np.diff(memory.energy(path)) < 0).all()
        around = path[-1] * (1 - 2 * np.eye(12))
        assert all(place[tuple(s)] >= place[tuple(path[-1])] - 1e-9 for s in around)


def test_corrupted_patterns_are_recalled_below_capacity(rng):
    patterns = random_patterns(rng, 8, 400)
    memory = HopfieldNetwork().fit(patterns)
    assert memory.stable_.all()
    noisy = patterns * np.where(rng.random(patterns.shape) < 0.2, -1, 1)
    np.testing.assert_array_equal(memory.transform(noisy), patterns)
    np.testing.assert_array_equal(memory.predict(noisy), np.arange(8))
    reversed_is_none = memory.predict(-patterns)
    np.testing.assert_array_equal(reversed_is_none, -1)


def test_too_many_patterns_are_not_stable_and_the_projection_holds_more(rng):
    patterns = random_patterns(rng, 60, 100)
    assert not HopfieldNetwork().fit(patterns).stable_.all()
    memory = HopfieldNetwork(rule="projection").fit(patterns)
    assert memory.stable_.all()
    np.testing.assert_array_equal(memory.transform(patterns), patterns)


def test_any_two_levels_about_zero_are_the_same_states(rng):
    patterns = random_patterns(rng, 3, 50)
    plain = HopfieldNetwork().fit(patterns)
    for low, high in ((0, 1), (-3, 250)):
        levels = np.where(patterns > 0, high, low)
        memory = HopfieldNetwork().fit(levels)
        np.testing.assert_array_equal(memory.weights_, plain.weights_)
        np.testing.assert_array_equal(memory.transform(levels), plain.transform(patterns))
        np.testing.assert_array_equal(memory.energy(levels), plain.energy(patterns))
    assert plain.score(patterns) == pytest.approx(-plain.energy(patterns).mean())
