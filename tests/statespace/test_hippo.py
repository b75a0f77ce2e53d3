import numpy as np
import pytest
from numpy.polynomial import Legendre

from panlearn.statespace import hippo


def projection(signal, degree):
    """Coefficients of a step function in normed Legendre polynomials, by exact integrals."""
    edges = np.linspace(0, 1, len(signal) + 1)
    found = []
    for n in range(degree):
        primitive = Legendre.basis(n, domain=[0, 1]).integ()
        found.append(np.sqrt(2 * n + 1) * np.dot(signal, np.diff(primitive(edges))))
    return np.array(found)


def test_the_state_is_the_projection_of_all_that_was_seen(rng):
    signal = rng.normal(size=40)
    states = hippo.remember(signal, 12)
    for k in (1, 2, 7, 40):
        np.testing.assert_allclose(states[k - 1], projection(signal[:k], 12), atol=1e-11)


def test_a_polynomial_is_remembered_and_drawn_again(rng):
    x = (np.arange(4000) + 0.5) / 4000
    line = 3 * x - 1
    state = hippo.remember(line, 4)[-1]
    # steps of a staircase are off the line by half a step
    np.testing.assert_allclose(hippo.reconstruct(state, 4000), line, atol=1e-3)
    np.testing.assert_allclose(hippo.reconstruct([0, 0, 1.0], 2), np.sqrt(5) * np.full(2, -0.125))


def test_columns_are_remembered_each_for_itself(rng):
    signal = rng.normal(size=(15, 3))
    states = hippo.remember(signal, 5)
    assert states.shape == (15, 5, 3)
    for j in range(3):
        np.testing.assert_allclose(states[..., j], hippo.remember(signal[:, j], 5), atol=1e-13)
    drawn = hippo.reconstruct(states[-1], 7)
    np.testing.assert_allclose(drawn[:, 1], hippo.reconstruct(states[-1, :, 1], 7), atol=1e-13)


@pytest.mark.parametrize("n", [2, 4, 64])
def test_the_matrix_is_normal_less_rank_one(n):
    A, B = hippo.legs(n)
    parts = hippo.normal_plus_low_rank(n)
    D = np.zeros((n, n))
    for i, w in enumerate(parts.frequency):
        D[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[-0.5, -w], [w, -0.5]]
    Q, p = parts.basis, parts.low_rank
    np.testing.assert_allclose(Q.T @ Q, np.eye(n), atol=1e-12)
    np.testing.assert_allclose(Q @ (D - np.outer(p, p)) @ Q.T, A, atol=1e-14 * n**2)
    np.testing.assert_allclose(Q @ parts.B, B, atol=1e-12)
    assert (parts.frequency > 0).all()


def test_what_cannot_be():
    with pytest.raises(ValueError, match="even"):
        hippo.normal_plus_low_rank(3)
    with pytest.raises(ValueError, match="at least 1"):
        hippo.legs(0)
    with pytest.raises(ValueError, match="with a step"):
        hippo.remember([], 4)
