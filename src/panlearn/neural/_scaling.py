"""The mean and the deviation that inputs are brought to zero and one by."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis


def moments(values: np.ndarray, weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """As `deviations`, with 1 for a column that is constant, so that one may divide by it."""
    mean, scale = deviations(values, weight)
    return mean, np.where(scale == 0, 1.0, scale)


def deviations(
    values: np.ndarray, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of columns, in float64; 0 for one that is constant.

    Parameters
    ----------
    values : ndarray of shape (n, d) or (n, k, d)
        Rows, or groups of k rows of one weight, such as the pixels of an image.
    weight : ndarray of shape (n,), default=None
        Weights of the rows or groups.

    Returns
    -------
    tuple of ndarray of shape (d,)
    """
    n, d = len(values), values.shape[-1]
    wide = values.reshape(n, -1, d).astype(np.float64, copy=False)
    peak = np.abs(wide).max(axis=(0, 1))  # first, so that sums and squares do not overflow
    peak = np.where(peak > 0, peak, 1.0)
    weight = np.ones(n) if weight is None else weight.astype(np.float64)
    share = weight / weight.max()
    share /= share.sum() * wide.shape[1]
    unit = wide / peak
    mean = np.einsum("n,nkd->d", share, unit)
    centred = unit - mean
    largest = np.abs(centred).max(axis=(0, 1))
    safe = np.where(largest > 0, largest, 1.0)
    scale = safe * np.sqrt(np.einsum("n,nkd->d", share, (centred / safe) ** 2))
    # what differs from its mean by rounding is constant, and what does not differ at all
    constant = largest <= 10 * np.finfo(values.dtype).eps * np.abs(mean)
    constant |= wide.min(axis=(0, 1)) == wide.max(axis=(0, 1))
    return mean * peak, np.where(constant, 0.0, scale * peak)


def sparse_moments(values: Any, weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """As `moments`, of the columns of a sparse matrix."""
    whole = sparse.csr_matrix(values.astype(np.float64))  # a copy, in which entries may be summed
    whole.sum_duplicates()
    # in units of a power of two, which rounds nothing, so that squares do not overflow
    exponent = np.frexp(abs(whole).max(axis=0).toarray().ravel())[1]
    whole.data = np.ldexp(whole.data, -exponent[whole.indices])
    mean, variance = mean_variance_axis(whole, axis=0, weights=weight)
    return np.ldexp(mean, exponent), np.where(
        variance > 0, np.ldexp(np.sqrt(variance), exponent), 1.0
    )


class ScaledRows:
    """Sparse rows that are made dense, centred and scaled when they are asked for.

    Parameters
    ----------
    rows : sparse matrix of shape (n, d)
        The rows.
    mean, scale : ndarray of shape (d,)
        What is taken from them, and what they are divided by.
    """

    def __init__(self, rows: Any, mean: np.ndarray, scale: np.ndarray) -> None:
        self._rows, self._mean, self._scale = sparse.csr_array(rows), mean, scale
        self.shape, self.dtype = rows.shape, mean.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, chosen: Any) -> np.ndarray:
        return (self._rows[chosen].toarray() - self._mean) / self._scale

    def only(self, chosen: np.ndarray) -> ScaledRows:
        """Some of the rows, as they are."""
        return ScaledRows(self._rows[chosen], self._mean, self._scale)
