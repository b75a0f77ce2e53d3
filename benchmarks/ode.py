"""Differential equations with gradients against torchdiffeq, at one tolerance."""

import functools

import torch
import torchdiffeq

from benchmarks.harness import Workload
from panlearn.generative import odeint

TOLERANCES = {"rtol": 1e-6, "atol": 1e-8}


class Field(torch.nn.Module):
    """The field of torchdiffeq's first example, a little wider."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.net = torch.nn.Sequential(
            torch.nn.Linear(2, 50),
            torch.nn.Tanh(),
            torch.nn.Linear(50, 50),
            torch.nn.Tanh(),
            torch.nn.Linear(50, 2),
        )

    def forward(self, t, y):
        """Give the velocity."""
        return self.net(y**3)


@functools.cache
def exact():
    """States and gradient with tolerances that leave no error."""
    field, start, times = build()
    field, start, times = field.double(), start.double(), times.double()
    states = torchdiffeq.odeint(field, start, times, rtol=1e-11, atol=1e-12)
    states.square().mean().backward()
    return states.detach(), torch.cat([p.grad.flatten() for p in field.parameters()])


def build():
    made = torch.Generator().manual_seed(0)
    return Field(), torch.randn(64, 2, generator=made), torch.linspace(0, 3, 10)


def solved(data, solve):
    field, start, times = data
    field.zero_grad()
    states = solve(field, start, times)
    states.square().mean().backward()
    return states.detach(), torch.cat([p.grad.flatten() for p in field.parameters()])


def errors(_, found):
    pairs = zip(("error of states", "error of the gradient"), found, exact(), strict=True)
    return {name: float((ours - true).abs().max()) for name, ours, true in pairs}


def ours(gradient):
    return lambda *given: odeint(*given, gradient=gradient, **TOLERANCES).y


def workloads():
    peers = {"plain": torchdiffeq.odeint, "adjoint": torchdiffeq.odeint_adjoint}
    for gradient, theirs in peers.items():
        yield Workload(
            f"dopri5, 64 states, 10 times, {gradient} gradient",
            "generative.odeint",
            build,
            {
                "panlearn": lambda data, gradient=gradient: solved(data, ours(gradient)),
                "torchdiffeq": lambda data, theirs=theirs: solved(
                    data, functools.partial(theirs, **TOLERANCES)
                ),
            },
            errors,
            bar=1.5,
        )
