"""VICReg: two views agree, columns vary, and no two columns say the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from panlearn.core.parameters import NonNegative
from panlearn.neural._step import Step
from panlearn.representation._base import SelfSupervised, head
from panlearn.representation._objectives import (
    covariance_penalty,
    variance_penalty,
)


@dataclass(eq=False, repr=False)
class VICReg(SelfSupervised):
    r"""A representation whose views agree while its columns vary and are uncorrelated.

    .. math::
        \min\ \frac{\lambda}{n d} \sum_i \lVert z_i - z_i' \rVert^2
        + \sum_{Z \in \{z, z'\}} \Bigl(\frac{\mu}{d} \sum_j
        \bigl(1 - \sqrt{\operatorname{var} Z_j + \epsilon}\bigr)_+
        + \frac{\nu}{d} \sum_{j \ne k} \operatorname{cov}(Z_j, Z_k)^2\Bigr)

    with z of one view of the examples of a batch and z' of the other; `transform` gives what stands
    before the projector.

    Parameters
    ----------
    invariance : float, default=25.0
        The weight :math:`\lambda`.
    variance : float, default=25.0
        The weight :math:`\mu`.
    covariance : float, default=1.0
        The weight :math:`\nu`.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights of the encoder and of the heads.

    Notes
    -----
    Variances and covariances are of the whole batch, over all processes.

    ``history_`` has beside the loss how far the projections are from collapse: their ``spread``,
    from 0 to 1, and ``rank``, the number of directions that they use. A step on n examples costs
    the passes of 2n views and :math:`O(n d^2)` for their covariances.

    References
    ----------
    A. Bardes, J. Ponce and Y. LeCun (2022). VICReg: variance-invariance-covariance regularization
    for self-supervised learning. ICLR. arXiv:2105.04906

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.representation import VICReg
    >>> X = np.random.default_rng(0).normal(size=(40, 6, 6))
    >>> model = VICReg(n_components=8, max_epochs=1, random_state=0).fit(X)
    >>> model.transform(X).shape
    (40, 8)
    >>> probe = model.classifier(X, X[:, 2, 2] > 0)
    >>> probe.predict(X[:3]).shape
    (3,)
    """

    invariance: NonNegative[float] = 25.0
    variance: NonNegative[float] = 25.0
    covariance: NonNegative[float] = 1.0

    def _heads(self) -> dict[str, nn.Module]:
        return {"projector": head(self.n_components, self.n_components, self.n_projected)}

    def _losses(self, player: Any, one: torch.Tensor, other: torch.Tensor, step: Step) -> Any:
        first, second = player.module.project(one, other)
        self._note(first, step)
        losses = self.invariance * (first - second).square().mean(dim=1)
        for embedding in (step.gather(first), step.gather(second)):
            losses = losses + self.variance * variance_penalty(embedding)
            losses = losses + self.covariance * covariance_penalty(embedding)
        return losses
