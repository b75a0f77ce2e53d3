"""Series and transforms against closed forms and SciPy."""

import numpy as np
import pytest
from scipy import fft

from panlearn.theory import fourier


def ramp(x):
    return np.where(x < 0, 0.0, x)


def test_a_trigonometric_polynomial_is_recovered():
    a, b = np.array([3.0, -1, 0.5]), np.array([0.0, 2, -0.25])
    for period, low in ((2 * np.pi, -np.pi), (3.0, 5.0)):
        found = fourier.real_coefficients(
            lambda x, T=period: fourier.series(a, b, x, T), 4, low, low + period
        )
        np.testing.assert_allclose(found[0], [*a, 0, 0], atol=1e-12)
        np.testing.assert_allclose(found[1], [*b, 0, 0], atol=1e-12)


def test_coefficients_of_a_ramp():
    n = np.arange(1, 41)
    a, b = fourier.real_coefficients(ramp, 40, -np.pi, np.pi, breaks=[0])
    assert a[0] / 2 == pytest.approx(np.pi / 4, abs=1e-12)
    np.testing.assert_allclose(a[1:], ((-1.0) ** n - 1) / (np.pi * n**2), atol=1e-12)
    np.testing.assert_allclose(b[1:], (-1.0) ** (n + 1) / n, atol=1e-12)
    c = fourier.complex_coefficients(ramp, 40, -np.pi, np.pi, breaks=[0])
    np.testing.assert_allclose(c[:40], np.conj(c[:40:-1]), atol=1e-14)
    assert c[41] == pytest.approx(-1 / np.pi - 0.5j, abs=1e-12)


def test_high_orders_keep_their_digits():
    a, _ = fourier.real_coefficients(np.abs, 301, -1, 1, breaks=[0])
    assert a[301] == pytest.approx(-4 / (np.pi * 301) ** 2, rel=1e-8)


def test_transform_of_a_box_and_back():
    omega = np.array([-50.0, 0, 0.1, 3, 40])
    found = fourier.fourier_transform(lambda x: 1.0, omega, -0.5, 0.5)
    np.testing.assert_allclose(found, np.sinc(omega / (2 * np.pi)), atol=1e-12)
    back = fourier.inverse_fourier_transform(
        lambda w: np.exp(-(w**2) / 2) * np.sqrt(2 * np.pi), [0.0, 1.0, 2.5], -40, 40
    )
    np.testing.assert_allclose(back, np.exp([0, -0.5, -3.125]), atol=1e-12)
    shifted = fourier.fourier_transform(lambda x: x > 1, [2.0], 0, 3, breaks=[1])
    assert shifted[0] == pytest.approx((np.exp(-2j) - np.exp(-6j)) / 2j, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 12, 45, 97, 128])
def test_discrete_transform(n, rng):
    x = rng.normal(size=n) + 1j * rng.normal(size=n)
    np.testing.assert_allclose(fourier.fft(x), fft.fft(x), atol=1e-11)
    np.testing.assert_allclose(fourier.dft_matrix(n) @ x, fft.fft(x), atol=1e-11)
    np.testing.assert_allclose(fourier.ifft(fourier.fft(x)), x, atol=1e-13)


def test_bases():
    P = fourier.change_of_basis(np.eye(2), [[1, 1], [1, -1]])
    np.testing.assert_allclose(P, [[0.5, 0.5], [0.5, -0.5]])
    old, new = np.array([[1.0, 2], [0, 1]]), np.array([[1.0, 1], [-1, 3]])
    v = 2 * old[0] - 3 * old[1]
    np.testing.assert_allclose(fourier.change_of_basis(old, new) @ [2, -3] @ new, v, atol=1e-12)
    with pytest.raises(ValueError, match="must be bases"):
        fourier.change_of_basis(np.eye(2), [[1, 1], [2, 2]])


def test_bad_arguments():
    with pytest.raises(ValueError, match="below high"):
        fourier.real_coefficients(np.sin, 2, 1, 1)
    with pytest.raises(ValueError, match="one row"):
        fourier.fft(np.zeros((2, 2)))
