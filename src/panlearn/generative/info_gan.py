"""The adversarial network whose codes can be read off what it makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from torch import nn
from torch.nn import functional as F

from panlearn.core.estimator import fitting
from panlearn.core.parameters import Bounds, Count, NonNegative, RandomState
from panlearn.generative._adversarial import AdversarialModel, critic_losses
from panlearn.generative._likelihoods import gaussian_log_density
from panlearn.generative.divergences import JensenShannon
from panlearn.neural._draws import Draws
from panlearn.neural._step import Step


@dataclass(eq=False, repr=False)
class InfoGAN(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, AdversarialModel):
    r"""A generative adversarial network that keeps information on some of its codes.

    .. math::
        \min_{G, Q} \max_D \ \mathbb E \log D(x) + \mathbb E \log\bigl(1 - D(G(z, c))\bigr)
        - \lambda\, \mathbb E \log Q\bigl(c \mid G(z, c)\bigr), \qquad
        I(c; G(z, c)) \ge H(c) + \mathbb E \log Q(c \mid G(z, c))

    Parameters
    ----------
    n_clusters : int, default=8
        Values of the code that is a category, each as probable.
    n_continuous : int, default=0
        Codes that are uniform on [-1, 1].
    information : float, default=1.0
        The weight :math:`\lambda` of the information on the codes.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights of generator, critic and reader Q, by name.
    labels_ : ndarray of shape (n_samples,)
        The category that Q reads off each example of `fit`.

    Notes
    -----
    The critic and the generator's loss are those of `GAN`. Q is a
    network of its own, where the paper lets it share the critic's layers; it reads a category by a
    softmax, and of a continuous code the mean and deviation of a Gaussian. A step costs
    :math:`O(b P)` for b rows of a batch and P weights.

    References
    ----------
    Chen, Duan, Houthooft, Schulman, Sutskever, Abbeel (2016). InfoGAN: interpretable representation
    learning by information maximizing generative adversarial nets. NeurIPS. arXiv:1606.03657

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.generative import InfoGAN
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2)) + 12 * rng.integers(2, size=(400, 1))
    >>> model = InfoGAN(2, (32,), n_clusters=2, random_state=0, learning_rate=2e-3).fit(X)
    >>> model.sample(3, random_state=0, category=1).shape
    (3, 2)
    """

    _: KW_ONLY
    n_clusters: Count = 8
    n_continuous: Annotated[int, Bounds(0, 10**6, closed_low=True, closed_high=True)] = 0
    information: NonNegative[float] = 1.0

    @fitting
    def fit(self, X: Any, y: Any = None) -> InfoGAN:
        """Learn from examples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Rows of a table, or images.
        y : object, default=None
            Ignored.

        Returns
        -------
        InfoGAN
            The model itself.
        """
        X = self._begin(X)
        self._train(X)
        self.labels_ = self._read_off(self._standardized(X))[:, : self.n_clusters].argmax(axis=1)
        return self

    def _critic(self) -> nn.Module:
        return self._reader(1)

    def _network(self) -> nn.Module:
        return nn.ModuleDict(
            {
                "generator": self._generator(),
                "critic": self._critic(),
                "reader": self._reader(self.n_clusters + 2 * self.n_continuous),
            }
        )

    @property
    def _n_codes(self) -> int:
        return self.n_clusters + self.n_continuous

    def _latent_size(self) -> int:
        return self.n_components + self._n_codes

    def _latent(self, draws: Draws, category: int | None = None) -> torch.Tensor:
        """Codes first, then normal variables."""
        chosen = draws.integers(self.n_clusters)
        if category is not None:
            chosen = torch.full_like(chosen, category)
        uniform = 2 * draws.uniform(self.n_continuous, dtype=self._dtype) - 1
        noise = draws.normal(self.n_components, dtype=self._dtype)
        return torch.cat([F.one_hot(chosen, self.n_clusters).to(noise), uniform, noise], dim=1)

    def _log_reading(self, said: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        r""":math:`\log Q(c \mid x)` of the codes that z begins with."""
        k = self.n_clusters
        log = (said[:, :k].log_softmax(1) * z[:, :k]).sum(1)
        if self.n_continuous:
            mean, log_scale = said[:, k:].chunk(2, dim=1)
            log = log + gaussian_log_density(z[:, k : self._n_codes], mean, log_scale.clamp(-5, 5))
        return log

    def _objective(self) -> Any:
        def game(players: Any, batch: Any, step: Step) -> Iterator[tuple[Any, torch.Tensor]]:
            real = batch[0].flatten(1)
            generator, critic, reader = (
                players[name] for name in ("generator", "critic", "reader")
            )
            for _ in range(self.n_critic):
                fake = generator(self._latent(step)).detach()
                yield critic, critic_losses(JensenShannon(), critic, real, fake)
            z = self._latent(step)
            made = generator(z)
            log_reading = self._log_reading(reader(made), z)
            step.note(log_reading=log_reading)
            fooled = F.logsigmoid(critic(made))[:, 0]
            yield generator, -fooled - self.information * log_reading
            yield reader, -self._log_reading(reader(made.detach()), z)

        return game

    def sample(
        self, n_samples: int = 1, random_state: RandomState = None, category: int | None = None
    ) -> Any:
        """Draw new examples.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, Generator or RandomState, default=None
            Seeds the draws.
        category : int, default=None
            The category of all of them, from 0; None draws one for each.

        Returns
        -------
        ndarray of shape (n_samples, n_features), (n_samples, h, w) or (n_samples, c, h, w)
            Like the examples of `fit`; a data frame with their columns if they were one.
        """
        self._require_fitted()
        if category is not None and not 0 <= category < self.n_clusters:
            raise ValueError(f"category={category!r} must be from 0 to {self.n_clusters - 1}")
        generator: Any = self.module_["generator"]  # type: ignore[index]
        return self._sampled(
            lambda draws, n: generator(self._latent(draws, category)), n_samples, random_state
        )

    def predict(self, X: Any) -> np.ndarray:
        """Give the category that the reader finds most probable.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Examples like those of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.transform(X)[:, : self.n_clusters].argmax(axis=1)

    def transform(self, X: Any) -> np.ndarray:
        """Give the codes that the reader finds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Examples like those of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters + n_continuous)
            Probabilities of the categories, then the means of the continuous codes.
        """
        return self._read_off(self._examples(X)).astype(self.mean_.dtype, copy=False)

    def _read_off(self, X: np.ndarray) -> np.ndarray:
        reader: Any = self.module_["reader"]  # type: ignore[index]

        def codes(x: torch.Tensor) -> torch.Tensor:
            said = reader(x.flatten(1))
            return torch.cat(
                [said[:, : self.n_clusters].softmax(1), said[:, self.n_clusters : self._n_codes]], 1
            )

        return self._by_rows(codes, X)

    @property
    def _n_features_out(self) -> int:
        self._require_fitted()
        return self._n_codes
