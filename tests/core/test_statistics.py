"""Values of the statistics by hand; their laws are in tests/laws."""

import numpy as np
import pytest
from scipy import sparse

from panlearn.core.statistics import Counts, LabelCounts, Moments, RootMoments


def test_counts():
    assert Counts.of([0, 2, 2], n_codes=4).count.tolist() == [1, 0, 2, 0]
    assert Counts.of([0, 2, 2], [0.5, 1, 2], n_codes=3).count.tolist() == [0.5, 0, 3]
    assert (Counts.of([1], n_codes=2) * 3).count.tolist() == [0, 3]
    assert Counts.of(np.array([], dtype=int), n_codes=2).count.tolist() == [0, 0]


def test_label_counts_of_any_type():
    merged = LabelCounts.of([3, 1]) + LabelCounts.of([3, 2], [0.5, 1.5])
    assert merged.labels.tolist() == [1, 2, 3]
    assert merged.count.tolist() == [1, 1.5, 1.5]
    assert (LabelCounts.of(["b"]) + LabelCounts.zero()).labels.tolist() == ["b"]
    assert LabelCounts.of(["b"]).is_finite


def test_labels_of_different_kinds_are_not_merged_in_silence():
    with pytest.raises(TypeError, match="labels"):
        LabelCounts.of([1, 2]) + LabelCounts.of(["1", "a"])
    assert (LabelCounts.of([1]) + LabelCounts.of([2.5])).labels.tolist() == [1.0, 2.5]
    assert (LabelCounts.of(["a"]) + LabelCounts.of(["long"])).labels.tolist() == ["a", "long"]


def test_moments_by_hand():
    moments = Moments.of(np.array([[0.0, 0.0], [2.0, 4.0]]), weight=np.array([1.0, 3.0]))
    assert moments.weight == 4
    assert moments.mean.tolist() == [1.5, 3]
    assert moments.scatter.tolist() == [[3, 6], [6, 12]]
    assert moments.raw.tolist() == [[12, 24], [24, 48]]
    within, across, other = moments.blocks(1)
    assert (within.tolist(), across.tolist(), other.tolist()) == ([[3]], [[6]], [[12]])


def test_several_arrays_are_laid_side_by_side():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9, 2)), rng.normal(size=9)
    beside = np.column_stack([X, y])
    for kind in (Moments, RootMoments):
        np.testing.assert_allclose(kind.of(X, y).scatter, kind.of(beside).scatter)
        np.testing.assert_allclose(kind.of(sparse.csr_array(X), y).scatter, kind.of(beside).scatter)


def test_the_root_keeps_the_digits_that_squaring_loses():
    rng = np.random.default_rng(0)
    left, _, right = np.linalg.svd(rng.normal(size=(50, 3)), full_matrices=False)
    truth = np.array([1.0, 1e-6, 1e-12])
    rows = left * truth @ right
    found = np.linalg.svd(RootMoments.of(rows - rows.mean(axis=0)).root, compute_uv=False)
    exact = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(found, exact, rtol=1e-3)
    with np.errstate(invalid="ignore"):
        squared = np.sqrt(np.linalg.eigvalsh(Moments.of(rows).scatter)[::-1])
    assert not abs(squared[-1] - exact[-1]) < 0.1 * exact[-1]


def test_float32_rows_are_summed_in_float64():
    rows = np.random.default_rng(0).normal(size=(2000, 2)).astype(np.float32) + np.float32(1000)
    moments = Moments.of(rows)
    np.testing.assert_allclose(moments.scatter, Moments.of(rows.astype(float)).scatter, rtol=1e-12)
    assert moments.scatter.dtype == np.float64


def test_what_is_not_finite_shows():
    rows = np.array([[1.0], [np.nan]])
    assert not Moments.of(rows).is_finite
    assert not (Moments.of(rows[:1]) + Moments.of(rows[1:])).is_finite


def test_integer_rows_and_no_rows():
    assert Moments.of(np.array([[1], [3]])).scatter.tolist() == [[2.0]]
    for kind in (Moments, RootMoments):
        assert kind.of(np.zeros((0, 3))).weight == 0
        assert (kind.of(np.zeros((0, 3))) + kind.zero(3)).scatter.tolist() == np.zeros(
            (3, 3)
        ).tolist()


@pytest.mark.parametrize("offset", [0.0, 5.0, 9.0, 30.0, 1e8])
def test_the_scatter_keeps_its_digits_whether_the_mean_is_small_or_large(offset, rng):
    rows = rng.normal(size=(500, 3)) @ np.triu(rng.normal(size=(3, 3)))
    moved = rows + offset
    exact = moved - moved.astype(np.longdouble).mean(axis=0)
    expected = (exact.T @ exact).astype(float)
    # two digits may go, of the sixteen that a float has
    tolerance = 1e-13 * np.sqrt(np.outer(expected.diagonal(), expected.diagonal()))
    assert (np.abs(Moments.of(moved).scatter - expected) <= tolerance).all()
    constant = np.column_stack([moved, np.full(500, offset)])
    assert np.abs(Moments.of(constant).scatter[3]).max() <= 1e-25 * offset**2
