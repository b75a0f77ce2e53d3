r"""The constants of convex objectives on given data, and the rates that they promise.

.. math:: m \, \|x - y\| \le \|\nabla f(x) - \nabla f(y)\| \le L \, \|x - y\|

L is the smoothness, m the strong convexity; the condition number is L / m. They are given for the
objectives that the library's estimators minimise, written as those write them, in the coefficients
and, with `fit_intercept`, the intercept, which no penalty holds. For the squared loss they are
exact; for the others L is the least bound for all coefficients and m what the penalty alone gives.

The rates bound the gap :math:`f(x_k) - f^*` after k steps of `panlearn.optimize.gradient_descent`
and the like from a start at distance :math:`\|x_0 - x^*\|`.

Constants of n rows cost :math:`O(n d^2 + d^3)`, and a rate :math:`O(1)`.

References
----------
Nesterov (2018). Lectures on convex optimization. doi:10.1007/978-3-319-91578-4

Böhning (1992). Multinomial logistic regression algorithm. doi:10.1007/BF00048682

Examples
--------
>>> import numpy as np
>>> from panlearn.theory import convexity
>>> X = np.array([[1.0, 0.0], [0.0, 2.0]])
>>> convexity.ridge(X, alpha=1.0, fit_intercept=False)
Curvature(smoothness=10.0, strong_convexity=4.0)
>>> convexity.logistic_regression(X, fit_intercept=False)
Curvature(smoothness=2.0, strong_convexity=1.0)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "Curvature",
    "accelerated_gap",
    "descent_gap",
    "descent_step",
    "iterations_needed",
    "linear_svc",
    "logistic_regression",
    "measured",
    "newton_gradient",
    "quadratic",
    "ridge",
]


@dataclass(frozen=True)
class Curvature:
    r"""The constants of an objective, :math:`m I \preceq \nabla^2 f \preceq L I`.

    Parameters
    ----------
    smoothness : float
        The Lipschitz constant L of the gradient.
    strong_convexity : float
        The modulus m; zero for an objective that is merely convex.
    """

    smoothness: float
    strong_convexity: float

    @property
    def condition(self) -> float:
        """The condition number L / m, infinite for m = 0."""
        m = self.strong_convexity
        return self.smoothness / m if m > 0 else np.inf


def quadratic(hessian: Any) -> Curvature:
    r"""The constants of :math:`\tfrac12 x^\top H x + b^\top x`: the extreme eigenvalues of H."""
    values = np.linalg.eigvalsh(np.atleast_2d(np.asarray(hessian, dtype=float)))
    noise = len(values) * np.finfo(float).eps * np.abs(values).max()
    smallest = values[0] if abs(values[0]) > noise else 0.0
    return Curvature(float(values[-1]), float(max(smallest, 0.0)))


def ridge(
    X: Any, alpha: float = 1.0, sample_weight: Any = None, fit_intercept: bool = True
) -> Curvature:
    r"""The constants of :math:`\sum_i s_i (y_i - x_i^\top w - b)^2 + \alpha \|w\|^2`, exactly."""
    return _penalised(X, 2.0, 2.0, 2 * alpha, sample_weight, fit_intercept)


def logistic_regression(
    X: Any,
    C: float = 1.0,
    n_classes: int = 2,
    sample_weight: Any = None,
    fit_intercept: bool = True,
) -> Curvature:
    r"""The constants of :math:`C \sum_i s_i \ell_i + \tfrac12 \|W\|^2`, the loss of the logarithm.

    The loss of two classes curves by 1/4 at most, that of more by 1/2.
    """
    most = C / 4 if n_classes == 2 else C / 2
    return _penalised(X, most, 0.0, 1.0, sample_weight, fit_intercept)


def linear_svc(
    X: Any, C: float = 1.0, sample_weight: Any = None, fit_intercept: bool = True
) -> Curvature:
    r"""The constants of :math:`\tfrac12 \|w\|^2 + C \sum_i s_i \max(0, 1 - y_i z_i)^2`."""
    return _penalised(X, 2 * C, 0.0, 1.0, sample_weight, fit_intercept)


def measured(gradient: Callable[[np.ndarray], Any], points: Any) -> Curvature:
    r"""The extremes of :math:`\|\nabla f(x) - \nabla f(y)\| / \|x - y\|` over pairs of points.

    What a function showed at these points: L is no less than the first and, where f is convex, m
    no more than :math:`\langle \nabla f(x) - \nabla f(y), x - y \rangle / \|x - y\|^2`, the second.
    """
    x = np.asarray(points, dtype=float)
    g = np.array([np.asarray(gradient(p), dtype=float) for p in x])
    i, j = np.triu_indices(len(x), 1)
    dx, dg = x[i] - x[j], g[i] - g[j]
    squares = np.square(dx).sum(axis=1)
    ratios = np.linalg.norm(dg, axis=1) / np.sqrt(squares)
    return Curvature(float(ratios.max()), float(((dg * dx).sum(axis=1) / squares).min()))


def descent_step(curvature: Curvature) -> float:
    r"""The step :math:`2 / (L + m)` of the best rate of gradient descent; 1 / L if m = 0."""
    m = curvature.strong_convexity
    return 2 / (curvature.smoothness + m) if m > 0 else 1 / curvature.smoothness


def descent_gap(
    curvature: Curvature, distance: float, k: Any, step: float | None = None
) -> np.ndarray:
    r"""The bound on :math:`f(x_k) - f^*` of gradient descent with a step of at most 1 / L.

    .. math:: \min\Bigl\{\frac{\|x_0 - x^*\|^2}{2 \eta k}, \;
        \frac{L}{2} (1 - \eta m)^{k} \|x_0 - x^*\|^2\Bigr\}

    Parameters
    ----------
    curvature : Curvature
        The constants of the objective.
    distance : float
        The distance :math:`\|x_0 - x^*\|` of the start from a minimiser.
    k : int or array-like of int
        The number of steps.
    step : float, default=None
        The step :math:`\eta`, 1 / L by default. With the step of `descent_step` the second bound
        has :math:`((L - m) / (L + m))^{2k}` instead.

    Returns
    -------
    ndarray
    """
    L, m = curvature.smoothness, curvature.strong_convexity
    eta = 1 / L if step is None else step
    steps = np.asarray(k, dtype=float)
    squared = distance**2
    if m > 0 and np.isclose(eta, 2 / (L + m), rtol=1e-12):
        return L / 2 * squared * ((L - m) / (L + m)) ** (2 * steps)
    if not 0 < eta <= 1 / L * (1 + 1e-12):
        raise ValueError(f"step={step!r} must be at most 1/L = {1 / L:.4g}, or 2/(L + m)")
    with np.errstate(divide="ignore"):
        slow = squared / (2 * eta * steps)
    return np.minimum(np.minimum(slow, L / 2 * squared), L / 2 * squared * (1 - eta * m) ** steps)


def accelerated_gap(curvature: Curvature, distance: float, k: Any) -> np.ndarray:
    r"""The bound :math:`2 L \|x_0 - x^*\|^2 / (k + 1)^2` of Nesterov's momentum."""
    return 2 * curvature.smoothness * distance**2 / (np.asarray(k, dtype=float) + 1) ** 2


