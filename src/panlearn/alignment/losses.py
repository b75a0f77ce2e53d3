r"""Losses as values: of pairs, for `DPO`, and between two models, for `distill`.

A loss of a pair is a function of two log-ratios and of their lengths,

.. math:: h_w = \log\frac{\pi_\theta(y_w \mid x)}{\pi_{\text{ref}}(y_w \mid x)}, \qquad
          h_l = \log\frac{\pi_\theta(y_l \mid x)}{\pi_{\text{ref}}(y_l \mid x)}

of the chosen completion :math:`y_w` and the rejected one :math:`y_l`. A divergence is a function of
the scores that a student and a teacher give to all tokens.

A pair costs :math:`O(1)` beside its log-ratios, a divergence :math:`O(V)` a token for a vocabulary
of V.

References
----------
Rafailov, R. et al. (2023). Direct preference optimization: your language model is secretly a
reward model. NeurIPS. arXiv:2305.18290

Examples
--------
>>> import torch
>>> from panlearn.alignment import losses
>>> ratios, lengths = torch.tensor([[0.5, -0.5]]), torch.tensor([[4.0, 4.0]])
>>> round(losses.Sigmoid()(ratios, lengths, beta=0.1).item(), 7)
0.6443967
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from panlearn.core.value import Value

__all__ = [
    "IPO",
    "Divergence",
    "ForwardKL",
    "LengthNormalized",
    "PairLoss",
    "ReverseKL",
    "Robust",
    "Sigmoid",
]


class PairLoss(Value):
    """What `DPO` asks of a loss; abstract."""

    @abstractmethod
    def __call__(self, ratios: Tensor, lengths: Tensor, beta: float) -> Tensor:
        """Give the loss of each pair.

        Parameters
        ----------
        ratios : tensor of shape (n, 2)
            Log-ratios of chosen and rejected completions.
        lengths : tensor of shape (n, 2)
            Their tokens.
        beta : float
            How dear it is to leave the reference.

        Returns
        -------
        tensor of shape (n,)
        """


@dataclass(frozen=True)
class Sigmoid(PairLoss):
    r"""The likelihood of Bradley and Terry, :math:`-\log\sigma(\beta (h_w - h_l))`.

    References
    ----------
    Rafailov, R. et al. (2023). Direct preference optimization. NeurIPS. arXiv:2305.18290
    """

    def __call__(self, ratios: Tensor, lengths: Tensor, beta: float) -> Tensor:
        """Give the loss of each pair."""
        return -F.logsigmoid(beta * _difference(ratios))


@dataclass(frozen=True)
class IPO(PairLoss):
    r"""A margin that is to be met and not more, :math:`(\bar h_w - \bar h_l - 1/(2\beta))^2`.

    Notes
    -----
    The paper has sums over tokens; :math:`\bar h = h / |y|` are means, as its authors advise and
    trl has it, so that the margin does not depend on lengths.

    References
    ----------
    Azar, M. G. et al. (2024). A general theoretical paradigm to understand learning from human
    preferences. AISTATS. arXiv:2310.12036
    """

    def __call__(self, ratios: Tensor, lengths: Tensor, beta: float) -> Tensor:
        """Give the loss of each pair."""
        return (_difference(ratios / lengths) - 1 / (2 * beta)).square()


@dataclass(frozen=True)
class Robust(PairLoss):
    r"""Unbiased where a share of the labels is the wrong way round.

    .. math:: \frac{-(1 - \epsilon) \log\sigma(m) + \epsilon \log\sigma(-m)}{1 - 2\epsilon}, \qquad
              m = \beta (h_w - h_l)

    Parameters
    ----------
    label_smoothing : float, default=0.1
        The share :math:`\epsilon` of pairs whose label is wrong, below a half.

    References
    ----------
    Chowdhury, S. R., Kini, A. and Natarajan, N. (2024). Provably robust DPO: aligning language
    models with noisy feedback. ICML. arXiv:2403.00409
    """

    label_smoothing: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.label_smoothing < 0.5:
            raise ValueError(f"label_smoothing={self.label_smoothing!r} must lie in [0, 0.5)")

    def __call__(self, ratios: Tensor, lengths: Tensor, beta: float) -> Tensor:
        """Give the loss of each pair."""
        wrong, margin = self.label_smoothing, beta * _difference(ratios)
        told = (1 - wrong) * F.logsigmoid(margin) - wrong * F.logsigmoid(-margin)
        return -told / (1 - 2 * wrong)


@dataclass(frozen=True)
class LengthNormalized(PairLoss):
    r"""Per token, so that length does not pay, :math:`-\log\sigma(\beta (\bar h_w - \bar h_l))`.

    References
    ----------
    Lambert, N. et al. (2024). Tülu 3: pushing frontiers in open language model post-training.
    arXiv:2411.15124
    """

    def __call__(self, ratios: Tensor, lengths: Tensor, beta: float) -> Tensor:
        """Give the loss of each pair."""
        return -F.logsigmoid(beta * _difference(ratios / lengths))


def _difference(ratios: Tensor) -> Tensor:
    return ratios[:, 0] - ratios[:, 1]


class Divergence(Value):
    """What `distill` asks of a divergence between two distributions of tokens; abstract."""

    @abstractmethod
    def __call__(self, student: Tensor, teacher: Tensor) -> Tensor:
        """Give the divergence of each token.

        Parameters
        ----------
        student, teacher : tensor of shape (n, n_tokens)
            Scores of all tokens.

        Returns
        -------
        tensor of shape (n,)
        """


@dataclass(frozen=True)
class ForwardKL(Divergence):
    r"""The divergence that covers all that a teacher may say.

    .. math:: T^2 \sum_v p_v \log\frac{p_v}{q_v}, \qquad
              p = \operatorname{softmax}(z_{\text{teacher}} / T), \quad
              q = \operatorname{softmax}(z_{\text{student}} / T)

    Parameters
    ----------
    temperature : float, default=1.0
        T; above one it shows what a teacher thinks of what it would not say.

    References
    ----------
    Hinton, G., Vinyals, O. and Dean, J. (2015). Distilling the knowledge in a neural network.
    arXiv:1503.02531
    """

    temperature: float = 1.0

    def __post_init__(self) -> None:
        _check_temperature(self.temperature)

    def __call__(self, student: Tensor, teacher: Tensor) -> Tensor:
        """Give the divergence of each token."""
        return _divergence(teacher, student, self.temperature)


@dataclass(frozen=True)
class ReverseKL(Divergence):
    r"""The divergence that a student has which says only what its teacher would say.

    .. math:: T^2 \sum_v q_v \log\frac{q_v}{p_v}

    Parameters
    ----------
    temperature : float, default=1.0
        T, as in `ForwardKL`.

    References
    ----------
    Gu, Y., Dong, L., Wei, F. and Huang, M. (2024). MiniLLM: knowledge distillation of large
    language models. ICLR. arXiv:2306.08543
    """

    temperature: float = 1.0

    def __post_init__(self) -> None:
        _check_temperature(self.temperature)

    def __call__(self, student: Tensor, teacher: Tensor) -> Tensor:
        """Give the divergence of each token."""
        return _divergence(student, teacher, self.temperature)


def _divergence(one: Tensor, other: Tensor, temperature: float) -> Tensor:
    """KL(one || other) of each row."""
    first, second = ((scores / temperature).log_softmax(-1) for scores in (one, other))
    return temperature**2 * (first.exp() * (first - second)).sum(-1)


def _check_temperature(temperature: float) -> None:
    if not temperature > 0:
        raise ValueError(f"temperature={temperature!r} must be above zero")
