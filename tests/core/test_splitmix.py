"""The generator of kernels: the published sequence, and its uniform numbers."""

import numpy as np

from panlearn.core.splitmix import mixed, next_below, next_bits, next_uniform, uniforms


def test_the_sequence_is_the_published_one():
    # of the reference implementation in C, seeded with 1234567
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    state, found = np.uint64(1234567), []
    for _ in expected:
        state, bits = next_bits(np.uint64(state))
        found.append(int(bits))
    assert found == expected
    gamma = np.uint64(0x9E3779B97F4A7C15)
    assert mixed(np.array([1234567], np.uint64) + gamma).tolist() == expected[:1]


def test_many_numbers_at_once_are_those_of_the_sequence():
    state, found = np.uint64(7), []
    for _ in range(9):
        state, number = next_uniform(np.uint64(state))
        found.append(number)
    assert uniforms(7, 9).tolist() == found


def test_draws_are_uniform():
    state, counts, numbers = np.uint64(1), np.zeros(5), []
    for _ in range(5000):
        state, k = next_below(np.uint64(state), 5)
        counts[k] += 1
        state, number = next_uniform(np.uint64(state))
        numbers.append(number)
    assert np.abs(counts - 1000).max() < 120  # four standard deviations
    assert 0 <= min(numbers) < 0.002
    assert 0.998 < max(numbers) < 1
    assert abs(np.mean(numbers) - 0.5) < 4 / np.sqrt(12 * 5000)
