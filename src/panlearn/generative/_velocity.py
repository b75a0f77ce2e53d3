r"""A flow in continuous time: a network gives the velocity of rows on their way to noise.

.. math::
    \frac{dx}{dt} = v(x, t), \qquad
    \log p(x_0) = \log N(x_1 \mid 0, I) + \int_0^1 \operatorname{tr} \partial_x v\, dt
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from panlearn.generative._flow_layers import Context, log_normal, perceptron
from panlearn.generative._univariate import Pair
from panlearn.generative.odeint import odeint
from panlearn.neural._layers import Activation


class ContinuousFlow(nn.Module):
    """Rows at time 0 go to noise at time 1.

    Parameters
    ----------
    features, context : int
        Columns of rows, and of what they are conditioned on.
    frequencies : int
        Sines and cosines of time that the network sees.
    hidden, activation
        Of the network.
    solver : dict
        Options of `odeint`.
    """

    def __init__(
        self,
        features: int,
        context: int,
        frequencies: int,
        hidden: Sequence[int],
        activation: Activation,
        solver: dict[str, Any],
    ) -> None:
        super().__init__()
        sizes = (2 * frequencies + features + context, *hidden, features)
        self.network = perceptron(sizes, activation)
        self.register_buffer(
            "frequencies", math.pi * torch.arange(1.0, frequencies + 1), persistent=False
        )
        self.solver = solver

    def velocity(self, t: torch.Tensor, x: torch.Tensor, context: Context = None) -> torch.Tensor:
        """The velocity of rows at a time, or at a time of each."""
        angles = self.frequencies * t.reshape(-1, 1)  # type: ignore[operator]
        waves = torch.cat([angles.cos(), angles.sin()], dim=1).expand(len(x), -1)
        beside = [] if context is None else [context]
        return self.network(torch.cat([waves, x, *beside], dim=1))

    def forward(
        self,
        x: torch.Tensor,
        context: Context = None,
        probe: Context = None,
        solver: dict[str, Any] | None = None,
    ) -> Pair:
        """Noise and log determinants; with a `probe` these are estimates, else exact."""
        start = torch.cat([x, x.new_zeros(len(x), 1)], dim=1)
        end = self._solve(_Traced(self, context, probe), start, [0.0, 1.0], solver)
        return end[:, :-1], end[:, -1]

    def inverse(self, z: torch.Tensor, context: Context = None) -> torch.Tensor:
        """Rows from noise."""
        return self._solve(lambda t, x: self.velocity(t, x, context), z, [1.0, 0.0])

    def log_density(
        self, x: torch.Tensor, context: Context = None, probe: Context = None, **options: Any
    ) -> torch.Tensor:
        """The log density of each row."""
        z, log_determinant = self(x, context, probe, **options)
        return log_normal(z) + log_determinant

    def _solve(
        self, field: Any, start: torch.Tensor, times: list[float], solver: dict | None = None
    ) -> torch.Tensor:
        options = self.solver if solver is None else solver
        return odeint(field, start, times, parameters=self.parameters(), **options).y[-1]


class _Traced:
    """The velocity of rows, and beside it the trace of its Jacobian."""

    def __init__(self, flow: ContinuousFlow, context: Context, probe: Context) -> None:
        self._flow, self._context, self._probe = flow, context, probe

    def __call__(self, t: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        recorded = torch.is_grad_enabled()
        x = state[:, :-1]
        with torch.enable_grad():
            x = x if recorded and x.requires_grad else x.detach().requires_grad_()
            v = self._flow.velocity(t, x, self._context)
            if self._probe is None:
                columns = range(x.shape[1])
                parts = [self._gradient(v[:, i], x, recorded)[:, i] for i in columns]
                trace = torch.stack(parts).sum(dim=0)
            else:
                product = self._gradient((v * self._probe).sum(dim=1), x, recorded)
                trace = (product * self._probe).sum(dim=1)
        change = torch.cat([v, trace[:, None]], dim=1)
        return change if recorded else change.detach()

    @staticmethod
    def _gradient(numbers: torch.Tensor, x: torch.Tensor, recorded: bool) -> torch.Tensor:
        return torch.autograd.grad(numbers.sum(), x, create_graph=recorded, retain_graph=True)[0]
