"""The variational autoencoder of examples given labels or numbers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from panlearn.core.parameters import NonNegative, RandomState
from panlearn.generative._base import ConditionalModel
from panlearn.generative._bounds import elbo, negative_elbo
from panlearn.generative._variational import VariationalModel
from panlearn.neural._draws import Draws
from panlearn.neural._moves import Objective


@dataclass(eq=False, repr=False)
class ConditionalVAE(VariationalModel, ConditionalModel):
    r"""A variational autoencoder both of whose networks see what is known of the example.

    .. math::
        \log p(x \mid y) \ge \mathbb E_{q(z \mid x, y)} \log p(x \mid y, z)
        - \beta\, KL\bigl(q(z \mid x, y) \,\|\, N(0, I)\bigr)

    for :math:`\beta = 1`.

    Parameters
    ----------
    beta : float, default=1.0
        The weight of the divergence.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights of encoder and decoder, by name.
    conditions_ : Labels, Numbers or None
        What y was: ``classes`` and their ``shares``, or the ``mean`` and ``scale`` of numbers.
    n_categories_ : ndarray of shape (n_features_in_,)
        Categories of each column, if the likelihood is categorical.

    Notes
    -----
    Labels come to the networks as indicators, numbers standardised. The latent variables are
    standard normal whatever y is: what y says goes through the decoder, where the paper lets the
    prior depend on y too. Without y it is a `VAE`. A step costs :math:`O(b P)` for b rows of a
    batch and P weights.

    References
    ----------
    Sohn, Lee, Yan (2015). Learning structured output representation using deep conditional
    generative models. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.generative import ConditionalVAE
    >>> rng = np.random.default_rng(0)
    >>> y = np.array(["low", "high"] * 100)
    >>> X = rng.normal(size=(200, 2)) + 10 * (y == "high")[:, None]
    >>> model = ConditionalVAE(1, learning_rate=0.01, random_state=0).fit(X, y)
    >>> model.sample(500, random_state=0, y="high").mean(axis=0).round()
    array([10., 10.])
    """

    _: KW_ONLY
    beta: NonNegative[float] = 1.0

    def _network(self) -> nn.Module:
        return self._autoencoder(self._condition_size)

    def _objective(self) -> Objective:
        return negative_elbo(self.beta)

    def _generate(self, draws: Draws, n: int, condition: torch.Tensor | None) -> torch.Tensor:
        given = () if condition is None else (condition,)
        return self._drawn(draws.normal(self.n_components, dtype=self._dtype), draws, *given)

    def encode(self, X: Any, y: Any = None) -> np.ndarray:
        """Describe examples by the means of their latent variables, which say what y does not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Examples like those of `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_numbers), default=None
            What is known of them; needed if it was in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        X = self._examples(X)
        return self._codes(X, *self._beside(y, len(X)))

    def decode(self, Z: Any, y: Any = None) -> np.ndarray:
        """Give the mean of the examples with given latent variables.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Latent variables.
        y : label, number, or array-like of shape (n_samples,) or (n_samples, n_numbers)
            What is to hold of all examples, or of each.

        Returns
        -------
        ndarray of shape (n_samples, n_features), (n_samples, h, w) or (n_samples, c, h, w)
        """
        codes = self._read_codes(Z)
        return self._decoded(codes, *self._beside(y, len(codes)))

    def elbo(
        self, X: Any, y: Any = None, n_draws: int = 10, random_state: RandomState = None
    ) -> np.ndarray:
        """Estimate the bound of the log density of each example given y.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Examples like those of `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_numbers), default=None
            What is known of them; needed if it was in `fit`.
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
        return self._bound(
            lambda draws, *rows: elbo(module, rows, draws),
            n_draws,
            random_state,
            X,
            *self._beside(y, len(X)),
        )
