"""BYOL: a student guesses what its teacher makes of another view."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import torch
from torch import nn

from panlearn.core.parameters import BelowOne, Count
from panlearn.neural._player import Player
from panlearn.neural._step import Step
from panlearn.representation._base import BatchNorm, SelfSupervised, head
from panlearn.representation._objectives import guess_losses


@dataclass(eq=False, repr=False)
class BYOL(SelfSupervised):
    r"""A representation from which what a slow copy of itself makes of another view can be told.

    .. math::
        \min_\theta\ \sum_i 2 - 2 \cos\bigl(q_\theta(g_\theta(f_\theta(\tilde x_i))),
        g_{\bar\theta}(f_{\bar\theta}(\tilde x_i'))\bigr), \qquad
        \bar\theta \leftarrow \beta \bar\theta + (1 - \beta) \theta

    and the same with the views exchanged; no other example takes part. `transform` gives f.

    Parameters
    ----------
    decay : float, default=0.99
        The :math:`\beta` of the teacher, which warms up: of step t it is at most
        (1 + t) / (10 + t).

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights of the encoder and of the heads.

    Notes
    -----
    No gradient reaches the teacher. Nothing in the loss forbids that all examples become one
    point; the predictor q, the slow teacher and the norms over the batch keep the student away from
    it, and ``history_`` says how far. The projection ends in such a norm, which the paper has not:
    where the encoder has none, as here by default, more directions stay in use. Many steps help
    more than large batches.

    ``history_`` has beside the loss how far the projections are from collapse: their ``spread``,
    from 0 to 1, and ``rank``, the number of directions that they use. A step on n examples costs
    :math:`O(n P)` for P weights: both views go through student and teacher.

    References
    ----------
    J.-B. Grill et al. (2020). Bootstrap your own latent: a new approach to self-supervised
    learning. NeurIPS. arXiv:2006.07733

    X. Chen and K. He (2021). Exploring simple Siamese representation learning. CVPR.
    arXiv:2011.10566

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.representation import BYOL
    >>> X = np.random.default_rng(0).normal(size=(40, 6, 6))
    >>> model = BYOL(n_components=8, max_epochs=1, random_state=0).fit(X)
    >>> model.transform(X).shape
    (40, 8)
    >>> probe = model.classifier(X, X[:, 2, 2] > 0)
    >>> probe.predict(X[:3]).shape
    (3,)
    """

    decay: BelowOne = 0.99
    _: KW_ONLY
    batch_size: Count = 64

    def _heads(self) -> dict[str, nn.Module]:
        return {
            "projector": head(self.n_components, self.n_components, self.n_projected),
            "norm": BatchNorm(self.n_projected),
            "predictor": head(self.n_projected, self.n_components, self.n_projected),
        }

    def _target(self, module: nn.Module) -> Player:
        return Player(module, teacher=self.decay)

    def _losses(self, player: Any, one: torch.Tensor, other: torch.Tensor, step: Step) -> Any:
        student, teacher = player.module, player.teacher
        with torch.no_grad():
            plain = teacher.project(one, other)
            first, second = (teacher.heads["norm"](z) for z in plain)
        self._note(plain[0], step)  # a norm would spread what has collapsed
        guesses = [
            student.heads["predictor"](student.heads["norm"](z))
            for z in student.project(one, other)
        ]
        return (guess_losses(guesses[0], second) + guess_losses(guesses[1], first)) / 2
