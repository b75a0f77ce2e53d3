"""Reductions of short rows against NumPy's, to the last bit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from panlearn.core.short_rows import (
    MANY,
    SHORT,
    TOGETHER,
    divided,
    first_largest,
    largest,
    shifted,
    softmax,
    total,
)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_columns", range(1, SHORT + 2))
@pytest.mark.parametrize("n_rows", [1, MANY, MANY + 1, 3 * MANY])
def test_bits_are_those_of_numpy(rng, n_rows, n_columns, dtype):
    rows = (10 * rng.standard_normal((n_rows, n_columns))).astype(dtype)
    rows[:: max(1, n_rows // 50)] = rows[0, 0]  # equal ones, of which the first counts
    assert_array_equal(total(rows), rows.sum(axis=1, keepdims=True))
    assert_array_equal(largest(rows), rows.max(axis=1, keepdims=True))
    assert_array_equal(first_largest(rows), rows.argmax(axis=1))
    odds = np.exp(rows - rows.max(axis=1, keepdims=True))
    assert_array_equal(softmax(rows.copy()), odds / odds.sum(axis=1, keepdims=True))
    for found in (total(rows), largest(rows), softmax(rows.copy())):
        assert found.dtype == dtype


@pytest.mark.parametrize(("function", "ufunc"), [(shifted, np.add), (divided, np.divide)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kinds", ["dd", "ff", "fd", "df"])
@pytest.mark.parametrize("n_columns", [1, 10, TOGETHER])
@pytest.mark.parametrize("n_rows", [1, MANY + 1, 10 * TOGETHER])
def test_rows_are_shifted_and_divided_as_numpy_does_it(
    rng, n_rows, n_columns, kinds, order, function, ufunc
):
    rows = np.asarray(rng.standard_normal((n_rows, n_columns)), kinds[0], order=order)
    by = rng.standard_normal(n_columns).astype(kinds[1])
    expected = ufunc(rows, by)
    found = function(rows, by)
    assert found.dtype == expected.dtype
    assert_array_equal(found, expected)
    assert_array_equal(function(rows, by[0]), ufunc(rows, by[0]))
    if kinds != "fd":
        assert function(rows, by, out=rows) is rows
        assert_array_equal(rows, expected)
