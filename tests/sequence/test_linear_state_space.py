"""Linear systems against matrix exponentials, scipy.signal, and the differential equation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, signal

from panlearn.sequence import LinearStateSpace


def spring(c=0.5, k=2.0):
    return LinearStateSpace([[0, 1], [-k, -c]], [[0], [1]], [[1, 0]])


def random(rng, n=4, m=2, p=3):
    A = rng.normal(size=(n, n)) - 3 * np.eye(n)
    return LinearStateSpace(A, *(rng.normal(size=s) for s in ((n, m), (p, n), (p, m))))


@pytest.mark.parametrize("method", ["zoh", "euler", "bilinear"])
def test_discretisation_is_that_of_scipy(method, rng):
    system = random(rng)
    ours = system.discretize(0.07, method)
    theirs = signal.cont2discrete((system.A, system.B, system.C, system.D), 0.07, method)
    for mine, expected in zip((ours.A, ours.B, ours.C, ours.D), theirs, strict=False):
        assert_allclose(mine, expected, atol=1e-12)
    u = rng.normal(size=(50, 2))
    _, y, x = signal.dlsim(theirs, u)
    assert_allclose(ours.simulate(u), y, atol=1e-10)
    assert_allclose(ours.states(u), x, atol=1e-10)


def test_convolution_is_the_recurrence(rng):
    system = random(rng).discretize(0.1)
    u = rng.normal(size=(333, 2))
    assert_allclose(system.convolve(u), system.simulate(u), atol=1e-12)
    kernel = system.kernel(5)
    assert_allclose(kernel[0], system.D)
    assert_allclose(kernel[3], system.C @ system.A @ system.A @ system.B, atol=1e-14)
    one = spring().discretize(0.1)
    assert one.simulate(u[:, 0]).shape == one.convolve(u[:, 0]).shape == (333,)
    assert_allclose(one.convolve(u[:, :1])[:, 0], one.simulate(u[:, 0]), atol=1e-12)
    assert_allclose(one.convolve([2.0]), one.simulate([2.0]))


def test_hold_is_exact_whatever_the_step(rng):
    system = spring()
    fine, coarse = system.discretize(0.01), system.discretize(0.5)
    u = rng.normal(size=20)
    start = [0.3, -1.0]
    assert_allclose(
        fine.simulate(np.repeat(u, 50), start)[::50], coarse.simulate(u, start), atol=1e-12
    )
    assert_allclose(coarse.states(np.zeros(9), start)[8], linalg.expm(4 * system.A) @ start)


def test_gains(rng):
    system = random(rng)
    for one in (system, system.discretize(0.1), system.discretize(0.1, "bilinear")):
        assert_allclose(one.static_gain, system.static_gain, atol=1e-12)
        assert_allclose(one.frequency_response([0.0])[0], system.static_gain, atol=1e-12)
    w = np.array([0.3, 1.7])
    expected = 1 / (2 - w**2 + 0.5j * w)  # of x'' + x' / 2 + 2 x = u
    assert_allclose(spring().frequency_response(w)[:, 0, 0], expected, rtol=1e-12)
    # the bilinear rule bends frequencies, and nothing else
    bent = 2 / 0.1 * np.tan(w * 0.1 / 2)
    found = spring().discretize(0.1, "bilinear").frequency_response(w)
    assert_allclose(found, spring().frequency_response(bent), rtol=1e-10)


@pytest.mark.parametrize(("c", "stable"), [(0.5, True), (0.0, False), (-0.5, False)])
def test_stability(c, stable):
    assert spring(c).is_stable is stable
    assert spring(c).discretize(0.1).is_stable is stable
    assert spring(c).discretize(0.1, "bilinear").is_stable is stable


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: LinearStateSpace([[1.0, 2.0]], [[1.0]], [[1.0]]), "A must be"),
        (lambda: LinearStateSpace([[1.0]], [[1.0], [2.0]], [[1.0]]), "B must be"),
        (lambda: LinearStateSpace([[1.0]], [[1.0]], [[1.0, 2.0]]), "C must be"),
        (lambda: LinearStateSpace([[1.0]], [[1.0]], [[1.0]], [[1.0, 2.0]]), "D must have"),
        (lambda: LinearStateSpace([[np.nan]], [[1.0]], [[1.0]]), "finite"),
        (lambda: LinearStateSpace([[1.0]], [[1.0]], [[1.0]], dt=-1.0), "dt"),
        (lambda: spring().simulate([1.0]), "discretize"),
        (lambda: spring().discretize(0.1).discretize(0.1), "already"),
        (lambda: spring().discretize(0.1, "magic"), "method"),
        (lambda: spring().discretize(0.1).simulate(np.ones((3, 2))), r"\(T, 1\)"),
        (lambda: spring().discretize(0.1).simulate([np.nan]), "NaN"),
        (lambda: spring().discretize(0.1).states([1.0], [1.0]), "initial"),
    ],
)
def test_what_is_no_system(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_what_has_no_answer_is_said():
    integrator = LinearStateSpace([[0.0]], [[1.0]], [[1.0]])
    with pytest.raises(ValueError, match="never settles"):
        _ = integrator.static_gain
    with pytest.raises(ValueError, match="2 is a pole"):
        LinearStateSpace([[2.0]], [[1.0]], [[1.0]]).discretize(1.0, "bilinear")
    assert integrator.frequency_response(2.0) == pytest.approx(np.array([[[-0.5j]]]))
