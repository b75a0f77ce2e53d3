"""GELU through the logistic function is GELU through tanh, with all its derivatives."""

import pytest
import torch
import torch.nn.functional as F

from panlearn.transformer._gelu import gelu


def test_values_and_slopes_are_those_of_tanh():
    x = torch.linspace(-15, 15, 3001).requires_grad_()  # zero is among them
    exact = x.detach().double().requires_grad_()
    wanted = F.gelu(exact, approximate="tanh")
    (slope,) = torch.autograd.grad(wanted.sum(), exact)
    found = gelu(x)
    (rise,) = torch.autograd.grad(found.sum(), x)
    # rounding to single precision: values up to 15, and in the slope 15 z'(15), about 700
    torch.testing.assert_close(found, wanted.float(), rtol=0, atol=15 * 2**-23)
    torch.testing.assert_close(rise, slope.float(), rtol=0, atol=700 * 2**-24)


def test_extremes_are_straight_lines():
    x = torch.tensor([-1e12, -50.0, -0.0, 0.0, 1e-40, 50.0, 1e12], requires_grad=True)
    found = gelu(x)
    (rise,) = torch.autograd.grad(found.sum(), x)
    torch.testing.assert_close(found.detach(), torch.tensor([0, 0, 0, 0, 5e-41, 50, 1e12]))
    torch.testing.assert_close(rise, torch.tensor([0, 0, 0.5, 0.5, 0.5, 1, 1]))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_derivatives_of_any_order_and_kind():
    x = torch.linspace(-2, 2, 6, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(gelu, x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(gelu, x)
    each = torch.func.vmap(torch.func.grad(gelu))(x.detach())
    (slope,) = torch.autograd.grad(F.gelu(x, approximate="tanh").sum(), x)
    torch.testing.assert_close(each, slope)
