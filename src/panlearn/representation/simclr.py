"""SimCLR: two views of an example must find each other among all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from panlearn.core.parameters import Positive
from panlearn.neural._step import Step
from panlearn.representation._base import SelfSupervised, head
from panlearn.representation._objectives import contrastive_losses


@dataclass(eq=False, repr=False)
class SimCLR(SelfSupervised):
    r"""A representation in which two views of an example are nearer than all other views.

    .. math::
        \min\ -\frac{1}{2n} \sum_{v} \log
        \frac{\exp(\cos(z_v, z_{v'}) / \tau)}{\sum_{u \ne v} \exp(\cos(z_v, z_u) / \tau)},
        \qquad z_v = g(f(\tilde x_v))

    over the 2 n views of a batch, v' being the other view of the same example; `transform` gives f.

    Parameters
    ----------
    temperature : float, default=0.2
        The :math:`\tau`: the smaller, the more the nearest of the others count.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights of the encoder and of the heads.

    Notes
    -----
    Other examples are those of the batch, over all processes: larger batches make harder tasks.

    ``history_`` has beside the loss how far the projections are from collapse: their ``spread``,
    from 0 to 1, and ``rank``, the number of directions that they use. A step on n examples costs
    the passes of 2n views and :math:`O(n^2 d)` for their cosines.

    References
    ----------
    T. Chen, S. Kornblith, M. Norouzi and G. Hinton (2020). A simple framework for contrastive
    learning of visual representations. ICML. arXiv:2002.05709

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.representation import SimCLR
    >>> X = np.random.default_rng(0).normal(size=(40, 6, 6))
    >>> model = SimCLR(n_components=8, max_epochs=1, random_state=0).fit(X)
    >>> model.transform(X).shape
    (40, 8)
    >>> probe = model.classifier(X, X[:, 2, 2] > 0)
    >>> probe.predict(X[:3]).shape
    (3,)
    """

    temperature: Positive[float] = 0.2

    def _heads(self) -> dict[str, nn.Module]:
        return {"projector": head(self.n_components, self.n_components, self.n_projected)}

    def _losses(self, player: Any, one: torch.Tensor, other: torch.Tensor, step: Step) -> Any:
        first, second = player.module.project(one, other)
        self._note(first, step)
        return contrastive_losses(first, second, self.temperature, step)
