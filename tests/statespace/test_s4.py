import numpy as np
import pytest
import torch
from scipy.signal import cont2discrete

from panlearn.statespace import S4, hippo
from panlearn.statespace.s4 import convolve

FORMS = [(form, rule) for form in ("nplr", "diagonal") for rule in ("bilinear", "zoh")]


def make(form, rule, n_channels=3, state_size=8, dtype=torch.float64, seed=0):
    """A layer with weights that are near none of those it starts with."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = S4(n_channels, state_size, form=form, rule=rule).to(dtype)
        for parameter in layer.parameters():
            parameter.data += 0.1 * torch.randn_like(parameter)
    return layer


def continuous(layer, channel):
    """A, B and C of one channel, as dense real matrices."""
    values = {k: v[channel].detach().numpy().astype(float) for k, v in layer.named_parameters()}
    n = len(values["B"])
    A = np.zeros((n, n))
    for i, (decay, w) in enumerate(zip(values["log_decay"], values["frequency"], strict=True)):
        a = -np.exp(decay)
        A[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[a, -w], [w, a]]
    if "low_rank" in values:
        A -= np.outer(values["low_rank"], values["low_rank"])
    return A, values["B"][:, None], values["C"][None], np.exp(values["log_step"])


def run(layer, u):
    """The recurrence over whole sequences."""
    system, state, found = layer.system(), None, []
    for k in range(u.shape[1]):
        y, state = layer.step(u[:, k], state, system)
        found.append(y)
    return torch.stack(found, 1)


@pytest.mark.parametrize(("form", "rule"), FORMS)
@pytest.mark.parametrize("length", [1, 2, 5, 100])
def test_the_kernel_is_that_of_the_discrete_system(form, rule, length):
    layer = make(form, rule)
    found = layer.kernel(length).detach().numpy()
    for channel in range(3):
        A, B, C, step = continuous(layer, channel)
        if rule == "zoh":
            Ad, Bd, *_ = cont2discrete((A, B, C, 0), step, "zoh")
        else:  # scipy's form of the rule has another state, with the same transfer
            left = np.eye(8) - step / 2 * A
            Ad = np.linalg.solve(left, np.eye(8) + step / 2 * A)
            Bd = np.linalg.solve(left, step * B)
        expected = [(C @ np.linalg.matrix_power(Ad, j) @ Bd).item() for j in range(length)]
        np.testing.assert_allclose(found[channel], expected, rtol=0, atol=1e-12)


def test_the_kernel_is_that_of_cauchy_matrices_at_the_roots_of_unity():
    """The formula of the paper: Woodbury's identity on the generating function of C (I - A^L)."""
    layer, length = make("nplr", "bilinear", 1), 64
    A, B, C, step = continuous(layer, 0)
    left = np.eye(8) - step / 2 * A
    Ad = np.linalg.solve(left, np.eye(8) + step / 2 * A)
    C = C @ (np.eye(8) - np.linalg.matrix_power(Ad, length))
    p = layer.low_rank[0].detach().numpy()[:, None]
    eigenvalues, V = np.linalg.eig(A + p @ p.T)
    b, c, q, r = np.linalg.solve(V, B)[:, 0], (C @ V)[0], np.linalg.solve(V, p)[:, 0], (p.T @ V)[0]
    z = np.exp(-2j * np.pi * np.arange(length) / length)
    with np.errstate(all="ignore"):
        g, scale = 2 / step * (1 - z) / (1 + z), 2 / (1 + z)
        cauchy = 1 / (g[:, None] - eigenvalues)
        values = scale * (
            cauchy @ (c * b) - cauchy @ (c * q) / (1 + cauchy @ (r * q)) * (cauchy @ (r * b))
        )
    half = length // 2  # z = -1, where the formula has no value but the function has one
    values[half] = step / 2 * (C @ B).item()
    expected = np.fft.ifft(values).real
    found = layer.kernel(length)[0].detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize(("form", "rule"), FORMS)
@pytest.mark.parametrize(("dtype", "digits"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_convolution_is_recurrence(form, rule, dtype, digits, rng):
    layer = make(form, rule, dtype=dtype, state_size=32)
    u = torch.from_numpy(rng.normal(size=(2, 700, 3))).to(dtype)
    with torch.inference_mode():
        found, expected = layer(u), run(layer, u)
    assert found.dtype == dtype
    scale = expected.abs().max().item()
    np.testing.assert_allclose(found, expected, rtol=0, atol=digits * max(scale, 1.0))


def test_a_convolution_does_not_wrap_around(rng):
    u, kernel = rng.normal(size=(2, 37, 3)), rng.normal(size=(3, 37))
    found = convolve(torch.from_numpy(u), torch.from_numpy(kernel)).numpy()
    for i in range(2):
        for h in range(3):
            expected = np.convolve(u[i, :, h], kernel[h])[:37]
            np.testing.assert_allclose(found[i, :, h], expected, rtol=0, atol=1e-12)


def test_what_follows_a_step_does_not_change_it(rng):
    layer = make("diagonal", "zoh")
    u = torch.from_numpy(rng.normal(size=(1, 90, 3)))
    np.testing.assert_allclose(
        layer(u)[:, :40].detach(), layer(u[:, :40]).detach(), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize(("form", "rule"), FORMS)
def test_gradients_are_those_of_differences(form, rule, rng):
    layer = make(form, rule, 2, 4)
    u = torch.from_numpy(rng.normal(size=(1, 9, 2))).requires_grad_()
    names, values = zip(*layer.named_parameters(), strict=True)

    def outputs(u, *values):
        return torch.func.functional_call(layer, dict(zip(names, values, strict=True)), (u,))

    assert torch.autograd.gradcheck(outputs, (u, *values))


def test_both_forms_start_with_the_same_memory():
    """With many states they answer a constant input alike, and that input is remembered as LegS
    says: by the integrals of Legendre polynomials of exp(-t).
    """
    n, step = 64, 0.05
    x = np.exp(-step * np.arange(1, 61))
    expected = np.stack([1 - x, np.sqrt(3) * (x - x**2)])
    rows = torch.from_numpy(hippo.normal_plus_low_rank(n).basis[:2])
    for form, digits in (("nplr", 1e-6), ("diagonal", 0.01)):
        layer = S4(2, n, form=form, rule="zoh", step_range=(step, step))
        layer.C.data = rows.float()
        found = layer.kernel(60).cumsum(1).detach().numpy()
        np.testing.assert_allclose(found, expected, rtol=0, atol=digits)


def test_a_long_kernel_has_no_dust_in_it():
    """Values that underflow would make products slow; they are zero."""
    layer = S4(2, 16, step_range=(0.5, 0.5))
    kernel = layer.kernel(16_384)
    assert torch.isfinite(kernel).all()
    tail = kernel.detach().numpy()[:, 4000:]
    assert np.abs(tail).max() < 1e-30


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"n_channels": 0}, "n_channels"),
        ({"state_size": 5}, "even"),
        ({"form": "dense"}, "form"),
        ({"rule": "euler"}, "rule"),
        ({"step_range": (0.1, 0.01)}, "step_range"),
        ({"step_range": (0.0, 0.01)}, "step_range"),
    ],
)
def test_what_cannot_be(given, says):
    with pytest.raises(ValueError, match=says):
        S4(**{"n_channels": 2, **given})


def test_a_sequence_of_no_steps():
    assert S4(2, 4)(torch.zeros(1, 0, 2)).shape == (1, 0, 2)
