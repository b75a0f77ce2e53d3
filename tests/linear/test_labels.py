"""Labels come back as they were given, of whatever type, from arrays, lists and streams."""

import numpy as np
import pytest

from panlearn import Batches
from panlearn.linear import LogisticRegression, Perceptron

LABELS = {
    "bool": np.array([False, True]),
    "int8": np.array([-3, 100], dtype=np.int8),
    "uint64": np.array([1, 2**40], dtype=np.uint64),
    "whole floats": np.array([1.0, 7.0]),
    "str": np.array(["no", "yes"]),
    "object": np.array(["no", "ja"], dtype=object),
    "three ints": np.array([5, 6, 9]),
    "three str": np.array(["a", "bb", "ccc"]),
}


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("source", ["array", "list", "stream"])
@pytest.mark.parametrize("cls", [LogisticRegression, Perceptron])
def test_labels_come_back_as_given(rng, cls, source, name):
    labels = LABELS[name]
    codes = np.arange(60) % len(labels)
    X = rng.normal(size=(60, 2)) * 0.1 + np.array([[0, 3], [3, 0], [-3, -3]])[codes]
    y = labels[codes]
    if source == "stream":
        model = cls().fit(Batches([(X[:30], y[:30]), (X[30:], y[30:])]))
    else:
        model = cls().fit(X, y.tolist() if source == "list" else y)
    found = model.predict(X)
    assert found.tolist() == y.tolist()
    assert {type(v) for v in found.tolist()} == {type(v) for v in y.tolist()}
    if source != "list":
        assert found.dtype == model.classes_.dtype == y.dtype
