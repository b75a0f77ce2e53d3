r"""Euclidean projections onto convex sets, each ready for the `projection` of an optimiser.

.. math:: P_Q(y) = \arg\min_{x \in Q} \lVert x - y \rVert_2

A function of this module takes the set's size and gives back the projection, a plain (and
picklable) function of one vector. Every projection is exact, idempotent and nonexpansive.

References
----------
Duchi, Shalev-Shwartz, Singer, Chandra (2008). Efficient projections onto the l1-ball for
learning in high dimensions. ICML. doi:10.1145/1390156.1390191

Examples
--------
>>> from panlearn.optimize import projections
>>> projections.l2_ball(1.0)([3.0, 4.0])
array([0.6, 0.8])
>>> projections.l1_ball(1.0)([2.0, -1.5])
array([ 0.75, -0.25])
>>> projections.simplex()([0.5, 0.7, -1.0])
array([0.4, 0.6, 0. ])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import norm

__all__ = ["box", "l1_ball", "l2_ball", "linf_ball", "simplex"]

Projection = Callable[[ArrayLike], NDArray[np.floating]]


def l1_ball(radius: float = 1.0) -> Projection:
    r"""Projection onto :math:`\{x : \lVert x \rVert_1 \le r\}`, in :math:`O(n \log n)`."""
    return partial(_l1, radius=_check_size("radius", radius))


def l2_ball(radius: float = 1.0) -> Projection:
    r"""Projection onto :math:`\{x : \lVert x \rVert_2 \le r\}`; of a gradient, its clipping."""
    return partial(_l2, radius=_check_size("radius", radius))


def linf_ball(radius: float = 1.0) -> Projection:
    r"""Projection onto :math:`\{x : \max_i |x_i| \le r\}`."""
    radius = _check_size("radius", radius)
    return partial(_box, lower=-radius, upper=radius)


def box(lower: ArrayLike, upper: ArrayLike) -> Projection:
    r"""Projection onto :math:`\{x : l_i \le x_i \le u_i\}`; the bounds may be infinite."""
    low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    if not np.all(low <= high):
        raise ValueError(f"box is empty: lower={low} is not below upper={high} everywhere")
    return partial(_box, lower=low, upper=high)


def simplex(total: float = 1.0) -> Projection:
    r"""Projection onto :math:`\{x : x_i \ge 0, \sum_i x_i = s\}`, in :math:`O(n \log n)`."""
    return partial(_simplex, total=_check_size("total", total))


def _l1(y: ArrayLike, radius: float) -> NDArray[np.floating]:
    """Soft threshold sign(y) max(|y| - theta, 0) at the theta that reaches the radius."""
    y = _vector(y)
    if np.abs(y).sum() <= radius:
        return y
    return np.sign(y) * _simplex(np.abs(y), radius)


def _l2(y: ArrayLike, radius: float) -> NDArray[np.floating]:
    """Shrink y to y min(1, r / ||y||)."""
    y = _vector(y)
    length = norm(y, check_finite=False)
    return y * (radius / length) if length > radius else y


def _box(y: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> NDArray[np.floating]:
    """Clip each coordinate."""
    y = _vector(y)
    return np.clip(y, lower, upper).astype(y.dtype, copy=False)


def _simplex(y: ArrayLike, total: float) -> NDArray[np.floating]:
    """max(y - theta, 0), where theta makes the sum equal to the total."""
    y = _vector(y)
    y = y - y.max()  # the projection ignores a common shift; this keeps the digits of the total
    descending = np.sort(y)[::-1]
    thresholds = (np.cumsum(descending) - total) / np.arange(1, y.size + 1)
    support = max(np.count_nonzero(descending > thresholds), 1)
    return np.maximum(y - thresholds[support - 1], 0)


def _vector(y: ArrayLike) -> NDArray[np.floating]:
    y = np.asarray(y)
    if y.ndim != 1 or y.size == 0:
        raise ValueError(f"a projection takes a non-empty vector, not shape {y.shape}")
    return y if y.dtype.kind == "f" else y.astype(float)


def _check_size(name: str, value: float) -> float:
    if not (np.isscalar(value) and np.isfinite(value) and value >= 0):
        raise ValueError(f"{name}={value!r} must be a finite number, zero or more")
    return float(value)
