"""Labels: codes and the weights of classes."""

import numpy as np
import pytest
from sklearn.utils.multiclass import check_classification_targets

from panlearn.core.labels import class_weights, encode_labels, few_integers

NAMES = np.array(["a", "b", "c"])
COUNT = np.array([1.0, 2.0, 3.0])


def test_codes_follow_the_sorted_labels():
    classes, codes = encode_labels(np.array(["b", "a", "b"]))
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match=r"one class only, \[7\]"):
        encode_labels(np.array([7, 7]))


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint8, np.float64, bool])
def test_labels_that_are_counted_are_those_that_are_sorted(rng, kind):
    low, high = (0, 2) if kind is bool else (0, 101) if kind is np.uint8 else (-100, 101)
    for y in (rng.integers(low, high, size=500).astype(kind), np.array([low, high - 1, low], kind)):
        classes, codes = encode_labels(y)
        sorted_, places = np.unique(y, return_inverse=True)
        assert classes.dtype == y.dtype
        assert codes.dtype == np.int32
        np.testing.assert_array_equal(classes, sorted_)
        np.testing.assert_array_equal(codes, places)


def test_weights_of_classes():
    assert class_weights(None, NAMES, COUNT).tolist() == [1, 1, 1]
    assert class_weights({"c": 2}, NAMES, COUNT).tolist() == [1, 1, 2]
    balanced = class_weights("balanced", NAMES, COUNT)
    np.testing.assert_allclose(balanced * COUNT, 2)  # every class weighs the same in all
    with pytest.raises(ValueError, match=r"\['d'\].*not among"):
        class_weights({"d": 1}, NAMES, COUNT)
    for bad in (0, -1, np.nan, np.inf):
        with pytest.raises(ValueError, match="finite and positive"):
            class_weights({"a": bad}, NAMES, COUNT)


@pytest.mark.parametrize(
    "y",
    [np.arange(40) // 2, np.arange(40) % 2 == 0, np.array([100, -100] * 201, np.int8)],
    ids=["integers", "booleans", "a range that int8 does not hold"],
)
def test_few_integers_are_labels_at_a_look_and_scikit_learn_has_no_objection(y):
    assert few_integers(y)
    check_classification_targets(y)


@pytest.mark.parametrize(
    "y",
    [np.arange(40), np.arange(40) / 2, np.eye(4, dtype=int), list(range(3)), np.array([], int)],
    ids=["all different", "floats", "a table", "a list", "nothing"],
)
def test_what_may_be_no_label_is_looked_at_more_closely(y):
    assert not few_integers(y)
