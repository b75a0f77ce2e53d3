r"""HiPPO: a state that holds the best polynomial of everything that was seen so far.

.. math::
    \frac{d}{dt} c(t) = \frac1t \bigl(A c(t) + B f(t)\bigr), \qquad
    A_{nk} = -\begin{cases} \sqrt{(2n+1)(2k+1)} & n > k \\ n + 1 & n = k \\ 0 & n < k \end{cases},
    \qquad B_n = \sqrt{2n+1}

keeps the coefficients of f on [0, t] in Legendre polynomials,

.. math::
    f(x) \approx \sum_n c_n(t) \sqrt{2n+1}\, P_n(2x/t - 1), \qquad 0 \le x \le t.

The matrix A is a normal one less one of rank one, :math:`A = Q (D - p p^\top) Q^\top` with Q
orthogonal and D made of blocks ((-1/2, -w), (w, -1/2)), which S4 starts from.

A step costs the exponential of a matrix, :math:`O(N^3)` for N coefficients, and as much costs the
decomposition.

References
----------
Gu, A., Dao, T., Ermon, S., Rudra, A. and Re, C. (2020). HiPPO: recurrent memory with optimal
polynomial projections. NeurIPS. https://arxiv.org/abs/2008.07669

Examples
--------
A state of 16 numbers remembers a wave of 500 steps.

>>> import numpy as np
>>> from panlearn.statespace import hippo
>>> wave = np.sin(np.linspace(0, 6, 500))
>>> state = hippo.remember(wave, 16)[-1]
>>> bool(np.abs(hippo.reconstruct(state, 500) - wave).max() < 0.01)
True
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import legendre
from scipy.linalg import expm

from panlearn.core.threads import one_blas_thread

__all__ = ["NormalPlusLowRank", "legs", "normal_plus_low_rank", "reconstruct", "remember"]

_STACK = 1 << 22  # numbers in the matrices that are exponentiated at a time


def legs(n_states: int) -> tuple[np.ndarray, np.ndarray]:
    """Give the matrix A, (n, n), and the vector B, (n,), for scaled Legendre polynomials.

    Parameters
    ----------
    n_states : int
        Polynomials n, of degrees 0 to n - 1.

    Returns
    -------
    tuple of ndarray
    """
    if n_states < 1:
        raise ValueError(f"n_states must be at least 1; got {n_states}")
    root = np.sqrt(2 * np.arange(n_states) + 1.0)
    lower = np.tril(np.outer(root, root), -1)
    return -lower - np.diag(np.arange(1.0, n_states + 1)), root


class NormalPlusLowRank(NamedTuple):
    r"""A = Q (D - p p') Q' and B = Q b, with D of blocks ((-1/2, -w), (w, -1/2)).

    Parameters
    ----------
    frequency : ndarray of shape (n / 2,)
        The frequencies w, from the lowest.
    low_rank : ndarray of shape (n,)
        The vector p.
    B : ndarray of shape (n,)
        The vector b.
    basis : ndarray of shape (n, n)
        The orthogonal matrix Q.
    """

    frequency: np.ndarray
    low_rank: np.ndarray
    B: np.ndarray
    basis: np.ndarray


def normal_plus_low_rank(n_states: int) -> NormalPlusLowRank:
    """Take the matrix of `legs` apart into a normal matrix and one of rank one.

    Parameters
    ----------
    n_states : int
        An even number.

    Returns
    -------
    NormalPlusLowRank
    """
    if n_states < 2 or n_states % 2:
        raise ValueError(f"n_states must be even, for pairs of eigenvalues; got {n_states}")
    A, B = legs(n_states)
    p = B / np.sqrt(2)  # A + p p' + I / 2 is skew
    skew = A + np.outer(p, p) + np.eye(n_states) / 2
    with one_blas_thread():  # a factorisation on two threads has other bits
        values, vectors = np.linalg.eigh(-1j * (skew - skew.T) / 2)
    half = n_states // 2
    upper = vectors[:, half:] * np.sqrt(2)  # of the frequencies above zero; the others mirror them
    # the phase of an eigenvector is free: b, which is p as well, points along the first axis
    upper = upper * np.exp(1j * np.angle(upper.conj().T @ B))
    basis = np.stack([upper.real, -upper.imag], axis=2).reshape(n_states, n_states)
    return NormalPlusLowRank(values[half:], basis.T @ p, basis.T @ B, basis)


def remember(signal: Any, n_states: int) -> np.ndarray:
    """Give the coefficients after each step of a signal that is constant within a step.

    They are exact, but for rounding: between two steps the equation is one with constant
    coefficients in the logarithm of time, which the exponential of A solves.

    Parameters
    ----------
    signal : array-like of shape (T,) or (T, d)
        Values of f.
    n_states : int
        Coefficients of each.

    Returns
    -------
    ndarray of shape (T, n_states) or (T, n_states, d)
    """
    f = np.asarray(signal, dtype=float)
    if f.ndim not in (1, 2) or not len(f):
        raise ValueError(f"signal must be of shape (T,) or (T, d) with a step; got {f.shape}")
    A, _ = legs(n_states)
    flat = f.reshape(len(f), -1)
    made = np.zeros((len(f), n_states, flat.shape[1]))
    made[0, 0] = flat[0]  # a constant is the polynomial of degree zero
    size = max(1, _STACK // n_states**2)
    for low in range(1, len(f), size):
        steps = np.arange(low, min(low + size, len(f)))
        turns = expm(A * np.log1p(1 / steps)[:, None, None])
        for k, turn in zip(steps, turns, strict=True):
            rest = made[k - 1].copy()
            rest[0] -= flat[k]  # the constant f(k) is where the equation comes to rest
            made[k] = turn @ rest
            made[k, 0] += flat[k]
    return made.reshape(len(f), n_states, *f.shape[1:])


def reconstruct(coefficients: Any, n_points: int) -> np.ndarray:
    """Give the polynomial of a state at points spread over all that it has seen.

    Parameters
    ----------
    coefficients : array-like of shape (n_states,) or (n_states, d)
        A row of what `remember` gives.
    n_points : int
        How many points; as many as steps gives the middle of each step.

    Returns
    -------
    ndarray of shape (n_points,) or (n_points, d)
    """
    c = np.asarray(coefficients, dtype=float)
    scale = np.sqrt(2 * np.arange(len(c)) + 1)
    places = (2 * np.arange(n_points) + 1) / n_points - 1
    return np.tensordot(legendre.legvander(places, len(c) - 1) * scale, c, axes=1)
