"""Solutions and gradients of differential equations against torchdiffeq."""

import pytest
import torch

from panlearn.generative import odeint

torchdiffeq = pytest.importorskip("torchdiffeq")


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.net = torch.nn.Sequential(
                torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2)
            ).double()

    def forward(self, t, y):
        return self.net(torch.cat([y**3, t.expand(len(y), 1)], dim=1))


def gradients(field, solve):
    start = torch.linspace(-1, 1, 10, dtype=torch.float64).view(5, 2).requires_grad_()
    field.zero_grad()
    states = solve(start)
    states.square().sum().backward()
    return states.detach(), start.grad, *(p.grad.clone() for p in field.parameters())


@pytest.mark.parametrize("gradient", ["plain", "adjoint"])
@pytest.mark.parametrize("end", [2.0, -1.0])
def test_dormand_prince(gradient, end):
    field, t = Field(), torch.linspace(0, end, 5, dtype=torch.float64)
    options = {"rtol": 1e-10, "atol": 1e-11}
    theirs = torchdiffeq.odeint if gradient == "plain" else torchdiffeq.odeint_adjoint
    expected = gradients(field, lambda y: theirs(field, y, t, **options))
    found = gradients(field, lambda y: odeint(field, y, t, gradient=gradient, **options).y)
    for ours, peer in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, peer, rtol=1e-6, atol=1e-7)


def test_euler():
    field, t = Field(), torch.linspace(0, 1, 3, dtype=torch.float64)
    expected = gradients(
        field, lambda y: torchdiffeq.odeint(field, y, t, method="euler", options={"step_size": 0.1})
    )
    found = gradients(field, lambda y: odeint(field, y, t, method="euler", step_size=0.1).y)
    for ours, peer in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, peer, rtol=1e-9, atol=1e-9)


def test_event():
    field = Field()
    start = torch.full((1, 2), 0.5, dtype=torch.float64)
    threshold = float(odeint(field, start, [0.0, 1.0]).y[-1, 0, 0].detach())
    options = {"rtol": 1e-10, "atol": 1e-11}

    def event(t, y):
        return y[0, 0] - threshold

    first = torch.zeros((), dtype=torch.float64)
    time, _ = torchdiffeq.odeint_event(field, start, first, event_fn=event, **options)
    found = odeint(field, start, [0.0, 5.0], event=event, **options)
    torch.testing.assert_close(found.t_event, time, rtol=1e-6, atol=1e-6)
