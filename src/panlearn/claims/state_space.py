"""Linear systems with a state: steps in time, stability, and convolution."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import expm

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.sequence import LinearStateSpace


def _scalar(a: float, b: float = 1.0) -> LinearStateSpace:
    return LinearStateSpace([[a]], [[b]], [[1.0]])


def _spring(m: float = 1.0, c: float = 0.5, k: float = 2.0) -> LinearStateSpace:
    return LinearStateSpace([[0, 1], [-k / m, -c / m]], [[0], [1 / m]], [[1, 0]])


def _hippo(n: int) -> np.ndarray:
    """The matrix that remembers the past in Legendre polynomials."""
    i, j = np.indices((n, n))
    lower = np.sqrt((2 * i + 1) * (2 * j + 1.0))
    return -np.where(i > j, lower, np.where(i == j, i + 1.0, 0.0))


def _errors(method: str, steps: np.ndarray) -> np.ndarray:
    """How far one step of the remembering system is from the exponential."""
    A = _hippo(4)
    system = LinearStateSpace(A, np.ones((4, 1)), np.ones((1, 4)))
    found = [system.discretize(h, method).A for h in steps]  # type: ignore[arg-type]
    return np.array([np.linalg.norm(a - expm(h * A)) for a, h in zip(found, steps, strict=True)])


@claim("B298")
def euler_multiplies() -> Iterator[Evidence]:
    """Euler's rule on y' = y from 1 with step 0.1 gives 1.1, 1.21, 1.331, in general (1 + h)^n,
    where the solution is e^0.3 = 1.349859 after three steps.
    """
    y = _scalar(1.0).discretize(0.1, "euler").simulate(np.zeros(8), [1.0])
    yield equal("first steps", y[1:4], [1.1, 1.21, 1.331], 1e-12)
    yield equal("all steps", y, 1.1 ** np.arange(8), 1e-12)
    yield equal("the solution", expm(np.array([[0.3]]))[0, 0], 1.349859, 1e-6)


@claim("B299")
def euler_is_of_first_order() -> Iterator[Evidence]:
    """The error of Euler's rule at time 1 on y' = y is 0.124539, 0.064984 and 0.033218 with 10, 20
    and 40 steps: it halves with the step. That of the classical rule of Runge and Kutta falls to a
    sixteenth.
    """
    system, counts = _scalar(1.0), (10, 20, 40)
    euler = [
        np.e - system.discretize(1 / n, "euler").simulate(np.zeros(n + 1), [1.0])[-1]
        for n in counts
    ]
    yield equal("errors", euler, [0.124539, 0.064984, 0.033218], 1e-6)
    yield equal("last ratio", euler[1] / euler[2], 2.0, 0.1)
    # on a linear system Runge and Kutta's step is the exponential's series up to h^4
    runge = [np.e - (1 + h + h**2 / 2 + h**3 / 6 + h**4 / 24) ** n for n in counts for h in [1 / n]]
    yield equal("last ratio of Runge and Kutta", runge[1] / runge[2], 16.0, 1.0)


@claim("B300")
def long_steps_are_unstable() -> Iterator[Evidence]:
    """Euler's rule on y' = -l y diverges exactly if h l > 2, though the solution dies out."""
    short, long = (_scalar(-1.0).discretize(h, "euler") for h in (1.99, 2.01))
    yield true("stable with h l = 1.99", short.is_stable)
    yield true("unstable with h l = 2.01", not long.is_stable)
    yield at_most(
        "size after 2000 steps, stable", abs(short.simulate(np.zeros(2001), [1.0])[-1]), 1e-8
    )
    yield at_least("and unstable", abs(long.simulate(np.zeros(2001), [1.0])[-1]), 1e8)


@claim("B301")
def residual_layers_are_euler_steps() -> Iterator[Evidence]:
    """A stack of residual layers h + f(h) is Euler's rule with step 1, and with more and shorter
    steps the output tends to the solution of the differential equation.
    """
    rng = np.random.default_rng(301)
    A, x = rng.normal(size=(3, 3)) / 2, rng.normal(size=3)
    system = LinearStateSpace(A, np.zeros((3, 1)), np.eye(3))
    h = x
    for _ in range(5):
        h = h + A @ h
    stack = system.discretize(1.0, "euler").states(np.zeros(6), x)[-1]
    yield equal("five layers and five steps", stack, h, 1e-12)
    fine = system.discretize(1e-4, "euler").states(np.zeros(10_001), x)[-1]
    yield equal("ten thousand short steps and the solution", fine, expm(A) @ x, 1e-3)


@claim("B302")
def spring_settles() -> Iterator[Evidence]:
    """A mass on a spring with a damper is the system A = ((0, 1), (-k/m, -c/m)), B = (0, 1/m),
    C = (1, 0): with m = 1, c = 0.5 and k = 2 its eigenvalues are -0.25 +- 1.391941 i and its
    static gain is 1/k = 0.5. What is simulated satisfies m x'' + c x' + k x = F.
    """
    spring = _spring()
    poles = spring.poles[np.argsort(spring.poles.imag)]
    yield equal("real parts", poles.real, [-0.25, -0.25], 1e-12)
    yield equal("imaginary parts", poles.imag, [-1.391941, 1.391941], 1e-6)
    yield equal("static gain", spring.static_gain, [[0.5]], 1e-12)
    h = 1e-3
    states = spring.discretize(h).states(np.ones(5000), [1.0, 0.0])
    x, v = states.T
    acceleration = (v[2:] - v[:-2]) / (2 * h)
    balance = acceleration + 0.5 * v[1:-1] + 2 * x[1:-1]
    yield equal("m x'' + c x' + k x with force 1", balance, np.ones(4998), 1e-5)


@claim("B303")
def stability_is_the_sign_of_real_parts() -> Iterator[Evidence]:
    """A continuous system is stable exactly if all eigenvalues of A have real parts below zero;
    with a part of zero it swings on, with one above zero it grows.
    """
    sizes = {c: np.linalg.norm(expm(40 * _spring(c=c).A), 2) for c in (0.5, 0.0, -0.5)}
    yield at_most("after a time of 40, damped", sizes[0.5], 1e-3)
    yield at_most("undamped", sizes[0.0], 3.0)
    yield at_least("undamped", sizes[0.0], 0.5)
    yield at_least("driven", sizes[-0.5], 1e3)
    stable = [_spring(c=c).is_stable for c in (0.5, 0.0, -0.5)]
    yield true("only the first is stable", stable == [True, False, False])


@claim("B310")
def trapezoid_gains_an_order() -> Iterator[Evidence]:
    """One step of Euler's rule, I + hA, is off the exponential by O(h^2), one of the trapezoidal
    rule, (I - hA/2)^-1 (I + hA/2), by O(h^3): 0.33073 to 0.09092 and 0.024734 to 0.003953 for the
    remembering system with four states when h = 0.1 is halved. The text has a sign wrong on the
    way.
    """
    steps = np.array([0.1, 0.05])
    yield equal("errors of Euler", _errors("euler", steps), [0.33073, 0.09092], 1e-5)
    yield equal("errors of the trapezoid", _errors("bilinear", steps), [0.024734, 0.003953], 1e-5)
    small = np.array([1e-3, 5e-4])
    euler, trapezoid = _errors("euler", small), _errors("bilinear", small)
    yield equal("ratio of Euler", euler[0] / euler[1], 4.0, 0.05)
    yield equal("ratio of the trapezoid", trapezoid[0] / trapezoid[1], 8.0, 0.1)


@claim("B311")
def trapezoid_keeps_stability() -> Iterator[Evidence]:
    """The trapezoidal rule keeps a stable system stable with any step: A = -1 with h = 3 becomes
    -0.2, and -2 by Euler's rule. Zero-order hold, exp(hA) and A^-1 (exp(hA) - I) B, is exact for
    inputs that are constant within a step.
    """
    system = _scalar(-1.0)
    trapezoid, euler = system.discretize(3.0, "bilinear"), system.discretize(3.0, "euler")
    yield equal("trapezoid", trapezoid.A, [[-0.2]], 1e-12)
    yield equal("Euler", euler.A, [[-2.0]], 1e-12)
    yield true("stable and unstable", trapezoid.is_stable and not euler.is_stable)
    spring = _spring()
    held = spring.discretize(0.7)
    by_inverse = np.linalg.solve(spring.A, (expm(0.7 * spring.A) - np.eye(2)) @ spring.B)
    yield equal("input of zero-order hold", held.B, by_inverse, 1e-12)
    u = np.random.default_rng(311).normal(size=10)
    fine = spring.discretize(0.7 / 64).simulate(np.repeat(u, 64))[::64]
    yield equal("long steps and short ones", held.simulate(u), fine, 1e-12)


@claim("B312")
def trapezoid_integrates_lines() -> Iterator[Evidence]:
    """The trapezoid (b - a)(f(a) + f(b)) / 2 is the integral of a linear function."""
    h, t = 0.25, np.arange(9) * 0.25
    f = 3 * t - 1
    found = _scalar(0.0).discretize(h, "bilinear").simulate(f) - h / 2 * f[0]
    yield equal("integrator by the trapezoidal rule", found, 1.5 * t**2 - t, 1e-12)


@claim("B313")
def recurrence_is_convolution() -> Iterator[Evidence]:
    """The recurrence x_k = A x_(k-1) + B u_k from rest is a causal convolution of the inputs with
    (C B, C A B, ..., C A^(L-1) B), which the Fourier transform computes when both are padded to
    2L. The text leaves the derivative on the left, and convolves the state in place of the input.
    """
    rng, length = np.random.default_rng(313), 32
    system = LinearStateSpace(_hippo(4), rng.normal(size=(4, 1)), rng.normal(size=(1, 4)))
    system = system.discretize(0.1, "zoh")
    u, x, y = rng.normal(size=length), np.zeros(4), np.empty(length)
    for k in range(length):
        x = system.A @ x + system.B[:, 0] * u[k]
        y[k] = system.C[0] @ x
    # the text looks at the state after the input has come, one step later than we do
    later = np.append(u, 0.0)
    kernel = system.kernel(length + 1)[1:, 0, 0]
    powers = [
        (system.C @ np.linalg.matrix_power(system.A, i) @ system.B).item() for i in range(length)
    ]
    yield equal("kernel", kernel, powers, 1e-12)
    yield equal("recurrence", system.simulate(later)[1:], y, 1e-12)
    yield equal("convolution", np.convolve(u, kernel)[:length], y, 1e-12)
    yield equal("by the Fourier transform", system.convolve(later)[1:], y, 1e-12)


@claim("B314")
def channels_do_not_mix() -> Iterator[Evidence]:
    """H systems that act on H channels, each on its own, do not mix them: to permute the channels
    before or after is the same if the systems are permuted too.
    """
    rng = np.random.default_rng(314)
    u, order = rng.normal(size=(20, 3)), [2, 0, 1]
    systems = [
        LinearStateSpace(
            rng.normal(size=(2, 2)) - 2 * np.eye(2),
            rng.normal(size=(2, 1)),
            rng.normal(size=(1, 2)),
        ).discretize(0.1)
        for _ in range(3)
    ]
    after = np.stack([s.simulate(u[:, h]) for h, s in enumerate(systems)], axis=1)[:, order]
    before = np.stack([systems[h].simulate(u[:, order][:, i]) for i, h in enumerate(order)], axis=1)
    yield equal("permuted before and after", before, after, 0.0)
