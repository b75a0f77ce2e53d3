r"""f-divergences, their conjugates, and the outputs of a critic that estimates them.

.. math::
    D_f(p \| q) = \mathbb E_q\, f\Bigl(\frac{p}{q}\Bigr)
    = \sup_T \ \mathbb E_p\, T - \mathbb E_q\, f^*(T), \qquad
    f^*(s) = \sup_{t \ge 0} \ s t - f(t)

for convex f with f(1) = 0. The best T is :math:`f'(p / q)`. A critic's output v is any number; its
activation maps it to where :math:`f^*` is finite. All are functions of tensors.

Each costs :math:`O(n)` for n numbers.

References
----------
Nowozin, Cseke, Tomioka (2016). f-GAN: training generative neural samplers using variational
divergence minimization. NeurIPS. arXiv:1606.00709

Examples
--------
>>> import torch
>>> from panlearn.generative.divergences import KL, JensenShannon
>>> p, q = torch.tensor([0.5, 0.5]), torch.tensor([0.25, 0.75])
>>> round(KL().between(p, q).item(), 4)
0.1438
>>> round(JensenShannon().between(p, q).item(), 4)  # not halved
0.0676
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from panlearn.core.value import Value

__all__ = [
    "KL",
    "Divergence",
    "Hellinger",
    "JensenShannon",
    "Neyman",
    "Pearson",
    "ReverseKL",
    "TotalVariation",
    "divergence",
]


class Divergence(Value):
    """A convex function f with f(1) = 0, its conjugate :math:`f^*`, and an activation; abstract."""

    @abstractmethod
    def f(self, t: torch.Tensor) -> torch.Tensor:
        """The function, of ratios t above zero."""

    @abstractmethod
    def conjugate(self, s: torch.Tensor) -> torch.Tensor:
        """The conjugate, of what the activation gives."""

    @abstractmethod
    def activation(self, v: torch.Tensor) -> torch.Tensor:
        """Numbers where the conjugate is finite, from any."""

    def between(self, p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        """The divergence of two distributions on a finite set, all of whose entries are above 0."""
        return (q * self.f(p / q)).sum(-1)


@dataclass(frozen=True)
class KL(Divergence):
    r"""Kullback-Leibler, :math:`f = t \log t - t + 1`, :math:`f^* = e^s - 1`."""

    def f(self, t: torch.Tensor) -> torch.Tensor:
        """The function t log t - t + 1."""
        return t * t.log() - t + 1

    def conjugate(self, s: torch.Tensor) -> torch.Tensor:
        """exp(s) - 1."""
        return s.expm1()

    def activation(self, v: torch.Tensor) -> torch.Tensor:
        """Any number will do."""
        return v


@dataclass(frozen=True)
class ReverseKL(Divergence):
    r""":math:`KL(q \| p)`: :math:`f = -\log t + t - 1`, :math:`f^* = -\log(1 - s)` below 1."""

    def f(self, t: torch.Tensor) -> torch.Tensor:
        """The function t - 1 - log t."""
        return t - 1 - t.log()

    def conjugate(self, s: torch.Tensor) -> torch.Tensor:
        """-log(1 - s)."""
        return -torch.log1p(-s)

    def activation(self, v: torch.Tensor) -> torch.Tensor:
        """1 - exp(-v)."""
        return -torch.expm1(-v)


@dataclass(frozen=True)
class JensenShannon(Divergence):
    r""":math:`KL(p \| m) + KL(q \| m)`, m their middle; :math:`f^* = -\log(1 - e^s) - \log 4`.

    :math:`f = t \log t - (t + 1) \log (t + 1) + \log 4`. It is twice what is often called so. The
    activation is the log of a probability, that an example is real.
    """

    def f(self, t: torch.Tensor) -> torch.Tensor:
        """The function as differences that do not cancel at large t."""
        return -t * torch.log1p(1 / t) - torch.log1p(t) + math.log(4)

    def conjugate(self, s: torch.Tensor) -> torch.Tensor:
        """-log(1 - exp(s)) - log 4."""
        return -torch.log(-torch.expm1(s)) - math.log(4)

    def activation(self, v: torch.Tensor) -> torch.Tensor:
        """The log of the logistic function."""
        return F.logsigmoid(v)


@dataclass(frozen=True)
class Pearson(Divergence):
    r"""Chi-squared, :math:`f = (t - 1)^2`, :math:`f^* = s^2 / 4 + s`, or -1 below -2."""

    def f(self, t: torch.Tensor) -> torch.Tensor:
        """(t - 1)^2."""
        return (t - 1).square()

    def conjugate(self, s: torch.Tensor) -> torch.Tensor:
        """s^2 / 4 + s."""
        s = s.clamp(min=-2)
        return s.square() / 4 + s

    def activation(self, v: torch.Tensor) -> torch.Tensor:
        """Any number will do."""
        return v


@dataclass(frozen=True)
class Neyman(Divergence):
    r""":math:`f = (1 - t)^2 / t`, :math:`f^* = 2 - 2 \sqrt{1 - s}` below 1."""

    def f(self, t: torch.Tensor) -> torch.Tensor:
        """(1 - t)^2 / t."""
        return (1 - t).square() / t

    def conjugate(self, s: torch.Tensor) -> torch.Tensor:
        """2 - 2 sqrt(1 - s)."""
        return 2 - 2 * (1 - s).sqrt()

    def activation(self, v: torch.Tensor) -> torch.Tensor:
        """1 - exp(-v)."""
        return -torch.expm1(-v)


@dataclass(frozen=True)
class Hellinger(Divergence):
    r"""Squared, :math:`f = (\sqrt t - 1)^2`, :math:`f^* = s / (1 - s)` below 1."""

    def f(self, t: torch.Tensor) -> torch.Tensor:
        """(sqrt(t) - 1)^2."""
        return (t.sqrt() - 1).square()

    def conjugate(self, s: torch.Tensor) -> torch.Tensor:
        """The quotient s / (1 - s)."""
        return s / (1 - s)

    def activation(self, v: torch.Tensor) -> torch.Tensor:
        """1 - exp(-v)."""
        return -torch.expm1(-v)


@dataclass(frozen=True)
class TotalVariation(Divergence):
    r""":math:`\frac12 \int |p - q|`: :math:`f = |t - 1| / 2`, :math:`f^* = s` in [-1/2, 1/2]."""

    def f(self, t: torch.Tensor) -> torch.Tensor:
        """Half of the absolute value of t - 1."""
        return (t - 1).abs() / 2

    def conjugate(self, s: torch.Tensor) -> torch.Tensor:
        """The same number."""
        return s

    def activation(self, v: torch.Tensor) -> torch.Tensor:
        """tanh(v) / 2."""
        return v.tanh() / 2


_NAMED = {
    "kl": KL(),
    "reverse_kl": ReverseKL(),
    "jensen_shannon": JensenShannon(),
    "pearson": Pearson(),
    "neyman": Neyman(),
    "hellinger": Hellinger(),
    "total_variation": TotalVariation(),
}


def divergence(given: str | Divergence) -> Divergence:
    r"""Give a divergence :math:`D_f` by its name, or one that is one already.

    Parameters
    ----------
    given : str or Divergence
        "kl", "reverse_kl", "jensen_shannon", "pearson", "neyman", "hellinger" or
        "total_variation".

    Returns
    -------
    Divergence
    """
    if isinstance(given, Divergence):
        return given
    if given not in _NAMED:
        raise ValueError(f"divergence={given!r} is none of {list(_NAMED)}, and no Divergence")
    return _NAMED[given]
