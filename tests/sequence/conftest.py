"""What tests of state-space models share."""

import numpy as np
import pytest

from panlearn.sequence import KalmanFilter


@pytest.fixture
def random_model():
    return _random_model


def _random_model(rng, n=3, m=2, p=0, T=None, **parameters):
    """A stable model; with T its matrices vary with time."""
    lead = () if T is None else (T,)

    def covariance(k):
        A = rng.normal(size=(*lead, k, 2 * k))
        return A @ np.swapaxes(A, -1, -2) / (2 * k)

    F = 0.5 * rng.normal(size=(*lead, n, n)) / np.sqrt(n)
    matrices = (F + 0.4 * np.eye(n), rng.normal(size=(*lead, m, n)), covariance(n), covariance(m))
    start = rng.normal(size=(n, n))
    parameters.setdefault("initial_mean", rng.normal(size=n))
    parameters.setdefault("initial_covariance", start @ start.T)
    parameters.setdefault("observation_offset", rng.normal(size=m))
    if p:
        parameters["control"] = rng.normal(size=(*lead, n, p))
    return KalmanFilter.from_matrices(*matrices, **parameters)
