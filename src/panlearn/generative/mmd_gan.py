"""The adversarial network that lowers a distance of kernel means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import torch
from torch import nn

from panlearn.core.parameters import Count
from panlearn.generative._adversarial import AdversarialModel, spectrally_normal
from panlearn.neural._step import Step


def squared_mmd(x: torch.Tensor, y: torch.Tensor, widths: Any) -> torch.Tensor:
    r"""The unbiased estimate of the squared distance of the kernel means of two sets of rows.

    .. math::
        \frac{\sum_{i \ne j} k(x_i, x_j)}{n (n - 1)} + \frac{\sum_{i \ne j} k(y_i, y_j)}{m (m - 1)}
        - \frac{2}{nm} \sum_{ij} k(x_i, y_j), \qquad
        k(x, y) = \sum_w e^{-\lVert x - y \rVert^2 / 2 w^2}
    """

    def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        # squared distances, without the root of cdist, whose slope at zero is none
        squares = a.square().sum(1)[:, None] + b.square().sum(1) - 2 * a @ b.T
        return torch.stack([(-squares / (2 * w * w)).exp() for w in widths]).sum(0)

    n, m = len(x), len(y)
    within = sum(
        (k.sum() - k.diagonal().sum()) / (size * (size - 1))
        for k, size in ((kernel(x, x), n), (kernel(y, y), m))
    )
    return within - 2 * kernel(x, y).mean()


@dataclass(eq=False, repr=False)
class MMDGAN(AdversarialModel):
    r"""A generator that lowers the maximum mean discrepancy, by kernels that a critic sharpens.

    .. math::
        \min_G \max_\phi \ MMD_k^2\bigl(h_\phi(x), h_\phi(G(z))\bigr), \qquad
        h_\phi(x) = (x, \phi(x)), \qquad k(a, b) = \sum_w e^{-\lVert a - b \rVert^2 / 2 w^2}

    Parameters
    ----------
    widths : tuple of float, default=(0.1, 0.3, 1.0)
        Widths w of the kernels that are added, in units of the standardised columns.
    n_features : int, default=4
        Outputs of the critic :math:`\phi`.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights of generator and critic, by name.

    Notes
    -----
    The matrices of the critic have spectral norm one. The paper keeps features apart that belong to
    different x by an autoencoder; here x stands among the features, so that the distance is zero
    only if the distributions are equal. A step costs :math:`O(b P + b^2 d)` for b rows, P weights
    and d features. Batches are looked at whole.

    References
    ----------
    Li, Chang, Cheng, Yang, Poczos (2017). MMD GAN: towards deeper understanding of moment matching
    network. NeurIPS. arXiv:1705.08584

    Gretton, Borgwardt, Rasch, Schoelkopf, Smola (2012). A kernel two-sample test. Journal of
    Machine Learning Research 13.

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.generative import MMDGAN
    >>> X = np.random.default_rng(0).normal(loc=[100, -5], scale=[10, 1], size=(500, 2))
    >>> model = MMDGAN(2, (32,), max_epochs=40, random_state=0, learning_rate=2e-3).fit(X)
    >>> bool(np.all(np.abs(model.sample(500, random_state=0).mean(axis=0) - [100, -5]) < [5, 0.5]))
    True
    """

    _: KW_ONLY
    widths: tuple | list = (0.1, 0.3, 1.0)
    n_features: Count = 4

    def _critic(self) -> nn.Module:
        return spectrally_normal(self._reader(self.n_features))

    def _objective(self) -> Any:
        widths = tuple(self.widths)
        if not widths or not all(isinstance(w, int | float) and w > 0 for w in widths):
            raise ValueError(f"widths={self.widths!r} must be a tuple of numbers above zero")

        def game(players: Any, batch: Any, step: Step) -> Iterator[tuple[Any, torch.Tensor]]:
            generator, critic = players["generator"], players["critic"]
            real = step.gather(batch[0].flatten(1))
            if len(real) < 2:  # a last batch of one row says nothing
                yield generator, 0 * generator(self._latent(step)).sum()
                return

            def distance(fake: torch.Tensor) -> torch.Tensor:
                fake = step.gather(fake)
                one, other = (torch.cat([rows, critic(rows)], dim=1) for rows in (real, fake))
                return squared_mmd(one, other, widths)

            for _ in range(self.n_critic):
                yield critic, -distance(generator(self._latent(step)).detach())
            loss = distance(generator(self._latent(step)))
            step.note(squared_mmd=loss)
            yield generator, loss

        return game
