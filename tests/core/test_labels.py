"""Labels: codes and the weights of classes."""

import numpy as np
import pytest

from panlearn.core.labels import class_weights, encode_labels

NAMES = np.array(["a", "b", "c"])
COUNT = np.array([1.0, 2.0, 3.0])


def test_codes_follow_the_sorted_labels():
    classes, codes = encode_labels(np.array(["b", "a", "b"]))
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match=r"one class only, \[7\]"):
        encode_labels(np.array([7, 7]))


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
