"""What the products of matrices leave out is never a neighbour, whatever they round."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from panlearn.neighbors import KNeighborsRegressor, _search


@pytest.fixture(autouse=True)
def screened(monkeypatch):
    """Few rows are screened too."""
    monkeypatch.setattr(_search, "FEW", 0)


def assert_nearest(X, Q, k):
    model = KNeighborsRegressor(k, algorithm="brute").fit(X, np.zeros(len(X)))
    assert model._index.screened is not None
    distance, index = model.kneighbors(Q)
    expected = cdist(Q.astype(float), X.astype(float))
    which = np.argsort(expected, axis=1, kind="stable")[:, :k]
    assert_array_equal(index, which)
    assert_allclose(distance, np.take_along_axis(expected, which, 1), rtol=1e-6, atol=1e-300)


@pytest.mark.parametrize("gap", [1e-9, 1e-7, 1e-5, 1e-3])
@pytest.mark.parametrize("others", [0, 90])
def test_a_shell_of_rows_that_float32_cannot_tell_apart(rng, gap, others):
    """Some as far as the k-th but for a gap, and, if any, the others beyond doubt."""
    query = rng.normal(size=60)
    away = rng.normal(size=(10 + others, 60))
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    away[:10] *= 1 + gap * rng.permutation(10)[:, None]
    away[10:] *= 3
    assert_nearest(query + away, query[None], 4)


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1.0, 1e8, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wide_rows_of_any_scale(rng, scale, dtype):
    X = (scale * rng.normal(size=(70, 900))).astype(dtype)
    X[40:50] = X[:10]  # equal distances go by index
    assert_nearest(X, np.r_[X[:30], X[:5] * dtype(1.5)], 6)


@pytest.mark.parametrize("spread", 10.0 ** np.arange(-25, -14))
def test_beside_a_constant_column_the_others_are_too_small_for_float32(rng, spread):
    X = np.c_[np.ones(300), spread * rng.normal(size=(300, 4))]
    assert_nearest(X, X[:100], 3)


def test_one_row_and_rows_that_are_all_the_same(rng):
    row = rng.normal(size=(1, 40))
    assert_nearest(row, row + 1, 1)
    assert_nearest(np.repeat(row, 30, axis=0), row - 1, 5)
    assert_nearest(np.zeros((30, 12)), np.ones((2, 12)), 5)
