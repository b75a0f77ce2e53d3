import numpy as np
import pytest
from scipy import sparse

from panlearn.bayes._class_statistics import ClassRoots, ClassSums, ClassVariances


def test_sums_and_variances_are_those_of_each_class(rng):
    X, y, w = rng.normal(size=(50, 3)), rng.choice(["b", "a", "c"], 50), rng.random(50)
    sums, variances = ClassSums.of(X, y, w), ClassVariances.of(X, y, w)
    for c, label in enumerate("abc"):
        rows, weight = X[y == label], w[y == label]
        mean = np.average(rows, axis=0, weights=weight)
        np.testing.assert_allclose(sums.total[c], weight @ rows, rtol=1e-13)
        np.testing.assert_allclose(variances.mean[c], mean, rtol=1e-13)
        np.testing.assert_allclose(variances.scatter[c], weight @ (rows - mean) ** 2, rtol=1e-12)
    np.testing.assert_allclose(ClassSums.of(sparse.csr_array(X), y, w).total, sums.total)


def test_roots_are_factors_of_the_scatter_of_each_class(rng):
    X, y, w = rng.normal(size=(90, 2)), rng.integers(0, 2, 90), rng.random(90)
    found = ClassRoots.of(X, y, w)
    for c in range(2):
        rows, weight = X[y == c], w[y == c]
        centred = rows - np.average(rows, axis=0, weights=weight)
        np.testing.assert_allclose(
            found.roots[c].T @ found.roots[c], (centred.T * weight) @ centred, rtol=1e-12
        )
        assert len(found.roots[c]) == 2  # more than three times as many rows as columns


def test_labels_are_merged_by_name_and_absent_ones_have_no_weight(rng):
    X = rng.normal(size=(4, 2))
    merged = ClassSums.of(X[:2], ["b", "d"]) + ClassSums.of(X[2:], ["a", "b"])
    assert merged.classes.labels.tolist() == ["a", "b", "d"]
    np.testing.assert_allclose(merged.total, [X[2], X[0] + X[3], X[1]])
    declared = merged.declare(np.array(["a", "c"]))
    assert declared.classes.labels.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(declared.classes.count, [1, 2, 0, 1])
    np.testing.assert_array_equal(declared.total[2], 0)
    unseen = ClassRoots.of(X, ["a", "a", "c", "c"]).declare(np.array(["b"]))
    assert [len(r) for r in unseen.roots] == [2, 0, 2]


def test_a_row_of_weight_zero_brings_no_label():
    found = ClassSums.of(np.eye(3), ["a", "b", "c"], np.array([1.0, 0.0, 2.0]))
    assert found.classes.labels.tolist() == ["a", "c"]


def test_labels_of_two_kinds_do_not_merge():
    with pytest.raises(TypeError, match="one type"):
        ClassSums.of(np.eye(2), ["a", "b"]) + ClassSums.of(np.eye(2), [0, 1])
