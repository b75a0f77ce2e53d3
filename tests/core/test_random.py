"""Random state: one generator a call."""

import numpy as np

from panlearn.core.random import generator


def test_an_int_gives_the_same_stream_each_time():
    assert generator(3).random(4).tolist() == generator(3).random(4).tolist()
    assert generator(3).random() != generator(4).random()


def test_a_generator_is_used_as_it_is():
    given = np.random.default_rng(0)
    assert generator(given) is given


def test_a_random_state_is_advanced():
    given = np.random.RandomState(0)
    first, second = generator(given).random(), generator(given).random()
    assert first != second
    assert generator(np.random.RandomState(0)).random() == first


def test_none_is_fresh_and_leaves_the_global_generator_alone():
    np.random.seed(0)  # noqa: NPY002
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    assert generator().random() != generator().random()
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
