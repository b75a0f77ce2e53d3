"""Variational deep embedding: a variational autoencoder whose latent variables form clusters."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import torch
from sklearn.base import ClusterMixin
from torch import nn

from panlearn.core.estimator import fitting
from panlearn.core.parameters import Count, NonNegative, Positive, RandomState
from panlearn.generative._likelihoods import gaussian_log_density
from panlearn.generative._variational import EncoderDecoder, VariationalTransformer
from panlearn.latent import GaussianMixture
from panlearn.neural._draws import Draws
from panlearn.neural._moves import Objective
from panlearn.neural._random import draw_seed
from panlearn.neural._step import Step
from panlearn.neural.train import train


class Clusters(nn.Module):
    """An autoencoder, and a mixture of Gaussians that its latent variables come from."""

    def __init__(self, autoencoder: EncoderDecoder, n_clusters: int) -> None:
        super().__init__()
        self.autoencoder = autoencoder
        self.scores = nn.Parameter(torch.zeros(n_clusters))
        self.means = nn.Parameter(torch.zeros(n_clusters, autoencoder.n_components))
        self.log_scales = nn.Parameter(torch.zeros(n_clusters, autoencoder.n_components))

    def expected_log_joint(self, mean: torch.Tensor, log_scale: torch.Tensor) -> torch.Tensor:
        r""":math:`\log \pi_c + \mathbb E_{q(z \mid x)} \log p(z \mid c)`, (n, n_clusters)."""
        spread = (2 * log_scale).exp()[:, None] * (-2 * self.log_scales).exp() / 2
        density = gaussian_log_density(mean[:, None], self.means, self.log_scales)
        return self.scores.log_softmax(0) + density - spread.sum(-1)


def mixture_elbo(module: Clusters, x: torch.Tensor, draws: Draws) -> torch.Tensor:
    r"""The bound of rows, with one draw of z each and the best :math:`q(c \mid x)`."""
    part = module.autoencoder
    mean, log_scale = part.encode(x)
    z = mean + log_scale.exp() * draws.normal(part.n_components, dtype=mean.dtype)
    fit = part.likelihood.log_prob(part.decode(z), x.flatten(1))
    entropy = (log_scale + (1 + math.log(2 * math.pi)) / 2).sum(-1)
    return fit + module.expected_log_joint(mean, log_scale).logsumexp(1) + entropy


@dataclass(eq=False, repr=False)
class VaDE(ClusterMixin, VariationalTransformer):
    r"""Clusters of examples, found where a variational autoencoder describes them.

    .. math::
        p(x, z, c) = \pi_c\, N(z; \mu_c, \sigma_c^2)\, p(x \mid z), \qquad
        \log p(x) \ge \mathbb E_{q(z \mid x)} \log p(x \mid z) + H(q(z \mid x))
        + \log \sum_c \pi_c\, e^{\mathbb E_q \log N(z; \mu_c, \sigma_c^2)}

    where :math:`q(c \mid x) \propto \pi_c\, e^{\mathbb E_q \log N(z; \mu_c, \sigma_c^2)}` makes the
    bound the largest.

    Parameters
    ----------
    n_clusters : int, default=8
        Components of the mixture.
    pretrain_epochs : int, default=50
        Epochs of a plain autoencoder, after which a mixture is fitted to its codes to start from.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights of encoder and decoder, by name.
    labels_ : ndarray of shape (n_samples,)
        The cluster of each example of `fit`.
    n_categories_ : ndarray of shape (n_features_in_,)
        Categories of each column, if the likelihood is categorical.

    Notes
    -----
    Autoencoder and mixture learn together. From random weights the bound falls into a state with
    one cluster, which is why it starts from an autoencoder's codes. The paper works
    :math:`q(c \mid x)` out at the drawn z; here it is the maximiser for q(z | x), of which no draw
    is needed. A step costs :math:`O(b (P + k z))` for b rows, P weights, k clusters and z latent
    variables.

    References
    ----------
    Jiang, Zheng, Tan, Tang, Zhou (2017). Variational deep embedding: an unsupervised and generative
    approach to clustering. IJCAI. doi:10.24963/ijcai.2017/273

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.generative import VaDE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(150, 3)) + 8 * np.repeat(np.eye(3), 50, axis=0)
    >>> labels = VaDE(n_clusters=3, random_state=0).fit(X).labels_
    >>> [len(set(labels[i : i + 50])) for i in (0, 50, 100)]
    [1, 1, 1]
    """

    _: KW_ONLY
    n_clusters: Count = 8
    pretrain_epochs: NonNegative[int] = 50
    learning_rate: Positive[float] = 5e-3

    def _network(self) -> nn.Module:
        return Clusters(self._autoencoder(), self.n_clusters)

    def _objective(self) -> Objective:
        def objective(module: Any, batch: Any, step: Step) -> torch.Tensor:
            return -mixture_elbo(module, batch[0], step)

        return objective

    @fitting
    def fit(self, X: Any, y: Any = None) -> VaDE:
        """Learn from examples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Rows of a table, or images.
        y : object, default=None
            Ignored.

        Returns
        -------
        VaDE
            The model itself.
        """
        X = self._begin(X)
        if len(X) < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} and n_samples={len(X)}: there must be as many "
                "samples as clusters, or more"
            )
        self._train(X)
        self.labels_ = self._memberships(self._standardized(X)).argmax(axis=1)
        return self

    def _start(self, data: tuple[np.ndarray, ...], rng: np.random.Generator) -> nn.Module:
        module: Any = self._initial(rng)
        if self.warm_start and "weights_" in vars(self):
            return module
        part = module.autoencoder

        def reconstruct(part: Any, batch: Any) -> torch.Tensor:
            codes, _ = part.encode(batch[0])
            return -part.likelihood.log_prob(part.decode(codes), batch[0].flatten(1))

        if self.pretrain_epochs:
            train(
                part,
                reconstruct,
                data,
                max_epochs=self.pretrain_epochs,
                batch_size=self.batch_size,
                learning_rate=self.learning_rate,
                random_state=rng,
            )
        rows = torch.from_numpy(data[0]).to(module.means.device)
        with torch.no_grad():
            codes = part.encode(rows)[0].cpu().numpy().astype(np.float64)
        mixture = GaussianMixture(
            self.n_clusters, covariance_type="diag", reg_covar=1e-3, random_state=draw_seed(rng)
        )
        mixture.fit(codes)
        with torch.no_grad():
            module.scores.copy_(torch.as_tensor(np.log(mixture.weights_)))
            module.means.copy_(torch.as_tensor(mixture.means_))
            module.log_scales.copy_(torch.as_tensor(np.log(mixture.covariances_) / 2))
        return module.train()

    def _generate(self, draws: Draws, n: int) -> torch.Tensor:
        module: Any = self.module_
        edges = module.scores.softmax(0).cumsum(0)
        chosen = (edges[:-1] <= draws.uniform(1, dtype=self._dtype)).sum(1)
        noise = draws.normal(self.n_components, dtype=self._dtype)
        return self._drawn(module.means[chosen] + module.log_scales[chosen].exp() * noise, draws)

    def predict(self, X: Any) -> np.ndarray:
        """Give the most probable cluster of each example.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Examples like those of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._memberships(self._examples(X)).argmax(axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        r"""Give the probabilities :math:`q(c \mid x)` of the clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Examples like those of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        return self._memberships(self._examples(X)).astype(self.mean_.dtype, copy=False)

    def _memberships(self, X: np.ndarray) -> np.ndarray:
        module: Any = self.module_
        return self._by_rows(
            lambda x: module.expected_log_joint(*module.autoencoder.encode(x)).softmax(1), X
        )

    def elbo(self, X: Any, n_draws: int = 10, random_state: RandomState = None) -> np.ndarray:
        """Estimate the bound of the log density of each example.

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
        module: Any = self.module_
        return self._bound(
            lambda draws, x: mixture_elbo(module, x, draws), n_draws, random_state, X
        )
