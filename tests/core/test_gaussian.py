"""Gaussians of which entries are missing: against densities and regressions written out."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from panlearn.core.gaussian import Partial, by_pattern


@pytest.fixture
def two(rng):
    roots = rng.normal(size=(2, 4, 4))
    return rng.normal(size=(2, 4)), roots @ roots.swapaxes(1, 2) + 0.1 * np.eye(4)


@pytest.mark.parametrize("seen", [[1, 0, 1, 0], [0, 0, 0, 1], [1, 1, 1, 0], [0, 0, 0, 0]])
def test_density_and_moments_given_some_entries(two, seen, rng):
    means, matrices = two
    seen = np.array(seen, dtype=bool)
    rows = rng.normal(size=(5, seen.sum()))
    given = Partial(means, matrices, seen)
    density = given.log_densities(rows)
    assert density.shape == (2, 5)
    for j, (mean, matrix) in enumerate(zip(means, matrices, strict=True)):
        if seen.any():
            law = multivariate_normal(mean[seen], matrix[np.ix_(seen, seen)])
            np.testing.assert_allclose(density[j], np.atleast_1d(law.logpdf(rows)))
        else:
            np.testing.assert_array_equal(density[j], 0.0)
        # the precision of what is missing is that block of the joint precision
        precision = np.linalg.inv(matrix)
        covariance = np.linalg.inv(precision[np.ix_(~seen, ~seen)])
        gain = -covariance @ precision[np.ix_(~seen, seen)]
        centred, uncertain = given.filled(j, rows)
        np.testing.assert_allclose(centred[:, seen], rows - mean[seen])
        expected = (rows - mean[seen]) @ gain.T
        np.testing.assert_allclose(centred[:, ~seen], expected, atol=1e-10)
        np.testing.assert_allclose(uncertain[np.ix_(~seen, ~seen)], covariance, rtol=1e-8)
        assert not uncertain[seen].any()
        assert not uncertain[:, seen].any()


def test_rows_by_what_they_miss(rng):
    rows = rng.normal(size=(40, 11))  # more columns than a byte has bits
    rows[rng.random(rows.shape) < 0.2] = np.nan
    rows[7] = rows[3] = np.nan
    groups = list(by_pattern(rows))
    found = np.concatenate([index for index, _ in groups])
    assert sorted(found) == list(range(40))
    for index, seen in groups:
        assert (np.isfinite(rows[index]) == seen).all()
    assert len({seen.tobytes() for _, seen in groups}) == len(groups)
    assert len(groups) == len(np.unique(np.isnan(rows), axis=0))


def test_whole_rows_are_one_group_however_large():
    rows = np.array([[1e200, -1e200], [np.inf, 1.0]])
    ((index, seen),) = by_pattern(rows)
    assert index.tolist() == [0, 1]
    assert seen.all()
