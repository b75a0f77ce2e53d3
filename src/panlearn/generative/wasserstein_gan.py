"""The adversarial network that lowers a distance of transport."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from torch import nn

from panlearn.core.parameters import Count, Positive
from panlearn.generative._adversarial import AdversarialModel, wasserstein_game
from panlearn.neural._examples import require_second_slopes


@dataclass(eq=False, repr=False)
class WassersteinGAN(AdversarialModel):
    r"""A generator that lowers the Wasserstein distance to the examples, as a critic measures it.

    .. math::
        \min_G \max_{\lVert f \rVert_L \le 1} \ \mathbb E_{x \sim p} f(x)
        - \mathbb E_{z \sim N(0, I)} f(G(z))

    Parameters
    ----------
    constraint : {"gradient_penalty", "clipping"}, default="gradient_penalty"
        How the slope of the critic is bounded: by a penalty on gradients whose length is not one,
        or by clipping each of its weights.
    penalty : float, default=0.1
        The weight :math:`\lambda` of :math:`\mathbb E (\lVert \nabla f(\hat x) \rVert - 1)^2`.
    clip : float, default=0.05
        The largest weight of a critic that is clipped.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights of generator and critic, by name.

    Notes
    -----
    The penalty is taken at points :math:`\hat x` drawn uniformly between an example and a generated
    one. ``history_["wasserstein"]`` is the critic's estimate, in units of the standardised columns
    and, with clipping, up to an unknown factor: it falls as samples get better. The papers take a
    penalty of 10 for images; that of rows is best small. All moves of the critic in a step see the
    same examples. A step costs :math:`O(c b P)` for c moves of the critic, b rows and P weights in
    all; the penalty adds a gradient of a gradient.

    References
    ----------
    Arjovsky, Chintala, Bottou (2017). Wasserstein generative adversarial networks. ICML.
    arXiv:1701.07875

    Gulrajani, Ahmed, Arjovsky, Dumoulin, Courville (2017). Improved training of Wasserstein GANs.
    NeurIPS. arXiv:1704.00028

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.generative import WassersteinGAN
    >>> X = np.random.default_rng(0).normal(loc=[100, -5], scale=[10, 1], size=(500, 2))
    >>> model = WassersteinGAN(2, (32,), max_epochs=40, random_state=0, learning_rate=2e-3).fit(X)
    >>> bool(np.all(np.abs(model.sample(500, random_state=0).mean(axis=0) - [100, -5]) < [5, 0.5]))
    True
    """

    _: KW_ONLY
    constraint: Literal["gradient_penalty", "clipping"] = "gradient_penalty"
    penalty: Positive[float] = 0.1
    clip: Positive[float] = 0.05
    n_critic: Count = 5

    def _critic(self) -> nn.Module:
        return self._reader(1)

    def _objective(self) -> Any:
        if self.constraint == "gradient_penalty":
            require_second_slopes(self, "use constraint='clipping'")
        bounds = (None, self.clip) if self.constraint == "clipping" else (self.penalty, None)
        return wasserstein_game(self._latent, self.n_critic, *bounds)
