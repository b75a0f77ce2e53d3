r"""Filters for a state that moves, and is seen, through functions.

.. math::
    x_{t+1} = f(x_t) + w_t, \quad w_t \sim \mathcal{N}(0, Q), \qquad
    y_t = h(x_t) + v_t, \quad v_t \sim \mathcal{N}(0, R)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from panlearn.sequence._echelon import rank_of, triangularise
from panlearn.sequence._kalman_kernels import move as shift
from panlearn.sequence._state_space import root
from panlearn.sequence._state_space_parameters import read, require_covariance

Map = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class FilteredStates:
    """The states of a series, each given what was seen up to it.

    Attributes
    ----------
    means : ndarray of shape (T, n_states)
    covariances : ndarray of shape (T, n_states, n_states)
    log_likelihood : float
        Of the series, with every innovation taken as Gaussian.
    """

    means: np.ndarray
    covariances: np.ndarray
    log_likelihood: float


def extended_kalman_filter(
    X: Any,
    transition: Map,
    observation: Map,
    transition_covariance: Any,
    observation_covariance: Any,
    initial_mean: Any,
    initial_covariance: Any,
    *,
    transition_jacobian: Map | None = None,
    observation_jacobian: Map | None = None,
) -> FilteredStates:
    r"""Filter a series with f and h replaced by their tangents at the mean.

    .. math:: f(x) \approx f(m) + F (x - m), \quad F = \partial f / \partial x |_m

    Parameters
    ----------
    X : array-like of shape (T, n_features)
        The series; NaN is not observed.
    transition, observation : callable
        f and h, of a state of shape (n_states,).
    transition_covariance, observation_covariance : array-like
        Q and R.
    initial_mean, initial_covariance : array-like
        The law of the first state.
    transition_jacobian, observation_jacobian : callable, default=None
        Their matrices of derivatives; central differences if not given.

    Returns
    -------
    FilteredStates

    Notes
    -----
    A step costs :math:`O((n + m)^3)` for n states and m observations, beside the functions and
    their slopes, which by differences are 2n calls of each.

    References
    ----------
    S. Särkkä (2013). Bayesian Filtering and Smoothing, chapter 5. Cambridge University Press.
    doi:10.1017/CBO9781139344203

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.sequence import extended_kalman_filter
    >>> falling = lambda x: np.array([x[0] + x[1], x[1] - 1.0])
    >>> height = lambda x: x[:1]
    >>> X = [[100.0], [100.0], [99.0], [97.0]]
    >>> found = extended_kalman_filter(
    ...     X, falling, height, 1e-6 * np.eye(2), [[0.01]], [100.0, 0.0], np.eye(2)
    ... )
    >>> found.means[-1].round(1)
    array([97., -3.])
    """

    def linearised(function: Map, jacobian: Map | None) -> Transform:
        def through(mean: np.ndarray, S: np.ndarray) -> tuple[Any, Any, Any]:
            slope = _differences(function, mean) if jacobian is None else jacobian(mean)
            return _value(function, mean), S, np.atleast_2d(np.asarray(slope, dtype=float)) @ S

        return through

    return _filter(
        X,
        linearised(transition, transition_jacobian),
        linearised(observation, observation_jacobian),
        *(transition_covariance, observation_covariance, initial_mean, initial_covariance),
    )


def unscented_kalman_filter(
    X: Any,
    transition: Map,
    observation: Map,
    transition_covariance: Any,
    observation_covariance: Any,
    initial_mean: Any,
    initial_covariance: Any,
    *,
    alpha: float = 1.0,
    beta: float = 2.0,
    kappa: float = 0.0,
) -> FilteredStates:
    r"""Filter a series with the moments of f and h taken from points around the mean.

    .. math::
        x^{\pm i} = m \pm \sqrt{n + \lambda} \, S_i, \quad P = S S^\top, \quad
        \lambda = \alpha^2 (n + \kappa) - n, \qquad
        \mathbb{E} f(x) \approx \sum_i w_i f(x^i)

    Parameters
    ----------
    X : array-like of shape (T, n_features)
        The series; NaN is not observed.
    transition, observation : callable
        f and h, of a state of shape (n_states,).
    transition_covariance, observation_covariance : array-like
        Q and R.
    initial_mean, initial_covariance : array-like
        The law of the first state.
    alpha, beta, kappa : float
        How far the points lie from the mean, and how its own weight in a covariance differs; beta
        of 2 suits a Gaussian.

    Returns
    -------
    FilteredStates

    Notes
    -----
    Exact where f and h are linear, and of third order in the mean where they are not. Covariances
    are kept as triangular factors, so they stay positive semidefinite whatever the noise. A step
    costs 2n + 1 calls of each function and :math:`O((n + m)^3)` for n states and m observations.

    References
    ----------
    S. J. Julier and J. K. Uhlmann (2004). Unscented filtering and nonlinear estimation.
    Proceedings of the IEEE 92(3). doi:10.1109/JPROC.2003.823141

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.sequence import unscented_kalman_filter
    >>> turn = lambda x: np.array([x[0] + 0.1, x[1]])
    >>> place = lambda x: x[1] * np.array([np.cos(x[0]), np.sin(x[0])])
    >>> X = [place([0.1 * t, 2.0]) for t in range(20)]
    >>> found = unscented_kalman_filter(
    ...     X, turn, place, 1e-4 * np.eye(2), 0.01 * np.eye(2), [0.0, 1.0], np.eye(2)
    ... )
    >>> found.means[-1].round(1)
    array([1.9, 2. ])
    """
    n = np.size(initial_mean)
    spread = alpha**2 * (n + kappa)
    if not spread > 0:
        raise ValueError(f"alpha**2 * (n_states + kappa) must be positive; got {spread:g}")
    weight = 0.5 / spread  # of a point; the mean has the rest

    def moments(function: Map) -> Transform:
        def through(mean: np.ndarray, S: np.ndarray) -> tuple[Any, Any, Any]:
            # about g(m), not about the mean of the values: large weights of both signs cancel
            origin = _value(function, mean)
            steps = np.sqrt(spread) * np.vstack([S.T, -S.T])
            rise = np.array([_value(function, mean + step) - origin for step in steps])
            bend = weight * rise.sum(axis=0)
            away = np.sqrt(weight) * np.hstack([steps, rise])
            bent = np.append(np.zeros(n), bend)
            if beta >= alpha**2:
                away = np.vstack([away, np.sqrt(beta - alpha**2) * bent]).T
            else:  # what is left of a covariance has no such factor
                away = root(away.T @ away - (alpha**2 - beta) * np.outer(bent, bent))
            return origin + bend, away[:n], away[n:]

        return through

    return _filter(
        X,
        moments(transition),
        moments(observation),
        *(transition_covariance, observation_covariance, initial_mean, initial_covariance),
    )


Transform = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""Of x with mean m and factor S of its covariance: the mean of g(x), and deviations of x and g(x).

The deviations are columns; products of their rows are covariances.
"""


