"""The denoising diffusion model."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
import torch
from torch import nn

from panlearn.core.parameters import BelowOne, Count, Fraction, NonNegative, Positive
from panlearn.generative._base import ConditionalModel
from panlearn.generative._denoisers import PerceptronDenoiser, UNet
from panlearn.generative._diffusion import (
    NoiseSchedule,
    Prediction,
    Sampler,
    Variance,
    denoising_losses,
    reverse,
)
from panlearn.generative._sizes import Sizes, hidden_sizes
from panlearn.neural._draws import Draws
from panlearn.neural._moves import Objective


class Denoiser(nn.Module):
    """A network whose first output is the prediction, and whose second says a variance."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(
        self, x: torch.Tensor, t: torch.Tensor, condition: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The prediction, and a share from 0 to 1 if there is a second output."""
        outputs = self.network(x, t, condition)
        return outputs[:, 0], outputs[:, 1].sigmoid() if outputs.shape[1] == 2 else None


@dataclass(eq=False, repr=False)
class DiffusionModel(ConditionalModel):
    r"""A network that takes noise away from examples, and so makes them of noise alone.

    .. math::
        x_t = \sqrt{\bar\alpha_t}\, x_0 + \sqrt{1 - \bar\alpha_t}\, \varepsilon, \qquad
        \min_\theta \ \mathbb E_{t, x_0, \varepsilon} \bigl\lVert \varepsilon
        - \varepsilon_\theta(x_t, t, y) \bigr\rVert^2

    Parameters
    ----------
    hidden_layer_sizes : int or tuple of int, default=(128, 128, 128)
        Of a table, units of the hidden layers; of images, channels of each size of a U-Net, from
        the largest down: (32, 64) halves the images twice.
    n_steps : int, default=200
        Steps T in which noise is added.
    noise_schedule : {"cosine", "linear"}, default="cosine"
        How the noise of a step grows.
    prediction : {"noise", "sample", "velocity"}, default="noise"
        What the network says: :math:`\varepsilon`, :math:`x_0`, or
        :math:`\sqrt{\bar\alpha}\, \varepsilon - \sqrt{1 - \bar\alpha}\, x_0`.
    variance : {"small", "large", "learned"}, default="small"
        Of a step back: that of :math:`q(x_{t-1} \mid x_t, x_0)`, :math:`\beta_t`, or one between
        them that the network says.
    sampler : {"ancestral", "ddim"}, default="ancestral"
        How `sample` goes back: by draws, or along a path that the first noise decides.
    n_sampling_steps : int, default=None
        Steps of the way back; all if nothing is said. "ddim" needs few.
    eta : float, default=0.0
        The share of the ancestral noise that "ddim" draws.
    guidance : float, default=1.0
        How far `sample` goes with what y says, beyond what is said without y: 1 is the model
        itself, more is purer and less varied.
    dropped : float, default=0.1
        The share of examples that are shown without their y in training, for guidance.
    clip : bool, default=True
        Whether guesses of :math:`x_0` are held to the range of the standardised examples.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights of the network, by name.
    conditions_ : Labels, Numbers or None
        What y was: ``classes`` and their ``shares``, or the ``mean`` and ``scale`` of numbers.
    limit_ : float
        The largest standardised entry of the examples.

    Notes
    -----
    A step of training costs one pass of the network, a sample `n_sampling_steps` of them, and twice
    as many with guidance. A learned variance adds the bound to the loss, as Nichol and Dhariwal do.
    The parameters from `sampler` to `guidance`, and `clip`, are only looked at by `sample`:
    ``set_params`` changes them after `fit`. The weights are an average over the steps
    (`ema_decay`).

    References
    ----------
    Ho, Jain, Abbeel (2020). Denoising diffusion probabilistic models. NeurIPS. arXiv:2006.11239

    Nichol, Dhariwal (2021). Improved denoising diffusion probabilistic models. ICML.
    arXiv:2102.09672

    Song, Meng, Ermon (2021). Denoising diffusion implicit models. ICLR. arXiv:2010.02502

    Ho, Salimans (2022). Classifier-free diffusion guidance. arXiv:2207.12598

    Salimans, Ho (2022). Progressive distillation for fast sampling of diffusion models. ICLR.
    arXiv:2202.00512

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.generative import DiffusionModel
    >>> rng = np.random.default_rng(0)
    >>> y = np.array(["low", "high"] * 100)
    >>> X = rng.normal(size=(200, 2)) + 10 * (y == "high")[:, None]
    >>> model = DiffusionModel(32, n_steps=50, random_state=0, max_epochs=60).fit(X, y)
    >>> drawn = model.sample(100, random_state=0, y="high")
    >>> bool((np.abs(drawn.mean(axis=0) - 10) < 1.5).all())
    True
    """

    hidden_layer_sizes: Sizes = (128, 128, 128)
    n_steps: Count = 200
    _: KW_ONLY
    noise_schedule: Literal["cosine", "linear"] = "cosine"
    prediction: Prediction = "noise"
    variance: Variance = "small"
    sampler: Sampler = "ancestral"
    n_sampling_steps: Positive[int] | None = None
    eta: Fraction[float] = 0.0
    guidance: NonNegative[float] = 1.0
    dropped: BelowOne = 0.1
    clip: bool = True
    learning_rate: Positive[float] = 2e-3
    ema_decay: BelowOne | None = 0.995

    def _network(self) -> nn.Module:
        hidden = hidden_sizes(self.hidden_layer_sizes)
        if not hidden:
            raise ValueError("hidden_layer_sizes=() leaves no layer; give at least one size")
        n_conditions = self._condition_size + 1 if self._condition_size else 0
        n_outputs = 2 if self.variance == "learned" else 1
        scale = 1000 / self.n_steps
        if self.image_shape_ is None:
            inner = self._inner_size
            network: nn.Module = PerceptronDenoiser(inner, hidden, n_conditions, n_outputs, scale)
        else:
            network = UNet(self.image_shape_[0], hidden, n_conditions, n_outputs, scale)
        return Denoiser(network)

    def _schedule(self) -> NoiseSchedule:
        return NoiseSchedule(self.noise_schedule, self.n_steps)

    def _objective(self) -> Objective:
        return denoising_losses(
            self._schedule(), self.prediction, self.variance == "learned", self.dropped
        )

    def _start(self, data: tuple[np.ndarray, ...], rng: np.random.Generator) -> nn.Module:
        self.limit_ = float(np.abs(data[0]).max())
        return self._initial(rng)

    def _generate(self, draws: Draws, n: int, condition: torch.Tensor | None) -> torch.Tensor:
        module, given = self.module_, None
        if condition is not None:
            given = torch.cat([condition, torch.ones_like(condition[:, :1])], dim=1)

        def predict(x: torch.Tensor, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
            said, share = module(x, t, given)
            if given is not None and self.guidance != 1:
                alone, _ = module(x, t, torch.zeros_like(given))
                said = alone + self.guidance * (said - alone)
            return said, share

        return reverse(
            self._schedule(),
            predict,
            draws.normal(*self._inner_shape, dtype=self._dtype),
            draws,
            prediction=self.prediction,
            variance=self.variance,
            sampler=self.sampler,
            n_steps=self.n_sampling_steps,
            eta=self.eta,
            clip=self.limit_ if self.clip else float("inf"),
        )
