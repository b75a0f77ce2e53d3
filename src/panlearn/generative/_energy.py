"""Energies: a network with its chains, Langevin's moves, and the loss that compares the two."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from panlearn.neural._draws import Draws
from panlearn.neural._step import Step

Energy = Callable[[torch.Tensor], torch.Tensor]


class EnergyNetwork(nn.Module):
    r""":math:`E(x) = \frac12 \lVert x \rVert^2 + f(x)`, and where its persistent chains are.

    An f of bounded slope, such as a perceptron, leaves :math:`e^{-E}` with a finite integral, and
    Langevin's moves, if shorter than 4, with a way back from anywhere.
    """

    chains: torch.Tensor | None

    def __init__(self, network: nn.Module, chains: torch.Tensor | None = None) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("chains", chains)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The energy of each example."""
        return half_square(x) + self.added(x)

    def added(self, x: torch.Tensor) -> torch.Tensor:
        """What the network adds to the energy of a standard normal."""
        return self.network(x.flatten(1))[:, 0]


def half_square(x: torch.Tensor) -> torch.Tensor:
    """The energy of a standard normal."""
    return x.flatten(1).square().sum(1) / 2


def langevin(
    energy: Energy, x: torch.Tensor, draws: Draws, n_steps: int, step_size: float
) -> torch.Tensor:
    r"""Move :math:`x \leftarrow x - \frac\epsilon2 \nabla E(x) + \sqrt\epsilon\, \xi`, n times."""
    for _ in range(n_steps):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            (slope,) = torch.autograd.grad(energy(x).sum(), x)
        noise = draws.normal(*x.shape[1:], dtype=x.dtype)
        x = x.detach() - step_size / 2 * slope + math.sqrt(step_size) * noise
    return x


def contrastive_losses(n_steps: int, step_size: float, penalty: float) -> Any:
    r"""Losses whose slope is that of minus the log density, if chains have its law.

    .. math:: E(x) - E(\tilde x) + \alpha \bigl( f(x)^2 + f(\tilde x)^2 \bigr)

    The chain of a row starts at the row, or goes on from the chain that has the row's place in the
    batch, which is then left where it came to.
    """

    def objective(module: EnergyNetwork, batch: Any, step: Step) -> torch.Tensor:
        real = batch[0]
        low = 0 if step.share.idle else step.share.low
        start = real if module.chains is None else module.chains[low : low + len(real)]
        chain = langevin(module, start, step, n_steps, step_size)
        if module.chains is not None and step.training:
            _keep(module.chains, chain, low, step)
        at_real, at_chain = module.added(torch.cat([real, chain])).chunk(2)
        energy, chain_energy = half_square(real) + at_real, half_square(chain) + at_chain
        step.note(energy=energy, chain_energy=chain_energy)
        return energy - chain_energy + penalty * (at_real.square() + at_chain.square())

    return objective


def _keep(chains: torch.Tensor, moved: torch.Tensor, low: int, step: Step) -> None:
    """Leave chains where they came to, in all processes."""
    if step.processes.world > 1:
        moved, low = step.gather(moved), 0
    chains[low : low + len(moved)] = moved
