"""The variational autoencoder with a bound from several draws."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from panlearn.core.parameters import Count, RandomState
from panlearn.generative._bounds import importance_weighted, negative_importance_bound
from panlearn.generative._variational import VariationalTransformer
from panlearn.neural._draws import Draws
from panlearn.neural._moves import Objective


@dataclass(eq=False, repr=False)
class ImportanceWeightedVAE(VariationalTransformer):
    r"""A variational autoencoder that is trained by a tighter bound, from K draws.

    .. math::
        \log p(x) \ge \mathbb E_{z_1, \ldots, z_K \sim q(z \mid x)} \log \frac1K \sum_{k=1}^K w_k,
        \qquad w_k = \frac{p(x \mid z_k)\, p(z_k)}{q(z_k \mid x)}

    Parameters
    ----------
    n_importance : int, default=5
        The draws K of a row; 1 is the VAE.
    gradient : {"reparameterized", "doubly_reparameterized"}, default="reparameterized"
        Which estimate of the encoder's gradient: that of the bound as it stands, whose signal
        vanishes against its noise as K grows, or one without the score function, whose does not.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights of encoder and decoder, by name.
    n_categories_ : ndarray of shape (n_features_in_,)
        Categories of each column, if the likelihood is categorical.

    Notes
    -----
    The bound does not fall as K grows, and tends to the log density. A step costs K passes of the
    decoder for each row. A step on b rows is :math:`O(K b P)` for P weights.

    References
    ----------
    Burda, Grosse, Salakhutdinov (2016). Importance weighted autoencoders. ICLR. arXiv:1509.00519

    Tucker, Lawson, Gu, Maddison (2019). Doubly reparameterized gradient estimators for Monte Carlo
    objectives. ICLR. arXiv:1810.04152

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.generative import ImportanceWeightedVAE
    >>> X = np.random.default_rng(0).normal(size=(200, 2)) @ [[1.0, 0.5], [0.0, 0.2]]
    >>> model = ImportanceWeightedVAE(1, n_importance=10, random_state=0).fit(X)
    >>> one, many = (model.elbo(X, k, random_state=0).mean() for k in (1, 100))
    >>> bool(one < many)
    True
    """

    _: KW_ONLY
    n_importance: Count = 5
    gradient: Literal["reparameterized", "doubly_reparameterized"] = "reparameterized"

    def _network(self) -> nn.Module:
        return self._autoencoder()

    def _objective(self) -> Objective:
        return negative_importance_bound(self.n_importance, self.gradient)

    def _generate(self, draws: Draws, n: int) -> torch.Tensor:
        return self._drawn(draws.normal(self.n_components, dtype=self._dtype), draws)

    def elbo(
        self, X: Any, n_importance: int | None = None, random_state: RandomState = None
    ) -> np.ndarray:
        """Estimate the bound of the log density of each example.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Examples like those of `fit`.
        n_importance : int, default=None
            The draws K; those of training if nothing is said.
        random_state : int, Generator or RandomState, default=None
            Seeds the draws.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._examples(X)
        k, module = self.n_importance if n_importance is None else n_importance, self._part
        if k < 1:
            raise ValueError(f"n_importance={k!r} must be at least one")

        def estimate(draws: Draws, x: torch.Tensor) -> torch.Tensor:
            parts, left = [], k
            while left:  # a hundred draws at a time, to bound the memory
                now = min(left, 100)
                parts.append(importance_weighted(module, x, draws, now)[0].logsumexp(1))
                left -= now
            return torch.stack(parts).logsumexp(0) - math.log(k)

        return self._bound(estimate, 1, random_state, X)
