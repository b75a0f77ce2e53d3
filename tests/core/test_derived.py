"""What follows from state is made once, anew when that changes, and is not part of the object."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

from panlearn.core.derived import derived


class Table:
    def __init__(self, values, scale=1.0):
        self.values_, self.scale, self.made = values, scale, 0

    @derived("values_", "scale")
    def doubled(self):
        """Twice the values."""
        self.made += 1
        return 2 * self.scale * self.values_


def test_it_is_made_once_and_again_when_an_attribute_is_another():
    table = Table(np.arange(3.0))
    assert table.doubled is table.doubled
    assert table.made == 1
    table.scale = 0.5
    assert table.doubled.tolist() == [0, 1, 2]
    table.scale = float("0.5")  # equal, and another object
    assert table.doubled.tolist() == [0, 1, 2]
    assert table.made == 2
    table.values_ = np.arange(3.0)  # equal, but what it holds is not looked at
    assert table.doubled.tolist() == [0, 1, 2]
    assert table.made == 3
    assert Table.doubled.__doc__ == "Twice the values."


def test_one_and_true_are_not_the_same():
    table = Table(np.ones(1), 1)
    first = table.doubled
    table.scale = True
    assert table.doubled is not first


def test_it_is_not_part_of_the_object():
    table = Table(np.arange(3.0))
    size = len(pickle.dumps(table))
    table.doubled  # noqa: B018
    assert set(vars(table)) == {"values_", "scale", "made"}
    assert len(pickle.dumps(table)) == size
    for twin in (copy.copy(table), copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        assert twin.doubled is not table.doubled
        np.testing.assert_array_equal(twin.doubled, table.doubled)
    other = Table(table.values_)
    assert other.doubled is not table.doubled
    gone = weakref.ref(table)
    del table, twin
    gc.collect()
    assert gone() is None


def test_what_was_made_elsewhere_is_kept_until_an_attribute_is_another():
    table = Table(np.arange(3.0))
    made = np.zeros(3)
    table.doubled = made
    assert table.doubled is made
    table.scale = 2.0
    assert table.doubled.tolist() == [0, 4, 8]


def test_what_fails_is_not_kept():
    table = Table("text", None)
    for _ in range(2):
        with pytest.raises(TypeError):
            table.doubled  # noqa: B018
    assert table.made == 2
    table.scale = 1
    assert table.doubled == "texttext"
