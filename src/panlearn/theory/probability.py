r"""Probability: joint tables, Gaussians that compose, generating functions, bounds on tails.

.. math:: p(y \mid x) = \frac{p(x \mid y) \, p(y)}{\sum_{y'} p(x \mid y') \, p(y')}, \qquad
    M(t) = E \, e^{t X}, \qquad E X^k = M^{(k)}(0)

A table of probabilities has one axis a variable. Generating functions take complex t, so that
`moments` reads all derivatives at zero off a circle around it, to nearly full precision, where
differences of steps would lose half the digits with each.

A table costs its cells, and what is done to a Gaussian of d coordinates :math:`O(d^3)`.

References
----------
Bishop (2006). Pattern recognition and machine learning, section 2.3.

Boucheron, Lugosi, Massart (2013). Concentration inequalities.
doi:10.1093/acprof:oso/9780199535255.001.0001

Lyness, Moler (1967). Numerical differentiation of analytic functions. doi:10.1137/0704019

Examples
--------
>>> import numpy as np
>>> from panlearn.theory import probability
>>> law = probability.MultivariateNormal([0, 0], [[1, 0.8], [0.8, 1]])
>>> law.conditional(0, 1.0).mean, law.conditional(0, 1.0).covariance
(array([0.8]), array([[0.36]]))
>>> probability.moments(lambda t: probability.poisson_mgf(t, 3.0), 3).round(10)
array([ 3., 12., 57.])
>>> probability.chebyshev(1.0, 2.0)
0.25
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.signal import fftconvolve

from panlearn.theory._divergences import table
from panlearn.theory._normal import MultivariateNormal
from panlearn.theory._tails import (
    bernstein,
    cantelli,
    chebyshev,
    chebyshev_extremal,
    chernoff,
    hoeffding,
    markov,
    tail_bounds,
)

__all__ = [
    "MultivariateNormal",
    "bayes",
    "bernoulli_mgf",
    "bernstein",
    "binomial_mgf",
    "cantelli",
    "chebyshev",
    "chebyshev_extremal",
    "chernoff",
    "condition",
    "covariance",
    "cumulants",
    "density_of_sum",
    "dependence",
    "gamma_mgf",
    "hoeffding",
    "marginal",
    "markov",
    "moments",
    "normal_mgf",
    "poisson_mgf",
    "tail_bounds",
]


def marginal(joint: Any, axes: int | tuple[int, ...]) -> np.ndarray:
    r"""The table of some variables, :math:`p(x) = \sum_y p(x, y)`: the axes that are kept."""
    cells = table(joint, "joint")
    kept = {axis % cells.ndim for axis in np.atleast_1d(axes)}
    return cells.sum(axis=tuple(i for i in range(cells.ndim) if i not in kept))


def condition(joint: Any, axes: int | tuple[int, ...]) -> np.ndarray:
    r"""The table :math:`p(y \mid x) = p(x, y) / p(x)` given the variables of these axes.

    It has the shape of the joint table; where :math:`p(x) = 0` it is nan.
    """
    cells = table(joint, "joint")
    given = {axis % cells.ndim for axis in np.atleast_1d(axes)}
    others = tuple(i for i in range(cells.ndim) if i not in given)
    weight = cells.sum(axis=others, keepdims=True)
    return cells / np.where(weight > 0, weight, np.nan)


def bayes(prior: Any, likelihood: Any) -> np.ndarray:
    r"""The posterior :math:`p(y \mid x) \propto p(x \mid y) p(y)`, for each column of likelihoods.

    `likelihood` has a row for each y of the prior, and an entry or a column for each x.
    """
    weights = table(prior, "prior")
    terms = np.asarray(likelihood, dtype=float)
    if terms.shape[:1] != weights.shape or (terms < 0).any():
        raise ValueError(
            f"likelihood must have {len(weights)} rows, zero or more, one for each entry of the "
            f"prior; it has shape {terms.shape}"
        )
    joint = weights.reshape(-1, *[1] * (terms.ndim - 1)) * terms
    evidence = joint.sum(axis=0)
    if not (evidence > 0).all():
        raise ValueError("what was seen has probability zero under every entry of the prior")
    return joint / evidence


def dependence(joint: Any) -> float:
    r"""The largest :math:`|p(x, y \mid z) - p(x \mid z) p(y \mid z)|`; zero if independent.

    Axes are x, y and, if there are three, z; cells where :math:`p(z) = 0` say nothing.
    """
    cells = table(joint, "joint")
    if cells.ndim not in (2, 3):
        raise ValueError(f"joint must have axes x, y and perhaps z; it has shape {cells.shape}")
    given = cells if cells.ndim == 2 else condition(cells, 2)
    product = given.sum(axis=1, keepdims=True) * given.sum(axis=0, keepdims=True)
    return float(np.nanmax(np.abs(given - product)))


def covariance(joint: Any, x: Any, y: Any) -> float:
    r"""The covariance :math:`E (X - E X)(Y - E Y)` of two variables of a table."""
    cells = table(joint, "joint")
    first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if cells.shape != (len(first), len(second)):
        raise ValueError(f"joint of shape {cells.shape} needs as many values of x and of y")
    first = first - cells.sum(axis=1) @ first
    second = second - cells.sum(axis=0) @ second
    return float(first @ cells @ second)


def bernoulli_mgf(t: Any, p: float) -> Any:
    r"""The generating function :math:`1 - p + p e^t` of a Bernoulli variable."""
    return 1 - p + p * np.exp(t)


def binomial_mgf(t: Any, n: int, p: float) -> Any:
    r"""The generating function :math:`(1 - p + p e^t)^n` of a binomial variable."""
    return bernoulli_mgf(t, p) ** n


def poisson_mgf(t: Any, rate: float) -> Any:
    r"""The generating function :math:`e^{\lambda (e^t - 1)}` of a Poisson variable."""
    return np.exp(rate * np.expm1(t))


def normal_mgf(t: Any, mean: float = 0.0, variance: float = 1.0) -> Any:
    r"""The generating function :math:`e^{\mu t + \sigma^2 t^2 / 2}` of a normal variable."""
    return np.exp(mean * np.asarray(t) + variance * np.square(t) / 2)


def gamma_mgf(t: Any, shape: float, scale: float = 1.0) -> Any:
    r"""The generating function :math:`(1 - b t)^{-a}` of a gamma variable; infinite from 1/b on."""
    points = np.asarray(t)
    finite = np.where(points.real * scale < 1, 1 - scale * points, 1.0)
    return np.where(points.real * scale < 1, finite ** (-float(shape)), np.inf)[()]


def moments(mgf: Callable[[Any], Any], order: int, radius: float = 0.5) -> np.ndarray:
    r"""The moments :math:`E X, \dots, E X^k` from a generating function of complex argument.

    .. math:: M^{(k)}(0) = \frac{k!}{2 \pi i} \oint \frac{M(t)}{t^{k+1}} \, dt

    The contour is a circle around zero, within which M must be analytic: of a gamma variable of
    scale b, choose a radius below 1/b.
    """
    return _derivatives(mgf, order, radius)


def cumulants(mgf: Callable[[Any], Any], order: int, radius: float = 0.25) -> np.ndarray:
    r"""The cumulants :math:`(\log M)^{(k)}(0)`: mean, variance, third central moment and so on."""
    return _derivatives(lambda t: np.log(mgf(t)), order, radius)


def density_of_sum(f: Any, g: Any, step: float) -> np.ndarray:
    r"""The density :math:`(f * g)(z) = \int f(x) g(z - x) dx` of a sum of independent variables.

    Both are given on grids of one step; the result starts at the sum of their first points.
    """
    return fftconvolve(np.asarray(f, dtype=float), np.asarray(g, dtype=float)) * step


def _derivatives(function: Callable[[Any], Any], order: int, radius: float) -> np.ndarray:
    points = max(64, 8 * order)
    circle = radius * np.exp(2j * np.pi * np.arange(points) / points)
    coefficients = np.fft.fft(np.array([function(t) for t in circle])).real / points
    k = np.arange(1, order + 1)
    return coefficients[1 : order + 1] / radius**k * [math.factorial(i) for i in k]
