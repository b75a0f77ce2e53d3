r"""Fourier series and transforms: a function in another basis.

.. math:: f(x) \sim \frac{a_0}{2} + \sum_{n \ge 1} a_n \cos \frac{2 \pi n x}{T}
    + b_n \sin \frac{2 \pi n x}{T} = \sum_{n} c_n e^{2 \pi i n x / T}

Integrals are Gauss-Legendre sums over pieces, which are exact to rounding where f is smooth on each
piece: name its jumps and corners as `breaks`. The discrete transform is a change of basis,
`dft_matrix`; `fft` computes it in :math:`O(n \log n)` operations by splitting n into its prime
factors, if these are small.

References
----------
Stein, Shakarchi (2003). Fourier analysis: an introduction.

Cooley, Tukey (1965). An algorithm for the machine calculation of complex Fourier series.
doi:10.1090/S0025-5718-1965-0178586-1

Examples
--------
>>> import numpy as np
>>> from panlearn.theory import fourier
>>> a, b = fourier.real_coefficients(lambda x: 3 + 2 * np.sin(x), 4, 0, 2 * np.pi)
>>> a.round(10) + 0.0, b.round(10) + 0.0
(array([6., 0., 0., 0., 0.]), array([0., 2., 0., 0., 0.]))
>>> fourier.change_of_basis([[1, 0], [0, 1]], [[1, 1], [1, -1]]) @ [3, 1]
array([2., 1.])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = [
    "change_of_basis",
    "complex_coefficients",
    "dft_matrix",
    "fft",
    "fourier_transform",
    "ifft",
    "inverse_fourier_transform",
    "real_coefficients",
    "real_from_complex",
    "series",
]

Function = Callable[[np.ndarray], Any]


def complex_coefficients(
    f: Function, order: int, low: float, high: float, breaks: Sequence[float] = ()
) -> np.ndarray:
    r"""The coefficients :math:`c_n = \frac1T \int_a^b f(x) e^{-2 \pi i n x / T} dx` of a period.

    Parameters
    ----------
    f : callable
        The function, of an array of points.
    order : int
        The largest n.
    low, high : float
        The ends of one period, T = high - low.
    breaks : sequence of float, default=()
        Where f jumps or has a corner inside it.

    Returns
    -------
    ndarray of shape (2 * order + 1,)
        From n = -order to n = order.
    """
    x, weights = _rule(low, high, breaks, order)
    values, turn = weights * _values(f, x), -2j * np.pi / (high - low) * x
    return np.array([np.exp(n * turn) @ values for n in range(-order, order + 1)]) / (high - low)


def real_coefficients(
    f: Function, order: int, low: float, high: float, breaks: Sequence[float] = ()
) -> tuple[np.ndarray, np.ndarray]:
    r"""The coefficients :math:`a_n, b_n = \frac2T \int_a^b f(x) \{\cos, \sin\}(2 \pi n x / T) dx`.

    Both run from n = 0 to `order`; the constant term of the series is :math:`a_0 / 2`.
    """
    return real_from_complex(complex_coefficients(f, order, low, high, breaks))


def real_from_complex(coefficients: Any) -> tuple[np.ndarray, np.ndarray]:
    r"""The real coefficients :math:`a_n = 2 \Re c_n, \; b_n = -2 \Im c_n` of a real function."""
    c = np.asarray(coefficients)
    half = c[len(c) // 2 :]
    return 2 * half.real, -2 * half.imag


def series(a: Any, b: Any, x: Any, period: float = 2 * np.pi) -> np.ndarray:
    r"""The partial sum :math:`\frac{a_0}{2} + \sum_n a_n \cos n \omega x + b_n \sin n \omega x`."""
    cosines, sines = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    points = np.asarray(x, dtype=float)
    angles = 2 * np.pi / period * np.multiply.outer(points, np.arange(len(cosines)))
    return np.cos(angles) @ cosines + np.sin(angles) @ sines - cosines[0] / 2


def fourier_transform(
    f: Function, frequencies: Any, low: float, high: float, breaks: Sequence[float] = ()
) -> np.ndarray:
    r"""The transform :math:`\hat f(\omega) = \int_a^b f(x) e^{-i \omega x} dx`.

    Parameters
    ----------
    f : callable
        The function, of an array of points.
    frequencies : array-like
        The angular frequencies :math:`\omega`.
    low, high : float
        Outside of this interval f is zero, or small enough.
    breaks : sequence of float, default=()
        Where f jumps or has a corner inside it.

    Returns
    -------
    ndarray
        Complex, of the shape of `frequencies`.
    """
    omega = np.asarray(frequencies, dtype=float)
    turns = float(np.abs(omega).max(initial=0.0)) * (high - low) / (2 * np.pi)
    x, weights = _rule(low, high, breaks, int(np.ceil(turns)))
    return np.exp(-1j * np.multiply.outer(omega, x)) @ (weights * _values(f, x))


def inverse_fourier_transform(
    transform: Function, points: Any, low: float, high: float, breaks: Sequence[float] = ()
) -> np.ndarray:
    r"""The function :math:`f(x) = \frac1{2 \pi} \int \hat f(\omega) e^{i \omega x} d\omega`."""
    return fourier_transform(transform, -np.asarray(points, dtype=float), low, high, breaks) / (
        2 * np.pi
    )


def dft_matrix(n: int) -> np.ndarray:
    r"""The matrix :math:`F_{jk} = e^{-2 \pi i j k / n}` of the discrete transform: F F^H = n I."""
    k = np.arange(n)
    return np.exp(-2j * np.pi / n * (np.outer(k, k) % n))  # the remainder keeps angles small


def fft(x: Any) -> np.ndarray:
    r"""The discrete transform :math:`X_k = \sum_j x_j e^{-2 \pi i j k / n}`, of any length.

    For n = p m with a prime p, p transforms of every p-th entry, of length m, are turned by
    :math:`e^{-2 \pi i j k / n}` and combined; a prime n is the matrix itself. It shows how the
    sum is split; `scipy.fft.fft` does the same in compiled code.
    """
    values = np.asarray(x, dtype=complex)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"x must be one row of numbers; it has shape {values.shape}")
    n = len(values)
    p = next((p for p in range(2, int(n**0.5) + 1) if n % p == 0), n)
    if p == n:
        return dft_matrix(n) @ values
    parts = np.stack([fft(values[r::p]) for r in range(p)])  # (p, m)
    m = n // p
    twiddles = np.exp(-2j * np.pi / n * np.outer(np.arange(p), np.arange(m)))
    return (dft_matrix(p) @ (twiddles * parts)).ravel()


def ifft(x: Any) -> np.ndarray:
    r"""The inverse :math:`x_j = \frac1n \sum_k X_k e^{2 \pi i j k / n}` of `fft`."""
    return np.conj(fft(np.conj(x))) / len(x)


def change_of_basis(old: Any, new: Any) -> np.ndarray:
    r"""The matrix P with :math:`[v]_{new} = P \, [v]_{old}`, of bases listed by rows.

    The columns of P express the old basis vectors in the new basis, :math:`P = N^{-1} O` with the
    vectors as columns.
    """
    before, after = (np.asarray(b, dtype=float).T for b in (old, new))
    if before.shape != after.shape or np.linalg.matrix_rank(after) < len(after):
        raise ValueError("old and new must be bases: as many independent vectors as coordinates")
    return np.linalg.solve(after, before)


def _values(f: Function, x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(np.asarray(f(x)), x.shape)


def _rule(
    low: float, high: float, breaks: Sequence[float], turns: int
) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre points and weights on the pieces, enough for waves of so many turns."""
    if not low < high:
        raise ValueError(f"low={low!r} must be below high={high!r}")
    inside = sorted(b for b in breaks if low < b < high)
    ends = np.array([low, *inside, high])
    nodes, weights = np.polynomial.legendre.leggauss(32)
    # a piece of at most four turns: 32 points give an integral of waves to rounding
    longest = (high - low) / max(8, turns / 4)
    grids = [np.linspace(a, b, int(np.ceil((b - a) / longest)) + 1) for a, b in pairwise(ends)]
    cuts = np.unique(np.concatenate(grids))
    middle, half = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts) / 2
    points = middle[:, None] + half[:, None] * nodes
    return points.ravel(), (half[:, None] * weights).ravel()
