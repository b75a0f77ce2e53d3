r"""Euclidean projections onto convex sets, each ready for the `projection` of an optimiser.

.. math:: P_Q(y) = \arg\min_{x \in Q} \lVert x - y \rVert_2

A function of this module takes the set's size and gives back the projection, a plain (and
picklable) function of one vector. Every projection is exact, idempotent and nonexpansive.

A vector of d numbers costs :math:`O(d)`, and on the simplex or the :math:`\ell_1` ball a sort,
:math:`O(d \log d)`.

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
from numbers import Real

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
    point = _vector(y)
    if np.abs(point).sum() <= radius:
        return point
    return np.sign(point) * _simplex(np.abs(point), radius)


def _l2(y: ArrayLike, radius: float) -> NDArray[np.floating]:
    """Shrink y to y min(1, r / ||y||)."""
    point = _vector(y)
    length = norm(point, check_finite=False)
    return point * (radius / length) if length > radius else point


def _box(y: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> NDArray[np.floating]:
    """Clip each coordinate."""
    point = _vector(y)
    for bound in (lower, upper):
        if np.size(bound) > 1 and np.shape(bound) != point.shape:
            raise ValueError(f"a box of shape {np.shape(bound)} cannot hold shape {point.shape}")
    return np.clip(point, lower, upper).astype(point.dtype, copy=False)


def _simplex(y: ArrayLike, total: float) -> NDArray[np.floating]:
    """max(y - theta, 0), where theta makes the sum equal to the total."""
    point = _vector(y)
    # The projection ignores a common shift; this one keeps the digits of the total.
    shifted = point - point.max()
    descending = np.sort(shifted)[::-1]
    thresholds = (np.cumsum(descending) - total) / np.arange(1, point.size + 1, dtype=point.dtype)
    support = max(int(np.count_nonzero(descending > thresholds)), 1)
    return np.maximum(shifted - thresholds[support - 1], 0)


def _vector(y: ArrayLike) -> NDArray[np.floating]:
    point = np.asarray(y)
    if point.ndim != 1 or point.size == 0:
        raise ValueError(f"a projection takes a non-empty vector, not shape {point.shape}")
    return point if point.dtype.kind == "f" else point.astype(float)


def _check_size(name: str, value: float) -> float:
    if not (isinstance(value, Real) and 0 <= value < np.inf):
        raise ValueError(f"{name}={value!r} must be a finite number, zero or more")
    return float(value)
