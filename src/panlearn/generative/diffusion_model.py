"""The denoising diffusion model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from panlearn.core.parameters import (
    BelowOne,
    Count,
    Fraction,
    NonNegative,
    Positive,
    RandomState,
)
from panlearn.generative._base import ConditionalModel
from panlearn.generative._denoisers import PerceptronDenoiser, UNet
from panlearn.generative._diffusion import (
    NoiseSchedule,
    Prediction,
    Predictor,
    Sampler,
    Variance,
    bound,
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
    ``set_params`` changes them after `fit`; of these `elbo` looks at `clip` alone. The weights are
    an average over the steps (`ema_decay`). A pass is :math:`O(P)` a row for P weights, so that a
    sample is :math:`O(s P)` for s steps.

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
        for made in self._states(draws, n, condition):  # noqa: B007
            pass
        return made

    def _states(
        self, draws: Draws, n: int, condition: torch.Tensor | None
    ) -> Iterator[torch.Tensor]:
        """The noise that n examples start from, and what they are after each step back."""
        noise = draws.normal(*self._inner_shape, dtype=self._dtype)
        yield noise
        yield from reverse(
            self._schedule(),
            self._predictor(condition, self.guidance),
            noise,
            draws,
            sampler=self.sampler,
            n_steps=self.n_sampling_steps,
            eta=self.eta,
            **self._said(),
        )

    def _said(self) -> dict[str, Any]:
        """What the predictions of the network stand for."""
        clip = self.limit_ if self.clip else math.inf
        return {"prediction": self.prediction, "variance": self.variance, "clip": clip}

    def _predictor(self, condition: torch.Tensor | None, guidance: float) -> Predictor:
        """The network as a function of noisy rows and steps, given their condition."""
        module, given = self.module_, None
        if condition is not None:
            given = torch.cat([condition, torch.ones_like(condition[:, :1])], dim=1)

        def predict(x: torch.Tensor, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
            said, share = module(x, t, given)
            if given is not None and guidance != 1:
                alone, _ = module(x, t, torch.zeros_like(given))
                said = alone + guidance * (said - alone)
            return said, share

        return predict

    def elbo(self, X: Any, y: Any = None, random_state: RandomState = None) -> np.ndarray:
        """Estimate the bound of the log density of each example, given its y if there is one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Examples like those of `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_numbers), default=None
            What is known of them, if `fit` was given y.
        random_state : int, Generator or RandomState, default=None
            Seeds the draws, one for each step.

        Returns
        -------
        ndarray of shape (n_samples,)
            Of the model without guidance, with all steps of training and their `variance`: "small"
            is that of one example alone, and costs about half a nat a column; "large" and
            "learned" bounds come near the density.
        """
        X = self._examples(X)
        noise, schedule = self._noise(random_state), self._schedule()

        def estimate(x: torch.Tensor, condition: torch.Tensor | None = None) -> torch.Tensor:
            predict = self._predictor(condition, 1.0)
            return bound(schedule, predict, x, noise(len(x)), **self._said())

        logs = self._by_rows(estimate, X, *self._beside(y, len(X))) - self._log_scale
        return logs.astype(self.mean_.dtype, copy=False)

    def trajectory(
        self, n_samples: int = 1, random_state: RandomState = None, y: Any = None
    ) -> np.ndarray:
        """Draw new examples and show the way to them, from noise on.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, Generator or RandomState, default=None
            Seeds the draws.
        y : label, number, or array-like of shape (n_samples,) or (n_samples, n_numbers)
            What is to hold of the examples, as in `sample`.

        Returns
        -------
        ndarray of shape (n_sampling_steps + 1, n_samples, ...)
            The noise in the units of the examples, what there is after each step, and last what
            `sample` gives for the same seed.
        """

        def ways(draws: Draws, n: int, condition: torch.Tensor | None) -> torch.Tensor:
            return torch.stack(list(self._states(draws, n, condition)), dim=1)

        made = self._made(ways, n_samples, random_state, y)
        steps = np.moveaxis(made, 1, 0)
        return np.stack([self._restored(np.ascontiguousarray(step)) for step in steps])