def _filter(
    X: Any, move: Transform, see: Transform, Q: Any, R: Any, mean: Any, covariance: Any
) -> FilteredStates:
    """Condition the joint Gaussian of state and observation, step by step, on its factor."""
    Y = np.asarray(X, dtype=float)
    if Y.ndim != 2 or not len(Y):
        raise ValueError(f"X must be one series of shape (T, n_features); got {Y.shape}")
    if np.isinf(Y).any():
        raise ValueError("X must not hold infinity; NaN is what was not observed")
    mean = np.array(mean, dtype=float, ndmin=1)
    n, m = len(mean), Y.shape[1]
    given = {"initial_covariance": covariance}
    given |= {"transition_covariance": Q, "observation_covariance": R}
    matrices = read(given)
    for (name, matrix), size in zip(matrices.items(), (n, n, m), strict=True):
        if matrix.shape != (size, size):
            raise ValueError(f"{name} must have the shape {(size, size)}; got {matrix.shape}")
        require_covariance(name, matrix)
    S, Q_root, R_root = (root(matrix) for matrix in matrices.values())
    means, factors, total = np.empty((len(Y), n)), np.empty((len(Y), n, n)), 0.0
    for t, y in enumerate(Y):
        seen = ~np.isnan(y)
        if seen.any():
            centre, here, there = _finite("observation", t, m, see(mean, S))
            left, k = (y - centre)[seen], int(seen.sum())
            A = np.vstack([np.hstack([there, R_root])[seen], np.hstack([here, np.zeros((n, m))])])
            triangularise(A, len(A), A.shape[1], np.abs(A).sum(axis=1))
            total += shift(mean, A, left, k)
            first = rank_of(A, k)
            S = A[k:, first : first + n]
        means[t], factors[t] = mean, S
        if t + 1 < len(Y):
            mean, _, there = _finite("transition", t, n, move(mean, S))
            A = np.hstack([there, Q_root])
            triangularise(A, len(A), A.shape[1], np.abs(A).sum(axis=1))
            S = A[:, :n]
    return FilteredStates(means, factors @ np.swapaxes(factors, 1, 2), float(total))


def _finite(name: str, t: int, size: int, moments: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """The moments, or an error that says which function gave no numbers, or not as many, when."""
    centre, _, there = moments
    if centre.shape != (size,) or len(there) != size:
        raise ValueError(f"{name} must give {size} numbers; at step {t} it gave {centre.shape}")
    if not (np.isfinite(centre).all() and np.isfinite(there).all()):
        raise ValueError(f"{name} gave NaN or infinity near the state of step {t}")
    return moments


def _value(function: Map, x: np.ndarray) -> np.ndarray:
    return np.atleast_1d(np.asarray(function(x), dtype=float))


def _differences(function: Map, x: np.ndarray) -> np.ndarray:
    """Central differences of a function of a state."""
    step = np.cbrt(np.finfo(float).eps) * np.maximum(np.abs(x), 1.0)
    columns = [
        (_value(function, x + move) - _value(function, x - move)) / (2 * size)
        for size, move in zip(step, np.diag(step), strict=True)
    ]
    return np.column_stack(columns)
