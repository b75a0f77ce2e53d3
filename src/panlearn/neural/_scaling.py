"""The mean and the deviation that inputs are brought to zero and one by."""

from __future__ import annotations

import numpy as np


def moments(values: np.ndarray, weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of columns, in float64; 1 for one that is constant.

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
    # what differs from its mean by rounding is constant
    constant = largest <= 10 * np.finfo(values.dtype).eps * np.abs(mean)
    return mean * peak, np.where(constant | (scale == 0), 1.0, scale * peak)
