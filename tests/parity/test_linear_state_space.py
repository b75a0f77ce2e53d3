"""Linear systems against python-control."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from panlearn.sequence import LinearStateSpace

control = pytest.importorskip("control", reason="needs python-control: pip install control")


@pytest.fixture(params=[(1, 1), (2, 3)], ids=["single", "several"])
def system(request, rng):
    m, p = request.param
    A = rng.normal(size=(4, 4)) - 3 * np.eye(4)
    return LinearStateSpace(A, *(rng.normal(size=s) for s in ((4, m), (p, 4), (p, m))))


def matrices(system):
    return system.A, system.B, system.C, system.D


def test_poles_gains_and_responses(system):
    theirs = control.ss(*matrices(system))
    assert_allclose(np.sort_complex(system.poles), np.sort_complex(theirs.poles()), atol=1e-10)
    assert_allclose(system.static_gain, np.atleast_2d(theirs.dcgain()), atol=1e-10)
    w = np.array([0.0, 0.3, 2.0, 17.0])
    expected = np.moveaxis(theirs(1j * w, squeeze=False), -1, 0)
    assert_allclose(system.frequency_response(w), expected, atol=1e-10)


@pytest.mark.parametrize("method", ["zoh", "euler", "bilinear"])
def test_discrete_systems_and_their_outputs(system, method, rng):
    ours, theirs = system.discretize(0.07, method), control.ss(*matrices(system))
    theirs = theirs.sample(0.07, method=method)
    for found, expected in zip(matrices(ours), matrices(theirs), strict=True):
        assert_allclose(found, expected, atol=1e-12)
    u, first = rng.normal(size=(50, system.B.shape[1])), rng.normal(size=4)
    steps = 0.07 * np.arange(50)
    response = control.forced_response(theirs, steps, u.T, first, squeeze=False)
    assert_allclose(ours.simulate(u, first), response.outputs.T, atol=1e-10)
    assert_allclose(ours.states(u, first), response.states.T, atol=1e-10)
    rest = control.forced_response(theirs, steps, u.T, squeeze=False)
    assert_allclose(ours.convolve(u), rest.outputs.T, atol=1e-10)
    w = np.array([0.3, 2.0])
    expected = np.moveaxis(theirs(np.exp(1j * w * 0.07), squeeze=False), -1, 0)
    assert_allclose(ours.frequency_response(w), expected, atol=1e-10)
    impulse = control.impulse_response(theirs, steps[:6], squeeze=False)
    # its impulse has unit area, ours unit height
    assert_allclose(ours.kernel(6), 0.07 * np.moveaxis(impulse.outputs, -1, 0), atol=1e-10)
