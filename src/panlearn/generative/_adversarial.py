"""What adversarial models share: a generator, who plays with it, and how they move."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import torch
from torch import nn

from panlearn.core.parameters import BelowOne, Count, Positive
from panlearn.generative._base import UnconditionalModel
from panlearn.generative._convolutional import Networks
from panlearn.generative._sizes import Sizes, hidden_sizes
from panlearn.generative.divergences import Divergence
from panlearn.neural._draws import Draws
from panlearn.neural._layers import Activation
from panlearn.neural._player import Player
from panlearn.neural._step import Step
from panlearn.neural.settings import Optimizer

Latent = Callable[[Draws], torch.Tensor]
"""Draws what the generator makes examples of."""


@dataclass(eq=False, repr=False)
class AdversarialModel(UnconditionalModel):
    """A generator that plays a game with another network; abstract.

    Parameters
    ----------
    n_components : int, default=8
        Normal variables that the generator makes an example of.
    hidden_layer_sizes : int or tuple of int, default=(128, 128)
        Units of the hidden layers of each network.
    activation : str, default="relu"
        Their activation, as in `neural.MLPClassifier`.
    convolutions : int or tuple of int, default=()
        Of images, channels of convolutions at each size, from the largest down, in the place of the
        hidden layers: (16, 32) halves the images twice. () takes images as rows of their pixels.
    n_critic : int, default=1
        Moves of the critic for each move of the generator.
    critic_learning_rate : float, default=None
        Of the critic, if it is not that of the generator.
    momentum : float, default=0.5
        The decay of the average of gradients, where the optimiser is "adam".
    """

    n_components: Count = 8
    hidden_layer_sizes: Sizes = (128, 128)
    _: KW_ONLY
    activation: Activation = "relu"
    convolutions: Sizes = ()
    n_critic: Count = 1
    critic_learning_rate: Positive[float] | None = None
    momentum: BelowOne = 0.5
    batch_size: Count = 256
    optimizer: Optimizer = "adam"
    learning_rate: Positive[float] = 5e-4

    @abstractmethod
    def _critic(self) -> nn.Module:
        """Make the network that tells examples from what is generated."""

    def _latent_size(self) -> int:
        """Columns of what the generator starts from."""
        return self.n_components

    def _latent(self, draws: Draws) -> torch.Tensor:
        return draws.normal(self.n_components, dtype=self._dtype)

    def _make(self, hidden: tuple[int, ...]) -> Networks:
        return Networks(self.image_shape_, hidden, self.activation, self.convolutions)

    def _reader(self, n_out: int) -> nn.Module:
        """A network from examples to numbers."""
        make = self._make(hidden_sizes(self.hidden_layer_sizes))
        return make.encoder(self._inner_size, n_out)

    def _generator(self) -> nn.Module:
        make = self._make(hidden_sizes(self.hidden_layer_sizes)[::-1])  # it is not a mirror
        return make.decoder(self._latent_size(), self._inner_size)

    def _network(self) -> nn.Module:
        return nn.ModuleDict({"generator": self._generator(), "critic": self._critic()})

    def _target(self, module: Any) -> dict[str, Player]:
        own: dict[str, Any] = {}
        if self.optimizer == "adam":
            own["optimizer"] = functools.partial(
                torch.optim.Adam, betas=(float(self.momentum), 0.9)
            )
        rates = {"critic": self.critic_learning_rate}
        return {
            name: Player(part, learning_rate=rates.get(name), **own)
            for name, part in module.items()
        }

    def _generate(self, draws: Draws, n: int) -> torch.Tensor:
        module: Any = self.module_
        return module["generator"](self._latent(draws))


def spectrally_normal(network: nn.Module) -> nn.Module:
    """Divide each matrix of a network by its largest singular value, found by power iterations.

    Of a convolution it is the matrix from a window of the image to the channels.
    """
    for layer in network.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            nn.utils.parametrizations.spectral_norm(layer)
    return network


def divergence_game(
    divergence: Divergence, latent: Latent, n_critic: int, non_saturating: bool
) -> Any:
    r"""The critic estimates :math:`D_f` of examples and what is generated; the generator lowers it.

    .. math:: \max_V \ \mathbb E_p\, a(V(x)) - \mathbb E_z\, f^*(a(V(G(z))))
    """

    def game(players: Any, batch: Any, step: Step) -> Iterator[tuple[Any, torch.Tensor]]:
        real = batch[0].flatten(1)
        generator, critic = players["generator"], players["critic"]
        for _ in range(n_critic):
            fake = generator(latent(step)).detach()
            yield critic, critic_losses(divergence, critic, real, fake)
        said_of_fake = divergence.activation(critic(generator(latent(step))))
        yield generator, -said_of_fake if non_saturating else -divergence.conjugate(said_of_fake)

    return game


def critic_losses(
    divergence: Divergence, critic: Any, real: torch.Tensor, fake: torch.Tensor
) -> torch.Tensor:
    r"""Minus the critic's estimate of the divergence: :math:`f^*(a(V(x'))) - a(V(x))`."""
    said_of_real = divergence.activation(critic(real))
    said_of_fake = divergence.activation(critic(fake))
    return divergence.conjugate(said_of_fake) - said_of_real


def wasserstein_game(
    latent: Latent, n_critic: int, penalty: float | None, clip: float | None
) -> Any:
    r"""The critic finds :math:`\max \mathbb E_p f - \mathbb E_q f` over functions of bounded slope.

    Either its weights are clipped after each move, or
    :math:`\lambda (\lVert \nabla f(\hat x) \rVert - 1)^2` is added to its loss, at points
    :math:`\hat x` between examples and what is generated.
    """

    def game(players: Any, batch: Any, step: Step) -> Iterator[tuple[Any, torch.Tensor]]:
        real = batch[0].flatten(1)
        generator, critic = players["generator"], players["critic"]
        for _ in range(n_critic):
            fake = generator(latent(step)).detach()
            losses = (critic(fake) - critic(real))[:, 0]
            step.note(wasserstein=-losses)
            if penalty is not None:
                share = step.uniform(1, dtype=real.dtype)
                losses = losses + penalty * steepness(critic, share * real + (1 - share) * fake)
            yield critic, losses
            if clip is not None and step.training:
                with torch.no_grad():
                    for weight in critic.module.parameters():
                        weight.clamp_(-clip, clip)
        yield generator, -critic(generator(latent(step)))

    return game


def steepness(critic: Any, points: torch.Tensor) -> torch.Tensor:
    r""":math:`(\lVert \nabla f(x) \rVert - 1)^2` at points (n, d)."""
    points = points.detach().requires_grad_()
    (slope,) = torch.autograd.grad(critic(points).sum(), points, create_graph=True)
    return (slope.norm(dim=1) - 1).square()
