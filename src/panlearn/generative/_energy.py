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

    An f of bounded slope, such as a perceptron, leaves :math:`e^{-E}` with a finite integral.
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
) -> tuple[torch.Tensor, torch.Tensor]:
    r"""Move :math:`x' = x - \frac\epsilon2 \nabla E(x) + \sqrt\epsilon\, \xi`, or stay, n times.

    .. math::
        \min\bigl(1,\ e^{E(x) - E(x') + (\lVert \xi \rVert^2 - \lVert \xi' \rVert^2) / 2}\bigr),
        \qquad \xi' = \tfrac{\sqrt\epsilon}2 \bigl(\nabla E(x) + \nabla E(x')\bigr) - \xi

    is the probability to go. Where chains are, and the share of its moves that each has made.
    """
    root = math.sqrt(step_size)
    x = x.detach()
    height, slope = _height_and_slope(energy, x)
    made = torch.zeros_like(height)
    for _ in range(n_steps):
        noise = draws.normal(*x.shape[1:], dtype=x.dtype)
        there = x - step_size / 2 * slope + root * noise
        new_height, new_slope = _height_and_slope(energy, there)
        back = root / 2 * (slope + new_slope) - noise
        log_ratio = height - new_height + half_square(noise) - half_square(back)
        goes = draws.uniform(dtype=x.dtype).log() < log_ratio
        made += goes
        height = torch.where(goes, new_height, height)
        wide = goes.reshape(-1, *[1] * (x.ndim - 1))
        x, slope = torch.where(wide, there, x), torch.where(wide, new_slope, slope)
    return x, made / n_steps


def _height_and_slope(energy: Energy, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        height = energy(x)
        (slope,) = torch.autograd.grad(height.sum(), x)
    return height.detach(), slope


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
        chain, acceptance = langevin(module, start, step, n_steps, step_size)
        if module.chains is not None and step.training:
            _keep(module.chains, chain, low, step)
        at_real, at_chain = module.added(torch.cat([real, chain])).chunk(2)
        energy, chain_energy = half_square(real) + at_real, half_square(chain) + at_chain
        step.note(energy=energy, chain_energy=chain_energy, acceptance=acceptance)
        return energy - chain_energy + penalty * (at_real.square() + at_chain.square())

    return objective


def _keep(chains: torch.Tensor, moved: torch.Tensor, low: int, step: Step) -> None:
    """Leave chains where they came to, in all processes."""
    if step.processes.world > 1:
        moved, low = step.gather(moved), 0
    chains[low : low + len(moved)] = moved
