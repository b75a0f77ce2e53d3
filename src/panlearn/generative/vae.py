"""The variational autoencoder."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from panlearn.core.parameters import NonNegative, RandomState
from panlearn.generative._bounds import elbo, negative_elbo
from panlearn.generative._variational import VariationalTransformer
from panlearn.neural._draws import Draws
from panlearn.neural._moves import Objective


@dataclass(eq=False, repr=False)
class VAE(VariationalTransformer):
    r"""A network that makes examples from normal noise, learned with one that guesses the noise.

    .. math::
        \log p(x) \ge \mathbb E_{q(z \mid x)} \log p(x \mid z)
        - \beta\, KL\bigl(q(z \mid x) \,\|\, N(0, I)\bigr), \qquad
        q(z \mid x) = N\bigl(\mu(x), \operatorname{diag} \sigma(x)^2\bigr)

    for :math:`\beta = 1`; both networks learn to make the right side large.

    Parameters
    ----------
    beta : float, default=1.0
        The weight of the divergence: above 1 codes are closer to independent normal variables and
        say less of x.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights of encoder and decoder, by name.
    n_categories_ : ndarray of shape (n_features_in_,)
        Categories of each column, if the likelihood is categorical.

    Notes
    -----
    The bound is estimated by one draw :math:`z = \mu + \sigma \varepsilon` a row and step, the
    divergence in closed form. With a Gaussian likelihood the decoder gives a mean and a deviation
    of each entry; that of standardised columns is held above :math:`e^{-5}`. With linear networks
    and a Gaussian likelihood the best bound is the likelihood of factor analysis. A step costs
    :math:`O(b P)` for b rows of a batch and P weights.

    References
    ----------
    Kingma, Welling (2014). Auto-encoding variational Bayes. ICLR. arXiv:1312.6114

    Rezende, Mohamed, Wierstra (2014). Stochastic backpropagation and approximate inference in deep
    generative models. ICML. arXiv:1401.4082

    Higgins and others (2017). beta-VAE: learning basic visual concepts with a constrained
    variational framework. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.generative import VAE
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0, 0, 0, 0], [1, 1, 1, 1]], 100, axis=0)
    >>> model = VAE(1, likelihood="bernoulli", learning_rate=0.01, random_state=0).fit(X)
    >>> drawn = model.sample(500, random_state=0)
    >>> bool(np.mean(np.isin(drawn.sum(axis=1), [0, 4])) > 0.8)  # all or none
    True
    >>> model.transform(X).shape
    (200, 1)
    """

    _: KW_ONLY
    beta: NonNegative[float] = 1.0

    def _network(self) -> nn.Module:
        return self._autoencoder()

    def _objective(self) -> Objective:
        return negative_elbo(self.beta)

    def _generate(self, draws: Draws, n: int) -> torch.Tensor:
        return self._drawn(draws.normal(self.n_components, dtype=self._dtype), draws)

    def elbo(self, X: Any, n_draws: int = 10, random_state: RandomState = None) -> np.ndarray:
        r"""Estimate the bound of the log density of each example, with :math:`\beta = 1`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Examples like those of `fit`.
        n_draws : int, default=10
            Draws of z that the mean is of.
        random_state : int, Generator or RandomState, default=None
            Seeds the draws.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._examples(X)
        module = self._part
        return self._bound(lambda draws, x: elbo(module, (x,), draws), n_draws, random_state, X)
