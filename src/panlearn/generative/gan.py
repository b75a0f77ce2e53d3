"""The generative adversarial network, of any f-divergence."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from torch import nn

from panlearn.generative._adversarial import AdversarialModel, divergence_game, spectrally_normal
from panlearn.generative.divergences import Divergence, divergence


@dataclass(eq=False, repr=False)
class GAN(AdversarialModel):
    r"""A generator and a critic that tells what it makes from examples.

    .. math::
        \min_G \max_V \ \mathbb E_{x \sim p}\, a(V(x)) - \mathbb E_{z \sim N(0, I)}\,
        f^*\bigl(a(V(G(z)))\bigr) \ \le \ D_f(p \,\|\, p_G)

    With "jensen_shannon" :math:`a(V(x)) = \log D(x)` is the log of a probability, and the value is
    :math:`\mathbb E \log D + \mathbb E \log(1 - D(G)) + \log 4`.

    Parameters
    ----------
    divergence : str or Divergence, default="jensen_shannon"
        :math:`D_f`: "kl", "reverse_kl", "jensen_shannon", "pearson", "neyman", "hellinger",
        "total_variation", or a value of `generative.divergences`.
    non_saturating : bool, default=True
        Whether the generator raises :math:`\mathbb E\, a(V(G(z)))`, whose slope does not vanish
        where the critic is sure, and does not lower the value of the game itself.
    spectral_norm : bool, default=False
        Whether each matrix of the critic is divided by its largest singular value, which bounds the
        slope of the critic.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights of generator and critic, by name.

    Notes
    -----
    Each step is `n_critic` moves of the critic on one batch and one move of the generator. There is
    no density and no loss that falls: watch samples. A critic whose slope is not bounded soon knows
    every fake, and the generator goes from one mode to the next; an average of the generator's
    weights (`ema_decay`) draws calmer samples.

    "total_variation" needs `spectral_norm`, and two or three moves of the critic: its best critic
    is the sign of :math:`p - p_G`, so that :math:`\tanh(V) / 2` soon has no slope at all, for
    generator and critic alike, and neither learns from examples that are told wrongly but surely. A
    bounded slope keeps V where it has one. Other divergences have a slope on one side at least. A
    step costs :math:`O(c b P)` for c moves of the critic, b rows and P weights in all.

    References
    ----------
    Goodfellow and others (2014). Generative adversarial nets. NeurIPS. arXiv:1406.2661

    Nowozin, Cseke, Tomioka (2016). f-GAN: training generative neural samplers using variational
    divergence minimization. NeurIPS. arXiv:1606.00709

    Miyato, Kataoka, Koyama, Yoshida (2018). Spectral normalization for generative adversarial
    networks. ICLR. arXiv:1802.05957

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.generative import GAN
    >>> X = np.random.default_rng(0).normal(loc=[100, -5], scale=[10, 1], size=(500, 2))
    >>> model = GAN(2, (32,), random_state=0, learning_rate=2e-3).fit(X)
    >>> bool(np.all(np.abs(model.sample(500, random_state=0).mean(axis=0) - [100, -5]) < [5, 0.5]))
    True
    """

    _: KW_ONLY
    divergence: (
        Literal[
            "kl",
            "reverse_kl",
            "jensen_shannon",
            "pearson",
            "neyman",
            "hellinger",
            "total_variation",
        ]
        | Divergence
    ) = "jensen_shannon"
    non_saturating: bool = True
    spectral_norm: bool = False

    def _critic(self) -> nn.Module:
        critic = self._reader(1)
        return spectrally_normal(critic) if self.spectral_norm else critic

    def _objective(self) -> Any:
        return divergence_game(
            divergence(self.divergence), self._latent, self.n_critic, self.non_saturating
        )
