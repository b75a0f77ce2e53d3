"""The schedules, tabulated."""

import pickle

import numpy as np
import pytest

from panlearn.optimize import schedules

TABLE = {
    "constant": (schedules.constant(), [0, 7], [1, 1]),
    "step_decay": (
        schedules.step_decay([10, 20]),
        [0, 9, 10, 19, 20, 99],
        [1, 1, 0.1, 0.1, 0.01, 0.01],
    ),
    "inverse_time": (schedules.inverse_time(0.5), [0, 1, 2, 8], [1, 2 / 3, 1 / 2, 1 / 5]),
    "inverse_sqrt": (schedules.inverse_sqrt(3.0), [0, 1, 5, 8], [1, 1 / 2, 1 / 4, 1 / 5]),
    "warmup_cosine": (
        schedules.warmup_cosine(4, 12, final=0.2),
        [0, 1, 3, 4, 6, 8, 12, 50],
        [0.25, 0.5, 1, 1, 0.2 + 0.4 * (1 + np.sqrt(0.5)), 0.6, 0.2, 0.2],
    ),
    "no warm-up": (schedules.warmup_cosine(0, 10), [0, 5, 10], [1, 0.5, 0]),
}


@pytest.mark.parametrize(("schedule", "k", "factors"), TABLE.values(), ids=TABLE)
def test_table(schedule, k, factors):
    np.testing.assert_allclose([schedule(i) for i in k], factors, atol=1e-15)
    np.testing.assert_allclose(schedule(np.array(k)), factors, atol=1e-15)
    assert np.ndim(schedule(k[0])) == 0
    assert pickle.loads(pickle.dumps(schedule))(k[-1]) == schedule(k[-1])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: schedules.step_decay([20, 10]), "milestones="),
        (lambda: schedules.step_decay(5), "milestones="),
        (lambda: schedules.step_decay([5], factor=0), "factor=0"),
        (lambda: schedules.inverse_time(-1), "decay=-1"),
        (lambda: schedules.inverse_sqrt(np.inf), "decay=inf"),
        (lambda: schedules.warmup_cosine(10, 10), "warmup=10"),
        (lambda: schedules.warmup_cosine(-1, 10), "warmup=-1"),
        (lambda: schedules.warmup_cosine(1, 10, final=2), "final=2"),
    ],
)
def test_bad_input_is_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()
