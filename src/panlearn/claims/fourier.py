"""Series, transforms and changes of basis."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from panlearn.claims.claim import Evidence, claim, equal
from panlearn.theory import fourier


def _ramp(x: np.ndarray) -> np.ndarray:
    """0 on [-pi, 0), x on [0, pi]."""
    return np.maximum(x, 0)


@claim("B228")
def real_series() -> Iterator[Evidence]:
    """With a_0 / 2, a_0, a_n and b_n are (2/T) times an integral; the text has 1/T for a_0."""
    a, b = np.array([4.0, 1, -2]), np.array([0.0, 0.5, 3])
    found = fourier.real_coefficients(lambda x: fourier.series(a, b, x, 3.0), 3, -1.0, 2.0)
    yield equal("cosines", found[0], [*a, 0], 1e-10)
    yield equal("sines", found[1], [*b, 0], 1e-10)


@claim("B229")
def series_of_a_ramp() -> Iterator[Evidence]:
    """0 then x: a_0/2 = pi/4, a_n = ((-1)^n - 1)/(pi n^2), b_n = (-1)^(n+1)/n.

    Partial sums converge to f inside and to pi/2 at pi; Parseval gives pi^2 / 6. The text takes f
    for odd, has pi/2 for the constant and 1/n for b_n: its sum at 1 would be 2.64.
    """
    n = np.arange(1, 2001)
    a = np.r_[np.pi / 2, ((-1.0) ** n - 1) / (np.pi * n**2)]
    b = np.r_[0, (-1.0) ** (n + 1) / n]
    found = fourier.real_coefficients(_ramp, 50, -np.pi, np.pi, breaks=[0])
    yield equal("a_n", found[0], a[:51], 1e-10)
    yield equal("b_n", found[1], b[:51], 1e-10)
    x = np.array([-2, -1, 0.5, 1, 2])
    yield equal("partial sums", fourier.series(a, b, x), _ramp(x), 1e-3)
    yield equal("at pi", fourier.series(a, b, np.pi), np.pi / 2, 1e-3)
    power = a[0] ** 2 / 2 + (a[1:] ** 2 + b[1:] ** 2).sum()
    yield equal("Parseval", power, np.pi**2 / 3, 1e-3)
    yield equal("half of it, the mean square", power / 2, np.pi**2 / 6, 1e-3)


@claim("B230")
def complex_series() -> Iterator[Evidence]:
    """c_n = i (-1)^n / 2n + ((-1)^n - 1) / (2 pi n^2), c_0 = pi/4; a_n = 2 Re c_n, b_n = -2 Im c_n.

    c_(-n) is the conjugate of c_n. The text has the second term with the other sign.
    """
    c = fourier.complex_coefficients(_ramp, 20, -np.pi, np.pi, breaks=[0])
    n = np.arange(1, 21)
    expected = 1j * (-1.0) ** n / (2 * n) + ((-1.0) ** n - 1) / (2 * np.pi * n**2)
    yield equal("c_n", np.abs(c[21:] - expected), np.zeros(20), 1e-10)
    yield equal("c_0", abs(c[20] - np.pi / 4), 0, 1e-10)
    yield equal(
        "c_1 and c_2", [c[21].real, c[21].imag, c[22].imag], [-1 / np.pi, -0.5, 0.25], 1e-10
    )
    yield equal("conjugates", np.abs(c[:20] - np.conj(c[:20:-1])), np.zeros(20), 1e-10)
    a, b = fourier.real_from_complex(c)
    direct = fourier.real_coefficients(_ramp, 20, -np.pi, np.pi, breaks=[0])
    yield equal("a_n and b_n", np.r_[a, b], np.concatenate(direct), 1e-10)


@claim("B231", mathematics=True)
def euler() -> Iterator[Evidence]:
    """Cos x = (e^(ix) + e^(-ix)) / 2 and sin x = (e^(ix) - e^(-ix)) / 2i."""
    x = np.linspace(-7, 7, 101)
    up, down = np.exp(1j * x), np.exp(-1j * x)
    yield equal("cosine", np.abs((up + down) / 2 - np.cos(x)), np.zeros(101), 1e-14)
    yield equal("sine", np.abs((up - down) / 2j - np.sin(x)), np.zeros(101), 1e-14)


@claim("B232")
def transform_of_a_box() -> Iterator[Evidence]:
    """The transform of the unit box is sin(w/2) / (w/2), 0.6649967 at 3; the inverse returns it."""
    w = np.array([0.0, 0.5, 3, 20])
    found = fourier.fourier_transform(lambda x: 1.0, w, -0.5, 0.5)
    yield equal("transform", np.abs(found - np.sinc(w / (2 * np.pi))), np.zeros(4), 1e-10)
    yield equal("at 3", found[2].real, 0.6649967, 1e-7)
    back = fourier.inverse_fourier_transform(
        lambda w: np.sinc(w / (2 * np.pi)), [0.0, 0.3, 0.9], -2000, 2000
    )
    yield equal("the pulse again", back.real, [1, 1, 0], 2e-3)


@claim("B233")
def discrete_transform() -> Iterator[Evidence]:
    """The DFT is a change of basis: F F^H / n = I, ifft(fft(x)) = x, fft = F x, and Parseval."""
    rng = np.random.default_rng(0)
    for n in (8, 12, 13):
        F, x = fourier.dft_matrix(n), rng.normal(size=n)
        yield equal(
            f"F F^H / n, {n}", np.abs(F @ F.conj().T / n - np.eye(n)), np.zeros((n, n)), 1e-10
        )
        X = fourier.fft(x)
        yield equal(f"fast and direct, {n}", np.abs(X - F @ x), np.zeros(n), 1e-10)
        yield equal(f"there and back, {n}", np.abs(fourier.ifft(X) - x), np.zeros(n), 1e-10)
        yield equal(f"Parseval, {n}", (np.abs(X) ** 2).sum() / n, x @ x, 1e-10)


@claim("B234")
def change_of_basis() -> Iterator[Evidence]:
    """For b1 = (1, 1), b2 = (1, -1), P = [[.5, .5], [.5, -.5]] takes (3, 1) to (2, 1).

    Its columns express the old basis in the new; the text uses its inverse, which gives (4, 2).
    """
    new = [[1, 1], [1, -1]]
    P = fourier.change_of_basis(np.eye(2), new)
    yield equal("P", P, [[0.5, 0.5], [0.5, -0.5]], 1e-15)
    yield equal("coordinates of (3, 1)", P @ [3, 1], [2, 1], 1e-15)
    yield equal("and back", fourier.change_of_basis(new, np.eye(2)) @ [2, 1], [3, 1], 1e-15)
