import numpy as np
import pytest
import torch

from panlearn.statespace import _scan
from panlearn.statespace._scan import selective_scan


def arguments(rng, n_rows=2, n_steps=7, channels=3, n=4, dtype=torch.float64):
    shapes = [
        *[(n_rows, n_steps, channels)] * 2,
        (channels, n),
        *[(n_rows, n_steps, n)] * 2,
        (n_rows, channels, n),
    ]
    x, step, A, B, C, state = (rng.normal(size=shape) for shape in shapes)
    values = x, np.exp(step), -np.exp(A), B, C, state
    return [torch.from_numpy(v).to(dtype).requires_grad_() for v in values]


def one_by_one(x, step, A, B, C, state):
    """The recurrence as it is written, for autograd."""
    found = []
    for t in range(x.shape[1]):
        decay = torch.exp(step[:, t, :, None] * A)
        state = decay * state + (step[:, t] * x[:, t])[..., None] * B[:, t, None]
        found.append((state * C[:, t, None]).sum(-1))
    return torch.stack(found, 1), state


@pytest.fixture(params=[1, 3, 100], ids=lambda n: f"stretches of {n}")
def stretch(request, monkeypatch):
    """Cut sequences of 2 rows and 3 x 4 states into stretches of so many steps."""
    monkeypatch.setattr(_scan, "_NUMBERS", request.param * 2 * 3 * 4)


@pytest.mark.usefixtures("stretch")
def test_outputs_and_gradients_are_those_of_the_loop(rng):
    given = arguments(rng)
    found, expected = selective_scan(*given), one_by_one(*given)
    weights = [torch.from_numpy(rng.normal(size=v.shape)) for v in expected]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.detach(), b.detach(), rtol=0, atol=1e-12)
    ours, theirs = (
        torch.autograd.grad(sum((v * w).sum() for v, w in zip(out, weights, strict=True)), given)
        for out in (found, expected)
    )
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11)


@pytest.mark.usefixtures("stretch")
def test_gradients_are_those_of_differences(rng):
    assert torch.autograd.gradcheck(selective_scan, arguments(rng, n_steps=4))


def test_a_step_of_size_zero_leaves_the_state(rng):
    x, step, A, B, C, state = arguments(rng)
    with torch.no_grad():
        step[:, 4:] = 0
        _, whole = selective_scan(x, step, A, B, C, state)
        _, part = selective_scan(*(v[:, :4] for v in (x, step)), A, B[:, :4], C[:, :4], state)
    np.testing.assert_array_equal(whole, part)


def test_the_state_goes_on_where_it_was_left(rng):
    x, step, A, B, C, _ = (v.detach() for v in arguments(rng))
    whole, end = selective_scan(x, step, A, B, C)
    first, state = selective_scan(*(v[:, :3] for v in (x, step)), A, B[:, :3], C[:, :3])
    rest, last = selective_scan(*(v[:, 3:] for v in (x, step)), A, B[:, 3:], C[:, 3:], state)
    np.testing.assert_allclose(torch.cat([first, rest], 1), whole, rtol=0, atol=1e-14)
    np.testing.assert_allclose(last, end, rtol=0, atol=1e-14)


def test_single_precision_stays_and_arguments_are_left_alone(rng):
    given = arguments(rng, n_steps=50, dtype=torch.float32)
    before = [v.detach().clone() for v in given]
    y, _ = selective_scan(*given)
    y.sum().backward()
    assert y.dtype == torch.float32
    for value, kept in zip(given, before, strict=True):
        assert torch.equal(value, kept)
    exact, _ = one_by_one(*(v.double() for v in before))
    np.testing.assert_allclose(y.detach(), exact, rtol=0, atol=1e-4)