def newton_gradient(hessian_lipschitz: float, curvature: Curvature, gradient: Any) -> Any:
    r"""The bound :math:`\frac{M}{2 m^2} \|\nabla f(x_k)\|^2` on Newton's next gradient.

    M is the Lipschitz constant of the Hessian; the step is a whole one.
    """
    if not curvature.strong_convexity > 0:
        raise ValueError("Newton's rate needs strong convexity; give a penalty")
    return hessian_lipschitz / (2 * curvature.strong_convexity**2) * np.square(gradient)


def iterations_needed(curvature: Curvature, distance: float, gap: float) -> int:
    r"""The least k for which `descent_gap` promises it, some :math:`(L/m) \log(1/\epsilon)`."""
    if not gap > 0:
        raise ValueError(f"gap={gap!r} must be above zero")
    high = 1
    while descent_gap(curvature, distance, high) > gap:
        high *= 2
    k = np.arange(high // 2, high + 1)
    return int(k[np.argmax(descent_gap(curvature, distance, k) <= gap)])


def _penalised(
    X: Any, most: float, least: float, penalty: float, weight: Any, fit_intercept: bool
) -> Curvature:
    """Bounds of least Z'SZ + P to most Z'SZ + P, with P the penalty of all but the intercept."""
    Z = np.asarray(X, dtype=float)
    if Z.ndim != 2 or not np.isfinite(Z).all():
        raise ValueError(f"X must be a finite table of rows; it has shape {Z.shape}")
    diagonal = np.full(Z.shape[1], float(penalty))
    if fit_intercept:
        Z, diagonal = np.column_stack([Z, np.ones(len(Z))]), np.append(diagonal, 0.0)
    weights = np.ones(len(Z)) if weight is None else np.asarray(weight, dtype=float)
    gram = Z.T @ (weights[:, None] * Z)
    upper, lower = (quadratic(scale * gram + np.diag(diagonal)) for scale in (most, least))
    return Curvature(upper.smoothness, lower.strong_convexity)
