r"""Approximation: Bernstein polynomials, networks of rectified units, and their linear regions.

.. math:: B_m f(x) = \sum_{k=0}^m f(k / m) \binom{m}{k} x^k (1 - x)^{m - k}, \qquad
    g(x) = g(t_0) + \sum_i c_i \, (x - t_i)_+

A network is a list of layers, each a pair of a matrix and a bias; every layer but the last is
followed by the rectifier :math:`z_+ = \max(z, 0)`, so that the function is linear on each region
where the same units are on.

`linear_regions` solves :math:`O(m r)` small linear programmes for m units and r regions.

References
----------
Bernstein (1912). Démonstration du théorème de Weierstrass fondée sur le calcul des probabilités.
Communications of the Kharkov Mathematical Society 13.

Montúfar, Pascanu, Cho, Bengio (2014). On the number of linear regions of deep neural networks.
arXiv:1402.1869

Examples
--------
>>> import numpy as np
>>> from panlearn.theory import approximation
>>> net = approximation.relu_interpolant([0, 1, 2], [0.0, 1.0, 0.0])
>>> approximation.relu_network(net, [[0.5], [1.5]])
array([[0.5],
       [0.5]])
>>> len(approximation.linear_regions(net))
3
>>> approximation.max_regions(7, 2)
29
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.stats import binom

__all__ = [
    "LinearRegion",
    "bernstein",
    "count_linear_pieces",
    "linear_regions",
    "max_regions",
    "relu_interpolant",
    "relu_network",
    "sawtooth",
]

Layers = Sequence[tuple[Any, Any]]


def bernstein(f: Callable[[np.ndarray], Any], degree: int, x: Any) -> np.ndarray:
    r"""The polynomial :math:`\sum_k f(k/m) \binom{m}{k} x^k (1 - x)^{m-k}` at points of [0, 1].

    It is the mean of f(K / m) with K binomial, and is computed so: no power underflows. Its error
    is at most :math:`\tfrac54 \omega(m^{-1/2})` with :math:`\omega` the modulus of continuity of f.
    """
    if degree < 1:
        raise ValueError(f"degree={degree!r} must be 1 or more")
    points = np.asarray(x, dtype=float)
    if ((points < 0) | (points > 1)).any():
        raise ValueError("x must lie in [0, 1]; map the interval there first")
    k = np.arange(degree + 1)
    return binom.pmf(k, degree, points[..., None]) @ np.asarray(f(k / degree), dtype=float)


def relu_interpolant(knots: Any, values: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    r"""The one hidden layer that interpolates: :math:`g(t_0) + \sum_i c_i (x - t_i)_+`.

    There is a unit for each knot but the last; :math:`c_i` is the change of slope at it. Left of
    the first knot g is constant, right of the last it goes on. For f with
    :math:`|f''| \le M` on knots at distance h the error is at most :math:`M h^2 / 8`.
    """
    t, g = np.asarray(knots, dtype=float), np.asarray(values, dtype=float)
    if t.ndim != 1 or t.shape != g.shape or len(t) < 2 or np.any(np.diff(t) <= 0):
        raise ValueError("knots must be two or more that increase, with one value each")
    changes = np.diff(np.diff(g) / np.diff(t), prepend=0.0)
    return [(np.ones((len(changes), 1)), -t[:-1]), (changes[None], g[:1])]


def sawtooth(teeth: int) -> list[tuple[np.ndarray, np.ndarray]]:
    r"""A layer of n units that maps [0, 1] onto itself n times, so that L of them have n^L pieces.

    .. math:: s(i / n) = i \bmod 2, \qquad \text{linear between}
    """
    if teeth < 1:
        raise ValueError(f"teeth={teeth!r} must be 1 or more")
    return relu_interpolant(np.linspace(0, 1, teeth + 1), np.arange(teeth + 1) % 2)


def relu_network(layers: Layers, X: Any) -> np.ndarray:
    r"""The outputs of a network, :math:`W_L (\dots (W_1 x + b_1)_+ \dots)_+ + b_L`, of each row."""
    values = np.atleast_2d(np.asarray(X, dtype=float))
    *hidden, last = _checked(layers)
    for weight, bias in hidden:
        values = np.maximum(values @ weight.T + bias, 0)
    return values @ last[0].T + last[1]


def max_regions(units: int, dimensions: int) -> int:
    r"""The most regions of one layer, :math:`\sum_{j \le d} \binom{n}{j}`, of hyperplanes."""
    return sum(math.comb(units, j) for j in range(dimensions + 1))


@dataclass(frozen=True)
class LinearRegion:
    r"""A part of the input space on which a network is one linear map :math:`x \mapsto A x + c`.

    Parameters
    ----------
    pattern : tuple of bool
        Which hidden units are on, layer by layer.
    matrix : ndarray of shape (n_outputs, d)
        The map A.
    shift : ndarray of shape (n_outputs,)
        The shift c.
    point : ndarray of shape (d,)
        A point inside: the centre of a ball of the region.
    """

    pattern: tuple[bool, ...]
    matrix: np.ndarray
    shift: np.ndarray
    point: np.ndarray


def linear_regions(
    layers: Layers, low: Any = None, high: Any = None, tol: float = 1e-9
) -> list[LinearRegion]:
    r"""Every region of a small network, exactly: no sampling that could miss a thin one.

    .. math:: R_s = \{x : s_i (w_i(x) + b_i) > 0 \text{ for every hidden unit } i\} \ne \emptyset

    Parameters
    ----------
    layers : list of (matrix, bias)
        The network; its last layer has no rectifier.
    low, high : array-like of shape (d,) or float, default=None
        A box to count within; all of the space by default.
    tol : float, default=1e-9
        A region counts if it holds a ball of at least this radius.

    Returns
    -------
    list of LinearRegion
        One for each pattern of units that is reached. Two of them may share one linear map, as
        when a unit is switched whose output nothing reads.

    Notes
    -----
    Units are taken one at a time: a region that the unit's hyperplane crosses is cut in two, and a
    linear program for the largest ball inside tells on which sides anything is left. The cost is
    two programs for each unit and region.
    """
    network = _checked(layers)
    d = network[0][0].shape[1]
    walls = _box(d, low, high)
    # a region is: its pattern, its walls a x <= b, and the linear map of what is computed so far
    regions: list[tuple[list[bool], np.ndarray, np.ndarray, np.ndarray]] = [
        ([], walls, np.eye(d), np.zeros(d))
    ]
    for weight, bias in network[:-1]:
        regions = [cut for region in regions for cut in _through_layer(region, weight, bias, tol)]
    weight, bias = network[-1]
    return [
        LinearRegion(tuple(pattern), weight @ A, weight @ c + bias, _ball(walls, d)[0])
        for pattern, walls, A, c in regions
    ]


def count_linear_pieces(layers: Layers, low: float, high: float) -> int:
    r"""The number of linear pieces of a network of one input on an interval, exactly.

    .. math:: 1 + \#\{x \in (a, b) : g'(x-) \ne g'(x+)\}

    Neighbouring regions with the same slope are one piece.
    """
    regions = sorted(linear_regions(layers, low, high), key=lambda r: float(r.point[0]))
    slopes = np.array([r.matrix.ravel() for r in regions])
    scale = np.abs(slopes).max(initial=1.0)
    return 1 + int((np.abs(np.diff(slopes, axis=0)).max(axis=1) > 1e-9 * scale).sum())


def _through_layer(region: Any, weight: np.ndarray, bias: np.ndarray, tol: float) -> list[Any]:
    pattern, walls, A, c = region
    d = A.shape[1]
    scores, shifts = weight @ A, weight @ c + bias
    parts = [(pattern, walls)]
    for row, shift in zip(scores, shifts, strict=True):
        kept = []
        for so_far, sides in parts:
            for on in (False, True):
                # on: row x + shift >= 0, that is -row x <= shift
                side = np.append(-row, shift) if on else np.append(row, -shift)
                cut = np.vstack([sides, side])
                if _holds_ball(cut, side, d, tol):
                    kept.append(([*so_far, on], cut))
        parts = kept
    cuts = []
    for switched, sides in parts:
        mask = np.array(switched[len(pattern) :], dtype=float)
        cuts.append((switched, sides, scores * mask[:, None], shifts * mask))
    return cuts


def _holds_ball(walls: np.ndarray, side: np.ndarray, d: int, tol: float) -> bool:
    if not np.abs(side[:-1]).any():  # a unit that does not depend on x is on or off everywhere
        return bool(side[-1] > 0)
    return bool(_ball(walls, d)[1] > tol)


def _ball(walls: np.ndarray, d: int) -> tuple[np.ndarray, float]:
    """The largest ball, of radius up to 1, inside a x <= b: its centre and radius."""
    sizes = np.linalg.norm(walls[:, :-1], axis=1)
    used = sizes > 0
    matrix = np.column_stack([walls[used, :-1], sizes[used]]) / sizes[used, None]
    bounds = [(None, None)] * d + [(0, 1)]
    goal = np.append(np.zeros(d), -1.0)
    limit = walls[used, -1] / sizes[used]
    solved = linprog(goal, A_ub=matrix, b_ub=limit, bounds=bounds) if used.any() else None
    if solved is None:
        return np.zeros(d), 1.0
    return (solved.x[:d], float(solved.x[d])) if solved.success else (np.zeros(d), -1.0)


def _box(d: int, low: Any, high: Any) -> np.ndarray:
    sides = []
    for sign, bound in ((-1.0, low), (1.0, high)):
        if bound is not None:
            ends = np.broadcast_to(np.asarray(bound, dtype=float), d)
            sides.append(np.column_stack([sign * np.eye(d), sign * ends]))
    return np.vstack(sides) if sides else np.zeros((0, d + 1))


def _checked(layers: Layers) -> list[tuple[np.ndarray, np.ndarray]]:
    network = [(np.atleast_2d(np.asarray(w, dtype=float)), np.atleast_1d(b)) for w, b in layers]
    widths = [w.shape[1] for w, _ in network[1:]]
    if not network or widths != [len(w) for w, _ in network[:-1]]:
        shapes = [w.shape for w, _ in network]
        raise ValueError(f"layers must follow each other, outputs to inputs; shapes are {shapes}")
    return [(w, np.asarray(b, dtype=float)) for w, b in network]
