"""The model of scores: slopes of log densities under noise, and the ways back that they give."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from panlearn.core.density import Density
from panlearn.core.parameters import BelowOne, Count, Positive
from panlearn.generative._base import UnconditionalModel
from panlearn.generative._denoisers import PerceptronDenoiser, UNet
from panlearn.generative._score import (
    FIRST,
    PROCESSES,
    GrowingNoise,
    annealed_langevin,
    flow,
    flow_log_density,
    reverse_sde,
    score_losses,
)
from panlearn.generative._sizes import Sizes, hidden_sizes
from panlearn.neural._draws import Draws
from panlearn.neural._moves import Objective

STEPS = 40  # of the flow by which a density is found
SMOOTH = 0.3  # deviations; what data do not vary within, unless the network says so


class ScoreNetwork(nn.Module):
    r"""The score of standard normal data under noise, and what a network adds to it.

    .. math::
        s(x, t) = -\frac{x}{v} + \frac{a(t)}{\sqrt{(\sigma(t)^2 + 0.3^2)\, v}}\,
        n\bigl(x / \sqrt v,\ \log(\sigma^2 / a^2)\bigr), \qquad v = a^2 + \sigma^2

    The network begins with zero. Losses weigh scores by the variance of the noise, so that n is
    hardly learned where there is little of it and stays what it is where there is more: times a
    number that grows with one over the noise, as denoising asks for, it would be wrong by that
    factor for data that are smooth. Here that number is three at most; thin data ask for a large n.
    """

    def __init__(self, network: Any, process: GrowingNoise) -> None:
        super().__init__()
        self.network, self.process = network, process
        for last in [*network.leave.parameters()][-2:]:
            nn.init.zeros_(last)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        """The score of rows at times (n,)."""
        shape = (-1, *[1] * (x.ndim - 1))
        a, sigma = (scale.to(x).reshape(shape) for scale in self.process.scales(t))
        root = (a.square() + sigma.square()).sqrt()
        inner = x / root
        size = a / (sigma.square() + SMOOTH**2).sqrt()
        return (size * self.network(inner, self.process.log_ratio(t))[:, 0] - inner) / root


@dataclass(eq=False, repr=False)
class ScoreModel(Density, UnconditionalModel):
    r"""The slope of the log density of examples with any amount of noise, and samples by it.

    .. math::
        dx = f x\, dt + g\, dw, \qquad s_\theta(x, t) \approx \nabla_x \log p_t(x), \qquad
        dx = (f x - g^2 s_\theta)\, dt + g\, d\bar w, \qquad
        \dot x = f x - \tfrac12 g^2 s_\theta(x, t)

    The third runs back from noise to the data by draws, the fourth without.

    Parameters
    ----------
    hidden_layer_sizes : int or tuple of int, default=(128, 128, 128)
        Of a table, units of the hidden layers; of images, channels of each size of a U-Net.
    process : {"vp", "ve"}, default="vp"
        How noise is added: keeping the variance, :math:`f = -\beta/2, g^2 = \beta`, or on top,
        :math:`f = 0`.
    matching : {"denoising", "sliced", "explicit"}, default="denoising"
        What teaches the score: the noise that was added; Hyvarinen's loss
        :math:`\frac12 \lVert s \rVert^2 + \operatorname{tr} \nabla s` with the trace along a random
        direction; or with the exact trace, which takes a pass for each column.
    sampler : {"reverse_sde", "ode", "langevin"}, default="reverse_sde"
        How `sample` goes back: by draws, along the flow, or by Langevin moves at less and less
        noise.
    n_sampling_steps : int, default=200
        Steps of the way back, or levels of noise of "langevin", with ten moves each.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights of the network, by name.

    Notes
    -----
    Times go from 0.001 to 1, uniform in the log of the variance of noise over that of the data, and
    the loss of a time is weighted by the variance of its noise: together a bound of the likelihood.
    Denoising sees each noise and its mirror image, at two passes of the network a step. What
    `score_samples` gives is the density of the flow, from 0.001 on: the exact density of what the
    "ode" sampler draws, but for the error of its 40 steps of the fourth-order rule of Runge and
    Kutta and of the normal that stands for the end of the process, together below 0.01 on Gaussian
    data. It costs as many passes of the network as there are columns, for each of four evaluations
    a step. Langevin moves have not quite settled when the level changes: variances of Gaussian data
    come out 4 percent too large with 60 levels, and 1 to 2 percent with 200. For s steps, d columns
    and P weights a sample is :math:`O(s P)` and a density :math:`O(s d P)`.

    References
    ----------
    Hyvarinen (2005). Estimation of non-normalized statistical models by score matching. Journal of
    Machine Learning Research 6.

    Vincent (2011). A connection between score matching and denoising autoencoders.
    doi:10.1162/NECO_a_00142

    Song, Ermon (2019). Generative modeling by estimating gradients of the data distribution.
    NeurIPS. arXiv:1907.05600

    Song, Garg, Shi, Ermon (2019). Sliced score matching. UAI. arXiv:1905.07088

    Song, Durkan, Murray, Ermon (2021). Maximum likelihood training of score-based diffusion models.
    NeurIPS. arXiv:2101.09258

    Song, Sohl-Dickstein, Kingma, Kumar, Ermon, Poole (2021). Score-based generative modeling
    through stochastic differential equations. ICLR. arXiv:2011.13456

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.generative import ScoreModel
    >>> X = np.random.default_rng(0).normal(loc=[100, -5], scale=[10, 1], size=(300, 2))
    >>> model = ScoreModel(32, max_epochs=60, n_sampling_steps=50, random_state=0).fit(X)
    >>> bool(np.all(np.abs(model.sample(300, random_state=0).mean(axis=0) - [100, -5]) < [4, 0.4]))
    True
    >>> near, far = model.score_samples([[100.0, -5.0], [140.0, -5.0]])
    >>> bool(near > far)
    True
    """

    hidden_layer_sizes: Sizes = (128, 128, 128)
    _: KW_ONLY
    process: Literal["vp", "ve"] = "vp"
    matching: Literal["denoising", "sliced", "explicit"] = "denoising"
    sampler: Literal["reverse_sde", "ode", "langevin"] = "reverse_sde"
    n_sampling_steps: Count = 200
    learning_rate: Positive[float] = 2e-3
    ema_decay: BelowOne | None = 0.995

    def _network(self) -> nn.Module:
        hidden = hidden_sizes(self.hidden_layer_sizes)
        if not hidden:
            raise ValueError("hidden_layer_sizes=() leaves no layer; give at least one size")
        if self.image_shape_ is None:
            network: nn.Module = PerceptronDenoiser(self._inner_size, hidden, 0, 1, 1.0)
        else:
            network = UNet(self.image_shape_[0], hidden, 0, 1, 1.0)
        return ScoreNetwork(network, PROCESSES[self.process]())

    def _objective(self) -> Objective:
        return score_losses(PROCESSES[self.process](), self.matching)

    def _generate(self, draws: Draws, n: int) -> torch.Tensor:
        module, process = self.module_, PROCESSES[self.process]()
        noise = draws.normal(*self._inner_shape, dtype=self._dtype)
        count = self.n_sampling_steps
        if self.sampler == "reverse_sde":
            return reverse_sde(process, module, noise, draws, count)
        if self.sampler == "langevin":
            return annealed_langevin(process, module, noise, draws, count, 10)
        start = process.end * noise
        return flow(process, module, start, count, forward=False, density=False)[0]

    def score_samples(self, X: Any) -> np.ndarray:
        """Give the log density of each example, by the flow.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Examples like those of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._examples(X)
        module, process = self.module_, PROCESSES[self.process]()
        logs = self._by_rows(lambda x: flow_log_density(process, module, x, STEPS), X)
        return (logs - self._log_scale).astype(self.mean_.dtype, copy=False)

    def gradient(self, X: Any) -> np.ndarray:
        """Give the slope of the log density at examples, with the least noise that was learned.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Examples like those of `fit`.

        Returns
        -------
        ndarray of the shape of X
            Per unit of each column; zero for one that does not vary. Training says little of scores
            where there is little noise: after a few hundred steps on 2000 rows of a normal they are
            off by a fifth of their size, and of a mixture of two by a third. Many passes over few
            rows make them worse: with little noise a row is a mode of its own.
        """
        X = self._examples(X)
        module = self.module_
        slopes = self._by_rows(
            lambda x: module(x, torch.full((len(x),), FIRST, dtype=x.dtype, device=x.device)), X
        )
        made = np.zeros((len(slopes), *self.sample_shape_))
        scale = self.scale_.astype(np.float64)
        if self.image_shape_ is None:
            made[:, scale > 0] = slopes / scale[scale > 0]
        else:
            safe = np.where(scale > 0, scale, np.inf)
            made = (slopes / safe[:, None, None]).reshape(made.shape)
        return made.astype(self.mean_.dtype)
