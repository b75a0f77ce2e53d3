"""Covariances whose eigenvalues are kept above a floor, large ones without all eigenvectors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from panlearn.core.gaussian import DIRECT, KINDS


def clipped_by_hand(matrix, floor):
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, max(floor, 1e-14 * values[-1]))) @ vectors.T


@pytest.mark.parametrize("columns", [5, DIRECT, DIRECT + 1, 150])
@pytest.mark.parametrize(
    ("rows", "floor", "units"),
    [
        (400, 1e-6, 1.0),  # nothing to clip
        (400, 0.8, 1.0),  # some
        (12, 1e-6, 1.0),  # few rows of many columns
        (12, 1e-6, 1e4),  # where rounding is no less than the floor
        (12, 1e-3, np.array([1e-3, 1.0, 1e3])),
        (12, 0.0, 1.0),
        (1, 1e-6, 1.0),
        (5, 1e-6, 0.0),  # rows that are all the same
        (140, 1e-6, 1.0),  # a little less than full rank
    ],
)
def test_clipped_as_all_eigenvectors_say(rng, columns, rows, floor, units):
    X = rng.normal(size=(3, rows, columns)) * np.resize(units, columns)
    scatter = X.swapaxes(1, 2) @ X
    found = KINDS["full"].maximise(scatter, np.full(3, float(rows)), floor)
    for matrix, one in zip(scatter / rows, found, strict=True):
        expected = clipped_by_hand(matrix, floor)
        assert_allclose(one, expected, atol=1e-13 * np.abs(expected).max())
        least = np.linalg.eigvalsh(one)[0]
        assert least > 0
        assert least >= floor * (1 - 1e-4) - 1e-13 * np.abs(expected).max()
        np.linalg.cholesky(one)


@pytest.mark.parametrize("columns", [3, DIRECT + 1, 90])
@pytest.mark.parametrize("kind", ["full", "tied"])
def test_inverse_of_an_inverse(rng, columns, kind):
    X = rng.normal(size=(2, 200, columns))
    covariances = X.swapaxes(1, 2) @ X
    covariances = covariances if kind == "full" else covariances[0]
    inverse = KINDS[kind].inverse(covariances)
    assert_allclose(
        inverse @ covariances, np.broadcast_to(np.eye(columns), covariances.shape), atol=1e-12
    )
    assert_allclose(KINDS[kind].inverse(inverse), covariances, rtol=1e-9, atol=1e-9)
    with pytest.raises(np.linalg.LinAlgError):
        KINDS[kind].inverse(np.zeros_like(covariances))
