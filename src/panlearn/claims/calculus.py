"""The calculus that optimisation and approximation stand on: limits, derivatives, remainders."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from math import factorial

import numpy as np
from scipy import optimize
from scipy.integrate import quad

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal
from panlearn.optimize import gradient_descent


def _derivative(f: Callable[[np.ndarray], float], *at: float) -> np.ndarray:
    """The gradient by the differences that the optimisers take where none is given."""
    return gradient_descent(f, np.array(at), maxiter=0).jac


@claim("A16", mathematics=True)
def kinds_of_continuity() -> Iterator[Evidence]:
    """On a compact interval C^1 is within Lipschitz, and that within uniformly continuous.

    A C^1 function has quotients up to sup |f'|, a Lipschitz one a modulus of continuity of at most
    L h. Both inclusions are strict: |x| is Lipschitz but its slope jumps; sqrt(x) on [0, 1] has
    quotients h^(-1/2) near 0, without bound, and yet the modulus sqrt(h).
    """
    rng, x, fine = np.random.default_rng(16), np.linspace(-1, 1, 4001), np.linspace(-1, 1, 64_001)
    for _ in range(20):
        size, pitch, phase = rng.normal(size=(3, 5, 1)) * [[[1]], [[6]], [[3]]]
        f = (size * np.sin(pitch * x + phase)).sum(axis=0)
        L = np.abs((size * pitch * np.cos(pitch * fine + phase)).sum(axis=0)).max()
        quotients = np.abs(np.diff(f) / np.diff(x))
        yield equal("largest quotient / sup |f'|", quotients.max() / L, 1, 1e-2)
        for cells in (1, 50):
            change = np.abs(f[cells:] - f[:-cells]).max()
            yield at_most("modulus / (L h)", change / (L * cells * 5e-4), 1 + 1e-6)
    kink = np.diff(np.abs(x)) / np.diff(x)
    yield at_most("largest quotient of |x|", np.abs(kink).max(), 1 + 1e-9)
    yield equal("its slopes on the two sides of 0", kink[1999:2001], [-1, 1], 1e-9)
    for h in (0.1, 1e-3, 1e-6, 1e-9):
        grid = np.linspace(0, 1 - h, 10_001)
        change = np.sqrt(grid + h) - np.sqrt(grid)
        yield equal(f"modulus of sqrt at {h:g}", change.max(), np.sqrt(h), 1e-12)
        yield equal("its quotient at 0 times sqrt(h)", change[0] / h * np.sqrt(h), 1, 1e-12)


@claim("A32", mathematics=True)
def taylor() -> Iterator[Evidence]:
    """Taylor's polynomial of order n errs by the integral of f^(n+1)(t) (x - t)^n / n!."""
    x0, x, n = 0.3, 1.7, 3
    polynomial = sum(np.exp(x0) * (x - x0) ** k / factorial(k) for k in range(n + 1))
    rest = quad(lambda t: np.exp(t) * (x - t) ** n / factorial(n), x0, x, epsabs=1e-13)[0]
    yield equal("e^x and polynomial plus remainder", np.exp(x), polynomial + rest, 1e-10)


@claim("A33")
def log_derivative() -> Iterator[Evidence]:
    """For a density grad p = p grad log p, so that the score grad log p has mean zero."""
    mean, sd, at = 0.4, 1.3, 1.1

    def density(x: float, m: float) -> float:
        return float(np.exp(-(((x - m) / sd) ** 2) / 2) / (sd * np.sqrt(2 * np.pi)))

    numeric = gradient_descent(lambda m: density(at, m[0]), [mean], maxiter=0).jac[0]
    yield equal("dp/dm and p dlog p/dm", numeric, density(at, mean) * (at - mean) / sd**2, 1e-6)
    score = quad(lambda x: density(x, mean) * (x - mean) / sd**2, -np.inf, np.inf)[0]
    yield equal("mean of the score", score, 0, 1e-8)


@claim("B124")
def rules_of_differentiation() -> Iterator[Evidence]:
    """Sums, products, quotients (f'g - fg') / g^2 and chains; the text's quotient has a plus.

    The left sides are the optimisers' own differences.
    """
    x, y = 1.3, 0.7
    f, df = np.sin(x), np.cos(x)
    g, dg = x**2 + 1, 2 * x
    for name, function, expected in (
        ("sum", lambda v: np.sin(v[0]) + v[0] ** 2 + 1, df + dg),
        ("product", lambda v: np.sin(v[0]) * (v[0] ** 2 + 1), df * g + f * dg),
        ("quotient", lambda v: np.sin(v[0]) / (v[0] ** 2 + 1), (df * g - f * dg) / g**2),
        ("chain", lambda v: np.exp(np.sin(v[0])), np.exp(f) * df),
    ):
        yield equal(name, _derivative(function, x), [expected], 1e-8)
    partial = [2 * (x + 2 * y**3), 12 * y**2 * (x + 2 * y**3)]
    found = _derivative(lambda v: (v[0] + 2 * v[1] ** 3) ** 2, x, y)
    yield equal("gradient of (x + 2y^3)^2", found, partial, 1e-8)


@claim("B33", mathematics=True)
def derivatives_of_traces() -> Iterator[Evidence]:
    """The traces have d tr(C A') / dA = C and d tr(A C A') / dA = A C + A C'."""
    rng = np.random.default_rng(1)
    A, C, S = rng.normal(size=(2, 3)), rng.normal(size=(2, 3)), rng.normal(size=(3, 3))
    linear = optimize.approx_fprime(A.ravel(), lambda a: np.trace(C @ a.reshape(2, 3).T), 1e-7)
    yield equal("gradient of tr(C A')", linear, C.ravel(), 1e-6)
    numeric = optimize.approx_fprime(
        A.ravel(), lambda a: np.trace(a.reshape(2, 3) @ S @ a.reshape(2, 3).T), 1e-7
    )
    yield equal("gradient of tr(A C A')", numeric, (A @ S + A @ S.T).ravel(), 1e-5)


@claim("A99", mathematics=True)
def bernstein_polynomials_converge() -> Iterator[Evidence]:
    """Bernstein polynomials approximate |x - 1/2| uniformly, with an error of order m^(-1/2)."""
    x = np.linspace(0, 1, 2001)
    errors = []
    for m in (10, 40, 160, 640):
        k = np.arange(m + 1)
        log_binomial = np.array(
            [math.lgamma(m + 1) - math.lgamma(i + 1) - math.lgamma(m - i + 1) for i in k]
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = log_binomial + k * np.log(x[:, None]) + (m - k) * np.log1p(-x[:, None])
        basis = np.where(np.isnan(logs), 1.0, np.exp(logs))  # 0 log 0 at the two ends
        errors.append(np.abs(basis @ np.abs(k / m - 0.5) - np.abs(x - 0.5)).max())
    yield equal("errors at degree 10, 40, 160, 640", errors, [0.123, 0.063, 0.031, 0.016], 1e-3)


@claim("A100", mathematics=True)
def uniform_is_stricter_than_pointwise() -> Iterator[Evidence]:
    """x^n goes to zero at every point of [0, 1), but its largest value there stays one."""
    for n in (10, 1000, 100_000):
        x = 1 - np.logspace(-12, 0, 400)
        yield at_least(f"largest value of x^{n} on [0, 1)", (x**n).max(), 1 - 1e-6)
    steps = 0.99 ** np.array([10.0, 1000, 100_000])
    yield at_most("largest rise with n at 0.99", np.diff(steps).max(), 0)
    yield at_most("x^100000 at 0.99", steps[-1], 1e-300)
