"""Gaussian priors of coefficients, as a user gives them: numbers, vectors or a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils import check_array


def prior_mean(mean: Any, d: int) -> np.ndarray:
    """The mean as a vector: a number stands for every coefficient."""
    value = _numbers("prior_mean", mean)
    if value.shape not in [(), (d,)] or not np.isfinite(value).all():
        raise ValueError(
            f"prior_mean must be a finite number or {d} of them, one a feature; "
            f"got shape {value.shape}"
        )
    return np.broadcast_to(value, d).astype(float)


def prior_covariance(covariance: Any, d: int) -> np.ndarray:
    """The covariance as a matrix: a number is a variance, a vector the variances."""
    value = _numbers("prior_covariance", covariance)
    if value.ndim < 2 and value.shape in [(), (d,)]:
        value = np.diag(np.broadcast_to(value, d))
    if value.shape != (d, d):
        raise ValueError(
            f"prior_covariance must be a variance, {d} variances or a {d} x {d} matrix; "
            f"got shape {value.shape}"
        )
    value = check_array(value, input_name="prior_covariance")
    if not np.allclose(value, value.T, rtol=1e-10, atol=0):
        raise ValueError("prior_covariance must be symmetric")
    covariance_root(value)
    return (value + value.T) / 2


def _numbers(name: str, value: Any) -> np.ndarray:
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers; got {value!r}") from error


def covariance_root(covariance: np.ndarray) -> np.ndarray:
    """A matrix L with L L' = covariance, which may be singular but not indefinite."""
    if np.array_equal(covariance, np.diag(np.diag(covariance))) and (covariance >= 0).all():
        return np.sqrt(covariance)
    values, vectors = linalg.eigh(covariance)
    if values[0] < -1e-10 * abs(values[-1]):
        raise ValueError(
            f"prior_covariance must be positive semi-definite; its least eigenvalue is {values[0]}"
        )
    return vectors * np.sqrt(np.clip(values, 0, None))
