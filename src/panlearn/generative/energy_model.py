"""The model of energies: a density up to its constant, learned from chains that follow it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from panlearn.core.parameters import BelowOne, Count, NonNegative, Positive
from panlearn.generative._base import UnconditionalModel
from panlearn.generative._energy import EnergyNetwork, contrastive_losses, langevin
from panlearn.generative._sizes import Sizes, hidden_sizes
from panlearn.neural._draws import Draws
from panlearn.neural._layers import MLP, Activation
from panlearn.neural._moves import Objective


@dataclass(eq=False, repr=False)
class EnergyModel(UnconditionalModel):
    r"""A density up to its constant: low energies where examples are, high ones elsewhere.

    .. math::
        p(x) = \frac{e^{-E(x)}}{Z}, \qquad E(x) = \tfrac12 \lVert x \rVert^2 + f_\theta(x), \qquad
        -\nabla_\theta \log p(x) = \nabla_\theta E(x) - \mathbb E_{\tilde x \sim p}
        \nabla_\theta E(\tilde x)

    with x standardised, and :math:`\tilde x` from Langevin's moves to
    :math:`\tilde x - \frac\epsilon2 \nabla E(\tilde x) + \sqrt\epsilon\, \xi`, made or refused by
    the rule of Metropolis and Hastings.

    Parameters
    ----------
    hidden_layer_sizes : int or tuple of int, default=(64, 64)
        Units of the hidden layers of :math:`f_\theta`.
    activation : str, default="silu"
        Their activation, as in `neural.MLPClassifier`.
    training : {"persistent", "contrastive_divergence"}, default="persistent"
        Where the chains of a step start: where those of the step before ended, or at the examples.
    n_steps : int, default=10
        Moves of each chain in a step of training.
    step_size : float, default=0.1
        The length :math:`\epsilon` of a move; ``history_["acceptance"]`` says how many are made.
    penalty : float, default=1e-3
        The weight of :math:`f_\theta(x)^2 + f_\theta(\tilde x)^2` in the loss, which keeps the
        energies, whose constant is free, from drifting.
    n_sampling_steps : int, default=500
        Moves of `sample`, which start from standard normal noise.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights of the network, by name; ``chains`` are where the persistent ones ended.

    Notes
    -----
    There are as many persistent chains as `batch_size`, which a checkpoint holds and a warm start
    goes on with; with `ema_decay` what is left of them in the end is an average, from which a warm
    start takes some steps to recover. A step of training costs `n_steps` passes through the network
    more than one of a regressor. Chains that start at examples do not see low energies far from
    these; persistent ones come there in time.

    Du and Mordatch make every move, with less noise than is Langevin's: then the law of the chains
    is another than the model's, and steep energies, where moves lead too far, grow without bound.
    Here moves may be refused, which costs no pass more. The half square is an addition too: with it
    Z is finite whatever the network, which begins as zero, and the tails are those of a normal. The
    loss is a difference of energies, and does not say how good a model is; the shares of modes far
    apart, between which chains seldom move, are learned last. Images are taken as rows of their
    pixels. A step of training costs :math:`O(s b P)` for s moves of b chains and P weights.

    References
    ----------
    Hinton (2002). Training products of experts by minimizing contrastive divergence. Neural
    Computation 14(8). doi:10.1162/089976602760128018

    Tieleman (2008). Training restricted Boltzmann machines using approximations to the likelihood
    gradient. ICML. doi:10.1145/1390156.1390290

    Du, Mordatch (2019). Implicit generation and modeling with energy-based models. NeurIPS.
    arXiv:1903.08689

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.generative import EnergyModel
    >>> X = np.random.default_rng(0).normal(loc=[100, -5], scale=[10, 1], size=(300, 2))
    >>> model = EnergyModel(16, max_epochs=10, n_sampling_steps=100, random_state=0).fit(X)
    >>> bool(np.all(np.abs(model.sample(300, random_state=0).mean(axis=0) - [100, -5]) < [4, 0.4]))
    True
    >>> near, far = model.energy([[100.0, -5.0], [140.0, -5.0]])
    >>> bool(near < far)
    True
    """

    hidden_layer_sizes: Sizes = (64, 64)
    _: KW_ONLY
    activation: Activation = "silu"
    training: Literal["persistent", "contrastive_divergence"] = "persistent"
    n_steps: Count = 10
    step_size: Positive[float] = 0.1
    penalty: NonNegative[float] = 1e-3
    n_sampling_steps: Count = 500
    learning_rate: Positive[float] = 5e-3
    ema_decay: BelowOne | None = 0.99

    def _network(self) -> nn.Module:
        sizes = (self._inner_size, *hidden_sizes(self.hidden_layer_sizes), 1)
        network = MLP(sizes, self.activation)
        for last in network.layers[-1].parameters():  # begin with the standard normal
            nn.init.zeros_(last)
        persistent = self.training == "persistent"
        chains = torch.randn(self.batch_size, *self._inner_shape) if persistent else None
        return EnergyNetwork(network, chains)

    def _objective(self) -> Objective:
        return contrastive_losses(self.n_steps, self.step_size, self.penalty)

    def _generate(self, draws: Draws, n: int) -> torch.Tensor:
        noise = draws.normal(*self._inner_shape, dtype=self._dtype)
        return langevin(self.module_, noise, draws, self.n_sampling_steps, self.step_size)[0]

    def energy(self, X: Any) -> np.ndarray:
        r"""Give the energy of each example: minus the log density, but for a constant.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Examples like those of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            In nats. The constant, :math:`\log Z` and that of the units of X, is not known: only
            differences of energies say anything, and those of two models cannot be compared.
        """
        energies = self._by_rows(self.module_, self._examples(X))
        return energies.astype(self.mean_.dtype, copy=False)
